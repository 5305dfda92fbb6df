"""Format numbers and values for people. ``assets/words.js`` does the same in the browser."""

from __future__ import annotations

import math
from typing import Any

MINUS = "\N{MINUS SIGN}"
LARGE, SMALL = 1e6, 1e-4
"""A number is written with an exponent if its size is at least the first of these, or below the second."""


def figure(value: float | None, digits: int = 5) -> str:
    """Format a number with up to ``digits`` significant digits; None becomes a dash."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    if isinstance(value, int) or (value.is_integer() and size < LARGE):
        text = f"{int(value):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    elif size >= LARGE or size < SMALL:
        text = exponential(value, digits)
    else:
        text = f"{float(f'{value:.{digits}g}')!r}".removesuffix(".0")
    return text.replace("-", MINUS)


def size(count: int) -> str:
    """Format a number of bytes, with three digits."""
    for unit, bytes_per_unit in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= bytes_per_unit:
            return f"{figure(count / bytes_per_unit, 3)}\N{NO-BREAK SPACE}{unit}"
    return f"{count}\N{NO-BREAK SPACE}bytes"


def exponential(value: float, digits: int) -> str:
    """Format a number with an exponent, with up to ``digits`` significant digits."""
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent):+d}".replace("-", MINUS)


def shown(value: Any) -> str:
    """Format a value of a parameter."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int | float):
        return figure(value, 6)
    return "[" + ", ".join(map(shown, value)) + "]" if isinstance(value, list | tuple) else str(value)
