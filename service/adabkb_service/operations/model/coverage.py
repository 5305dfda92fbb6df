"""Which combinations of two parameters the constraints and mixtures of a study exclude, for the chart of what was
tried."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import Axis, FloatAxis, IntAxis, StepAxis
from adabkb_service.engine.catalogue import CatalogueAxis
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from adabkb_service.errors import FieldError, Invalid, shown

Array = NDArray[np.float64]

MAX_COMBINATIONS = 10_000
"""The maximum number of combinations. ``coverage.js`` asks for no more."""
INSET = 1e-6
"""The share of a part, or of a step, that is left out at its edges."""


def excluded(space: Space, names: Sequence[str], edges: Sequence[Sequence[float]]) -> list[bool]:
    """Return, for each combination of a part of one parameter and a part of another, whether it provably has no
    feasible point, whatever the values of the other parameters. The parts of the second parameter vary fastest.

    Args:
        space: the space of the study.
        names: the two parameters.
        edges: for each of them, the edges of its parts in increasing order; empty if each of its values is a part.

    Raises:
        Invalid: a parameter does not vary or is a catalogue, its edges are missing or not needed, or there are too many
            combinations.
    """
    places = [_place(space, name) for name in names]
    parts = [_parts(space.axes[place], inner) for place, inner in zip(places, edges, strict=True)]
    count = len(parts[0]) * len(parts[1])
    if count > MAX_COMBINATIONS:
        raise _invalid("parameter", f"has {count} combinations; at most {MAX_COMBINATIONS} are allowed")
    feasible = Slice(space, {}).feasible
    if feasible is None:
        return [False] * count
    lows, highs = np.zeros((count, space.dimension)), np.ones((count, space.dimension))
    repeated = [np.repeat(parts[0], len(parts[1]), axis=0), np.tile(parts[1], (len(parts[0]), 1))]
    for place, ends in zip(places, repeated, strict=True):
        lows[:, place], highs[:, place] = ends.T
    return [not may for may in feasible.may_hold(lows, highs).tolist()]


def _place(space: Space, name: str) -> int:
    for place, axis in enumerate(space.axes):
        if axis.name == name and not isinstance(axis, CatalogueAxis):
            return place
    raise _invalid("parameter", f"is {shown(name)}, which is not a parameter that varies, or is a catalogue")


def _parts(axis: Axis, edges: Sequence[float]) -> Array:
    """Return the positions of the ends of each part of an axis, (n, 2)."""
    if isinstance(axis, FloatAxis | StepAxis | IntAxis):
        if len(edges) < 2:
            raise _invalid("edges", f"must be at least two numbers for {shown(axis.name)}")
        return np.array([_part(axis, *ends) for ends in pairwise(edges)])
    if edges:
        raise _invalid("edges", f"must be empty for {shown(axis.name)}, each of whose values is a part")
    values = [axis.encode(axis.value(index)) for index in range(axis.count)]
    return np.stack([values, values], axis=1)


def _part(axis: FloatAxis | StepAxis | IntAxis, first: float, last: float) -> tuple[float, float]:
    """Return the positions of the least and the largest value in a part. The edge between two parts of a real interval
    is in neither of them. On other axes, a value at the upper edge belongs to the next part."""
    if isinstance(axis, FloatAxis):
        low, high = (1.0 if edge >= axis.high else axis.encode(max(edge, axis.low)) for edge in (first, last))
        inset = INSET * (high - low)
        return low + inset * (low > 0.0), high - inset * (high < 1.0)
    least, most = (math.ceil((edge - axis.low) / axis.step - INSET) for edge in (first, last))
    least = min(max(least, 0), axis.count - 1)
    return axis.encode(axis.value(least)), axis.encode(axis.value(min(max(most - 1, least), axis.count - 1)))


def _invalid(field: str, detail: str) -> Invalid:
    return Invalid([FieldError(f"?{field}", detail, "invalid_parameter")])
