"""Parts of messages: shortened lists and names, and suggestions for misspelled names."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from difflib import get_close_matches

LISTED = 100
"""The maximum length of a list of names or choices in a message, in characters."""
MAX_COMPARED_LENGTH = 40
"""Names that are longer than this are not compared, since the time of a comparison grows with the product of the
lengths."""


def listed(texts: Iterable[str], count: int) -> str:
    """As many of the ``count`` texts as fit into ``LISTED`` characters, and the number of the others. The others are
    not read from the iterable."""
    shown: list[str] = []
    room = LISTED
    for text in texts:
        room -= len(text) + 2
        if room < 0:
            return f"{', '.join(shown)}, ... and {count - len(shown)} more"
        shown.append(text)
    return ", ".join(shown)


def brief(name: str) -> str:
    """A name, shortened if it is long."""
    return name if len(name) <= LISTED // 2 else f"{name[: LISTED // 2 - 3]}..."


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most similar to a misspelled one; None if none is similar. Of the similar names, one that begins
    with the misspelled one is chosen first."""
    if len(name) > MAX_COMPARED_LENGTH:
        return None
    names = {each.lower(): each for each in known if len(each) <= MAX_COMPARED_LENGTH}
    similar = get_close_matches(name.lower(), names, n=len(names) or 1)
    longer = [each for each in similar if each.startswith(name.lower())]
    return names[(longer or similar)[0]] if similar else None


def decimals(value: float) -> int:
    """Number of decimals in the written form of a finite number."""
    exponent = Decimal(repr(value)).as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0
