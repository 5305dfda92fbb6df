"""Format numbers and values for people. ``assets/words.js`` does the same in the browser."""

from __future__ import annotations

import math
from typing import Any

from adabkb_service.operations.words.rounding import rounded, significant

MINUS, SPACE = "\N{MINUS SIGN}", "\N{NARROW NO-BREAK SPACE}"
TIMES = "\N{MULTIPLICATION SIGN}10"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LOWERED = {raised: chr(plain) for plain, raised in RAISED.items()}
LARGE, SMALL = 1e6, 1e-4
"""A number is written with a power of ten if its size is at least the first of these, or below the second."""


def figure(value: float | None, digits: int = 5) -> str:
    """Format a number with up to ``digits`` significant digits; None becomes a dash."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    if isinstance(value, int) or (value.is_integer() and size < LARGE):
        return fixed(int(value), 0)
    if size >= LARGE or size < SMALL:
        return exponential(value, digits)
    return f"{significant(value, digits):,}".removesuffix(".0").replace(",", SPACE).replace("-", MINUS)


def fixed(value: float, places: int) -> str:
    """Format a number with this many decimals, and spaces between groups of three digits."""
    return f"{rounded(value, places):,.{places}f}".replace(",", SPACE).replace("-", MINUS)


def size(count: int) -> str:
    """Format a number of bytes, with three digits."""
    for unit, bytes_per_unit in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= bytes_per_unit:
            return f"{figure(count / bytes_per_unit, 3)}\N{NO-BREAK SPACE}{unit}"
    return f"{count}\N{NO-BREAK SPACE}bytes"


def exponential(value: float, digits: int) -> str:
    """Format a number with a power of ten, with up to ``digits`` significant digits."""
    mantissa, _, exponent = f"{significant(value, digits):.{digits - 1}e}".partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa.replace('-', MINUS)}{TIMES}{str(int(exponent)).translate(RAISED)}"


def as_typed(text: str) -> str:
    """Return a formatted number as a user would type it."""
    mantissa, times, exponent = text.replace(MINUS, "-").replace(SPACE, "").partition(TIMES)
    return f"{mantissa}e{exponent.translate(LOWERED)}" if times else mantissa


def shown(value: Any) -> str:
    """Format a value of a parameter."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int | float):
        return figure(value, 6)
    return "[" + ", ".join(map(shown, value)) + "]" if isinstance(value, list | tuple) else str(value)
