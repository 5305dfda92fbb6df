"""The search space: maps named parameters to positions in the unit cube, and back.

Every axis maps the user's values to ``[0, 1]``; a log-scaled axis is linear in the logarithm. An axis of finitely many
values divides ``[0, 1]`` into one bin per value, so that every position stands for a value.

The parameters identify a point. ``decode`` rounds real values to a fixed grid, which is much coarser than the rounding
errors of ``encode`` and ``decode`` and much finer than any use needs. So ``decode(encode(v)) == v`` holds bit for bit
for every value ``v`` that ``decode`` returned: a point read from a stored trial is exactly the point that was
suggested.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Scale = Literal["linear", "log"]
Value = bool | int | float | str
"""A value of a parameter."""


class Axis(Protocol):
    """A parameter, and the map between its values and ``[0, 1]``."""

    @property
    def name(self) -> str:
        """The parameter's name."""

    @property
    def raw_bounds(self) -> tuple[float, float] | None:
        """The ends of the axis in the user's units (logarithms if log-scaled), or None if its values have no order."""

    def decode(self, u: float) -> Value:
        """The value at cube position ``u`` in ``[0, 1]``."""

    def encode(self, value: Any) -> float:  # each axis has its own type of values
        """The cube position of a valid value."""

    def problem(self, value: object) -> str | None:
        """What is wrong with a value, to be read after its name; None if it is valid."""


LISTED = 100
"""Largest number of characters of a list of names or choices in a message."""


def _listed(texts: Iterable[str], count: int) -> str:
    """The first of ``count`` texts, as many as there is room for, and the number of the others, which are not read."""
    shown: list[str] = []
    room = LISTED
    for text in texts:
        room -= len(text) + 2
        if room < 0:
            return f"{', '.join(shown)}, ... and {count - len(shown)} more"
        shown.append(text)
    return ", ".join(shown)


def _brief(name: str) -> str:
    return name if len(name) <= LISTED // 2 else f"{name[: LISTED // 2 - 3]}..."


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


# Grid of decoded floats: decimal digits of the range. On a log scale one significant digit less, since exp loses more.
DIGITS = 12
# Upper bound of the rounding errors of encode and decode together, in units in the last place.
ROUNDING_ULPS = 16


@dataclass(frozen=True)
class FloatAxis:
    """A real interval ``[low, high]``."""

    name: str
    low: float
    high: float
    scale: Scale = "linear"

    @cached_property
    def raw_bounds(self) -> tuple[float, float]:
        """``(low, high)``, or their natural logarithms."""
        return (math.log(self.low), math.log(self.high)) if self.scale == "log" else (self.low, self.high)

    @cached_property
    def _decimals(self) -> int:
        """Decimal places of the grid: its step is 1e-12 of the range, or the rounding error at the bounds if larger."""
        step = (self.high / 2 - self.low / 2) * 10.0**-DIGITS * 2
        noise = ROUNDING_ULPS * math.ulp(max(abs(self.low), abs(self.high)))
        return -math.ceil(math.log10(max(step, noise)))

    def decode(self, u: float) -> float:
        """Interpolate between the bounds, or between their logarithms if log-scaled. The ends are exact."""
        if u <= 0.0:
            return self.low
        if u >= 1.0:
            return self.high
        # Written so that neither the difference of huge bounds nor the product can overflow.
        low, high = self.raw_bounds
        value = low * (1.0 - u) + high * u
        on_grid = float(f"{math.exp(value):.{DIGITS - 2}e}") if self.scale == "log" else round(value, self._decimals)
        return min(max(on_grid, self.low), self.high)

    def encode(self, value: float) -> float:
        """The inverse of ``decode``."""
        low, high = self.raw_bounds
        position = math.log(value) if self.scale == "log" else value
        # Halved first: high - low may exceed the largest float.
        return min(max((position / 2 - low / 2) / (high / 2 - low / 2), 0.0), 1.0)

    def problem(self, value: object) -> str | None:
        """What is wrong, unless the value is a number within the bounds."""
        if not _is_number(value):
            return f"must be a finite number between {self.low} and {self.high}"
        if not self.low <= value <= self.high:
            return f"is {value}, outside [{self.low}, {self.high}]"
        return None


@dataclass(frozen=True, slots=True)
class IntAxis:
    """The integers ``low, low + step, ...`` up to ``high``. Their bins are of equal width in the user's units."""

    name: str
    low: int
    high: int
    scale: Scale = "linear"
    step: int = 1

    @property
    def count(self) -> int:
        """How many values the axis has."""
        return (self.high - self.low) // self.step + 1

    @property
    def raw_bounds(self) -> tuple[float, float]:
        """Half a step beyond the first and the last value, so that each has a whole bin; logarithms if log-scaled."""
        low, high = self.low - self.step / 2, self.low + (self.count - 0.5) * self.step
        if self.scale == "log":
            # low >= 1, so half of low keeps the lower edge positive whatever the step is.
            return math.log(max(low, self.low / 2)), math.log(high)
        return low, high

    def decode(self, u: float) -> int:
        """The value whose bin holds ``u``."""
        low, high = self.raw_bounds
        position = low * (1.0 - u) + high * u
        position = math.exp(position) if self.scale == "log" else position
        index = math.floor((position - self.low) / self.step + 0.5)
        return self.low + min(max(index, 0), self.count - 1) * self.step

    def encode(self, value: int) -> float:
        """The position of the value itself, which on a log scale is not the middle of its bin."""
        low, high = self.raw_bounds
        position = math.log(value) if self.scale == "log" else float(value)
        return (position - low) / (high - low)

    def problem(self, value: object) -> str | None:
        """What is wrong, unless the value is an integer of the axis."""
        if not _is_number(value) or value != math.floor(value):
            return f"must be an integer between {self.low} and {self.high}"
        if not self.low <= value <= self.high:
            return f"is {value}, outside [{self.low}, {self.high}]"
        if (int(value) - self.low) % self.step:
            return f"is {value}, not {self.low} plus a multiple of {self.step}"
        return None


@dataclass(frozen=True)
class ChoiceAxis:
    """A finite list of values: categorical choices, ordinal values or the two booleans. Their bins are of equal width
    and in the order of the list."""

    name: str
    choices: tuple[Value, ...]
    ordered: bool = False

    @property
    def count(self) -> int:
        """How many values the axis has."""
        return len(self.choices)

    @property
    def raw_bounds(self) -> tuple[float, float] | None:
        """Ordered values have the coordinates 0, 1, ... and bins of width one; unordered choices have none."""
        return (-0.5, len(self.choices) - 0.5) if self.ordered else None

    def decode(self, u: float) -> Value:
        """The choice whose bin holds ``u``."""
        return self.choices[min(max(int(u * len(self.choices)), 0), len(self.choices) - 1)]

    def encode(self, value: object) -> float:
        """The middle of the choice's bin."""
        return (self._index(value) + 0.5) / len(self.choices)

    def problem(self, value: object) -> str | None:
        """What is wrong, unless the value is one of the choices."""
        try:
            self._index(value)
        except ValueError:
            return f"must be one of {_listed(map(reprlib.repr, self.choices), len(self.choices))}"
        return None

    @cached_property
    def _positions(self) -> dict[tuple[bool, object], int]:
        """Index by (is boolean, choice), because True == 1 in Python although they are different JSON values."""
        return {(isinstance(choice, bool), choice): index for index, choice in enumerate(self.choices)}

    def _index(self, value: object) -> int:
        try:
            return self._positions[isinstance(value, bool), value]
        except (KeyError, TypeError):  # TypeError: a list or an object cannot be looked up
            raise ValueError(value) from None


@dataclass(frozen=True, slots=True)
class Space:
    """The Cartesian product of the axes, in the order in which the study declares its parameters."""

    axes: tuple[Axis, ...]

    @property
    def dimension(self) -> int:
        """d, the number of parameters."""
        return len(self.axes)

    @property
    def is_finite(self) -> bool:
        """Whether the space has finitely many points: no parameter is a float."""
        return not any(isinstance(axis, FloatAxis) for axis in self.axes)

    def decode(self, u: Sequence[float] | Array) -> dict[str, Value]:
        """The parameters at cube position ``u`` of shape (d,)."""
        return {axis.name: axis.decode(float(x)) for axis, x in zip(self.axes, u, strict=True)}

    def encode(self, parameters: Mapping[str, Any]) -> Array:
        """The cube position, shape (d,), of valid parameters (see ``problems``)."""
        return np.array([axis.encode(parameters[axis.name]) for axis in self.axes]) + 0.0  # -0.0 is 0.0

    def snap(self, positions: Array) -> Array:
        """Round positions (k, d) to those of points of the space: ``encode(decode(u))`` for each row u."""
        columns = zip(self.axes, positions.T.tolist(), strict=True)
        return np.array([[axis.encode(axis.decode(u)) for u in column] for axis, column in columns]).T

    def problems(self, parameters: Mapping[str, object]) -> dict[str, str]:
        """What is wrong with a point: parameter name -> message; empty for a valid point."""
        found: dict[str, str] = {}
        for axis in self.axes:
            if axis.name not in parameters:
                found[axis.name] = "is missing"
            elif problem := axis.problem(parameters[axis.name]):
                found[axis.name] = problem
        names = {axis.name for axis in self.axes}
        unknown = [name for name in parameters if name not in names]
        if unknown:
            known = _listed(map(_brief, sorted(names)), len(names))
            found |= dict.fromkeys(unknown, f"is not a parameter of this study (known: {known})")
        return found
