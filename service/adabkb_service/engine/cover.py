"""Cover all feasible points with boxes: bisect repeatedly, and drop boxes proved to be infeasible.

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
"""Width below which a box is not bisected."""
MOST_WORK = 100_000_000
"""The largest ``Cover.work``."""
OVERHEAD = 500
"""The number of boxes for which numpy's call overhead equals its arithmetic."""


class Cover(NamedTuple):
    """A cover. It has no boxes if and only if it is proved that no point is feasible."""

    lows: Array
    """(b, d) lower corners."""
    highs: Array
    """(b, d) upper corners."""
    work: int
    """Size of the constraints times the number of boxes, summed over the levels."""


def cover(
    low: Array,
    high: Array,
    cuts: Callable[[Array, Array], tuple[Array, Array]],
    compared: Callable[[Array, Array], tuple[Bools, Bools]],
    size: int,
) -> Cover:
    """The cover of a box.

    Args:
        low: (d,) lower corner.
        high: (d,) upper corner.
        cuts: takes corners of boxes, (k, d) each, and returns the cut positions along each axis, (k, d), and the
            widths, (k, d). The widest side is cut; sides of width 0 are not.
        compared: takes corners of boxes, (k, d) each, and returns whether they may contain feasible points, (k,) (False
            is a proof), and whether all their points are feasible, (k,).
        size: the size of the constraints, which is the cost of ``compared`` per box.
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
