"""Whether the choices that a tool knows without an order have one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any


def is_ordered(values: Sequence[Any]) -> bool:
    """Return whether these are numbers that ascend or descend: then neighbours are taken to be alike."""
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in map(_plain, values)):
        return False
    steps = [second - first for first, second in pairwise(values)]
    return all(step > 0 for step in steps) or all(step < 0 for step in steps)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
