"""Format numbers and values for people. ``assets/words.js`` does the same in the browser."""

from __future__ import annotations

import math
from typing import Any


def figure(value: float | None, digits: int = 5) -> str:
    """Format a number with up to ``digits`` significant digits; None becomes a dash."""
    if value is None:
        return "–"
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e6):
        return f"{int(value):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    if not math.isfinite(value):
        return "–"
    return f"{value:.{digits}g}".replace("-", "\N{MINUS SIGN}")


def shown(value: Any) -> str:
    """Format a value of a parameter."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int | float):
        return figure(value, 6)
    return "[" + ", ".join(map(shown, value)) + "]" if isinstance(value, list | tuple) else str(value)
