"""The values of a parameter at many positions or over many boxes, for constraints: as numbers, and compared with a set
of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import Axis, ChoiceAxis, DiscreteAxis, FloatAxis, Value, identity
from adabkb_service.engine.magnitudes import bins, bins_between, hull, magnitudes
from adabkb_service.engine.space import Fixed

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AxisColumn:
    """The values of an axis at positions. Implements ``Column``."""

    axis: Axis
    positions: Array
    """(k,)"""

    @cached_property
    def numbers(self) -> Array:
        """(k,) numbers of a numeric axis."""
        return magnitudes(self.axis, self.positions)

    def among(self, values: Sequence[Value]) -> Bools:
        """(k,) whether the value is one of ``values``."""
        found = np.zeros(len(self.positions), dtype=np.bool_)
        for index in _indices(self.axis, values):
            found |= self._bins == index
        return found

    @cached_property
    def _bins(self) -> Ints:
        assert not isinstance(self.axis, FloatAxis), "real numbers are not compared with values"
        return bins(self.axis, self.positions)


@dataclass(frozen=True, eq=False)
class AxisExtent:
    """The values that an axis has within boxes. Implements ``Extent``."""

    axis: Axis
    lows: Array
    highs: Array
    """(k,) each: the ends of the boxes along the axis."""

    @cached_property
    def hull(self) -> tuple[Array, Array]:
        """(k,) each: the smallest and the largest number of a numeric axis."""
        return hull(self.axis, self.lows, self.highs)

    def among(self, values: Sequence[Value]) -> tuple[Bools, Bools]:
        """(k,) each: whether the box contains any of ``values``, and whether it contains no other value."""
        indices, (first, last) = np.unique(_indices(self.axis, values)), self._bins
        count = np.searchsorted(indices, last, side="right") - np.searchsorted(indices, first, side="left")
        return count > 0, count == last - first + 1

    @cached_property
    def _bins(self) -> tuple[Ints, Ints]:
        assert not isinstance(self.axis, FloatAxis), "real numbers are not compared with values"
        return bins_between(self.axis, self.lows, self.highs)


def axis_of_one(parameter: Fixed) -> ChoiceAxis:
    """A constant parameter as an axis with one value."""
    return ChoiceAxis(parameter.name, (parameter.value,))


def index_of(axis: DiscreteAxis, value: object) -> int | None:
    """The index of a value; None if the axis does not have it."""
    if axis.problem(value) is not None:
        return None
    index = axis.bin(axis.encode(value))
    return index if identity(axis.value(index)) == identity(value) else None


def _indices(axis: Axis, values: Sequence[Value]) -> list[int]:
    """Indices of those of the values that the axis has."""
    assert not isinstance(axis, FloatAxis), "real numbers are not compared with values"
    return [index for value in values if (index := index_of(axis, value)) is not None]
