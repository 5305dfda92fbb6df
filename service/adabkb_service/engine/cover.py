"""Boxes that hold all feasible points: bisected again and again, without those that are proved to be infeasible.

Source: L. Jaulin, E. Walter, Set inversion via interval analysis, Automatica 29 (1993).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

BOXES = 4096
"""Of a cover, at most."""
BISECTIONS = 400
"""Levels of a cover, at most."""
NARROWEST = 1e-9
"""Width of a box that is not bisected any more."""
MOST_WORK = 100_000_000
"""Largest ``Cover.work``."""
OVERHEAD = 500
"""Boxes for which numpy's calls take as long as its arithmetic."""


class Cover(NamedTuple):
    """No boxes are left if and only if that proves that there is no feasible point."""

    lows: Array
    """(b, d) lower corners."""
    highs: Array
    """(b, d) upper corners."""
    work: int
    """The size of the constraints times the boxes, added up over the levels."""


def cover(
    low: Array,
    high: Array,
    cuts: Callable[[Array, Array], tuple[Array, Array]],
    compared: Callable[[Array, Array], tuple[Bools, Bools]],
    size: int,
) -> Cover:
    """The cover of a box.

    Args:
        low: (d,) its lower corner.
        high: (d,) its upper corner.
        cuts: of corners of boxes, (k, d) each, gives (k, d) where to cut along each axis, and (k, d) widths: the widest
            is cut, and none of width 0.
        compared: of corners of boxes, (k, d) each, gives (k,) whether they may have feasible points, where False is a
            proof, and (k,) whether all their points are feasible.
        size: of the constraints: what ``compared`` costs for a box.
    """
    lows, highs, work = low[None], high[None], 0
    for _ in range(BISECTIONS):
        if work > MOST_WORK:
            break
        work += size * (len(lows) + OVERHEAD)
        keep, surely = compared(lows, highs)
        lows, highs, surely = lows[keep], highs[keep], surely[keep]
        places, widths = cuts(lows, highs)
        divided = np.flatnonzero((widths.max(axis=1, initial=0.0) > 0.0) & ~surely)
        if not len(divided) or len(lows) + len(divided) > BOXES:
            break
        axes = widths[divided].argmax(axis=1)
        upper_lows, lower_highs = lows[divided], highs.copy()
        upper_lows[np.arange(len(divided)), axes] = lower_highs[divided, axes] = places[divided, axes]
        lows, highs = np.concatenate([lows, upper_lows]), np.concatenate([lower_highs, highs[divided]])
    return Cover(lows, highs, work)
