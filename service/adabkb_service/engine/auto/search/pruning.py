"""Pruning: the cells that, by the theorem's bounds, cannot contain the optimum. Computed at every checkpoint.

For a cell, U = f~(c) + F d_k(reach) bounds the objective, with f~ = mean + beta s, the theorem's beta (its ``theory``
form), and F twice the RKHS norm of the posterior mean. c is the middle of the cell, with the first choice of each
categorical axis. d_k(reach) = sqrt(2 - 2 k) is the kernel's distance between c and the farthest corner. Branch and
bound visits the cells from the root, largest bound first, up to a limit. Cells with U < l*, the largest lower bound of
an evaluated point, cannot contain the optimum. All of this follows from the current hyperparameters, so a cell that was
pruned under earlier ones may become a leaf again. Cells without a feasible point are not visited.

If metrics have bounds, l* is the largest lower bound of a feasible point, and cells in which the U of a metric violates
its bound are excluded, too. With several objectives no cell is pruned.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine import confidence
from adabkb_service.engine.auto.domain.tree import INFEASIBLE, LEAF, PRUNED, Box, Tree
from adabkb_service.engine.auto.model.feasible_results import best_feasible_rows
from adabkb_service.engine.auto.model.likelihood import MIN_RESULTS
from adabkb_service.engine.auto.model.surrogate import Surrogate
from adabkb_service.engine.auto.state.checkpoint import Pruning
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.native.library import COUNT, NUMBER, POINTER, flags, reals, routine, short_integers

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int32]
Ints64 = NDArray[np.int64]

NORM_SAFETY = 2.0
"""Factor for the RKHS norm, since the norm of the posterior mean is smaller than that of the objective."""
SKETCH_ACCURACY = 0.5
"""epsilon of a compressed posterior; that of an exact one is 0."""
OPENED = 64
"""Branch and bound ends when it has bounded the children of this many cells."""
AT_ONCE = 8
"""The number of cells whose bounds are computed together, which is faster."""
CONTENDERS = 32
"""The number of best results among which the largest lower bound is searched."""

_upper_bounds = routine("upper_bounds", POINTER, NUMBER, NUMBER, COUNT, POINTER, POINTER, POINTER)
_mark_descendants = routine("mark_descendants", COUNT, POINTER, POINTER)


def prunable(state: State) -> Pruning:
    """Return the cells of a state's tree that its posterior excludes; none with several objectives, or while there are
    few results or all are equal."""
    view, values = state.surrogate, state.record.values
    if state.problem.has_several:  # one objective alone cannot exclude a cell
        return Pruning()
    if len(values) < MIN_RESULTS or values.min() == values.max():  # the variation is unknown
        return Pruning()
    gram = view.kernel.gram(view.inducing, view.inducing)
    norm = _norm(view, gram)
    effective_dimension = float(np.einsum("rm,rm->", view.factor @ gram, view.factor))  # tr(W K W')
    beta = _beta(state, norm, effective_dimension)
    lower, row = _best_lower(state, beta)
    ceilings = [ceiling for metric in state.bounded for ceiling in _ceilings(*metric)]
    return Pruning(beta, effective_dimension, tuple(_excluded(state, beta, norm, lower, ceilings)), row)


def pruned(state: State, found: Pruning) -> Tree:
    """Return the state's tree in which the leaves below the excluded cells are marked pruned and all others are leaves.
    The leaf of the incumbent is never pruned. The tree may have been cut further since ``prunable``."""
    tree = state.tree
    if not state.record.size:
        return tree
    out = np.zeros(tree.size, dtype=np.bool_)
    out[list(found.excluded)] = True
    _mark_descendants(tree.size, flags(out), short_integers(tree.parent))
    out[tree.find(state.problem.root, state.record.positions[found.incumbent])[0]] = False
    is_open = (tree.axis == LEAF) | (tree.axis == PRUNED)
    marks = np.where(is_open, np.where(out, PRUNED, LEAF), tree.axis).astype(np.int32)
    return tree if np.array_equal(marks, tree.axis) else replace(tree, axis=marks)


def _best_lower(state: State, beta: float) -> tuple[float, int]:
    """Return l*, in model output units, and the row of the record that attains it; -inf if no point is known to be
    feasible."""
    rows = best_feasible_rows(state.problem.config.metrics, state.record, CONTENDERS)
    kept = rows[_are_feasible(state, rows)]
    if not len(kept):
        return -math.inf, int(rows[0])
    rows = kept
    mean, deviation = state.surrogate.mean_and_std(state.record.positions[rows])
    lower = mean - beta * deviation
    best = int(np.argmax(lower))
    return float(lower[best]), int(rows[best])


def upper_bounds(state: State, boxes: list[Box]) -> Array:
    """Return U of boxes, (k,), in model output units, with the width of the last checkpoint."""
    if not boxes:
        return np.zeros(0)
    view = state.surrogate
    norm = _norm(view, view.kernel.gram(view.inducing, view.inducing))
    return _bounds(view, state.checkpoint.beta, norm, boxes)


def _norm(view: Surrogate, gram: Array) -> float:
    """Return F, from the gram matrix of the inducing points."""
    return NORM_SAFETY * math.sqrt(max(float(view.weights @ gram @ view.weights), view.variance))


def _beta(state: State, norm: float, effective_dimension: float) -> float:
    """Return the theorem's width, per posterior standard deviation in model output units."""
    hyperparameters, config = state.checkpoint.hyperparameters, state.problem.config
    scale = math.sqrt(hyperparameters.noise_ratio * hyperparameters.variance)
    width = confidence.width(
        "theory",
        effective_dimension=effective_dimension,
        observations=state.record.size,
        ridge=hyperparameters.noise_ratio,
        noise_std=scale,
        norm_bound=norm,
        delta=config.delta_each,
        epsilon=0.0 if state.checkpoint.dictionary is None else SKETCH_ACCURACY,
    )
    return width / scale


def _bounds(view: Surrogate, beta: float, norm: float, boxes: list[Box]) -> Array:
    """Return U of boxes, (k,), in model output units."""
    ends = [box.ends() for box in boxes]
    return bounds_between(view, beta, norm, np.array([low for low, _ in ends]), np.array([up for _, up in ends]))


def bounds_between(view: Surrogate, beta: float, norm: float, lows: Array, highs: Array) -> Array:
    """Return U, (k,), of boxes with these ends, (k, d) each, computed at the middles of ordered axes and the first
    choices of categorical ones."""
    bounds = np.empty(len(lows))
    _upper_bounds(view.native.address, beta, norm, len(lows), reals(lows), reals(highs), reals(bounds))
    return bounds


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A criterion that excludes cells: an upper bound over the cell is below a threshold."""

    view: Surrogate
    beta: float
    norm: float
    threshold: float

    def excludes(self, boxes: list[Box]) -> Bools:
        """Return which boxes are excluded, (k,)."""
        below: Bools = _bounds(self.view, self.beta, self.norm, boxes) < self.threshold
        return below


def _ceilings(state: State, metric: Metric) -> list[Ceiling]:
    """Return the criteria by which a metric certainly violates a bound, given the metric's state; empty as long as
    nothing is known about the variation of the metric."""
    view, beta = state.surrogate, state.checkpoint.beta
    if not beta:
        return []
    lower, upper = state.in_model_outputs(metric)
    norm = _norm(view, view.kernel.gram(view.inducing, view.inducing))
    sides = [(view, lower), (replace(view, weights=-view.weights), -upper)]
    return [Ceiling(side, beta, norm, threshold) for side, threshold in sides if math.isfinite(threshold)]


def _are_feasible(state: State, rows: Ints64) -> Bools:
    """Return which rows belong to feasible points: according to the results or, if a metric has declared noise,
    according to its confidence bounds."""
    feasible = np.ones(len(rows), dtype=np.bool_)
    columns = zip(state.record.metrics, state.metrics, state.problem.config.metrics, strict=True)
    for its_record, measured, metric in columns:
        if not metric.is_bounded:
            continue
        if not measured.declares_noise:
            values = metric.sign * its_record.values[rows]
            feasible &= np.array([metric.violation(value) == 0.0 for value in values.tolist()]) & ~np.isnan(values)
            continue
        mean, deviation = measured.surrogate.mean_and_std(its_record.positions[rows])
        width = measured.checkpoint.beta * deviation
        lower, upper = measured.in_model_outputs(metric)
        feasible &= (mean - width >= lower) & (mean + width <= upper) & (width > 0.0)
    return feasible


def _excluded(state: State, beta: float, norm: float, lower: float, ceilings: list[Ceiling]) -> list[int]:
    """Return the roots of the excluded subtrees, found by branch and bound."""
    tree, view = state.tree, state.surrogate
    root = state.problem.root
    frontier = [(-float(_bounds(view, beta, norm, [root])[0]), 0, root)]
    excluded: list[int] = []
    opened = 0
    while frontier and opened < OPENED:
        cells, above, parts = [], [], []
        for _ in range(min(AT_ONCE, len(frontier))):
            bound, cell, box = heapq.heappop(frontier)
            axis = int(tree.axis[cell])
            if axis < 0:
                continue
            for part in range(box.parts(axis)):
                child = int(tree.first[cell]) + part
                if tree.axis[child] == INFEASIBLE:
                    continue
                cells.append(child)
                above.append(-bound)
                parts.append(box.part(axis, part))
            opened += 1
        if not parts:
            continue
        bounds = np.minimum(_bounds(view, beta, norm, parts), above)
        for ceiling in ceilings:
            bounds[ceiling.excludes(parts)] = -math.inf
        for bound, cell, box in zip(bounds.tolist(), cells, parts, strict=True):
            if bound < lower or bound == -math.inf:
                excluded.append(cell)
            else:
                heapq.heappush(frontier, (-bound, cell, box))
    return excluded
