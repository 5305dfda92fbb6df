"""Whether so many points fail that the search can learn where."""

from __future__ import annotations

FEWEST, SHARE = 3, 0.4
"""The minimum number of failed points, and their minimum share of all points with an outcome, for a model of failures.
If fewer fail, a failed point counts as a bad result with much noise (``engine/auto/acquisition/issued.py``) instead,
since a region that is excluded on little evidence may contain the optimum."""


def are_many(finished: int, failed: int) -> bool:
    """Return whether so many points fail that the search can learn where."""
    return failed >= FEWEST and failed >= SHARE * (finished + failed)
