"""A parameter at many positions, and over many boxes, as constraints ask for it: its numbers, and which choices."""

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
    """An axis at positions: a ``Column``."""

    axis: Axis
    positions: Array
    """(k,)"""

    @cached_property
    def numbers(self) -> Array:
        """(k,) of an axis of numbers."""
        return magnitudes(self.axis, self.positions)

    def among(self, values: Sequence[Value]) -> Bools:
        """(k,) where it has one of some values."""
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
    """An axis over boxes: an ``Extent``."""

    axis: Axis
    lows: Array
    highs: Array
    """(k,) each: the ends of the boxes."""

    @cached_property
    def hull(self) -> tuple[Array, Array]:
        """(k,) each: the least and the largest number, of an axis of numbers."""
        return hull(self.axis, self.lows, self.highs)

    def among(self, values: Sequence[Value]) -> tuple[Bools, Bools]:
        """(k,) each: whether one of some values is in a box, and whether no other is."""
        indices, (first, last) = np.unique(_indices(self.axis, values)), self._bins
        count = np.searchsorted(indices, last, side="right") - np.searchsorted(indices, first, side="left")
        return count > 0, count == last - first + 1

    @cached_property
    def _bins(self) -> tuple[Ints, Ints]:
        assert not isinstance(self.axis, FloatAxis), "real numbers are not compared with values"
        return bins_between(self.axis, self.lows, self.highs)


def axis_of_one(parameter: Fixed) -> ChoiceAxis:
    """A parameter that does not vary, as an axis."""
    return ChoiceAxis(parameter.name, (parameter.value,))


def index_of(axis: DiscreteAxis, value: object) -> int | None:
    """The index of a value; None if it is none of the axis's."""
    if axis.problem(value) is not None:
        return None
    index = axis.bin(axis.encode(value))
    return index if identity(axis.value(index)) == identity(value) else None


def _indices(axis: Axis, values: Sequence[Value]) -> list[int]:
    """Those of some values that the axis has."""
    assert not isinstance(axis, FloatAxis), "real numbers are not compared with values"
    return [index for value in values if (index := index_of(axis, value)) is not None]
