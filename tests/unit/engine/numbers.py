"""Plain numbers in the form that constraints use, for parameters without an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Numbers:
    """A number at many points: a ``Column``."""

    numbers: Array

    def among(self, values: Sequence[Any]) -> Bools:
        return np.isin(self.numbers, list(values))


@dataclass(frozen=True)
class Bounds:
    """A number over many boxes: an ``Extent``."""

    hull: tuple[Array, Array]

    def among(self, values: Sequence[Any]) -> tuple[Bools, Bools]:
        low, high = self.hull
        may = np.any([(low <= value) & (value <= high) for value in values], axis=0)
        return may, may & (low == high)
