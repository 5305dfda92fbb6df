"""The state of a study, and the operations on it. States are immutable: each operation returns a new one.

A state consists of the cells of the tree, the points with their results, the dictionary, and quantities derived from
these. A state is a function of the log, and all decisions are functions of the state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine import confidence
from adabkb_service.engine.cells import child_keys, own_centroids, split
from adabkb_service.engine.paper import index
from adabkb_service.engine.paper.batches import Batch, batch_since
from adabkb_service.engine.paper.config import Problem
from adabkb_service.engine.paper.gp import SketchedGP, sketched_gp
from adabkb_service.engine.paper.leaves import TIE, Leaves, cells_of_one_depth
from adabkb_service.engine.paper.points import Points
from adabkb_service.engine.randomness import uniforms

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

# The maximum number of results that are folded by updates between two factorizations from scratch.
UPDATES_BEFORE_REFACTORIZATION = 256
# If a larger share of the dictionary changes, the state is factorized from scratch. Updates are faster up to a fifth
# (docs/benchmarks.md); larger changes were not measured.
LARGE_CHANGE = 0.5
# Outputs whose standard deviation is below this, relative to the largest output, count as constant.
CONSTANT = 1e-12


@dataclass(frozen=True, slots=True)
class PosteriorSummary:
    """The posterior at all points, and the confidence bounds, in model output units."""

    offset: float
    scale: float
    """user's output = offset + scale * model output."""
    beta: float
    effective_dimension: float
    """d_eff, the sum of the current variance over the observations (paper, eq. 6)."""
    weights: Array
    """(M,) w, see ``posterior``."""
    mean: Array
    """(P,) posterior mean."""
    deviation: Array
    """(P,) s, the posterior standard deviation divided by sqrt(lambda)."""
    best_lcb: float
    """l*, the largest lower bound of an evaluated point; -inf before the first observation."""
    incumbent: int | None
    """Id of the evaluated point that attains l*; None before the first observation."""

    @property
    def ucb(self) -> Array:
        """The upper confidence bounds f~ = mean + beta s, (P,)."""
        return self.mean + self.beta * self.deviation


@dataclass(frozen=True, slots=True)
class State:
    """The state of a study between two requests."""

    problem: Problem
    tree: Leaves
    points: Points
    gp: SketchedGP
    summary: PosteriorSummary
    batch: Batch | None = None
    """None if the dictionary is redrawn with each result."""
    updates_since_refactorization: int = 0
    """Number of results folded by updates since the last factorization from scratch."""
    clipped: int = 0
    """How often a clearly negative variance forced a factorization from scratch."""


def model_outputs(problem: Problem, points: Points) -> tuple[float, float, Array]:
    """Offset and scale of the outputs, and the reward sums Y_i by ordinal, shape (E,), in model output units.

    Results are divided by the largest magnitude first, so that no sum or square of large results can overflow.
    """
    if not problem.standardizes:
        return 0.0, 1.0, _sums(points, points.values)
    largest = float(np.abs(points.values).max(initial=0.0)) or 1.0
    relative = points.values / largest
    middle = float(relative.mean()) if len(relative) else 0.0
    spread = float(relative.std()) if len(relative) else 0.0
    spread = spread if spread > CONSTANT else 1.0
    return middle * largest, spread * largest, _sums(points, (relative - middle) / spread)


def _sums(points: Points, outputs: Array) -> Array:
    """The sum of the outputs (T,) at each evaluated point, (E,)."""
    return np.bincount(points.observed, outputs, minlength=len(points.evaluated)).astype(float, copy=False)


def summarize(problem: Problem, points: Points, gp: SketchedGP) -> PosteriorSummary:
    """Mean, deviation, beta, l* and the incumbent, from the posterior at cost O(P M)."""
    config, features = problem.config, gp.sketch.features.array
    offset, scale, sums = model_outputs(problem, points)
    weights = gp.posterior.weights(features, points, sums)
    mean, variance = features @ weights, gp.posterior.variance()
    evaluated = points.evaluated
    effective_dimension = float(points.counts[evaluated] @ variance[evaluated])
    noise_std = config.noise_std if config.output_noise_std is None else config.output_noise_std / scale
    beta = confidence.width(
        config.beta,
        effective_dimension=effective_dimension,
        observations=len(points.values),
        ridge=config.ridge,
        noise_std=noise_std,
        norm_bound=config.norm_bound,
        delta=config.delta,
        epsilon=config.epsilon,
    )
    deviation = np.sqrt(variance)
    best_lcb, incumbent = -math.inf, None
    if len(evaluated):
        lcb = mean[evaluated] - beta * deviation[evaluated]
        best_lcb = float(lcb.max())
        incumbent = int(evaluated[np.argmax(lcb >= best_lcb - TIE * abs(best_lcb))])
    return PosteriorSummary(offset, scale, beta, effective_dimension, weights, mean, deviation, best_lcb, incumbent)


def add_points(state: State, positions: Array) -> tuple[State, list[int]]:
    """The state with the points at cube positions (k, d), and the ids of these points. Some may be known already."""
    ids: list[int] = []
    fresh: dict[bytes, int] = {}
    for position in positions:
        found = state.points.find(position)
        if found is None:
            found = state.points.size + fresh.setdefault(position.tobytes(), len(fresh))
        ids.append(found)
    if not fresh:
        return state, ids
    new = np.frombuffer(b"".join(fresh)).reshape(len(fresh), -1)
    scaled = state.problem.scaled(new)
    gp, summary = state.gp.add(scaled), state.summary
    features = gp.sketch.features.array[state.points.size :]
    deviation = np.sqrt(gp.posterior.variance()[state.points.size :])
    summary = replace(
        summary,
        mean=np.concatenate([summary.mean, features @ summary.weights]),
        deviation=np.concatenate([summary.deviation, deviation]),
    )
    return replace(state, points=state.points.add(new, scaled), gp=gp, summary=summary), ids


def expand(state: State, cell: int) -> State:
    """Replace a leaf, given its position in the tree's arrays, by its N children. Computes the posterior only for the
    children."""
    problem, tree = state.problem, state.tree
    branching = problem.config.branching
    (lows,), (highs,) = split(tree.low.array[[cell]], tree.high.array[[cell]], branching, problem.side_scale)
    centroids = problem.space.snap((lows + highs) / 2)
    own = own_centroids(branching)
    state, ids = add_points(state, centroids[own])
    points = np.full(branching, tree.point[cell])
    points[own] = ids
    centroids = state.points.positions.array[points]
    depth = int(tree.depth[cell]) + 1
    variation = problem.variation(lows, highs, centroids, depth)
    keys, parent = child_keys(str(tree.keys[cell]), branching), np.full(branching, cell)
    children = cells_of_one_depth(keys, lows, highs, depth, parent, points, variation)
    return replace(state, tree=tree.replace_by_children(cell, children))


def prune(state: State) -> tuple[State, list[str]]:
    """Prune the leaves that cannot contain an optimum. Returns the state, and the keys of the pruned cells."""
    tree, summary = state.tree, state.summary
    if summary.incumbent is None or tree.listed or not state.problem.config.prunes:
        return state, []
    position = state.points.positions.array[summary.incumbent]
    mask = index.prunable(tree, summary.ucb, summary.best_lcb, position)
    if not mask.any():
        return state, []
    return replace(state, tree=tree.without(mask)), list(tree.keys[tree.leaves[mask]])


def draw(problem: Problem, step: int, counts: Array, variance: Array) -> NDArray[np.bool_]:
    """Draw the dictionary: it contains each evaluated point independently, with probability min(1, qbar n_i s2_i).

    If no point is drawn, it contains the most probable one.

    Args:
        problem: constants and seed.
        step: number of results before this draw. With the seed, it determines the random numbers.
        counts: (E,) n_i by ordinal, including the newest result.
        variance: (E,) s2_i by ordinal, divided by lambda.

    Returns:
        A mask of shape (E,).
    """
    if math.isinf(problem.config.qbar):
        return np.ones(len(counts), dtype=np.bool_)
    probability = problem.config.qbar * counts * variance
    if probability.min() >= 1.0:
        return np.ones(len(counts), dtype=np.bool_)
    drawn = uniforms(problem.seed, step, len(counts)) < probability
    if not drawn.any():
        drawn[np.argmax(probability)] = True
    return drawn


def resampled(state: State, point: int) -> Ints:
    """The next dictionary, drawn with probabilities from the variances before the newest result (as in BKB).

    Args:
        state: the state before the newest result.
        point: id of the point of the newest result.

    Returns:
        Ids, in order of first observation.
    """
    points = state.points
    ids = points.evaluated if points.counts[point] else np.append(points.evaluated, point)
    counts = points.counts[ids] + (ids == point)
    return ids[draw(state.problem, len(points.values), counts, state.summary.deviation[ids] ** 2)]


def refactorize(state: State, dictionary: Ints, batch_start: int, clipped: int = 0) -> State:
    """The state with this dictionary (ids), drawn after ``batch_start`` results, factorized from scratch. Points that
    are neither evaluated nor centroids of live cells are dropped."""
    tree, points = state.tree, state.points
    live = tree.live()
    kept = np.unique(np.concatenate([tree.point[live], points.evaluated]))
    renumbered = np.full(points.size, -1, dtype=np.int64)
    renumbered[kept] = np.arange(len(kept))
    points = points.keep(kept)
    problem = state.problem
    gp = sketched_gp(problem, points, renumbered[dictionary])
    batched = problem.config.batch_drift is not None
    return State(
        problem=problem,
        tree=tree.keep(live, renumbered),
        points=points,
        gp=gp,
        summary=summarize(problem, points, gp),
        batch=batch_since(batch_start, gp.sketch, points, problem.config.ridge) if batched else None,
        clipped=state.clipped + clipped,
    )


def absorb(state: State, point: int, value: float) -> State:
    """Return the state with a result of a known point, given its id: by rank-one and column updates, or by a
    factorization from scratch if that is cheaper or required by rounding errors."""
    batch = _batch_with(state, point)
    present = state.gp.sketch.dictionary
    dictionary = resampled(state, point) if batch is None else present
    points = state.points.observe(point, value)
    start = len(points.values) if batch is None else batch.start
    added = np.setdiff1d(dictionary, present, assume_unique=True)
    removed = np.setdiff1d(present, dictionary, assume_unique=True)
    moved = replace(state, points=points)
    crowded = points.size > 2 * (state.tree.count + len(points.evaluated)) + UPDATES_BEFORE_REFACTORIZATION
    large = len(added) + len(removed) > LARGE_CHANGE * len(dictionary) + 1
    if (
        state.updates_since_refactorization >= UPDATES_BEFORE_REFACTORIZATION
        or crowded
        or large
        or (len(removed) and state.gp.sketch.has_dependents)
    ):
        return refactorize(moved, dictionary, start)
    gp = state.gp.observe(point)
    if len(added):
        gp = gp.include(added, points)
    if len(removed):
        if gp.sketch.has_dependents:
            return refactorize(moved, dictionary, start)
        gp = gp.exclude(removed)
    if gp.posterior.needs_refactorization:
        return refactorize(moved, dictionary, start, clipped=1)
    if gp.sketch.width > 1.5 * len(gp.sketch.basis) + 16:
        gp = gp.compact()
    if batch is None and state.problem.config.batch_drift is not None:
        batch = Batch(start, gp.posterior.inverse, 1.0)
    summary = summarize(state.problem, points, gp)
    return replace(
        state,
        points=points,
        gp=gp,
        summary=summary,
        batch=batch,
        updates_since_refactorization=state.updates_since_refactorization + 1,
    )


def _batch_with(state: State, point: int) -> Batch | None:
    """The batch with one more result at this point; None if the dictionary must be redrawn."""
    most, batch = state.problem.config.batch_drift, state.batch
    if most is None or batch is None or not len(state.gp.sketch.dictionary):
        return None
    batch = batch.observe(state.gp.sketch.projected(point), state.problem.config.ridge)
    return batch if batch.drift <= most * (1.0 + TIE) else None
