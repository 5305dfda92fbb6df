"""The search space: named parameters as axes of the unit cube, and back.

Every axis maps the user's values to ``[0, 1]``; a log-scaled axis is linear in the logarithm. An axis of
finitely many values owns one bin of the cube per value, so that rounding a centroid is a lookup.

Identity. A *point* is its parameters. ``decode`` gives values of a fixed grid (decimals far finer than any use of
them, far coarser than rounding errors), so ``decode(encode(v)) == v`` bit for bit for every value it ever gave:
a point read back from a stored trial is exactly the point that was suggested.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Scale = Literal["linear", "log"]


class Axis(Protocol):
    """One parameter: how its values lie in ``[0, 1]``."""

    @property
    def name(self) -> str:
        """The parameter's name."""

    @property
    def raw_bounds(self) -> tuple[float, float] | None:
        """The axis in the user's own units (logarithms where log-scaled), or None if it has no order of its own."""

    def decode(self, u: float) -> Any:
        """The value at cube position ``u`` in ``[0, 1]``."""

    def encode(self, value: Any) -> float:
        """The cube position of a valid value."""

    def problem(self, value: Any) -> str | None:
        """What is wrong with a value, in a sentence, or None."""


LISTED = 100
"""Characters of a list of names or choices in a sentence."""


def _listed(texts: Iterable[str], count: int) -> str:
    """The first of so many texts, as far as there is room for them; the others are not even made."""
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


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


# Grid of decoded floats: decimals of the range; one significant digit less on a log scale, where exp loses more.
DIGITS = 12
# Rounding errors of encode and decode together stay below this many units in the last place.
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
        """Decimal places of the grid: 1e-12 of the range, but coarser than what rounding does to the bounds."""
        step = (self.high / 2 - self.low / 2) * 10.0**-DIGITS * 2
        noise = ROUNDING_ULPS * math.ulp(max(abs(self.low), abs(self.high)))
        return -math.ceil(math.log10(max(step, noise)))

    def decode(self, u: float) -> float:
        """Interpolate, in the logarithm where log-scaled; the ends are exact."""
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

    def problem(self, value: Any) -> str | None:
        """A number within the bounds, or what is wrong."""
        if not _is_number(value):
            return f"must be a finite number between {self.low} and {self.high}"
        if not self.low <= value <= self.high:
            return f"is {value}, outside [{self.low}, {self.high}]"
        return None


@dataclass(frozen=True, slots=True)
class IntAxis:
    """The integers ``low, low + step, ..., high``; equal bins, in the logarithm where log-scaled."""

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
        """Half a step beyond the ends, so that every value has a bin; logarithms where log-scaled."""
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
        """The position of the value itself (not of its bin's middle, which differs on a log scale)."""
        low, high = self.raw_bounds
        position = math.log(value) if self.scale == "log" else float(value)
        return (position - low) / (high - low)

    def problem(self, value: Any) -> str | None:
        """An integer of the grid, or what is wrong."""
        if not _is_number(value) or value != math.floor(value):
            return f"must be an integer between {self.low} and {self.high}"
        if not self.low <= value <= self.high:
            return f"is {value}, outside [{self.low}, {self.high}]"
        if (int(value) - self.low) % self.step:
            return f"is {value}, not {self.low} plus a multiple of {self.step}"
        return None


@dataclass(frozen=True)
class ChoiceAxis:
    """A finite list of values: categorical choices, ordinal values or the two booleans; equal bins in list order."""

    name: str
    choices: tuple[Any, ...]
    ordered: bool = False

    @property
    def count(self) -> int:
        """How many values the axis has."""
        return len(self.choices)

    @property
    def raw_bounds(self) -> tuple[float, float] | None:
        """Bins of width one for ordered values; unordered choices have no coordinates of their own."""
        return (-0.5, len(self.choices) - 0.5) if self.ordered else None

    def decode(self, u: float) -> Any:
        """The choice whose bin holds ``u``."""
        return self.choices[min(max(int(u * len(self.choices)), 0), len(self.choices) - 1)]

    def encode(self, value: Any) -> float:
        """The middle of the choice's bin."""
        return (self._index(value) + 0.5) / len(self.choices)

    def problem(self, value: Any) -> str | None:
        """One of the choices, or what is wrong."""
        try:
            self._index(value)
        except ValueError:
            return f"must be one of {_listed(map(reprlib.repr, self.choices), len(self.choices))}"
        return None

    @cached_property
    def _positions(self) -> dict[tuple[bool, Any], int]:
        """By (whether it is a boolean, choice): True == 1 in Python, but they are two different JSON values."""
        return {(isinstance(choice, bool), choice): index for index, choice in enumerate(self.choices)}

    def _index(self, value: Any) -> int:
        try:
            return self._positions[isinstance(value, bool), value]
        except (KeyError, TypeError):  # a list or an object is no choice, and cannot be looked up
            raise ValueError(value) from None


@dataclass(frozen=True, slots=True)
class Space:
    """The product of the axes, in the order in which the study declares its parameters."""

    axes: tuple[Axis, ...]

    @property
    def dimension(self) -> int:
        """d, the number of parameters."""
        return len(self.axes)

    @property
    def is_finite(self) -> bool:
        """Whether no axis is real."""
        return not any(isinstance(axis, FloatAxis) for axis in self.axes)

    def decode(self, u: Sequence[float] | Array) -> dict[str, Any]:
        """The parameters at cube position ``u`` of shape (d,)."""
        return {axis.name: axis.decode(float(x)) for axis, x in zip(self.axes, u, strict=True)}

    def encode(self, parameters: Mapping[str, Any]) -> Array:
        """The cube position, shape (d,), of valid parameters (see ``problems``)."""
        return np.array([axis.encode(parameters[axis.name]) for axis in self.axes]) + 0.0  # -0.0 is 0.0

    def snap(self, positions: Array) -> Array:
        """The positions of the points that these, (k, d), stand for: ``encode(decode(u))`` of each."""
        columns = zip(self.axes, positions.T.tolist(), strict=True)
        return np.array([[axis.encode(axis.decode(u)) for u in column] for axis, column in columns]).T

    def problems(self, parameters: Mapping[str, Any]) -> dict[str, str]:
        """What is wrong with a point: parameter name -> sentence; empty when nothing is."""
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
