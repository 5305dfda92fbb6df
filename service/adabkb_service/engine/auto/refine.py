"""From where the bound is largest to a cell's centroid that is almost as good: the tree is cut until there is one.

In the paper's terms: V(cell) = sup of f~ over the cell minus f~ at its centroid, taken from the posterior itself;
expand while that is large against beta s, else evaluate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.tree import Box, Cut, Tree

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

TOLERANCE = 0.2
"""Of beta s: what a centroid may fall short of the largest bound."""
NEAR = 1e-4
"""Of the cell's width: a centroid so near is where the target is."""
CUTS_PER_AXIS = 4
"""Cuts for one suggestion, at most; more only while the centroid is taken."""
MOST_CELLS = 1_000_000
"""Of a tree; from then on the targets themselves are evaluated."""


@dataclass(frozen=True, slots=True)
class Refined:
    """A cell whose centroid is to be evaluated."""

    tree: Tree
    cell: int
    point: Array
    """(d,) its centroid; the target itself where the tree is full or the cell is too narrow to be cut."""
    cuts: list[Cut]
    """In order."""
    capped: bool
    """Whether a cap ended the refinement."""


def refine(
    tree: Tree,
    root: Box,
    target: Array,
    tolerance: float,
    bound: Callable[[Array], Array],
    taken: Callable[[Array], bool],
) -> Refined:
    """Cut the cell that holds the target until its centroid will do.

    Args:
        tree: so far.
        root: the whole box.
        target: (d,), not taken.
        tolerance: in units of the bound.
        bound: f~ of positions (k, d).
        taken: whether a point has been evaluated or handed out.
    """
    cell, box = tree.find(root, target)
    x, aim = target.copy(), float(bound(target[None])[0]) - tolerance
    cuts: list[Cut] = []
    size, limit = tree.size, CUTS_PER_AXIS * len(target)
    deepest = box.domain.deepest - int(tree.depth[cell])
    while True:
        centroid = box.centroid()
        occupied = taken(centroid)
        floor = aim + tolerance if occupied else aim
        x = _snapped(x, centroid, floor, bound)
        open_axes = np.flatnonzero(_unsettled(x, centroid, box))
        if not len(open_axes) and occupied:
            x = target.copy()
            open_axes = np.flatnonzero(_unsettled(x, centroid, box, near=0.0))
            exact = box.domain.exact(target)
            if not len(open_axes) and not taken(exact):  # at the edge of the box, where no centroid ever lies
                return Refined(tree.cut(cuts), cell, exact, cuts, capped=True)
        capped = len(cuts) >= limit and not occupied
        if capped or not len(open_axes):
            return Refined(tree.cut(cuts), cell, centroid, cuts, capped)
        if size >= MOST_CELLS or len(cuts) >= deepest:
            return Refined(tree.cut(cuts), cell, box.domain.exact(target), cuts, capped=True)
        axis = _axis_to_cut(x, centroid, open_axes, bound)
        cuts.append(Cut(cell, axis, box.parts(axis)))
        part = box.part_of(axis, x[axis])
        cell, box, size = size + part, box.part(axis, part), size + box.parts(axis)


def _unsettled(x: Array, centroid: Array, box: Box, near: float = NEAR) -> Bools:
    """(d,) axes along which the target is elsewhere than the centroid, and the cell can be cut."""
    away = np.abs(x - centroid) > near * box.width()
    return np.array([bool(far) and box.can_be_cut(axis) for axis, far in enumerate(away)])


def _snapped(x: Array, centroid: Array, floor: float, bound: Callable[[Array], Array]) -> Array:
    """The target with as many coordinates as can be moved to the centroid's, the cheapest first, while f~ stays at or
    above the floor."""
    while len(axes := np.flatnonzero(x != centroid)):
        single = np.repeat(x[None], len(axes), axis=0)
        single[np.arange(len(axes)), axes] = centroid[axes]
        order = axes[np.argsort(-bound(single), kind="stable")]
        together = np.repeat(x[None], len(axes), axis=0)
        for count, axis in enumerate(order):
            together[count:, axis] = centroid[axis]
        good = np.flatnonzero(bound(together) >= floor)
        if not len(good):
            return x
        x = together[good[-1]]
    return x


def _axis_to_cut(x: Array, centroid: Array, axes: NDArray[np.int64], bound: Callable[[Array], Array]) -> int:
    """The axis along which the step from the centroid to the target gains most, taken first and taken last."""
    if len(axes) == 1:
        return int(axes[0])
    count = len(axes)
    mixed = np.concatenate([np.repeat(centroid[None], count, axis=0), np.repeat(x[None], count, axis=0)])
    mixed[np.arange(count), axes] = x[axes]
    mixed[count + np.arange(count), axes] = centroid[axes]
    values = bound(mixed)
    return int(axes[np.argmax(values[:count] - values[count:])])
