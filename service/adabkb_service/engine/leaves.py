"""The leaf set, and the cells that its index needs: the leaves' parents.

C    live cells: the leaves and their parents (expanded earlier, or pruned: gone from memory, kept as rows)
L    leaves
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.cells import ROOT, depth_of, path_of
from adabkb_service.engine.grid import Grid

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Two values that differ by less than this, relative to the largest, are equal: rounding decides nothing.
TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Leaves:
    """Live cells in order of creation, and which of them are leaves."""

    keys: NDArray[np.object_]
    """(C,) path keys."""
    low: Grid
    high: Grid
    """(C, d) corners in the unit cube."""
    depth: Ints
    """(C,) h."""
    parent: Ints
    """(C,) position of the parent in these arrays; -1 for the root and for cells whose children are no leaves."""
    point: Ints
    """(C,) id of the centroid's point."""
    variation: Array
    """(C,) V_h."""
    leaves: Ints
    """(L,) positions of the leaves in these arrays."""

    @property
    def count(self) -> int:
        """L."""
        return len(self.leaves)

    def replace_by_children(
        self, leaf: int, keys: list[str], lows: Array, highs: Array, points: Ints, variation: Array
    ) -> Leaves:
        """Expand a cell: take it out of the leaf set and put its children in.

        Args:
            leaf: position of the cell.
            keys, lows (N, d), highs (N, d), points (N,), variation (N,): the children.
        """
        first, count = len(self.keys), len(keys)
        names = np.empty(count, dtype=object)
        names[:] = keys
        return Leaves(
            keys=np.concatenate([self.keys, names]),
            low=self.low.append_rows(lows),
            high=self.high.append_rows(highs),
            depth=np.concatenate([self.depth, np.full(count, self.depth[leaf] + 1)]),
            parent=np.concatenate([self.parent, np.full(count, leaf)]),
            point=np.concatenate([self.point, points]),
            variation=np.concatenate([self.variation, variation]),
            leaves=np.concatenate([self.leaves[self.leaves != leaf], np.arange(first, first + count)]),
        )

    def without(self, pruned: Bools) -> Leaves:
        """With these leaves, a mask of shape (L,), pruned."""
        return replace(self, leaves=self.leaves[~pruned])

    def holding(self, position: Array) -> Bools:
        """Which leaves' boxes hold a cube position, (d,); mask of shape (L,). On an edge, both sides do."""
        low, high = self.low.array[self.leaves], self.high.array[self.leaves]
        mask: Bools = np.all((low <= position) & (position <= high), axis=1)
        return mask

    def first_of(self, candidates: Ints) -> int:
        """The stated order of equal leaves: coarser first, then by path. Positions (k,) -> one of them."""
        if len(candidates) == 1:
            return int(candidates[0])
        shallow = candidates[self.depth[candidates] == self.depth[candidates].min()]
        return int(min(shallow, key=lambda cell: path_of(str(self.keys[cell]))))

    def live(self) -> Ints:
        """Positions, ascending, of the leaves and their parents."""
        parents = self.parent[self.leaves]
        return np.union1d(self.leaves, parents[parents >= 0])

    def keep(self, live: Ints, new_point_ids: Ints) -> Leaves:
        """Only these cells (from ``live``), with points renumbered: ``new_point_ids[old id]``."""
        renumbered = np.full(len(self.keys) + 1, -1, dtype=np.int64)
        renumbered[live] = np.arange(len(live))
        return Leaves(
            keys=self.keys[live],
            low=Grid(self.low.array[live]),
            high=Grid(self.high.array[live]),
            depth=self.depth[live],
            parent=renumbered[self.parent[live]],
            point=new_point_ids[self.point[live]],
            variation=self.variation[live],
            leaves=renumbered[self.leaves],
        )


def single_cell(key: str, low: Array, high: Array, point: int, variation: Array) -> Leaves:
    """A leaf set of one cell with corners (d,) and V_h of shape (1,); the root, as a rule."""
    name = np.empty(1, dtype=object)
    name[0] = key
    return Leaves(
        keys=name,
        low=Grid(low[None]),
        high=Grid(high[None]),
        depth=np.array([depth_of(key)]),
        parent=np.array([-1]),
        point=np.array([point]),
        variation=variation,
        leaves=np.array([0]),
    )


def root(dimension: int, point: int, variation: Array) -> Leaves:
    """L_0 = {x_{0,1}}: the whole cube."""
    return single_cell(ROOT, np.zeros(dimension), np.ones(dimension), point, variation)
