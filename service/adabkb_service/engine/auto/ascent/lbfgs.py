"""Local maxima, within the cube, of a function with a gradient, by scipy's L-BFGS-B."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy  # imports its subpackages on first use
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

STARTS = 3
"""An ascent begins at this many of the best candidates."""


def maxima(function: Callable[[Array], tuple[Array, Array]], starts: Array, free: Bools, iterations: int) -> Array:
    """Return, (k, d), the local maxima found from the first ``STARTS`` positions. Other positions, and those from which
    no finite maximum is found, are returned unchanged.

    Args:
        function: returns the value at positions (1, d), shape (1,), and its gradient, (1, d).
        starts: (k, d) start positions, best first.
        free: (k, d) whether each start may move along each axis.
        iterations: the maximum number of iterations from each start.
    """
    found = [_maximum(function, *each, iterations) for each in zip(starts[:STARTS], free, strict=False)]
    return np.array([*found, *starts[STARTS:]])


def _maximum(function: Callable[[Array], tuple[Array, Array]], start: Array, free: Bools, iterations: int) -> Array:
    def falling(x: Array) -> tuple[float, Array]:
        value, gradient = function(x[None])
        return -float(value[0]), -gradient[0]

    ends = [(0.0, 1.0) if is_free else (x, x) for x, is_free in zip(start.tolist(), free.tolist(), strict=True)]
    end = scipy.optimize.minimize(
        falling, start, jac=True, bounds=ends, method="L-BFGS-B", options={"maxiter": iterations}
    ).x
    return np.clip(end, 0.0, 1.0) if np.isfinite(end).all() else start
