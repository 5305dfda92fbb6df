"""A space that was edited after points were stored, and which of these points are in the current space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adabkb_service.engine.axes import Value
from adabkb_service.engine.space import Fixed, Space


@dataclass(frozen=True)
class EditedSpace(Space):
    """The current version of a space, for points that were stored under earlier versions."""

    defaults: Mapping[str, Value] = field(default_factory=dict, hash=False)
    """Parameter -> its value at points that were stored without it."""

    def present(self, parameters: dict[str, Any]) -> dict[str, Any] | None:
        """A stored point with defaults for the parameters that it lacks, and with the current constants; None if it
        lies outside this version. Values between the steps of a parameter are allowed."""
        point = self.completed(parameters)
        if self.problems(point, is_measured=True) or not self.admits(point):
            return None
        fixed = {each.name: each.value for each in self.parameters if isinstance(each, Fixed)}
        values = {name: value for name, value in fixed.items() if self.is_active(name, point)} | point
        return {each.name: values[each.name] for each in self.parameters if each.name in values}

    def completed(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """A point, with defaults for the active parameters that it lacks. Ancestors are completed first, since they
        decide whether others are active."""
        point = dict(parameters)
        while lacking := [name for name in self.defaults.keys() - point.keys() if self.is_active(name, point)]:
            point |= {name: self.defaults[name] for name in lacking}
        return point
