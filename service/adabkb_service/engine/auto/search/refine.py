"""Refinement: cut the tree around the position with the largest bound until a cell's centroid is almost as good.

In the paper's terms, V(cell) = sup of f~ over the cell minus f~ at its centroid, computed from the posterior itself.
The cell is cut further while V is large relative to beta s; otherwise, its centroid is evaluated. The first cuts are
along parents of conditions and along categorical axes, until the whole cell has the same active axes and the same
choices. The further cuts are along the other active axes.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref, c_int64
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.domain.tree import LEAF, PRUNED, Box, Cut, Tree, part_name
from adabkb_service.engine.auto.model.surrogate import Surrogate
from adabkb_service.engine.auto.search.constrained import representative
from adabkb_service.engine.auto.search.mixed import representatives
from adabkb_service.engine.feasible import Feasible
from adabkb_service.engine.moves import Cells
from adabkb_service.engine.native.library import COUNT, NUMBER, POINTER, integers, reals, routine

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

TOLERANCE = 0.2
"""How far a centroid's bound may be below the largest bound, in units of beta s."""
NEAR = 1e-4
"""Distance within which a centroid counts as equal to the target, as a share of the cell's width."""
CUTS_PER_AXIS = 4
"""The maximum number of cuts per axis for one suggestion; exceeded only while the centroid is taken."""
MAX_CELLS = 1_000_000
"""The maximum number of cells in a tree; afterwards the targets themselves are suggested."""

_move_towards = routine("move_towards", POINTER, NUMBER, POINTER, POINTER, NUMBER)
_axis_to_cut = routine("axis_to_cut", POINTER, NUMBER, POINTER, POINTER, COUNT, POINTER, POINTER)


@dataclass(frozen=True, slots=True)
class Refined:
    """A cell whose centroid is suggested."""

    tree: Tree
    cell: int
    point: Array
    """(d,) its centroid, or a feasible point near it; the target itself if the tree is full or the cell is too narrow
    to be cut."""
    cuts: list[Cut]
    """Cuts in order."""
    capped: bool
    """Whether a limit ended the refinement."""


class Bound(Protocol):
    """f~ in the form that a refinement uses."""

    def value(self, x: Array) -> float:
        """Return f~ at one position, (d,)."""

    def moved_towards_centroid(self, target: Array, centroid: Array, floor: float) -> Array:
        """Return the target, (d,), with as many coordinates as possible moved to those of the centroid, (d,), while f~
        stays at or above the floor. The coordinates that reduce f~ least are moved first."""

    def axis_to_cut(self, x: Array, centroid: Array, axes: NDArray[np.int64]) -> int:
        """Return the axis, one of ``axes``, along which a step from the centroid to x, (d,) both, gains most. The gain
        along an axis is the average of the gains if its step is taken before all others, and after all others."""


@dataclass(frozen=True, slots=True)
class UpperBound:
    """f~ of a posterior."""

    view: Surrogate
    beta: float

    def value(self, x: Array) -> float:
        """See ``Bound``."""
        return float(self.view.ucb(x[None], self.beta)[0])

    def moved_towards_centroid(self, target: Array, centroid: Array, floor: float) -> Array:
        """See ``Bound``."""
        found = target.copy()
        _move_towards(self.view.native.address, self.beta, reals(found), reals(centroid), floor)
        return found

    def axis_to_cut(self, x: Array, centroid: Array, axes: NDArray[np.int64]) -> int:
        """See ``Bound``."""
        view, chosen = self.view.native.address, c_int64()
        _axis_to_cut(view, self.beta, reals(x), reals(centroid), len(axes), integers(axes), byref(chosen))
        return chosen.value


def refine(
    tree: Tree,
    root: Box,
    target: Array,
    tolerance: float,
    bound: Bound,
    taken: Callable[[Array], bool],
) -> Refined:
    """Cut the cell that contains the target until the bound at its centroid is within the tolerance of that at the
    target. Return the resulting cell.

    Args:
        tree: the current tree.
        root: the box of the root.
        target: (d,) a free point; feasible if the space has constraints.
        tolerance: the allowed difference, in units of the bound.
        bound: f~.
        taken: returns whether a point has been evaluated or issued.
    """
    cell, box = tree.find(root, target)
    deepest = box.domain.deepest - int(tree.depth[cell])
    cuts: list[Cut] = []
    size = tree.size
    while len(cuts) < deepest and (axis := box.undecided()) is not None:
        cell, size = _cut(cuts, cell, size, box, axis, target)
    centroid, feasible = box.centroid(), box.domain.whole.feasible
    x, aim = target, bound.value(target) - tolerance
    limit = len(cuts) + CUTS_PER_AXIS * len(target)
    while True:
        if feasible is None:
            point = centroid
        elif feasible.mixtures:
            x, point = target, _of_mixtures(box, feasible, target, bound, aim, taken)
        else:  # the target stays in the cell, which thus has a feasible point
            x, point = target, representative(box.domain, feasible, centroid, target)
        occupied = taken(point)
        x = bound.moved_towards_centroid(x, point, aim + tolerance if occupied else aim)
        open_axes = np.flatnonzero(_splittable_axes(x, point, box))
        if not len(open_axes) and occupied:
            x = target
            open_axes = np.flatnonzero(_splittable_axes(x, point, box, near=0.0))
            exact = box.domain.exact(target)
            if not len(open_axes) and not taken(exact):  # at the edge of the box, where no centroid lies
                return Refined(tree.cut(cuts), cell, exact, cuts, capped=True)
        capped = len(cuts) >= limit and not occupied
        if capped and feasible is not None and feasible.mixtures and bound.value(point) < aim:
            point = box.domain.exact(target)
        if capped or not len(open_axes):
            return Refined(tree.cut(cuts), cell, point, cuts, capped)
        if size >= MAX_CELLS or len(cuts) >= deepest:
            return Refined(tree.cut(cuts), cell, box.domain.exact(target), cuts, capped=True)
        axis = int(open_axes[0]) if len(open_axes) == 1 else bound.axis_to_cut(x, point, open_axes)
        cell, size = _cut(cuts, cell, size, box, axis, x)
        centroid[axis] = box.middle(axis)


def _of_mixtures(
    box: Box, feasible: Feasible, target: Array, bound: Bound, aim: float, taken: Callable[[Array], bool]
) -> Array:
    """Return the point, (d,), that represents a cell: the first free one whose bound is large enough, or the last one
    if there is none."""
    point = target
    for point in representatives(box.domain, feasible, box.ends(), target):
        if bound.value(point) >= aim and not taken(point):
            break
    return point


def cells_changed(found: Refined) -> tuple[Tree, str, Cells]:
    """Return the tree, the key of the chosen cell, and the changed cells with their statuses: those that were cut or
    created, and the chosen one if it was pruned."""
    tree, cells = found.tree, {}
    key = tree.key(found.cuts[0].cell if found.cuts else found.cell)
    if tree.axis[found.cell] == PRUNED:  # the search contradicts the pruning, so the chosen cell becomes a leaf again
        tree, cells[key] = tree.mark(np.array([found.cell]), LEAF), "leaf"
    entered = [*(cut.cell for cut in found.cuts), found.cell][1:]
    for cut, child in zip(found.cuts, entered, strict=True):
        names = [f"{key}.{part_name(cut.axis, part)}" for part in range(cut.parts)]
        cells[key] = "expanded"
        cells.update(dict.fromkeys(names, "leaf"))
        key = names[tree.part[child]]
    return tree, key, cells


def _cut(cuts: list[Cut], cell: int, size: int, box: Box, axis: int, x: Array) -> tuple[int, int]:
    """Cut a cell of a tree along an axis, and narrow the box to the part that contains x, (d,). Return that cell, and
    the new size of the tree."""
    part, parts = box.part_of(axis, x[axis]), box.parts(axis)
    cuts.append(Cut(cell, axis, parts))
    box.narrow(axis, part)
    return size + part, size + parts


def _splittable_axes(x: Array, centroid: Array, box: Box, near: float = NEAR) -> Bools:
    """Return the axes, (d,), along which the target differs from the centroid and the cell can be cut."""
    found: Bools = (np.abs(x - centroid) > near * box.width()) & box.can_be_cut()
    return found
