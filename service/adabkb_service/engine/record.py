"""The results of a study, in log order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Record:
    """All results that count; T is their number."""

    positions: Array
    """(T, d) positions in the unit cube."""
    values: Array
    """(T,) results, with the engine's sign: larger is better."""
    errors: Array
    """(T,) standard errors of the results, in the user's units; 0 where none is known."""
    ordinals: Ints
    """(T,) the distinct point that each result is of; points are numbered 0, 1, ... in order of first observation."""

    @property
    def size(self) -> int:
        """T."""
        return len(self.values)

    @property
    def points(self) -> int:
        """Number of distinct points."""
        return int(self.ordinals.max(initial=-1)) + 1

    def add(self, position: Array, value: float, error: float) -> Record:
        """The record with one more result, at a position (d,)."""
        before = same(self.positions, position)
        ordinal = self.ordinals[before[0]] if len(before) else self.points
        return Record(
            np.concatenate([self.positions, position[None]]),
            np.append(self.values, value),
            np.append(self.errors, error),
            np.append(self.ordinals, ordinal),
        )

    def first(self, count: int) -> Record:
        """The first results, so many."""
        return Record(self.positions[:count], self.values[:count], self.errors[:count], self.ordinals[:count])

    def first_rows(self) -> Ints:
        """The row of the first result of each distinct point, by ordinal."""
        return np.unique(self.ordinals, return_index=True)[1]


def of(positions: Array, values: Array, errors: Array) -> Record:
    """The record of results in log order; positions (T, d), values (T,) and standard errors (T,)."""
    if not len(values):
        return empty(positions.shape[-1])
    _, first, inverse = np.unique(positions, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return Record(positions, values, errors, rank[inverse.ravel()])


def empty(dimension: int) -> Record:
    """The record without results, in so many dimensions."""
    return Record(np.zeros((0, dimension)), np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))


def holds(positions: Array, position: Array) -> bool:
    """Whether a position (d,) is among positions (k, d)."""
    return len(same(positions, position)) > 0


def same(positions: Array, position: Array) -> Ints:
    """The rows of positions (k, d) that equal a position (d,). They are compared bit for bit, since a position is a
    function of the parameters."""
    candidates: Ints = (positions[:, 0] == position[0]).nonzero()[0]
    if not len(candidates):
        return candidates
    rows: Ints = candidates[(positions[candidates] == position).all(axis=1)]
    return rows
