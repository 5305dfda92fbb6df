"""How often a study that has gone so long without a gain gains once more.

What the model itself says of that is of no use (docs/decisions/0006), so the probability is a frequency: of seeded runs
of ``auto`` that had gone as many results without a gain, the share that still gained within as many further evaluations
as they had results. A gain is more than 1% of the range of the results so far. ``python -m benchmarks.quality.gain``
counts it on runs of 10 to 400 results on functions without noise, gives the constants, and checks them on families of
functions that had no part in them.
"""

from __future__ import annotations

import math

from adabkb_service.storage.columns import Progress

GAIN = 0.01
"""Of the range of the results so far; what is smaller does not count."""
FACTOR = 2.41
"""The odds of a gain are this times a power of ``pace``: ``benchmarks/results/gain.json``."""
EXPONENT = 0.704
"""That power, from the same file."""


def advance(progress: Progress | None, merit: float) -> Progress:
    """The progress after one more result; None stands for no results. Small steps add up to a gain."""
    if progress is None:
        return Progress(reference=merit, worst=merit, since=0)
    worst = min(progress["worst"], merit)
    if merit - progress["reference"] > GAIN * (merit - worst):
        return Progress(reference=merit, worst=worst, since=0)
    return Progress(reference=progress["reference"], worst=worst, since=progress["since"] + 1)


def pace(since: int, dimension: int) -> float:
    """What the odds of a gain are a power of: smaller after more results without one, larger in more dimensions.

    Args:
        since: results after the last gain.
        dimension: number of parameters that are not fixed.
    """
    return math.sqrt(dimension) / (since + 1)


def probability_of_gain(since: int, dimension: int) -> float:
    """Of runs of ``auto`` with so many results since the last gain, the share that gained within as many evaluations as
    they had results; arguments as of ``pace``."""
    odds = FACTOR * math.pow(pace(since, dimension), EXPONENT)
    return odds / (1.0 + odds)
