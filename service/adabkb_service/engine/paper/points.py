"""The points the engine knows: centroids of live cells, and everything that was evaluated.

    P    number of points, in the order in which they became known (an id is a position in that order)
    E    number of evaluated points; their *ordinal* 0..E-1 is the order of first observation
    T    number of observations

Repeats of a point are one row with a count (the paper's arms). A point's identity is its id; coordinates are
compared only when a position comes from outside (a result, a pending trial), and then bit for bit, because a
position is a function of the parameters (see ``space``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.paper.growable import GrowableMatrix

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Points:
    """Positions, pull counts and results of all known points."""

    positions: GrowableMatrix
    """(P, d) in the unit cube."""
    scaled: GrowableMatrix
    """(P, d) the same in the kernel's metric: model coordinates divided by the lengthscales."""
    counts: Array
    """(P,) how often each point was observed."""
    evaluated: Ints
    """(E,) id of each ordinal."""
    observed: Ints
    """(T,) ordinal of each observation, in log order."""
    values: Array
    """(T,) results, in log order, in the engine's sign (larger is better)."""

    @property
    def size(self) -> int:
        """P."""
        return len(self.counts)

    def find(self, position: Array) -> int | None:
        """The id of the point at exactly this position, (d,), or None."""
        positions = self.positions.array
        candidates = np.flatnonzero(positions[:, 0] == position[0])
        if len(candidates):
            same = candidates[(positions[candidates] == position).all(axis=1)]
            if len(same):
                return int(same[0])
        return None

    def add(self, positions: Array, scaled: Array) -> Points:
        """With k new points, (k, d) each; their ids follow on."""
        return replace(
            self,
            positions=self.positions.append_rows(positions),
            scaled=self.scaled.append_rows(scaled),
            counts=np.concatenate([self.counts, np.zeros(len(positions))]),
        )

    def observe(self, point: int, value: float) -> Points:
        """With one more result at a known point."""
        counts = self.counts.copy()
        counts[point] += 1.0
        evaluated = self.evaluated
        if counts[point] == 1.0:
            evaluated = np.append(evaluated, point)
            ordinal = len(evaluated) - 1
        else:
            ordinal = int(np.flatnonzero(evaluated == point)[0])
        return replace(
            self,
            counts=counts,
            evaluated=evaluated,
            observed=np.append(self.observed, ordinal),
            values=np.append(self.values, value),
        )

    def keep(self, ids: Ints) -> Points:
        """Only these points, renumbered in this order; must include every evaluated one."""
        renumbered = np.full(self.size, -1, dtype=np.int64)
        renumbered[ids] = np.arange(len(ids))
        return replace(
            self,
            positions=GrowableMatrix(self.positions.array[ids]),
            scaled=GrowableMatrix(self.scaled.array[ids]),
            counts=self.counts[ids],
            evaluated=renumbered[self.evaluated],
        )


def none_yet(dimension: int) -> Points:
    """No points, in d dimensions."""
    no_ids = np.zeros(0, dtype=np.int64)
    empty = np.zeros((0, dimension))
    return Points(GrowableMatrix(empty), GrowableMatrix(empty), np.zeros(0), no_ids, no_ids, np.zeros(0))
