"""Whole numbers given by users."""

from __future__ import annotations

import operator
from typing import SupportsIndex

from adabkb_client._values import plain


def at_least(name: str, number: SupportsIndex, least: int, most: int | None = None) -> int:
    """Return a whole number.

    Args:
        name: the name of the argument, for errors.
        number: its value.
        least: the smallest valid value.
        most: the largest valid value; None without one.

    Raises:
        TypeError: it is not an integer.
        ValueError: it is out of range.
    """
    try:
        given = operator.index(plain(number))
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {number!r}") from None
    if given < least:
        raise ValueError(f"{name} must be at least {least}, not {given}")
    if most is not None and given > most:
        raise ValueError(f"{name} must be at most {most}, not {given}")
    return given
