"""Values that new points must have: those that a request fixes, and those that a plate shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adabkb_service.engine.slices import are_alike

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Restriction:
    """The values that the points for a request must have."""

    fixed: Values | None = None
    """Name -> value that the request fixes, in the stored form; None if it fixes none."""
    shared: tuple[str, ...] = ()
    """Parameters whose values are equal on a plate; the first point of a plate determines them."""
    plate: Values | None = None
    """The shared values of the open plate, to which the points belong. None if the points begin a plate, and in a study
    without plates."""

    def is_like(self, other: Restriction) -> bool:
        """Whether another restriction is the same. Values are compared as JSON."""
        return self.shared == other.shared and are_alike(self.fixed, other.fixed) and are_alike(self.plate, other.plate)

    @property
    def continued(self) -> Values | None:
        """The fixed values of the next point: those of the request and the shared values of the open plate, if any."""
        return self.fixed if self.plate is None else _joined(self.fixed, self.plate)

    def after(self, first: Mapping[str, Any]) -> Values | None:
        """The fixed values of all points of a plate, given the parameters of its first point."""
        return _joined(self.fixed, {name: first[name] for name in self.shared})


def _joined(fixed: Values | None, plate: Values) -> Values | None:
    return {**(fixed or {}), **plate} or None


UNRESTRICTED = Restriction()
"""All points of the space, in a study without plates."""
