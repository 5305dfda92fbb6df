"""Round numbers as people do: halves away from zero, of the number as it is written. 80.35 becomes 80.4, although the
nearest binary number is less than 80.35. ``rounded`` and ``significant`` in ``assets/words.js`` do the same."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal


def rounded(value: float, places: int) -> float:
    """Return a number rounded to this many decimals; if negative, to that many zeros before the point."""
    return _half_up(value, places) if _may_be_half(value) else round(value, places)


def significant(value: float, digits: int) -> float:
    """Return a number rounded to this many significant digits."""
    if not _may_be_half(value):
        return float(f"{value:.{digits}g}")
    return _half_up(value, digits - 1 - Decimal(repr(float(value))).adjusted())


def _may_be_half(value: float) -> bool:
    """Return whether the last digit of a number as it is written, apart from zeros, is a 5. All other numbers are
    rounded alike by each rule."""
    return math.isfinite(value) and repr(float(value)).partition("e")[0].rstrip("0.").endswith("5")


def _half_up(value: float, places: int) -> float:
    written = Decimal(repr(float(value)))
    exponent = written.as_tuple().exponent
    assert isinstance(exponent, int), "the number is finite"
    return value if -exponent <= places else float(written.quantize(Decimal((0, (1,), -places)), ROUND_HALF_UP))
