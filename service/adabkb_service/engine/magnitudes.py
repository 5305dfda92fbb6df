"""Positions on an axis as numbers in the user's units, vectorized.

The numbers equal the results of ``decode``: exactly on an axis with at most ``LISTED`` values, otherwise up to
rounding.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import Axis, ChoiceAxis, DiscreteAxis, FloatAxis, IntAxis, StepAxis
from adabkb_service.engine.space import Fixed

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

QUARTER = 0.25
LISTED = 4096
"""The values of a discrete axis are listed in an array if there are at most this many."""


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
    """The numbers, (k,), at positions (k,) of a numeric axis."""
    if isinstance(axis, FloatAxis):
        low, high = axis.raw_bounds
        raw = low * (1.0 - positions) + high * positions
        value: Array = np.clip(np.exp(raw) if axis.scale == "log" else raw, axis.low, axis.high)
        return value
    indices = bins(axis, positions)
    if axis.count <= LISTED:
        found: Array = _numbers(axis)[indices]
        return found
    assert isinstance(axis, IntAxis | StepAxis), "choices are listed"
    spaced: Array = np.minimum(axis.low + indices * float(axis.step), axis.high)
    return spaced


def hull(axis: Axis, lows: Array, highs: Array) -> tuple[Array, Array]:
    """The smallest and the largest number, (k,) each, between positions ``lows`` and ``highs`` of an axis, (k,)
    each."""
    if not isinstance(axis, ChoiceAxis):
        return magnitudes(axis, lows), magnitudes(axis, highs)
    numbers = _numbers(axis)
    parts = [numbers[i : j + 1] for i, j in zip(bins(axis, lows), bins(axis, highs), strict=True)]
    return np.array([part.min() for part in parts]), np.array([part.max() for part in parts])


def moved_to_values(axis: Axis, positions: Array) -> Array:
    """Positions (k,), moved to the positions of the values whose bins contain them; unchanged if the axis has more
    than ``LISTED`` values."""
    if isinstance(axis, FloatAxis) or axis.count > LISTED:
        return positions
    found: Array = _positions(axis)[bins(axis, positions)]
    return found


def bins(axis: DiscreteAxis, positions: Array) -> Ints:
    """(k,) bins at positions (k,): a vectorized ``bin`` of the axis."""
    return _clipped(axis, np.floor(_widths(axis, positions)))


def bins_between(axis: DiscreteAxis, lows: Array, highs: Array) -> tuple[Ints, Ints]:
    """(k,) each: the first and the last bin whose values may lie between positions ``lows`` and ``highs``, (k,) each.
    Values lie in the middle of their bins, so an interval that covers less than a ``QUARTER`` of a bin at its end does
    not contain the bin's value. For each interval, there is at least one bin."""
    first = _clipped(axis, np.floor(_widths(axis, lows) + QUARTER))
    return first, np.maximum(first, _clipped(axis, np.ceil(_widths(axis, highs) - QUARTER) - 1.0))


def beginning(axis: DiscreteAxis, indices: Ints) -> Array:
    """(k,) positions at which bins (k,) begin."""
    if not isinstance(axis, IntAxis):
        return indices / axis.count
    low, high = axis.raw_bounds
    edges = np.maximum(axis.low + (indices - 0.5) * axis.step, np.exp(low) if axis.scale == "log" else low)
    found: Array = ((np.log(edges) if axis.scale == "log" else edges) - low) / (high - low)
    return found


def _widths(axis: DiscreteAxis, positions: Array) -> Array:
    """(k,) number of bins below positions (k,), with fractions."""
    if not isinstance(axis, IntAxis):
        return positions * axis.count
    low, high = axis.raw_bounds
    raw = low * (1.0 - positions) + high * positions
    found: Array = ((np.exp(raw) if axis.scale == "log" else raw) - axis.low) / axis.step + 0.5
    return found


def _clipped(axis: DiscreteAxis, indices: Array) -> Ints:
    return np.clip(indices, 0, axis.count - 1).astype(np.int64)


@lru_cache(256)
def _numbers(axis: DiscreteAxis) -> Array:
    return np.array([axis.value(index) for index in range(axis.count)], dtype=np.float64)


@lru_cache(256)
def _positions(axis: DiscreteAxis) -> Array:
    return np.array([axis.encode(axis.value(index)) for index in range(axis.count)])
