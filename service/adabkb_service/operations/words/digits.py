"""Format numbers with the digits that are meaningful for the results of a study."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from adabkb_service.contract.quantities import UNNAMED, Quantity, in_points, plus_minus, with_unit
from adabkb_service.engine.wording import decimals
from adabkb_service.operations.words.rounding import rounded, significant
from adabkb_service.operations.words.values_in_words import LARGE, exponential, figure, fixed

MAX_PLACES = 6
"""A number is written with a power of ten if it needs more decimals than this, or if its size is at least ``LARGE``."""
MAX_DIGITS = 15
"""The maximum number of significant digits."""
DIGITS_OF_MEAN = 4
MIN_DIGITS = 3
"""The minimum number of significant digits of a result, unless the results have fewer decimals."""


@dataclass(frozen=True, slots=True)
class Digits:
    """The number format of results. It depends on their range, on the usual number of decimals among them, and on
    their quantity."""

    low: float
    high: float
    decimals: int
    quantity: Quantity = UNNAMED

    def result(self, value: float) -> str:
        """Format a result to a thousandth of the range of all results, with at most as many decimals as the result
        itself or most results have."""
        return self._round(value, max(self.decimals, decimals(value)))

    def mean(self, value: float) -> str:
        """Format the mean of several results, with its unit; see the function ``mean``."""
        return self._in_unit(mean(self.quantity, value))

    def _round(self, value: float, most: int) -> str:
        """Format a number to a thousandth of the range of all results, with at most this many decimals."""
        if self.quantity.digits is not None:
            return self._in_unit(_format(value, self.quantity.digits))
        extent = self.high / 2.0 - self.low / 2.0  # half of the range, since the whole may overflow
        places = MIN_DIGITS - math.floor(math.log10(extent) + math.log10(2.0)) if extent > 0.0 else 0
        return self._in_unit(_format(value, min(most, max(places, _places(value, MIN_DIGITS)))))

    def estimate(self, mean: float, std: float) -> str:
        """Format a prediction, with two digits of its standard deviation and at most one decimal more than the results.
        Predictions are clipped to the natural bounds."""
        mean = self.quantity.within(mean)
        if not std > 0.0:
            return self.result(mean)
        return self._in_unit(estimate(mean, std, self._max_decimals_of_std))

    def interval(self, low: float, high: float, std: float) -> str:
        """Format the ends of a prediction interval, clipped to the natural bounds, with two digits of the standard
        deviation. The number of decimals is at most that which the study specifies or, by default, one more than
        the results have."""
        places = min(_places(std, 2), self._max_decimals)
        return self._in_unit(" and ".join(_format(self.quantity.within(end), places) for end in (low, high)))

    def expected(self, mean: float, low: float, high: float, std: float) -> str:
        """Format a prediction with its central 90% interval, clipped to the natural bounds, with the decimals of
        ``interval``."""
        if not std > 0.0:
            return self.result(self.quantity.within(mean))
        places = min(_places(std, 2), self._max_decimals)
        at, start, end = (_format(self.quantity.within(each), places) for each in (mean, low, high))
        return f"{self._in_unit(at)} (90%: {self._in_unit(f'{start} to {end}')})"

    def rounded_like(self, value: float, error: float) -> str:
        """Format a number with as many decimals as ``error``, a difference or a deviation, has with two digits."""
        return self._in_unit(_format(value, min(_places(error, 2), self._max_decimals)))

    def difference(self, value: float) -> str:
        """Format a difference or a deviation with two significant digits."""
        return in_points(difference(value), self.quantity.unit)

    def shows(self, std: float) -> bool:
        """Return whether a standard deviation is more than 0 when rounded to the decimals that ``estimate`` allows."""
        return std >= 0.5 * 10.0 ** -min(self._max_decimals_of_std, 300)

    @property
    def _max_decimals(self) -> int:
        """The maximum number of decimals of a number beside results."""
        return self.decimals + 1 if self.quantity.digits is None else self.quantity.digits

    @property
    def _max_decimals_of_std(self) -> int:
        """The maximum number of decimals of a deviation, and of a number that is written with it."""
        return (self.decimals if self.quantity.digits is None else self.quantity.digits) + 1

    def _in_unit(self, number: str) -> str:
        return with_unit(number, self.quantity.unit)


def mean(quantity: Quantity, value: float) -> str:
    """Format the mean of several results, without its unit, with the digits that the study specifies, by default four
    significant ones. ``meanOf`` in ``assets/words.js`` does the same."""
    if quantity.digits is not None:
        return _format(value, quantity.digits)
    return figure(significant(value, DIGITS_OF_MEAN))


def estimate(mean: float, std: float, finest: int = MAX_PLACES) -> str:
    """Format a prediction with two digits of its standard deviation, which is positive, and at most ``finest``
    decimals."""
    places = min(_places(std, 2), finest)
    return plus_minus(_format(mean, places), _format(std, places))


def apportioned(values: Sequence[float], total: float, places: int) -> list[float]:
    """Round shares of a total to this many decimals, so that they sum to the rounded total: each is rounded down, and
    those with the largest remainders get one unit more. ``apportioned`` in ``assets/words.js`` does the same."""
    size = 10.0**-places
    counts = [math.floor(value / size + 1e-9) for value in values]
    left = round(rounded(total, places) / size) - sum(counts)
    by_remainder = sorted(range(len(values)), key=lambda i: counts[i] - values[i] / size)
    for i in by_remainder[: max(left, 0)]:
        counts[i] += 1
    return [round(count * size, max(places, 0)) for count in counts]


def difference(value: float) -> str:
    """Format a difference or a deviation with two significant digits."""
    return _format(value, _places(value, 2)) if value else "0"


def _places(value: float, digits: int) -> int:
    """Return the number of decimals that gives a number ``digits`` significant digits."""
    return digits - 1 - math.floor(math.log10(abs(value))) if value else 0


def _format(value: float, places: int) -> str:
    if value and places > MAX_PLACES:
        return exponential(value, MIN_DIGITS)
    if abs(value) >= LARGE:
        return exponential(value, min(max(1 + places + math.floor(math.log10(abs(value))), 1), MAX_DIGITS))
    return fixed(rounded(value, places) + 0.0, max(places, 0))  # -0.0 becomes 0.0
