"""The points known to the engine: centroids of live cells, and all evaluated points.

    P    number of points. A point's id, 0..P-1, is its place in the order in which points became known.
    E    number of evaluated points. A point's ordinal, 0..E-1, is its place in the order of first observation.
    T    number of observations

A point observed repeatedly is one row with a count (an arm, in the paper). Points are identified by their ids. Only
external positions (of results and pending trials) are compared, bit for bit, because a position is a function of the
parameters (see ``space``).
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
    """Positions, counts and results of all known points."""

    positions: GrowableMatrix
    """(P, d) positions in the unit cube."""
    scaled: GrowableMatrix
    """(P, d) the same positions in scaled coordinates: model coordinates divided by the lengthscales."""
    counts: Array
    """(P,) number of observations of each point."""
    evaluated: Ints
    """(E,) id of the point with each ordinal."""
    observed: Ints
    """(T,) ordinal of each observation, in log order."""
    values: Array
    """(T,) results in log order, with the engine's sign: larger is better."""

    @property
    def size(self) -> int:
        """P, the number of points."""
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
        """Add k points, given both positions (k, d). Their ids are P, P + 1, ..."""
        return replace(
            self,
            positions=self.positions.append_rows(positions),
            scaled=self.scaled.append_rows(scaled),
            counts=np.concatenate([self.counts, np.zeros(len(positions))]),
        )

    def observe(self, point: int, value: float) -> Points:
        """Add a result of a known point, given its id."""
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
        """Keep only the points with these ids, renumbered in this order. They must include all evaluated points."""
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
    """No points, in ``dimension`` dimensions."""
    no_ids = np.zeros(0, dtype=np.int64)
    empty = np.zeros((0, dimension))
    return Points(GrowableMatrix(empty), GrowableMatrix(empty), np.zeros(0), no_ids, no_ids, np.zeros(0))
