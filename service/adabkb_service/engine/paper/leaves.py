"""The leaves, and their parents, which the index needs. Fixed points are leaves without a tree.

C    number of live cells: leaves and parents of leaves. All other cells exist only in the database.
L    number of leaves
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.cells import ROOT, path_of
from adabkb_service.engine.paper.growable import GrowableMatrix

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Values that differ by less than this, relatively, count as equal, so that decisions do not depend on rounding errors.
TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Leaves:
    """Live cells in order of creation, and which of them are leaves."""

    keys: NDArray[np.object_]
    """(C,) path keys."""
    low: GrowableMatrix
    high: GrowableMatrix
    """(C, d) corners in the unit cube."""
    depth: Ints
    """(C,) h."""
    parent: Ints
    """(C,) position of the parent in these arrays; -1 for the root, and for cells whose parent is not live."""
    point: Ints
    """(C,) id of the point at the centroid."""
    variation: Array
    """(C,) V_h."""
    leaves: Ints
    """(L,) positions of the leaves in these arrays."""
    listed: bool = False
    """Whether the leaves are fixed points: cells without extent or key."""

    @property
    def count(self) -> int:
        """L, the number of leaves."""
        return len(self.leaves)

    def replace_by_children(self, leaf: int, children: Leaves) -> Leaves:
        """Expand the leaf at this position: remove it from the leaves, and add its children to them."""
        grown = joined([self, children])
        added = np.arange(len(self.keys), len(grown.keys))
        return replace(grown, leaves=np.concatenate([self.leaves[self.leaves != leaf], added]))

    def without(self, pruned: Bools) -> Leaves:
        """Prune leaves, given by a mask of shape (L,)."""
        return replace(self, leaves=self.leaves[~pruned])

    def holding(self, position: Array) -> Bools:
        """Mask (L,) of the leaves that contain a cube position (d,); both leaves contain a common edge."""
        low, high = self.low.array[self.leaves], self.high.array[self.leaves]
        mask: Bools = np.all((low <= position) & (position <= high), axis=1)
        return mask

    def first_of(self, candidates: Ints) -> int:
        """Break a tie between leaves at positions (k,): the shallowest wins, then the one with the smallest path. Among
        fixed points, the first wins."""
        if self.listed or len(candidates) == 1:
            return int(candidates.min())
        shallow = candidates[self.depth[candidates] == self.depth[candidates].min()]
        return int(min(shallow, key=lambda cell: path_of(str(self.keys[cell]))))

    def live(self) -> Ints:
        """Positions, ascending, of the leaves and their parents."""
        parents = self.parent[self.leaves]
        return np.union1d(self.leaves, parents[parents >= 0])

    def keep(self, live: Ints, new_point_ids: Ints) -> Leaves:
        """Keep only the cells of ``live``, and renumber points: an id becomes ``new_point_ids[id]``."""
        renumbered = np.full(len(self.keys) + 1, -1, dtype=np.int64)
        renumbered[live] = np.arange(len(live))
        return Leaves(
            keys=self.keys[live],
            low=GrowableMatrix(self.low.array[live]),
            high=GrowableMatrix(self.high.array[live]),
            depth=self.depth[live],
            parent=renumbered[self.parent[live]],
            point=new_point_ids[self.point[live]],
            variation=self.variation[live],
            leaves=renumbered[self.leaves],
            listed=self.listed,
        )


def cells_of_one_depth(
    keys: list[str], lows: Array, highs: Array, depth: int, parent: Ints, point: Ints, variation: Array
) -> Leaves:
    """k cells that are not leaves yet; the arrays are as in ``Leaves``, with k instead of C."""
    names = np.empty(len(keys), dtype=object)
    names[:] = keys
    none = np.zeros(0, dtype=np.int64)
    return Leaves(
        names, GrowableMatrix(lows), GrowableMatrix(highs), np.full(len(keys), depth), parent, point, variation, none
    )


def joined(parts: list[Leaves]) -> Leaves:
    """The cells of all parts in order, with the leaves of the first part. The parts' ``parent`` must refer to the
    result."""
    first, rest = parts[0], parts[1:]
    low, high = first.low, first.high
    if rest:
        low = low.append_rows(np.concatenate([part.low.array for part in rest]))
        high = high.append_rows(np.concatenate([part.high.array for part in rest]))
    return Leaves(
        keys=np.concatenate([part.keys for part in parts]),
        low=low,
        high=high,
        depth=np.concatenate([part.depth for part in parts]),
        parent=np.concatenate([part.parent for part in parts]),
        point=np.concatenate([part.point for part in parts]),
        variation=np.concatenate([part.variation for part in parts]),
        leaves=first.leaves,
    )


def root(dimension: int, point: int, variation: Array) -> Leaves:
    """The initial leaf set L_0 = {x_{0,1}}: the whole cube, with V_0 of shape (1,)."""
    corner, nothing = np.zeros((1, dimension)), np.array([-1])
    cell = cells_of_one_depth([ROOT], corner, corner + 1.0, 0, nothing, np.array([point]), variation)
    return replace(cell, leaves=np.array([0]))


def listed(positions: Array) -> Leaves:
    """Fixed points (P, d), with the ids 0, 1, ..., as leaves."""
    ids, nothing = np.arange(len(positions)), np.zeros(len(positions))
    no_keys, no_parents = np.full(len(positions), None, dtype=object), np.full(len(positions), -1)
    corners = GrowableMatrix(positions)
    return Leaves(no_keys, corners, corners, nothing.astype(np.int64), no_parents, ids, nothing, ids, listed=True)
