"""Detect whether choices that a tool declares without an order have one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any


def is_ordered(values: Sequence[Any]) -> bool:
    """Return whether values are ascending or descending numbers. Neighboring values are then assumed to be similar."""
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in map(_plain, values)):
        return False
    steps = [second - first for first, second in pairwise(values)]
    return all(step > 0 for step in steps) or all(step < 0 for step in steps)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
