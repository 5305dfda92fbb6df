"""Plates of a search: trials that share some values, and an offset of their results. A study on a server that issues
one trial at a time has the same points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Required, SupportsIndex, TypedDict

from adabkb_client import Fixed, Mixture, Parameter
from adabkb_integrations.domain import Domain
from adabkb_integrations.inprocess.numbers import at_least
from adabkb_integrations.model import Array
from adabkb_service.engine.plates import OpenPlate
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space

EXAMPLE = '{"size": 24, "shared": ["temperature"]}'
SMALLEST = 2
Ask = Callable[[Slice | None], list[Array]]


class Plates(TypedDict, total=False):
    """How trials form plates: the number of trials on a plate, and the parameters whose values are equal on it."""

    size: Required[SupportsIndex]
    shared: Sequence[str]


@dataclass(frozen=True)
class Layout:
    """The plates of a search, validated."""

    size: int
    shared: tuple[str, ...]
    most: int | None
    """The maximum number of plates; None without a plate budget."""


class Filling:
    """The plates of a search, which its trials fill one by one."""

    def __init__(self, space: Space, layout: Layout) -> None:
        self._space = space
        self._layout = layout
        self._number = 0
        """Number of the last plate; 0 before the first one."""
        self._open: OpenPlate | None = None

    @property
    def can_begin(self) -> bool:
        """Whether the budget allows another plate."""
        return self._layout.most is None or self._number < self._layout.most

    @property
    def has_place(self) -> bool:
        """Whether the last plate has a free place, or the budget allows another plate."""
        return self.can_begin or self._open is not None

    def suggest(self, ask: Ask, within: Slice | None) -> tuple[list[Array], dict[str, Any]]:
        """Return a list of the next point, (d,), and the values that were held fixed for it. The point is on the last
        plate if that has a free place and an unused point, otherwise on a new plate. The list is empty if no point is
        left, or if the budget allows no new plate.

        Args:
            ask: returns the next points within a slice, or within the whole space.
            within: the points in the current context; None without a context.
        """
        fixed = {} if within is None else dict(within.fixed)
        if self._open is not None and self._open.fits(self._space, fixed):
            values = {**fixed, **self._open.values}
            if points := ask(Slice(self._space, values) if values else None):
                return points, values
        return ask(within) if self.can_begin else [], fixed

    def add(self, point: Array, held: Mapping[str, Any]) -> int:
        """Return the number of the plate of a trial at a point, (d,), where some values were held."""
        parameters, plate = {**self._space.decode(point), **held}, self._open
        if plate is None or not plate.takes(parameters):
            shared = {name: parameters[name] for name in self._layout.shared}
            plate = OpenPlate(self._number + 1, self._layout.size, shared)
        self._number = plate.number
        self._open = replace(plate, room=plate.room - 1) if plate.room > 1 else None
        return self._number


def layout_of(
    plates: Plates | None,
    domain: Domain,
    parameters: Mapping[str, Parameter],
    mixtures: Sequence[Mixture],
    most: int | None,
) -> Layout | None:
    """Return the plates of a search; None without any.

    Args:
        plates: the plates as declared.
        domain: the search space.
        parameters: the declared parameters by name.
        mixtures: the declared mixtures.
        most: the budget in plates; None without one.

    Raises:
        TypeError: the plates are not declared as in ``EXAMPLE``.
        ValueError: the size is too small; a parameter cannot be shared; all parameters are shared; or there is a plate
            budget without plates.
    """
    if plates is None:
        if most is not None:
            raise ValueError('a plate budget also needs the option plates, such as plates={"size": 24}')
        return None
    if not isinstance(plates, Mapping) or "size" not in plates or plates.keys() - {"size", "shared"}:
        raise TypeError(f"plates must be a dict such as {EXAMPLE}, not {plates!r}")
    shared = plates.get("shared", ())
    if isinstance(shared, str) or not isinstance(shared, Sequence):
        raise TypeError(f"plates['shared'] must be a list of names, not {shared!r}")
    shares = {name for each in mixtures for name in each["parameters"]}
    for index, name in enumerate(shared):
        if error := _error(name, shared[:index], parameters, shares):
            raise ValueError(f"plates['shared'][{index}]: {name!r} {error}")
    if {axis.name for axis in domain.space.axes} <= set(shared):
        raise ValueError(
            "plates['shared'] leaves no parameter that can differ between the trials of a plate; leave one out"
        )
    return Layout(at_least("plates['size']", plates["size"], SMALLEST), tuple(shared), most)


def _error(name: str, before: Sequence[str], parameters: Mapping[str, Parameter], shares: set[str]) -> str | None:
    """Return why a parameter cannot be shared; None if it can."""
    parameter = parameters.get(name)
    if parameter is None:
        return f"is not one of the parameters: {', '.join(parameters)}"
    if name in before:
        return "is named twice; name it once"
    if isinstance(parameter, Fixed):
        return "is a fixed parameter, so it is the same on all plates; leave it out"
    reasons = {
        "is a share of a mixture, which may differ between the trials of a plate; leave it out": name in shares,
        "is measured with each result, so the trials of a plate may differ in it; leave it out": (
            parameter.context == "measured"
        ),
        "has a condition (when), so some trials of a plate may lack it; leave out either": bool(parameter.when),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
