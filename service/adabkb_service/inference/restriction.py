"""The values that new points must have: those of a request, and those of a plate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adabkb_service.engine.slices import are_alike

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Restriction:
    """What the points of a request have in common."""

    fixed: Values | None = None
    """Values that the request gives, in stored form; None for none."""
    shared: tuple[str, ...] = ()
    """Parameters whose values are equal on a plate; the first point of a plate determines them."""
    plate: Values | None = None
    """The values of the plate that the points continue; None if they begin one, and in a study without plates."""

    def is_like(self, other: Restriction) -> bool:
        """Whether another restriction is the same, as JSON."""
        return self.shared == other.shared and are_alike(self.fixed, other.fixed) and are_alike(self.plate, other.plate)

    @property
    def continued(self) -> Values | None:
        """The values of a point on the plate that is continued, or of the first point of a plate."""
        return self.fixed if self.plate is None else _joined(self.fixed, self.plate)

    def after(self, first: Mapping[str, Any]) -> Values | None:
        """The values of all points of a plate, given the parameters of its first one."""
        return _joined(self.fixed, {name: first[name] for name in self.shared})


def _joined(fixed: Values | None, plate: Values) -> Values | None:
    return {**(fixed or {}), **plate} or None


UNRESTRICTED = Restriction()
"""Points of the whole space, in a study without plates."""
