"""Cover all feasible points with boxes: bisect boxes repeatedly, and drop those that are proved to have no feasible
point.

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
"""The maximum number of boxes of a cover."""
BISECTIONS = 400
"""The maximum number of bisection levels of a cover."""
NARROWEST = 1e-9
"""Sides that are not wider than this are not bisected."""
MAX_WORK = 100_000_000
"""The value of ``Cover.work`` at which the bisection stops."""
OVERHEAD = 500
"""The number of boxes for which numpy's arithmetic takes as long as the overhead of its calls."""


class Cover(NamedTuple):
    """Boxes that contain all feasible points. There are none if and only if it is proved that no point is feasible."""

    lows: Array
    """(b, d) lower corners."""
    highs: Array
    """(b, d) upper corners."""
    work: int
    """Size of the constraints times the number of boxes (plus OVERHEAD), summed over the levels."""


def cover(
    low: Array,
    high: Array,
    cuts: Callable[[Array, Array], tuple[Array, Array]],
    compared: Callable[[Array, Array], tuple[Bools, Bools]],
    size: int,
) -> Cover:
    """Cover the feasible points of a box.

    Args:
        low: (d,) lower corner.
        high: (d,) upper corner.
        cuts: gets the corners of boxes, (k, d) each. Returns where to cut along each axis, (k, d), and the widths,
            (k, d). The widest side of a box is cut, unless its width is 0.
        compared: gets the corners of boxes, (k, d) each. Returns, (k,) each, whether a box may contain feasible points
            (False is a proof), and whether all its points are feasible.
        size: the size of the constraints, which is the cost of ``compared`` per box.
    """
    lows, highs, work = low[None], high[None], 0
    for _ in range(BISECTIONS):
        if work > MAX_WORK:
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
