"""The chart of what was tried: count the results in each combination of a part of one parameter and a part of another,
and find the combinations that constraints and mixtures exclude. A part is an interval or a value."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import Axis, ChoiceAxis, FloatAxis, IntAxis, StepAxis, identity
from adabkb_service.engine.catalogue import CatalogueAxis
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from adabkb_service.errors import FieldError, Invalid, shown

Array = NDArray[np.float64]
Point = Mapping[str, Any]

MAX_COMBINATIONS = 10_000
"""The maximum number of combinations. ``coverage.js`` asks for no more."""
INSET = 1e-6
"""The share of a part of a real interval that is left out at its edges. On axes with steps, an edge this near to a
value, as a share of the step, counts as equal to it."""


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


@dataclass(frozen=True, slots=True)
class Tried:
    """A combination of parts with results or failed trials."""

    parts: tuple[int, int]
    """The position of the part of each parameter, from 0."""
    results: int
    failed: int
    low: float | None
    """The smallest result; None without results."""
    high: float | None


def tried(
    space: Space,
    names: Sequence[str],
    edges: Sequence[Sequence[float]],
    results: Iterable[tuple[Point, float]],
    failed: Iterable[Point],
) -> list[Tried]:
    """Count results and failed trials in each combination of a part of one parameter and a part of another. Points
    without a value of a parameter, or with one outside its parts, are left out.

    Args:
        space: the space of the study.
        names: the two parameters.
        edges: for each of them, the edges of its parts in increasing order; empty if each of its values is a part.
        results: the point and the value of each result.
        failed: the points of the failed trials.

    Raises:
        Invalid: a parameter does not vary or is a catalogue.
    """
    axes = [space.axes[_place(space, name)] for name in names]
    parts = [_Parts(axis, inner) for axis, inner in zip(axes, edges, strict=True)]
    values, failures = defaultdict[tuple[int, ...], list[float]](list), Counter[tuple[int, ...]]()
    for point, value in results:
        values[tuple(each.of(point) for each in parts)].append(value)
    for point in failed:
        failures[tuple(each.of(point) for each in parts)] += 1
    found = []
    for place in sorted({*values, *failures}):
        known = values.get(place, [])
        if min(place) >= 0:
            low, high = min(known, default=None), max(known, default=None)
            found.append(Tried((place[0], place[1]), len(known), failures[place], low, high))
    return found


class _Parts:
    """The parts of an axis: the intervals between edges or, without edges, its values."""

    def __init__(self, axis: Axis, edges: Sequence[float]) -> None:
        self._axis, self._edges = axis, edges
        values = [] if edges or not isinstance(axis, ChoiceAxis) else axis.choices
        self._places = {repr(identity(value)): place for place, value in enumerate(values)}

    def of(self, point: Point) -> int:
        """Return the position of the part with the value of a point; -1 if there is none. The last part contains its
        upper edge. A measured value between two ordered ones belongs to the nearer one."""
        value = point.get(self._axis.name)
        if not self._edges:
            return self._places.get(repr(identity(value)), self._between(value))
        if not isinstance(value, int | float) or not self._edges[0] <= value <= self._edges[-1]:
            return -1
        return min(bisect_right(self._edges, value), len(self._edges) - 1) - 1

    def _between(self, value: object) -> int:
        axis = self._axis
        if not isinstance(axis, ChoiceAxis) or isinstance(value, bool) or not isinstance(value, int | float):
            return -1
        ascending = axis.ascending
        if ascending is None:
            return -1
        number = value if axis.value(0) == ascending[0] else -value
        if not ascending[0] < number < ascending[-1]:
            return -1
        return math.floor(float(np.interp(number, ascending, np.arange(len(ascending)))) + 0.5)


def _place(space: Space, name: str) -> int:
    for place, axis in enumerate(space.axes):
        if axis.name == name and not isinstance(axis, CatalogueAxis):
            return place
    raise _invalid("parameter", f"is {shown(name)}, which does not exist, does not vary, or is a catalogue")


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
