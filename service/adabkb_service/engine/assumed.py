"""The values that the next points are assumed to have of context parameters that are measured with the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import median_low
from typing import Any

from adabkb_service.engine.axes import Axis, ChoiceAxis, canonical, identity

LATEST = 100
"""The number of latest results that determine the assumed values, so that these follow a drift."""


def assumed(axes: Iterable[Axis], names: Collection[str], points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Name -> value that the next points are assumed to have: the median of the latest results or, for unordered
    choices, their most frequent value, the latest of equally frequent ones. Without results, the middle of the range.

    Args:
        axes: the axes of the space.
        names: the parameters that are measured with the result.
        points: the points of the ``LATEST`` results, from latest to earliest. They may lack some of the parameters.
    """
    known = {name: [point[name] for point in points if name in point] for name in names}
    return {axis.name: _typical(axis, known[axis.name]) for axis in axes if axis.name in known}


def _typical(axis: Axis, values: Sequence[Any]) -> Any:
    """The typical one of some values of an axis, which are ordered from latest to earliest, as an allowed value; the
    middle of the range if there are none."""
    if not values:
        return canonical(axis, axis.decode(0.5))
    if isinstance(axis, ChoiceAxis) and not axis.ordered:
        ((found, _),) = Counter(map(identity, values)).most_common(1)
        return canonical(axis, next(value for value in values if identity(value) == found))
    return canonical(axis, axis.decode(median_low(map(axis.encode, values))))
