"""How a cell with several choices of a category is cut: into single choices or, if there are many, into groups first.

Every part of a cut is stored as a cell, whether the search visits it or not. A group has about as many choices as there
are groups. So the path to a choice needs few cells: with 980 choices, 31 + 32 instead of 980.
"""

from __future__ import annotations

import math

MOST = 64
"""The maximum number of choices that a cut separates into single ones."""


def together(choices: int) -> int:
    """Return the number of choices per part of a cut. The last part may have fewer."""
    return 1 if choices <= MOST else math.ceil(math.sqrt(choices))


def parts(choices: int) -> int:
    """Return the number of parts into which a cut divides a cell with ``choices`` choices."""
    return math.ceil(choices / together(choices))


def most_parts(choices: int) -> int:
    """Return the maximum number of parts of a cut on the path from a cell with ``choices`` choices to single ones."""
    return max(parts(choices), together(choices))
