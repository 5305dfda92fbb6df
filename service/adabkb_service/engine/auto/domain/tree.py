"""The partition tree of the ``auto`` profile: cells are products of intervals and of runs of values.

A cell's key is its path from the root "0". Each component names the axis of a cut and the part: "0.3-1" is the second
part of the root cut along its fourth axis. Real intervals, integers and ordinal values are halved. A categorical axis
is cut into its choices or, if there are many, into groups first (``choices``). A cell is not cut along an axis on which
it has only one value. This includes axes that are inactive in the whole cell (``conditions``). Boxes are computed on
the path from the root, so the tree itself stores only a few numbers per cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.domain import choices
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.cells import ROOT

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int32]

LEAF = -1
PRUNED = -2
INFEASIBLE = -3
"""Marks a cell that is proved to have no feasible point: pruned permanently."""
# Intervals are not cut below this width: the grid of a real parameter is about 1e-12 of its range.
NARROWEST = 1e-9


@dataclass(frozen=True, slots=True)
class Box:
    """The extent of a cell: along a real axis an interval of the cube, along a discrete one indices [low, high)."""

    domain: Domain
    low: Array
    high: Array
    """(d,) each."""

    def centroid(self) -> Array:
        """Return the point, (d,), that represents the cell: the middle, or the value nearest to it."""
        middle = np.array([self.middle(axis) for axis in range(len(self.low))])
        centroid: Array = self.domain.space.with_inactive_at_rest(middle[None])[0]
        return centroid

    def middle(self, axis: int) -> float:
        """Return one coordinate of the centroid."""
        if self.domain.sizes[axis] is not None:
            return self.domain.exact_along(axis, self.domain.position(axis, self._middle(axis)))
        return self.domain.exact_along(axis, float(self.low[axis] + self.high[axis]) / 2.0)

    def width(self) -> Array:
        """Return the width in the cube, (d,); 0 along axes with one value."""
        width = self.high - self.low
        for axis in self.domain.discrete:
            last = self.domain.position(axis, int(self.high[axis]) - 1)
            width[axis] = last - self.domain.position(axis, int(self.low[axis]))
        return width

    def ends(self) -> tuple[Array, Array]:
        """Return the lowest and highest positions, (d,) each."""
        if not self.domain.discrete:
            return self.low, self.high
        low, high = self.low.copy(), self.high.copy()
        for axis in self.domain.discrete:
            low[axis] = self.domain.position(axis, int(self.low[axis]))
            high[axis] = self.domain.position(axis, int(self.high[axis]) - 1)
        return low, high

    def can_be_cut(self) -> Bools:
        """Return whether the cell has more than one value along each axis, (d,)."""
        smallest = np.where([size is None for size in self.domain.sizes], NARROWEST, 1.0)
        found: Bools = self.high - self.low > smallest
        return found

    def parts(self, axis: int) -> int:
        """Return the number of parts of a cut along an axis."""
        if not self.domain.categorical[axis]:
            return 2
        return choices.parts(int(self.high[axis] - self.low[axis]))

    def part(self, axis: int, index: int) -> Box:
        """Return one of the parts of a cut."""
        part = Box(self.domain, self.low.copy(), self.high.copy())
        part.narrow(axis, index)
        return part

    def narrow(self, axis: int, index: int) -> None:
        """Reduce this box to one of the parts of a cut, in place."""
        low, high = self.low, self.high
        if self.domain.categorical[axis]:
            size = choices.together(int(high[axis] - low[axis]))
            low[axis] += index * size
            high[axis] = min(low[axis] + size, high[axis])
        elif index == 0:
            high[axis] = self._cut(axis)
        else:
            low[axis] = self._cut(axis)
        for other, allowed in self.domain.activity.dependents.get(axis, ()):
            if not allowed[int(low[axis]) : int(high[axis])].any():
                self._rest(other)

    def undecided(self) -> int | None:
        """Return the first axis to cut so that choices and active axes are the same in the whole cell; None if they are
        already.

        Parents come first. In a cell with several choices, the centroid has only one of them, and its result would say
        little about the others.
        """
        for needs in self.domain.activity.conditional.values():
            found = [(axis, allowed[int(self.low[axis]) : int(self.high[axis])]) for axis, allowed in needs]
            if all(allowed.any() for _, allowed in found):
                for axis, allowed in found:
                    if not allowed.all():
                        return axis
        several = np.flatnonzero(self.domain.categorical & (self.high - self.low > 1.0))
        return int(several[0]) if len(several) else None

    def part_of(self, axis: int, position: float) -> int:
        """Return the part of a cut that contains a position along the axis."""
        where = position if self.domain.sizes[axis] is None else self.domain.index(axis, position)
        if self.domain.categorical[axis]:
            return int(where - self.low[axis]) // choices.together(int(self.high[axis] - self.low[axis]))
        return int(where >= self._cut(axis))

    def _cut(self, axis: int) -> float:
        if self.domain.sizes[axis] is None:
            return float(self.low[axis] + self.high[axis]) / 2.0
        return float(min(self._middle(axis) + 1, int(self.high[axis]) - 1))

    def _rest(self, axis: int) -> None:
        """Reduce this box, along an axis that is inactive in the whole cell, to its rest position (``conditions``)."""
        at = float(self.domain.activity.rest[axis])
        is_real = self.domain.sizes[axis] is None
        self.low[axis] = at if is_real else self.domain.index(axis, at)
        self.high[axis] = self.low[axis] + (0.0 if is_real else 1.0)

    def _middle(self, axis: int) -> int:
        """Return the index of the value nearest to the middle of a discrete axis's range."""
        low, high = int(self.low[axis]), int(self.high[axis]) - 1
        middle = (self.domain.position(axis, low) + self.domain.position(axis, high)) / 2.0
        return min(max(self.domain.index(axis, middle), low), high)


def whole(domain: Domain) -> Box:
    """Return the root's box."""
    high = np.array([1.0 if size is None else float(size) for size in domain.sizes])
    return Box(domain, np.zeros(domain.dimension), high)


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut of a cell."""

    cell: int
    axis: int
    parts: int


@dataclass(frozen=True, slots=True)
class Tree:
    """All cells in order of creation; the children of a cell are adjacent."""

    axis: Ints
    """(C,) axis along which the cell was cut; LEAF, PRUNED or INFEASIBLE without a cut."""
    first: Ints
    """(C,) index of the first child."""
    parent: Ints
    """(C,) index of the parent; -1 for the root."""
    part: Ints
    """(C,) part of the parent's cut."""
    depth: Ints
    """(C,) depth."""

    @property
    def size(self) -> int:
        """C."""
        return len(self.axis)

    @property
    def leaves(self) -> int:
        """The number of leaves: cells that are neither cut nor pruned."""
        return int((self.axis == LEAF).sum())

    def find(self, box: Box, position: Array) -> tuple[int, Box]:
        """Return the leaf that contains a position (d,), and its box, given the root's box."""
        cell, box = 0, Box(box.domain, box.low.copy(), box.high.copy())
        while (axis := int(self.axis[cell])) >= 0:
            part = box.part_of(axis, position[axis])
            cell = int(self.first[cell]) + part
            box.narrow(axis, part)
        return cell, box

    def as_of(self, size: int) -> Tree:
        """Return the tree as it was with ``size`` cells: later cuts are undone, but cells remain marked as pruned."""
        if size == self.size:
            return self
        axis, first, parent, part, depth = (
            column[:size] for column in (self.axis, self.first, self.parent, self.part, self.depth)
        )
        return Tree(np.where(first < size, axis, LEAF).astype(np.int32), first, parent, part, depth)

    def cut(self, cuts: Sequence[Cut]) -> Tree:
        """Return the tree with leaves cut, one after the other; their children are leaves, appended in order of the
        cuts."""
        added = sum(cut.parts for cut in cuts)
        axis, first, parent, part, depth = (
            np.concatenate([old, np.full(added, LEAF, dtype=np.int32)])
            for old in (self.axis, self.first, self.parent, self.part, self.depth)
        )
        size = self.size
        for cut in cuts:
            axis[cut.cell], first[cut.cell] = cut.axis, size
            children = slice(size, size + cut.parts)
            parent[children], part[children] = cut.cell, np.arange(cut.parts)
            depth[children] = depth[cut.cell] + 1
            size += cut.parts
        return Tree(axis, first, parent, part, depth)

    def mark(self, cells: Ints, mark: int) -> Tree:
        """Return the tree with leaves marked LEAF, PRUNED or INFEASIBLE."""
        axis = self.axis.copy()
        axis[cells] = mark
        return replace(self, axis=axis)

    def cell(self, key: str) -> int:
        """Return the cell with this key."""
        cell = 0
        for name in key.split(".")[1:]:
            cell = int(self.first[cell]) + int(name.partition("-")[2])
        return cell

    def key(self, cell: int) -> str:
        """Return the key of a cell."""
        names = []
        while cell:
            parent = int(self.parent[cell])
            names.append(part_name(int(self.axis[parent]), int(self.part[cell])))
            cell = parent
        return ".".join([ROOT, *reversed(names)])


def part_name(axis: int, part: int) -> str:
    """Return a component of a key."""
    return f"{axis}-{part}"


def root() -> Tree:
    """Return the tree with a single leaf, the whole box."""
    zero, none = np.zeros(1, dtype=np.int32), np.full(1, LEAF, dtype=np.int32)
    return Tree(none, none, none, zero, zero)


def box_of(domain: Domain, key: str) -> Box:
    """Return the box of the cell with this key."""
    box = whole(domain)
    for name in key.split(".")[1:]:
        axis, part = map(int, name.split("-"))
        box.narrow(axis, part)
    return box


def grown(cells: Mapping[str, str]) -> Tree:
    """Return the tree with these cells, key -> "leaf" | "expanded" | "pruned", in order of creation. Without cells,
    return a new tree."""
    if not cells:
        return root()
    positions = {key: position for position, key in enumerate(cells)}
    size = len(cells)
    axis, first, parent, part, depth = (np.full(size, LEAF, dtype=np.int32) for _ in range(5))
    part[0] = depth[0] = 0
    for key, position in positions.items():
        if cells[key] == "pruned":
            axis[position] = PRUNED
        if position:
            above, _, name = key.rpartition(".")
            along, _, index = name.partition("-")
            parent[position], part[position] = positions[above], int(index)
            depth[position] = depth[parent[position]] + 1
            axis[parent[position]] = int(along)
            if part[position] == 0:
                first[parent[position]] = position
    return Tree(axis, first, parent, part, depth)
