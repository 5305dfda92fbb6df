"""Numbers and values as people read them; ``assets/words.js`` has the same for scripts."""

from __future__ import annotations

import math
from typing import Any


def figure(value: float | None, digits: int = 5) -> str:
    """A number with as many digits as are of use; a dash for none."""
    if value is None:
        return "–"
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e6):
        return f"{int(value):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    if not math.isfinite(value):
        return "–"
    return f"{value:.{digits}g}".replace("-", "\N{MINUS SIGN}")


def shown(value: Any) -> str:
    """A value of a parameter as a person writes it."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int | float):
        return figure(value, 6)
    return "[" + ", ".join(map(shown, value)) + "]" if isinstance(value, list | tuple) else str(value)
