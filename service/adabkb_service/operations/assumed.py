"""The values that the search assumes for context parameters that are only measured with the result."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from adabkb_service.contract.context import measured_of
from adabkb_service.engine import assumed as engine
from adabkb_service.study.draft import Draft


def with_assumed(draft: Draft, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return a point that a user gives, with the assumed values of those parameters that are measured with the result
    and that the point lacks."""
    measured = measured_of(draft.definition.parameters)
    return parameters | assumed(draft, [name for name in measured if name not in parameters])


def assumed(draft: Draft, names: Collection[str]) -> dict[str, Any]:
    """Return name -> value that the next trials are assumed to have; see ``engine/assumed.py``."""
    if not names:
        return {}
    space = draft.space
    points = [point for row in draft.latest_observations(engine.LATEST) if (point := space.present(row.parameters))]
    return engine.assumed(space.axes, names, points)
