"""The axes of a search space: one parameter each, mapped to ``[0, 1]`` and back.

A log-scaled axis is linear in the logarithm. An axis of finitely many values divides ``[0, 1]`` into one bin per value,
so that every position stands for a value.

``decode`` rounds real values to a fixed grid, which is much coarser than the rounding errors of ``encode`` and
``decode`` and much finer than any use needs. So ``decode(encode(v)) == v`` holds bit for bit for every value ``v`` that
``decode`` returned: a point read from a stored trial is exactly the point that was suggested.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, TypeGuard

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.wording import listed

Array = NDArray[np.float64]
Scale = Literal["linear", "log"]
Scalar = bool | int | float | str | None
Value = Scalar | Sequence[Scalar]
"""A value of a parameter: a choice may also be a list, such as the widths of layers."""


def _is_number(value: object) -> TypeGuard[float]:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)  # an integer may exceed every float


# Grid of decoded floats: decimal digits of the range. On a log scale one significant digit less, since exp loses more.
DIGITS = 12
ROUNDING_ULPS = 16  # upper bound of the rounding errors of encode and decode together, in units in the last place


@dataclass(frozen=True)
class FloatAxis:
    """A real interval ``[low, high]`` or, if it is periodic, ``[low, high)``: ``high`` is the same point as ``low``."""

    name: str
    low: float
    high: float
    scale: Scale = "linear"
    periodic: bool = False

    @property
    def count(self) -> None:
        """None: a real interval has no number of values."""

    @cached_property
    def raw_bounds(self) -> tuple[float, float]:
        """``(low, high)``, or their natural logarithms."""
        return (math.log(self.low), math.log(self.high)) if self.scale == "log" else (self.low, self.high)

    @cached_property
    def decimals(self) -> int:
        """Decimal places of the grid of a linear scale: its step is 1e-12 of the range, or the rounding error at the
        bounds if that is larger."""
        step = (self.high / 2 - self.low / 2) * 10.0**-DIGITS * 2
        noise = ROUNDING_ULPS * math.ulp(max(abs(self.low), abs(self.high)))
        return -math.ceil(math.log10(max(step, noise)))

    def decode(self, u: float) -> float:
        """Interpolate between the bounds, or between their logarithms if log-scaled. The ends are exact."""
        if u <= 0.0:
            return self.low
        if u >= 1.0:
            return self.canonical(self.high)
        # Written so that neither the difference of huge bounds nor the product can overflow.
        low, high = self.raw_bounds
        value = low * (1.0 - u) + high * u
        on_grid = float(f"{math.exp(value):.{DIGITS - 2}e}") if self.scale == "log" else round(value, self.decimals)
        return self.canonical(min(max(on_grid, self.low), self.high))

    def canonical(self, value: float) -> float:
        """The value in the form that is stored: the end of a periodic axis is its beginning."""
        return float(self.low if self.periodic and value >= self.high else value)

    def encode(self, value: Any) -> float:
        """The inverse of ``decode``."""
        low, high = self.raw_bounds
        value = self.canonical(value)
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


STEP_TOLERANCE = 1e-6
"""In steps of a ``StepAxis``: how far a value may be from one of the axis, and the last one beyond ``high``. Values and
steps may come out of a computation, such as 0.9 / 15."""


@dataclass(frozen=True)
class StepAxis:
    """The numbers ``low, low + step, ...`` up to ``high``, computed in decimal: with a step of 0.1, 0.3 is among them.
    Their bins are of equal width."""

    name: str
    low: float
    high: float
    step: float

    @cached_property
    def count(self) -> int:
        """How many values the axis has."""
        low, step = self._exact
        return int((_decimal(self.high) - low) / step + _decimal(STEP_TOLERANCE)) + 1

    @property
    def raw_bounds(self) -> tuple[float, float]:
        """Half a step beyond the first and the last value."""
        return self.low - self.step / 2, self.value(self.count - 1) + self.step / 2

    def value(self, index: int) -> float:
        """One of the values, counted from 0."""
        low, step = self._exact
        return min(float(low + index * step), self.high)

    def bin(self, u: float) -> int:
        """Number of the bin that holds ``u``."""
        return min(max(int(u * self.count), 0), self.count - 1)

    def decode(self, u: float) -> float:
        """The value whose bin holds ``u``."""
        return self.value(self.bin(u))

    def encode(self, value: Any) -> float:
        """The middle of the bin of the nearest value."""
        return (self._nearest(value) + 0.5) / self.count

    def problem(self, value: object) -> str | None:
        """What is wrong, unless the value is a number of the axis."""
        high = self.value(self.count - 1)
        if not _is_number(value):
            return f"must be a finite number between {self.low} and {high}"
        tolerance = STEP_TOLERANCE * self.step
        if not self.low - tolerance <= value <= high + tolerance:
            return f"is {value}, outside [{self.low}, {high}]"
        if abs(value - self.value(self._nearest(value))) > tolerance:
            return f"is {value}, not {self.low} plus a multiple of {self.step}"
        return None

    def _nearest(self, value: float) -> int:
        low, step = self._exact
        return min(max(round((_decimal(value) - low) / step), 0), self.count - 1)

    @cached_property
    def _exact(self) -> tuple[Decimal, Decimal]:
        """The first value and the step."""
        return _decimal(self.low), _decimal(self.step)


def _decimal(value: float) -> Decimal:
    """The number as it is written."""
    return Decimal(repr(float(value)))


FINEST = {"linear": 2**49, "log": 2**44}
"""Largest bound of an ``IntAxis`` in its steps: beyond it rounding in ``encode`` and ``decode`` is near half a step."""


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
    def least_step(self) -> int:
        """Of an axis with these bounds whose values floating point can tell apart."""
        return -(-max(abs(self.low), abs(self.high)) // FINEST[self.scale])

    @property
    def raw_bounds(self) -> tuple[float, float]:
        """Half a step beyond the first and the last value, so that each has a whole bin; logarithms if log-scaled."""
        low, high = self.low - self.step / 2, self.low + (self.count - 0.5) * self.step
        if self.scale == "log":
            # low >= 1, so half of low keeps the lower edge positive whatever the step is.
            return math.log(max(low, self.low / 2)), math.log(high)
        return low, high

    def value(self, index: int) -> int:
        """One of the values, counted from 0."""
        return self.low + index * self.step

    def bin(self, u: float) -> int:
        """Number of the bin that holds ``u``."""
        low, high = self.raw_bounds
        position = low * (1.0 - u) + high * u
        position = math.exp(position) if self.scale == "log" else position
        return min(max(math.floor((position - self.low) / self.step + 0.5), 0), self.count - 1)

    def decode(self, u: float) -> int:
        """The value whose bin holds ``u``."""
        return self.value(self.bin(u))

    def encode(self, value: Any) -> float:
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
    and in the order of the list. Values are as JSON has them: a choice of several values is a list."""

    name: str
    choices: tuple[Value, ...] = field(hash=False)  # lists cannot be hashed
    ordered: bool = False
    descriptors: tuple[tuple[float, ...], ...] = ()
    """What describes the choices, in the same order each; choices without an order only."""

    @property
    def count(self) -> int:
        """How many values the axis has."""
        return len(self.choices)

    @property
    def raw_bounds(self) -> tuple[float, float] | None:
        """Ordered values have the coordinates 0, 1, ... and bins of width one; unordered choices have none."""
        return (-0.5, len(self.choices) - 0.5) if self.ordered else None

    def value(self, index: int) -> Value:
        """One of the values, counted from 0."""
        return self.choices[index]

    def bin(self, u: float) -> int:
        """Number of the bin that holds ``u``."""
        return min(max(int(u * len(self.choices)), 0), len(self.choices) - 1)

    def decode(self, u: float) -> Value:
        """The choice whose bin holds ``u``."""
        return self.value(self.bin(u))

    def encode(self, value: Any) -> float:
        """The middle of the choice's bin."""
        return (self._index(value) + 0.5) / len(self.choices)

    def problem(self, value: object) -> str | None:
        """What is wrong, unless the value is one of the choices."""
        try:
            self._index(value)
        except ValueError:
            return f"must be one of {listed(map(reprlib.repr, self.choices), len(self.choices))}"
        return None

    @cached_property
    def _positions(self) -> dict[object, int]:
        return {identity(choice): index for index, choice in enumerate(self.choices)}

    def _index(self, value: object) -> int:
        try:
            return self._positions[identity(value)]
        except (KeyError, TypeError):  # TypeError: an object or a list of lists cannot be looked up
            raise ValueError(value) from None


def identity(value: object) -> object:
    """What two values have in common if and only if they are the same in JSON: True == 1 in Python, but not there.
    Tuples are lists; it cannot be hashed if they hold further ones."""
    if isinstance(value, list | tuple):
        return "list", tuple((isinstance(each, bool), each) for each in value)
    return isinstance(value, bool), value


DiscreteAxis = IntAxis | StepAxis | ChoiceAxis
"""A parameter of finitely many values, each with its bin."""
Axis = FloatAxis | DiscreteAxis
"""A parameter, and the map between its values and ``[0, 1]``: ``decode`` gives the value at a position, ``encode`` the
position of a valid value. ``problem`` says what is wrong with a value, to be read after its name; None if it is valid.
``raw_bounds`` are the ends of the axis in the user's units (logarithms if log-scaled), or None if its values have no
order. ``count`` is how many values it has, or None."""


def canonical(axis: Axis, value: Any) -> Any:
    """A valid value in its parameter's type: 1 for a float parameter is 1.0, 1.0 for an integer one is 1."""
    match axis:
        case FloatAxis():
            return axis.canonical(value)
        case IntAxis():
            return int(value)
        case _:
            return axis.decode(axis.encode(value))
