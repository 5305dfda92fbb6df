"""The plate that new trials continue. A study on a server and a search in a process fill plates by the same rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adabkb_service.engine.axes import Value, identity
from adabkb_service.engine.feasibility import has_points
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space


@dataclass(frozen=True, slots=True)
class OpenPlate:
    """The last plate, which has room for more trials."""

    number: int
    room: int
    """The number of trials that can still be added."""
    values: dict[str, Value]
    """Name -> value that all trials on the plate share."""

    def takes(self, parameters: Mapping[str, Value]) -> bool:
        """Return whether a new trial at a point continues the plate. Otherwise, it begins another one."""
        return not differing_names(parameters, self.values)

    def fits(self, space: Space, fixed: Mapping[str, Value]) -> bool:
        """Return whether the space has points with the shared values of the plate and with other fixed values."""
        if not fixed:
            return True
        values = {**fixed, **self.values}
        return Slice(space, fixed).agrees(values) and has_points(Slice(space, values))


def differing_names(parameters: Mapping[str, Value], values: Mapping[str, Value]) -> list[str]:
    """Return the names of the shared parameters whose value in a point differs from that of a plate."""
    return [name for name, at in values.items() if identity(parameters.get(name)) != identity(at)]
