"""Which cells cannot hold the optimum, by the theorem's bound over them, at every checkpoint anew.

For a cell with centroid c, U = f~(c) + F d_k(reach) bounds the objective over the cell, with f~ = mean + beta s,
the theorem's beta (its ``theory`` form) and F the RKHS norm of the posterior mean, doubled. The
cells are opened from the root, the largest bound first, up to a cap: branch and bound. Cells with U < l* cannot hold
the optimum. All of it follows from the present hyperparameters alone, so a cell that others pruned comes back by
itself. Cells without a feasible point are not looked at.

Where metrics have bounds, l* is the largest lower bound of a point that keeps them, and a cell in which the U of a
metric is beyond its bound cannot hold the constrained optimum either. In a study with several objectives no cell is
pruned.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine import confidence
from adabkb_service.engine.auto.checkpoint import Pruning
from adabkb_service.engine.auto.feasible_results import best_feasible_rows
from adabkb_service.engine.auto.likelihood import MIN_RESULTS
from adabkb_service.engine.auto.state import State
from adabkb_service.engine.auto.surrogate import Surrogate
from adabkb_service.engine.auto.tree import INFEASIBLE, LEAF, PRUNED, Box, Tree
from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.native.library import COUNT, NUMBER, POINTER, flags, reals, routine, short_integers

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int32]
Ints64 = NDArray[np.int64]

NORM_SAFETY = 2.0
"""The posterior mean has a smaller norm than the objective."""
SKETCH_ACCURACY = 0.5
"""epsilon of a compressed posterior; an exact one has none."""
OPENED = 64
"""Cells that are opened at most."""
AT_ONCE = 8
"""Cells that are opened at a time: their bounds are cheaper together."""
CONTENDERS = 32
"""Best results among which the largest lower bound is looked for."""

_upper_bounds = routine("upper_bounds", POINTER, NUMBER, NUMBER, COUNT, POINTER, POINTER, POINTER)
_mark_descendants = routine("mark_descendants", COUNT, POINTER, POINTER)


def prunable(state: State) -> Pruning:
    """What a state's posterior rules out of its tree."""
    view, values = state.surrogate, state.record.values
    if state.problem.has_several:  # no cell is excluded by what it holds of one objective alone
        return Pruning()
    if len(values) < MIN_RESULTS or values.min() == values.max():  # nothing is known yet of how the objective varies
        return Pruning()
    gram = view.kernel.gram(view.inducing, view.inducing)
    norm = _norm(view, gram)
    effective_dimension = float(np.einsum("rm,rm->", view.factor @ gram, view.factor))  # tr(W K W')
    beta = _beta(state, norm, effective_dimension)
    lower, row = _best_lower(state, beta)
    ceilings = [ceiling for metric in _metrics_with_bounds(state) for ceiling in _ceilings(*metric)]
    return Pruning(beta, effective_dimension, tuple(_excluded(state, beta, norm, lower, ceilings)), row)


def pruned(state: State, found: Pruning) -> Tree:
    """The state's tree with the uncut cells below the excluded ones pruned, and all others leaves; the cell of the
    incumbent is never pruned. The tree may have been cut further since."""
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
    """l*, in model output units, and the row of the record that attains it; -inf where no point is known that keeps the
    bounds of metrics."""
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
    """U of boxes, (k,), in model output units, with the width of the last checkpoint."""
    if not boxes:
        return np.zeros(0)
    view = state.surrogate
    norm = _norm(view, view.kernel.gram(view.inducing, view.inducing))
    return _bounds(view, state.checkpoint.beta, norm, boxes)


def _norm(view: Surrogate, gram: Array) -> float:
    """F, from the gram matrix of the inducing points."""
    return NORM_SAFETY * math.sqrt(max(float(view.weights @ gram @ view.weights), view.variance))


def _beta(state: State, norm: float, effective_dimension: float) -> float:
    """The theorem's width, per posterior standard deviation in model output units."""
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
    """U of boxes, (k,), in model output units."""
    ends = [box.ends() for box in boxes]
    return bounds_between(view, beta, norm, np.array([low for low, _ in ends]), np.array([up for _, up in ends]))


def bounds_between(view: Surrogate, beta: float, norm: float, lows: Array, highs: Array) -> Array:
    """U, (k,), of boxes with these ends, (k, d) each: from the middles of the ordered axes and the first choices of the
    others."""
    bounds = np.empty(len(lows))
    _upper_bounds(view.native.address, beta, norm, len(lows), reals(lows), reals(highs), reals(bounds))
    return bounds


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What excludes a cell: an upper bound over it that is below a threshold."""

    view: Surrogate
    beta: float
    norm: float
    threshold: float

    def excludes(self, boxes: list[Box]) -> Bools:
        """Which boxes it excludes, (k,)."""
        below: Bools = _bounds(self.view, self.beta, self.norm, boxes) < self.threshold
        return below


def _metrics_with_bounds(state: State) -> list[tuple[State, Metric]]:
    metrics = zip(state.metrics, state.problem.config.metrics, strict=True)
    return [(measured, metric) for measured, metric in metrics if metric.is_bounded]


def _ceilings(state: State, metric: Metric) -> list[Ceiling]:
    """Of a metric that this is the state of: where it, or its negative, is certainly beyond a bound. None as long as it
    is not known how it varies."""
    view, beta = state.surrogate, state.checkpoint.beta
    if not beta:
        return []
    lower, upper = state.in_model_outputs(metric)
    norm = _norm(view, view.kernel.gram(view.inducing, view.inducing))
    sides = [(view, lower), (replace(view, weights=-view.weights), -upper)]
    return [Ceiling(side, beta, norm, threshold) for side, threshold in sides if math.isfinite(threshold)]


def _are_feasible(state: State, rows: Ints64) -> Bools:
    """Which rows are of points that keep the bounds of metrics: by their results or, where a metric is noisy, by what
    its posterior is certain of."""
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
    """The cells that are excluded, whole subtrees, by branch and bound."""
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
