"""Words in messages: lists and names, as far as there is room for them."""

from __future__ import annotations

from collections.abc import Iterable

LISTED = 100
"""Largest number of characters of a list of names or choices in a message."""


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
