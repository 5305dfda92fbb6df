"""Results of an earlier search in the space of a new one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adabkb_integrations.model import Position
from adabkb_service.engine.auto.model import warp
from adabkb_service.engine.older import Older, chosen

MIN_RESULTS = 4
"""The minimum number of results that an earlier search must have within the new space."""
MAX_POINTS = 100
"""The maximum number of results of an earlier search that are used."""


def snapshot(
    name: str, metric: str | None, results: Sequence[tuple[Position, float]], shared: tuple[int, ...]
) -> Older:
    """Return the results of an earlier search.

    Args:
        name: the search, for errors.
        metric: the objective that they measure; None with a single objective.
        results: positions along the shared axes, and values: larger is better.
        shared: the axes that both searches have, as indices of the new one's.
    """
    values = np.array([value for _, value in results])
    rows = chosen(values, MAX_POINTS)
    outputs = tuple(warp.fit(values[rows]).forward(values[rows]).tolist())
    return Older(name, shared, tuple(results[row][0] for row in rows), outputs, metric)
