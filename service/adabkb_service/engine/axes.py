"""The axes of a search space. Each axis maps the values of one parameter to ``[0, 1]`` and back.

A log-scaled axis is linear in the logarithm. An axis with finitely many values divides ``[0, 1]`` into one bin per
value, so that every position represents a value.

``decode`` rounds real values to a fixed grid. The grid is much coarser than the rounding errors of ``encode`` and
``decode``, and much finer than needed in practice. So ``decode(encode(v)) == v`` holds bit for bit for every value
``v`` returned by ``decode``: a point that is read from a stored trial equals the suggested point.
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


# The grid of decoded floats divides a linear range into at most 10^DIGITS steps. On a log scale, decoded floats have
# DIGITS - 1 significant digits, since exp loses precision.
DIGITS = 12
ROUNDING_ULPS = 16  # upper bound of the rounding errors of encode and decode together, in units in the last place


@dataclass(frozen=True)
class FloatAxis:
    """A real interval ``[low, high]`` or, if periodic, ``[low, high)``: ``high`` is the same point as ``low``."""

    name: str
    low: float
    high: float
    scale: Scale = "linear"
    periodic: bool = False

    @property
    def count(self) -> None:
        """None: a real interval has infinitely many values."""

    @cached_property
    def raw_bounds(self) -> tuple[float, float]:
        """``(low, high)``, or their natural logarithms."""
        return (math.log(self.low), math.log(self.high)) if self.scale == "log" else (self.low, self.high)

    @cached_property
    def decimals(self) -> int:
        """Decimal places of the grid on a linear scale. Its step is 1e-12 of the range, or the rounding error at the
        bounds if that is larger, rounded up to a power of ten."""
        step = (self.high / 2 - self.low / 2) * 10.0**-DIGITS * 2
        noise = ROUNDING_ULPS * math.ulp(max(abs(self.low), abs(self.high)))
        return -math.ceil(math.log10(max(step, noise)))

    @cached_property
    def resolution(self) -> float:
        """The largest distance from a position to that of the nearest value on the grid."""
        low, high = self.raw_bounds
        if self.scale == "log":
            return 0.5 * 10.0 ** (2 - DIGITS) / (high - low)
        return 0.5 * 10.0**-self.decimals / (high / 2 - low / 2) / 2

    def decode(self, u: float) -> float:
        """The value at ``u``, interpolated between the bounds (on a log scale, between their logarithms). The ends are
        exact."""
        if u <= 0.0:
            return self.low
        if u >= 1.0:
            return self.canonical(self.high)
        # In this form neither the difference of huge bounds nor the product can overflow.
        low, high = self.raw_bounds
        value = low * (1.0 - u) + high * u
        on_grid = float(f"{math.exp(value):.{DIGITS - 2}e}") if self.scale == "log" else round(value, self.decimals)
        return self.canonical(min(max(on_grid, self.low), self.high))

    def canonical(self, value: float) -> float:
        """The value in the stored form. The upper end of a periodic axis becomes the lower end."""
        return float(self.low if self.periodic and value >= self.high else value)

    def encode(self, value: Any) -> float:
        """The inverse of ``decode``."""
        low, high = self.raw_bounds
        value = self.canonical(value)
        position = math.log(value) if self.scale == "log" else value
        # Halved first: high - low may exceed the largest float.
        return min(max((position / 2 - low / 2) / (high / 2 - low / 2), 0.0), 1.0)

    def problem(self, value: object) -> str | None:
        """The error message for a value; None if it is a number within the bounds."""
        if not _is_number(value):
            return _not_a(f"a finite number between {self.low} and {self.high}", value)
        if not self.low <= value <= self.high:
            return f"is {value}, outside [{self.low}, {self.high}]"
        return None


STEP_TOLERANCE = 1e-6
"""Tolerance of a ``StepAxis``, as a share of its step. A number that is this close to a value of the axis counts as
this value. If a multiple of the step exceeds ``high`` by at most this, ``high`` is the last value. Users may compute
values and steps, such as 0.9 / 15."""


@dataclass(frozen=True)
class StepAxis:
    """The numbers ``low, low + step, ...`` up to ``high``, computed in decimal arithmetic: 0, 0.1, 0.2, 0.3 rather than
    0.30000000000000004. All bins have equal width.

    Only these values can be chosen, but a measured value may lie between two of them: ``encode`` returns its exact
    position, and ``decode`` the nearest value of the axis.
    """

    name: str
    low: float
    high: float
    step: float

    @cached_property
    def count(self) -> int:
        """Number of values."""
        low, step = self._exact
        return int((_decimal(self.high) - low) / step + _decimal(STEP_TOLERANCE)) + 1

    @property
    def raw_bounds(self) -> tuple[float, float]:
        """The ends of the axis: half a step beyond the first and the last value."""
        return self.low - self.step / 2, self.value(self.count - 1) + self.step / 2

    def value(self, index: int) -> float:
        """The value with an index from 0."""
        low, step = self._exact
        return min(float(low + index * step), self.high)

    def bin(self, u: float) -> int:
        """Index of the bin that contains ``u``."""
        return min(max(int(u * self.count), 0), self.count - 1)

    def decode(self, u: float) -> float:
        """The value whose bin contains ``u``."""
        return self.value(self.bin(u))

    def measured(self, u: float) -> float:
        """The number at ``u``, the inverse of ``encode``: a value of the axis, or a number between two values."""
        low, step = self._exact
        number = float(low + _decimal(u * self.count - 0.5) * step)
        return self.canonical(round(number, FloatAxis("", self.low, self.high).decimals))

    def encode(self, value: Any) -> float:
        """The position of a number within the bounds: the middle of the bin, for a value of the axis."""
        index = self._nearest(value)
        steps = index if self._is(value, index) else float(self._steps_to(value))
        return min((steps + 0.5) / self.count, 1.0)

    def canonical(self, value: float) -> float:
        """A number within the bounds in the stored form: the nearest value of the axis, if it equals that up to the
        tolerance."""
        index = self._nearest(value)
        return self.value(index) if self._is(value, index) else float(value)

    def problem(self, value: Any) -> str | None:
        """The error message for a value; None if the axis has it."""
        problem = self._problem_within(value, self.value(self.count - 1))
        if problem is None and not self._is(value, self._nearest(value)):
            return f"is {value}, not {self.low} plus a multiple of {self.step}"
        return problem

    def problem_if_measured(self, value: object) -> str | None:
        """The error message for a measured value; None if it is a number within the bounds, and at most half a step
        above the last value."""
        return self._problem_within(value, min(self.high, self.raw_bounds[1]))

    def _problem_within(self, value: object, high: float) -> str | None:
        if not _is_number(value):
            return _not_a(f"a finite number between {self.low} and {high}", value)
        tolerance = STEP_TOLERANCE * self.step
        if not self.low - tolerance <= value <= high + tolerance:
            return f"is {value}, outside [{self.low}, {high}]"
        return None

    def _is(self, value: float, index: int) -> bool:
        """Whether a number is the value with an index, up to the tolerance."""
        return abs(value - self.value(index)) <= STEP_TOLERANCE * self.step

    def _nearest(self, value: float) -> int:
        return min(max(round(self._steps_to(value)), 0), self.count - 1)

    def _steps_to(self, value: float) -> Decimal:
        """The number of steps from the first value to a number."""
        low, step = self._exact
        return (_decimal(value) - low) / step

    @cached_property
    def _exact(self) -> tuple[Decimal, Decimal]:
        """The first value and the step."""
        return _decimal(self.low), _decimal(self.step)


def _decimal(value: float) -> Decimal:
    """A float as the decimal number that Python prints for it."""
    return Decimal(repr(float(value)))


FINEST = {"linear": 2**49, "log": 2**44}
"""Scale -> largest magnitude of a bound of an ``IntAxis``, in steps. Beyond it, the rounding errors of ``encode`` and
``decode`` approach half a step."""


@dataclass(frozen=True, slots=True)
class IntAxis:
    """The integers ``low, low + step, ...`` up to ``high``. All bins have equal width in the user's units."""

    name: str
    low: int
    high: int
    scale: Scale = "linear"
    step: int = 1

    @property
    def count(self) -> int:
        """Number of values."""
        return (self.high - self.low) // self.step + 1

    @property
    def least_step(self) -> int:
        """The smallest step for these bounds that floating point can resolve."""
        return -(-max(abs(self.low), abs(self.high)) // FINEST[self.scale])

    @property
    def raw_bounds(self) -> tuple[float, float]:
        """The ends of the axis: half a step beyond the first and the last value, so that each has a whole bin. On a log
        scale, their logarithms."""
        low, high = self.low - self.step / 2, self.low + (self.count - 0.5) * self.step
        if self.scale == "log":
            # low >= 1, so half of low keeps the lower edge positive for any step.
            return math.log(max(low, self.low / 2)), math.log(high)
        return low, high

    def value(self, index: int) -> int:
        """The value with an index from 0."""
        return self.low + index * self.step

    def bin(self, u: float) -> int:
        """Index of the bin that contains ``u``."""
        low, high = self.raw_bounds
        position = low * (1.0 - u) + high * u
        position = math.exp(position) if self.scale == "log" else position
        return min(max(math.floor((position - self.low) / self.step + 0.5), 0), self.count - 1)

    def decode(self, u: float) -> int:
        """The value whose bin contains ``u``."""
        return self.value(self.bin(u))

    def encode(self, value: Any) -> float:
        """The position of the value. On a log scale, this is not the middle of its bin."""
        low, high = self.raw_bounds
        position = math.log(value) if self.scale == "log" else float(value)
        return (position - low) / (high - low)

    def problem(self, value: object) -> str | None:
        """The error message for a value; None if it is an integer of the axis."""
        if not _is_number(value) or value != math.floor(value):
            return _not_a(f"an integer between {self.low} and {self.high}", value)
        if not self.low <= value <= self.high:
            return f"is {value}, outside [{self.low}, {self.high}]"
        if (int(value) - self.low) % self.step:
            return f"is {value}, not {self.low} plus a multiple of {self.step}"
        return None


LARGEST = 1e300
"""Ordinal numbers up to this size can be interpolated without an overflow."""


@dataclass(frozen=True)
class ChoiceAxis:
    """A finite list of values: categorical choices, ordinal values or the two booleans. Bins have equal widths, and the
    order of the list. Values are JSON values; a choice may be a list of values.

    Where ordinal values are ascending or descending numbers, a measured value may lie between two of them: ``encode``
    interpolates between their positions, and ``decode`` returns the nearer one.
    """

    name: str
    choices: tuple[Value, ...] = field(hash=False)  # lists are not hashable
    ordered: bool = False
    descriptors: tuple[tuple[float, ...], ...] = ()
    """Descriptors of each choice, in the same order; only for unordered choices."""

    @property
    def count(self) -> int:
        """Number of values."""
        return len(self.choices)

    @property
    def raw_bounds(self) -> tuple[float, float] | None:
        """The ends of the axis: ordered values have the coordinates 0, 1, ... and bins of width one. None for unordered
        choices."""
        return (-0.5, len(self.choices) - 0.5) if self.ordered else None

    @cached_property
    def ascending(self) -> Array | None:
        """(count,) the numbers of an ordinal axis, or their negatives if they descend. None for other axes: there is no
        measured value between two values."""
        if not self.ordered or not all(_is_number(each) and abs(each) <= LARGEST for each in self.choices):
            return None
        numbers = np.array(self.choices, dtype=np.float64)
        numbers = numbers if numbers[0] <= numbers[-1] else -numbers
        return numbers if bool((np.diff(numbers) > 0).all()) else None

    def value(self, index: int) -> Value:
        """The value with an index from 0."""
        return self.choices[index]

    def bin(self, u: float) -> int:
        """Index of the bin that contains ``u``."""
        return min(max(int(u * len(self.choices)), 0), len(self.choices) - 1)

    def decode(self, u: float) -> Value:
        """The choice whose bin contains ``u``."""
        return self.value(self.bin(u))

    def measured(self, u: float) -> Value:
        """The value at ``u``, the inverse of ``encode``: a choice, or a number between two values."""
        numbers, index = self.ascending, self.bin(u)
        if numbers is None or self.encode(self.choices[index]) == u:
            return self.choices[index]
        number = float(np.interp(u * self.count - 0.5, np.arange(self.count), self._as_written(numbers)))
        return self.canonical(float(f"{number:.{DIGITS}g}"))

    def encode(self, value: Any) -> float:
        """The middle of the choice's bin. A number between two values has a position between theirs."""
        if self.ascending is None or self._is_choice(value):
            return (self._index(value) + 0.5) / len(self.choices)
        steps = np.interp(self._as_written(value), self.ascending, np.arange(self.count))
        return (float(steps) + 0.5) / len(self.choices)

    def canonical(self, value: Any) -> Value:
        """A valid value in the stored form: the choice that equals it, or a measured number as it is."""
        return self.choices[self._index(value)] if self._is_choice(value) else float(value)

    def problem(self, value: object) -> str | None:
        """The error message for a value; None if it is one of the choices."""
        if self._is_choice(value):
            return None
        choices = f"must be one of {listed(map(reprlib.repr, self.choices), len(self.choices))}"
        is_wrong_type = isinstance(value, str) and not any(isinstance(each, str) for each in self.choices)
        return f"is the text {reprlib.repr(value)}, but {choices}" if is_wrong_type else choices

    def problem_if_measured(self, value: object) -> str | None:
        """The error message for a measured value; None if it is one of the choices, or a number between two values."""
        problem, numbers = self.problem(value), self.ascending
        if problem is None or numbers is None:
            return problem
        low, high = sorted((self.choices[0], self.choices[-1]))  # type: ignore[type-var]
        if _is_number(value) and low < value < high:  # type: ignore[operator]
            return None
        return f"{problem}, or between two of them"

    def _as_written(self, number: Any) -> Any:
        """A number or numbers of the axis, converted to those of ``ascending``, or back: negated if the values
        descend."""
        return number if self.choices[0] <= self.choices[-1] else -number  # type: ignore[operator]

    def _is_choice(self, value: object) -> bool:
        try:
            self._index(value)
        except ValueError:
            return False
        return True

    @cached_property
    def _positions(self) -> dict[object, int]:
        return {identity(choice): index for index, choice in enumerate(self.choices)}

    def _index(self, value: object) -> int:
        try:
            return self._positions[identity(value)]
        except (KeyError, TypeError):  # TypeError: an object or a list of lists is not hashable
            raise ValueError(value) from None


def identity(value: object) -> object:
    """A key that is equal for two values if and only if they are the same in JSON. (In Python, True == 1.) Lists become
    tuples. If a list contains further lists, its key is not hashable."""
    if isinstance(value, list | tuple):
        return "list", tuple((isinstance(each, bool), each) for each in value)
    return isinstance(value, bool), value


DiscreteAxis = IntAxis | StepAxis | ChoiceAxis
"""A parameter with finitely many values and a bin for each."""
Axis = FloatAxis | DiscreteAxis
"""A parameter, and the map between its values and ``[0, 1]``: ``decode`` returns the value at a position, and
``encode`` the position of a valid value. ``problem`` returns the error message for a value, which continues a sentence
that begins with the parameter's name; None for a valid value. ``raw_bounds`` are the ends of the axis in the user's
units (on a log scale, their logarithms), or None if its values have no order. ``count`` is the number of values, or
None if there are infinitely many."""


def canonical(axis: Axis, value: Any) -> Any:
    """A valid value, converted to its parameter's type: for a float parameter, 1 becomes 1.0; for an integer, 1.0
    becomes 1."""
    match axis:
        case IntAxis():
            return int(value)
        case _:
            return axis.canonical(value)


def _not_a(what: str, value: object) -> str:
    """The error message for a value that is not the number that an axis needs."""
    return f"is the text {reprlib.repr(value)}, but must be {what}" if isinstance(value, str) else f"must be {what}"
