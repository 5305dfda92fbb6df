"""Positions on an axis as numbers in the user's units, many at once.

They are what ``decode`` gives, up to its rounding: the values of a listed axis exactly, others within 1e-12 of the
range.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import Axis, ChoiceAxis, DiscreteAxis, FloatAxis, IntAxis, StepAxis
from adabkb_service.engine.space import Fixed

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

LISTED = 4096
"""Values of a discrete axis up to which they are listed."""


def is_numeric(parameter: Axis | Fixed) -> bool:
    """Whether all values of a parameter are numbers."""
    match parameter:
        case ChoiceAxis(choices=choices):
            return all(isinstance(each, int | float) and not isinstance(each, bool) for each in choices)
        case Fixed(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case _:
            return True


def magnitudes(axis: Axis, positions: Array) -> Array:
    """The numbers at positions (k,) of an axis of numbers, (k,)."""
    if isinstance(axis, FloatAxis):
        low, high = axis.raw_bounds
        raw = low * (1.0 - positions) + high * positions
        value: Array = np.clip(np.exp(raw) if axis.scale == "log" else raw, axis.low, axis.high)
        return value
    bins = _bins(axis, positions)
    if axis.count <= LISTED:
        found: Array = _numbers(axis)[bins]
        return found
    assert isinstance(axis, IntAxis | StepAxis), "choices are listed"
    spaced: Array = np.minimum(axis.low + bins * float(axis.step), axis.high)
    return spaced


def hull(axis: Axis, lows: Array, highs: Array) -> tuple[Array, Array]:
    """The least and the largest number between positions (k,) and (k,) of an axis, (k,) each."""
    if not isinstance(axis, ChoiceAxis):
        return magnitudes(axis, lows), magnitudes(axis, highs)
    numbers = _numbers(axis)
    parts = [numbers[i : j + 1] for i, j in zip(_bins(axis, lows), _bins(axis, highs), strict=True)]
    return np.array([part.min() for part in parts]), np.array([part.max() for part in parts])


def settled(axis: Axis, positions: Array) -> Array:
    """Positions (k,) moved to those of the values in whose bins they are, if the axis is listed."""
    if isinstance(axis, FloatAxis) or axis.count > LISTED:
        return positions
    found: Array = _positions(axis)[_bins(axis, positions)]
    return found


def _bins(axis: DiscreteAxis, positions: Array) -> Ints:
    """As ``bin`` of the axis."""
    if isinstance(axis, IntAxis):
        low, high = axis.raw_bounds
        raw = low * (1.0 - positions) + high * positions
        found = np.floor(((np.exp(raw) if axis.scale == "log" else raw) - axis.low) / axis.step + 0.5)
    else:
        found = np.floor(positions * axis.count)
    return np.clip(found, 0, axis.count - 1).astype(np.int64)


@lru_cache(256)
def _numbers(axis: DiscreteAxis) -> Array:
    return np.array([axis.value(index) for index in range(axis.count)], dtype=np.float64)


@lru_cache(256)
def _positions(axis: DiscreteAxis) -> Array:
    return np.array([axis.encode(axis.value(index)) for index in range(axis.count)])
