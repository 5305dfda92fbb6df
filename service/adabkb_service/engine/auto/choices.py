"""How a cell of several choices of a category is cut: into single choices or, if there are many, into groups first.

Every part of a cut is a cell that is kept, whether the search goes there or not. Groups of the root of the number of
choices keep these few: 31 + 32 cells on the way to one of 980 choices, and not 980.
"""

from __future__ import annotations

import math

MOST = 64
"""Choices that a cut tells apart."""


def together(choices: int) -> int:
    """How many of a cell's choices stay together in each part of a cut, except the last part, which may have fewer."""
    return 1 if choices <= MOST else math.ceil(math.sqrt(choices))


def parts(choices: int) -> int:
    """Into how many parts a cut divides a cell of so many choices."""
    return math.ceil(choices / together(choices))


def most_parts(choices: int) -> int:
    """Of one of the cuts on the way from a cell of so many choices to single ones."""
    return max(parts(choices), together(choices))
