"""What was measured: the results of a study, in log order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Record:
    """All results that count, T of them."""

    positions: Array
    """(T, d) in the unit cube."""
    values: Array
    """(T,) in the engine's sign (larger is better)."""
    errors: Array
    """(T,) standard errors of the results, in the user's units; 0 where none is known."""

    @property
    def size(self) -> int:
        """T."""
        return len(self.values)

    def add(self, position: Array, value: float, error: float) -> Record:
        """With one more result."""
        return Record(
            np.concatenate([self.positions, position[None]]),
            np.append(self.values, value),
            np.append(self.errors, error),
        )

    def first_rows(self) -> Ints:
        """For each distinct point, in order of first observation, its first row."""
        _, first = np.unique(self.positions, axis=0, return_index=True)
        return np.sort(first)


def empty(dimension: int) -> Record:
    """No results, in d dimensions."""
    return Record(np.zeros((0, dimension)), np.zeros(0), np.zeros(0))


def holds(positions: Array, position: Array) -> bool:
    """Whether a point, (d,), is among others, (k, d): bit for bit, as a position is a function of the parameters."""
    candidates = positions[positions[:, 0] == position[0]]
    return bool((candidates == position).all(axis=1).any())
