"""Maxima within the cube of an index that has a gradient, by L-BFGS-B (scipy's)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

STARTS = 3
"""Of a search for the largest index: the best of those that are given."""


def maxima(index: Callable[[Array], tuple[Array, Array]], starts: Array, free: Bools, iterations: int) -> Array:
    """Maxima near the first of some positions, (k, d); the other positions, and those from which nothing finite is
    found, as they are.

    Args:
        index: of positions (1, d), shape (1,), and its gradient, (1, d).
        starts: (k, d) where to begin, best first.
        free: (k, d) axes along which to move.
        iterations: at most, from each start.
    """
    found = [_maximum(index, *each, iterations) for each in zip(starts[:STARTS], free, strict=False)]
    return np.array([*found, *starts[STARTS:]])


def _maximum(index: Callable[[Array], tuple[Array, Array]], start: Array, free: Bools, iterations: int) -> Array:
    def falling(x: Array) -> tuple[float, Array]:
        value, gradient = index(x[None])
        return -float(value[0]), -gradient[0]

    ends = [(0.0, 1.0) if is_free else (x, x) for x, is_free in zip(start.tolist(), free.tolist(), strict=True)]
    end = minimize(falling, start, jac=True, bounds=ends, method="L-BFGS-B", options={"maxiter": iterations}).x
    return np.clip(end, 0.0, 1.0) if np.isfinite(end).all() else start
