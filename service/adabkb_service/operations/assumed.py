"""The values that the search assumes for context parameters that are only measured with the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from statistics import median_low
from typing import Any

from adabkb_service.contract.context import measured_of
from adabkb_service.contract.stored import definition_of
from adabkb_service.engine.axes import Axis, ChoiceAxis, canonical, identity
from adabkb_service.study.draft import Draft

LATEST = 100
"""The number of latest results that determine the assumed values, so that these follow a drift."""


def with_assumed(draft: Draft, parameters: dict[str, Any]) -> dict[str, Any]:
    """A point that a user gives. Parameters that are measured with the result, and that the point lacks, have their
    assumed values."""
    measured = measured_of(definition_of(draft.study.definition).parameters)
    return parameters | assumed(draft, [name for name in measured if name not in parameters])


def assumed(draft: Draft, names: Collection[str]) -> dict[str, Any]:
    """Name -> value that the next trials are assumed to have: the median of the latest results or, for unordered
    choices, their most frequent value, the latest of equally frequent ones. Without results, the middle of the range.
    """
    if not names:
        return {}
    space = draft.space
    points = [point for row in draft.latest_observations(LATEST) if (point := space.present(row.parameters))]
    axes = [axis for axis in space.axes if axis.name in names]
    return {axis.name: _typical(axis, [point[axis.name] for point in points if axis.name in point]) for axis in axes}


def _typical(axis: Axis, values: Sequence[Any]) -> Any:
    """The typical one of some values of an axis, which are ordered from latest to earliest, as an allowed value; the
    middle of the range if there are none."""
    if not values:
        return canonical(axis, axis.decode(0.5))
    if isinstance(axis, ChoiceAxis) and not axis.ordered:
        ((found, _),) = Counter(map(identity, values)).most_common(1)
        return canonical(axis, next(value for value in values if identity(value) == found))
    return canonical(axis, axis.decode(median_low(map(axis.encode, values))))
