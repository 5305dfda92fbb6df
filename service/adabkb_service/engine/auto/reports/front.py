"""The Pareto front of a study with several objectives: of its results, and of the model with probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from adabkb_service.engine.answers import Front
from adabkb_service.engine.auto.acquisition import pareto
from adabkb_service.engine.auto.acquisition.objectives import front_rows, objectives, results, summary
from adabkb_service.engine.auto.model.feasible_results import violations
from adabkb_service.engine.auto.reports.report import feasible_probability, predict_one
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.candidates import distinct
from adabkb_service.engine.metrics import FEASIBLE
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.slices import Slice

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

SURE = 4.0
"""A value is treated as if it were within this many standard deviations of its mean."""
MIN_DRAWS, MAX_DRAWS = 16, 512
COMPARISONS = 1 << 27
"""The maximum number of comparisons of points with each other, over all draws."""
STEP = -1 << 40
"""Number of the random stream; no decision uses it."""


def front(state: State, feasible: float = FEASIBLE, within: Slice | None = None) -> Front:
    """Return the front, and the hypervolume over time. If metrics have bounds, infeasible results do not count. The
    points of the model are then those that satisfy the bounds with at least the probability ``feasible`` or, if there
    are none, the one with the largest probability. With a slice, such as a context, they are the evaluated points moved
    into it."""
    found, values, metrics = summary(state), results(state), state.problem.config.metrics
    kept = (violations(metrics, state.record) == 0.0) & ~np.isnan(values).any(axis=1)
    counting = np.where(kept[:, None], values, found.reference)
    points, probabilities = _by_model(state, feasible, within or state.problem.domain.whole)
    return Front(
        reference=found.reference,
        growth=pareto.growth(counting, found.reference),
        rows=front_rows(metrics, state.record, values) if kept.any() else np.zeros(0, dtype=np.int64),
        points=points,
        probabilities=probabilities,
    )


def results_since_gain(state: State) -> int | None:
    """Return the number of results, with all objectives, after the last one that increased the hypervolume; 0 before
    the first such result, and None with a single objective. A result increases the hypervolume if it is better than the
    reference in all objectives and satisfies the bounds of metrics, and if no such result before it is at least as good
    in all objectives."""
    if not state.problem.has_several:
        return None
    found, values = summary(state), results(state)
    whole = ~np.isnan(values).any(axis=1)
    feasible = violations(state.problem.config.metrics, state.record)[whole] == 0.0
    values = values[whole]
    counting = feasible & (values > found.reference).all(axis=1)
    for row in np.flatnonzero(counting)[::-1]:
        before = values[:row][counting[:row]]
        if not (before >= values[row]).all(axis=1).any():
            return len(values) - 1 - int(row)
    return 0


def _by_model(state: State, feasible: float, within: Slice) -> tuple[Array, Array]:
    """Return the evaluated points in a slice, (m, d), whose posterior means are not dominated, with the probability of
    each to be on the front of all evaluated points."""
    positions = _evaluated(state, within)
    if not len(positions):
        return positions, np.zeros(0)
    likely = feasible_probability(state, positions)
    positions = positions[likely >= feasible if (likely >= feasible).any() else likely == likely.max()]
    found = [predict_one(each, positions) for each, _ in objectives(state)]
    means, deviations = np.column_stack([each.mean for each in found]), np.column_stack([each.std for each in found])
    listed = pareto.front(means)
    # A point that is dominated even at its upper limits, by others at their lower limits, is on no front.
    contend = listed | ~_surely_dominated(means, deviations)
    count = int(contend.sum())
    draws = int(np.clip(COMPARISONS // count**2, MIN_DRAWS, MAX_DRAWS))
    drawn = uniforms(state.problem.seed, STEP, draws * count * len(found)).reshape(draws, count, len(found))
    normals = ndtri(np.clip(drawn, 1e-12, 1.0 - 1e-12))
    probabilities = pareto.on_front_probability(means[contend], deviations[contend], normals)
    return positions[listed], probabilities[listed[contend]]


def _evaluated(state: State, within: Slice) -> Array:
    """Return the distinct evaluated points, (k, d), moved into a slice. Points that are not feasible there are left
    out."""
    positions = state.record.positions[state.record.first_rows()]
    if not within.fixed:
        return positions
    moved = [within.exact(position) for position in within.put(positions)]
    if within.feasible is not None:
        moved = [point for point in moved if within.feasible.admits(point)]
    return distinct(np.array(moved).reshape(-1, positions.shape[1]))


def _surely_dominated(means: Array, deviations: Array) -> Bools:
    lowest = means - SURE * deviations
    lowest = lowest[pareto.front(lowest)]
    highest = means + SURE * deviations
    found = np.zeros(len(means), dtype=np.bool_)
    for low in lowest:
        found |= (low > highest).all(axis=1)
    return found
