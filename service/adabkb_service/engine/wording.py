"""Words in messages: lists and names, as far as there is room for them, and what a misspelt name may mean."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from difflib import get_close_matches

LISTED = 100
"""Largest number of characters of a list of names or choices in a message."""
LONGEST_COMPARED = 40
"""Characters of a name that is compared with others. Comparing takes the product of the lengths."""


def listed(texts: Iterable[str], count: int) -> str:
    """The first of ``count`` texts, as many as there is room for, and the number of the others, which are not read."""
    shown: list[str] = []
    room = LISTED
    for text in texts:
        room -= len(text) + 2
        if room < 0:
            return f"{', '.join(shown)}, ... and {count - len(shown)} more"
        shown.append(text)
    return ", ".join(shown)


def brief(name: str) -> str:
    """A name, cut where it is long."""
    return name if len(name) <= LISTED // 2 else f"{name[: LISTED // 2 - 3]}..."


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one is likely to mean; None if none is like it."""
    if len(name) > LONGEST_COMPARED:
        return None
    names = {each.lower(): each for each in known if len(each) <= LONGEST_COMPARED}
    near = get_close_matches(name.lower(), names, n=1)
    return names[near[0]] if near else None


def decimals(value: float) -> int:
    """With how many decimals a finite number is written."""
    exponent = Decimal(repr(value)).as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0
