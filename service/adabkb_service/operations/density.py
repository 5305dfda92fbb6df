"""How many results of a study lie where, for a chart that has no room for a point of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

COLUMNS, ROWS = 120, 60
"""Of the grid that results are counted on."""
FAR = 0.005
"""Share of the results at each end that the grid leaves out, so that a few far ones do not flatten it; they are drawn
as points."""


def density(found: Sequence[tuple[int, float]]) -> dict[str, Any]:
    """Counts of results on a grid of numbers and values.

    Args:
        found: number and value of each result, by number; at least one.

    Returns:
        ``low`` and ``high``, between which values are counted; ``cells``, those with results, each as first number,
        last number, lower and upper value, and how many there are.
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
