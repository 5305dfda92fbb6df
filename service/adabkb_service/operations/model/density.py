"""The density of a study's results by number and value, for charts that cannot show a dot for each result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

COLUMNS, ROWS = 120, 60
"""The number of columns and rows of the grid."""
FAR = 0.005
"""The share of results with the lowest values, and of those with the highest, that the grid omits, so that a few
extreme values do not compress it. The chart shows them as dots."""


def density(found: Sequence[tuple[int, float]]) -> dict[str, Any]:
    """Count results in the cells of a grid of numbers and values.

    Args:
        found: number and value of each result, ordered by number; at least one.

    Returns:
        ``low`` and ``high``: the range of the values that are counted. ``cells``: the cells that contain results, each
            as [first number, last number, lower value, upper value, count].
    """
    seqs, values = np.array([seq for seq, _ in found]), np.array([value for _, value in found])
    low, high = (float(each) for each in np.quantile(values, [FAR, 1.0 - FAR], method="nearest"))
    across = np.linspace(0.5, int(seqs[-1]) + 0.5, min(COLUMNS, int(seqs[-1])) + 1).round() + 0.5
    across[0] = 0.5
    up = np.linspace(low, high, ROWS + 1) if high > low else np.array([low, np.nextafter(low, np.inf)])
    counts, _, _ = np.histogram2d(seqs, values, bins=(np.unique(across), up))
    columns, edges = np.unique(across), [float(edge) for edge in up]
    cells = [
        [int(columns[x] + 0.5), int(columns[x + 1] - 0.5), edges[y], edges[y + 1], int(counts[x, y])]
        for x, y in zip(*np.nonzero(counts), strict=True)
    ]
    return {"low": low, "high": high, "cells": cells}
