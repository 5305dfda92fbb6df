"""What prunes and what certifies: the theorem's bound over the cells, at every checkpoint anew.

For a cell with centroid c, U = f~(c) + F d_k(reach) bounds the objective over the cell, with f~ = mean + beta s,
the theorem's beta (its ``theory`` form) and F the norm of the posterior mean in the kernel's space, doubled. The
cells are opened from the root, the largest bound first, up to a cap: branch and bound. Cells with U < l* cannot hold
the optimum; the largest U of the others bounds it. All of it follows from the present constants alone, so a cell
that others pruned comes back by itself.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine import confidence
from adabkb_service.engine.auto.kernel import MEAN_VARIANCE
from adabkb_service.engine.auto.likelihood import FEWEST
from adabkb_service.engine.auto.rows import frontrunners
from adabkb_service.engine.auto.state import State
from adabkb_service.engine.auto.surrogate import Surrogate
from adabkb_service.engine.auto.tree import LEAF, PRUNED, Box, Tree

Array = NDArray[np.float64]

NORM_SAFETY = 2.0
"""The posterior mean has a smaller norm than the objective."""
SKETCH_ACCURACY = 0.5
"""epsilon of a compressed posterior; an exact one has none."""
OPENED = 64
"""Cells after which no more are opened, ..."""
AT_ONCE = 8
"""... so many at a time: their bounds are cheaper together."""
CONTENDERS = 32
"""Best results among which the largest lower bound is looked for."""


def certified(state: State) -> State:
    """A checkpoint's state with its certificate, and the tree marked with what it prunes."""
    view, values = state.surrogate, state.record.values
    if len(values) < FEWEST or values.min() == values.max():  # nothing is known yet of how the objective varies
        return replace(state, tree=_marked(state, [], 0) if len(values) else state.tree)
    gram = view.metric.parts(view.inducing, view.inducing)[0] + MEAN_VARIANCE
    norm = NORM_SAFETY * math.sqrt(max(float(view.weights @ gram @ view.weights), view.variance))
    effective_dimension = float(np.einsum("rm,rm->", view.factor @ gram, view.factor))  # tr(W K W')
    beta = _beta(state, norm, effective_dimension)
    lower, row = best_lower(state, beta)
    upper, excluded = _branch_and_bound(state, beta, norm, lower)
    tree = _marked(state, excluded, row)
    upper_value = float(state.warp.inverse(np.array(max(upper, lower))))
    learned = replace(state.learned, beta=beta, effective_dimension=effective_dimension, upper=upper_value)
    return replace(state, tree=tree, learned=learned)


def best_lower(state: State, beta: float) -> tuple[float, int]:
    """l*, in model output units, and the row of the record that attains it."""
    rows = frontrunners(state.record, CONTENDERS)
    mean, deviation = state.surrogate.moments(state.record.positions[rows])
    lower = mean - beta * deviation
    best = int(np.argmax(lower))
    return float(lower[best]), int(rows[best])


def _beta(state: State, norm: float, effective_dimension: float) -> float:
    """The theorem's width, per posterior standard deviation in model output units."""
    constants, config = state.learned.constants, state.problem.config
    scale = math.sqrt(constants.noise * constants.variance)
    width = confidence.width(
        "theory",
        effective_dimension=effective_dimension,
        observations=state.record.size,
        ridge=constants.noise,
        noise_std=scale,
        norm_bound=norm,
        delta=config.delta,
        epsilon=0.0 if state.learned.dictionary is None else SKETCH_ACCURACY,
    )
    return width / scale


@dataclass(frozen=True, slots=True)
class _Bounds:
    """U of boxes."""

    view: Surrogate
    beta: float
    norm: float

    def of(self, boxes: list[Box]) -> Array:
        """(k,), in model output units: from the middles of the ordered axes, and the first choices of the others."""
        metric = self.view.metric
        ends = [box.ends() for box in boxes]
        lows, highs = np.array([low for low, _ in ends]), np.array([high for _, high in ends])
        centres = np.where(metric.categorical, lows, (lows + highs) / 2.0)
        reach = np.where(metric.categorical, 0.0, highs - lows) / (2.0 * metric.lengthscales)
        r = np.sqrt(3.0 * (reach**2).sum(axis=1))
        differing = metric.categorical & (highs > lows)
        q = (differing / metric.lengthscales).sum(axis=1)
        distance = np.sqrt(np.maximum(2.0 - 2.0 * (1.0 + r) * np.exp(-r - q), 0.0))
        bounds: Array = self.view.bound(centres, self.beta) + self.norm * distance
        return bounds


def _branch_and_bound(state: State, beta: float, norm: float, lower: float) -> tuple[float, list[int]]:
    """The largest bound over the box, and the cells that are excluded: whole subtrees."""
    tree, bounds = state.tree, _Bounds(state.surrogate, beta, norm)
    root = state.problem.root
    frontier = [(-float(bounds.of([root])[0]), 0, root)]
    excluded: list[int] = []
    settled = -math.inf
    opened = 0
    while frontier and opened < OPENED:
        cells, above, parts = [], [], []
        for _ in range(min(AT_ONCE, len(frontier))):
            bound, cell, box = heapq.heappop(frontier)
            axis = int(tree.axis[cell])
            if axis < 0:
                settled = max(settled, -bound)
                continue
            for part in range(box.parts(axis)):
                cells.append(int(tree.first[cell]) + part)
                above.append(-bound)
                parts.append(box.part(axis, part))
            opened += 1
        if not parts:
            continue
        for child, cell, box in zip(np.minimum(bounds.of(parts), above).tolist(), cells, parts, strict=True):
            if child < lower:
                excluded.append(cell)
            else:
                heapq.heappush(frontier, (-child, cell, box))
    remaining = -frontier[0][0] if frontier else -math.inf
    return max(settled, remaining), excluded


def _marked(state: State, excluded: list[int], row: int) -> Tree:
    """The tree with the uncut cells below the excluded ones pruned, and all others leaves; the cell of the incumbent
    is never pruned."""
    tree = state.tree
    out = np.zeros(tree.size, dtype=np.bool_)
    out[excluded] = True
    if excluded:
        for depth in range(1, int(tree.depth.max()) + 1):
            level = np.flatnonzero(tree.depth == depth)
            out[level] |= out[tree.parent[level]]
    out[tree.find(state.problem.root, state.record.positions[row])[0]] = False
    uncut = tree.axis < 0
    marks = np.where(uncut, np.where(out, PRUNED, LEAF), tree.axis).astype(np.int32)
    return tree if np.array_equal(marks, tree.axis) else replace(tree, axis=marks)
