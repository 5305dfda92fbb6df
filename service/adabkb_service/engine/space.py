"""The search space: maps named parameters to positions in the unit cube, and back. The parameters identify a point.

Positions are those of the whole product of the axes. Which of its points satisfy the constraints, ``feasible`` knows.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import Axis, Value, identity
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.wording import brief, listed, nearest

Array = NDArray[np.float64]

MOST_SUGGESTED = 10
"""Unknown names in a point for which a known one is looked for."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A parameter of one value: part of every point, and no axis."""

    name: str
    value: Value = field(hash=False)

    def problem(self, value: object) -> str | None:
        """What is wrong, unless it is the value."""
        return None if identity(value) == identity(self.value) else f"is fixed at {reprlib.repr(self.value)}"


@dataclass(frozen=True)
class Space:
    """The Cartesian product of the axes, in the order in which the study declares its parameters, and constraints."""

    parameters: tuple[Axis | Fixed, ...]
    constraints: tuple[Constraint, ...] = ()

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The parameters that vary."""
        return tuple(each for each in self.parameters if not isinstance(each, Fixed))

    @property
    def dimension(self) -> int:
        """d, the number of axes."""
        return len(self.axes)

    @property
    def is_finite(self) -> bool:
        """Whether the space has finitely many points: no axis is a real interval."""
        return all(axis.count is not None for axis in self.axes)

    def decode(self, u: Sequence[float] | Array) -> dict[str, Value]:
        """The parameters at cube position ``u`` of shape (d,)."""
        found = {axis.name: axis.decode(float(x)) for axis, x in zip(self.axes, u, strict=True)}
        if len(self.axes) == len(self.parameters):
            return found
        return {each.name: each.value if isinstance(each, Fixed) else found[each.name] for each in self.parameters}

    def encode(self, parameters: Mapping[str, Any]) -> Array:
        """The cube position, shape (d,), of valid parameters (see ``problems``)."""
        return np.array([axis.encode(parameters[axis.name]) for axis in self.axes]) + 0.0  # -0.0 is 0.0

    def snap(self, positions: Array) -> Array:
        """Round positions (k, d) to those of points of the space: ``encode(decode(u))`` for each row u."""
        columns = zip(self.axes, positions.T.tolist(), strict=True)
        return np.array([[axis.encode(axis.decode(u)) for u in column] for axis, column in columns]).T

    def violated(self, parameters: Mapping[str, Any]) -> list[int]:
        """The constraints, by their numbers, that a valid point with all its parameters does not satisfy."""
        return [index for index, each in enumerate(self.constraints) if not each.holds(parameters)]

    def problems(self, parameters: Mapping[str, object]) -> dict[str, str]:
        """What is wrong with a point: parameter name -> message; empty for a valid point. A
        fixed parameter may be left out."""
        found: dict[str, str] = {}
        for each in self.parameters:
            if each.name not in parameters:
                if not isinstance(each, Fixed):
                    found[each.name] = "is missing"
            elif problem := each.problem(parameters[each.name]):
                found[each.name] = problem
        names = {each.name for each in self.parameters}
        unknown = [name for name in parameters if name not in names]
        if unknown:
            known = listed(map(brief, sorted(names)), len(names))
            for position, name in enumerate(unknown):
                near = nearest(name, names) if position < MOST_SUGGESTED else None
                suggestion = "" if near is None else f"; did you mean {near}?"
                found[name] = f"is not a parameter of this study{suggestion} (known: {known})"
        return found
