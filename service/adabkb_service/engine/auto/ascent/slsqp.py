"""Local maxima, within the cube and inequality constraints, by sequential least squares (Kraft 1988; scipy's SLSQP)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy  # imports its subpackages on first use
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

STARTS = 3
"""An ascent begins at this many of the best candidates."""
ITERATIONS = 40
PRECISION = 1e-6


def maxima(
    function: Callable[[Array], tuple[Array, Array]],
    starts: Array,
    free: Bools,
    margins: Callable[[Array], tuple[Array, Array]] | None = None,
) -> Array:
    """Return the local maxima found from the first ``STARTS`` positions, (k, d) with k <= ``STARTS``. A position from
    which no finite maximum is found is returned unchanged.

    Args:
        function: returns the value at positions (1, d), shape (1,), and its gradient, (1, d).
        starts: (k, d) start positions, best first.
        free: (k, d) whether each start may move along each axis.
        margins: returns values that must not be negative at a position, (m,), and their gradients, (m, d).
    """
    return np.array([_maximum(function, *each, margins) for each in zip(starts[:STARTS], free, strict=False)])


def _maximum(
    function: Callable[[Array], tuple[Array, Array]],
    start: Array,
    free: Bools,
    margins: Callable[[Array], tuple[Array, Array]] | None,
) -> Array:
    def falling(x: Array) -> tuple[float, Array]:
        value, gradient = function(x[None])
        return -float(value[0]), -gradient[0]

    ends = [(0.0, 1.0) if is_free else (x, x) for x, is_free in zip(start.tolist(), free.tolist(), strict=True)]
    found = scipy.optimize.minimize(
        falling,
        start,
        jac=True,
        bounds=ends,
        constraints=() if margins is None else _inequality(margins),
        method="SLSQP",
        options={"maxiter": ITERATIONS, "ftol": PRECISION},
    )
    return np.clip(found.x, 0.0, 1.0) if np.isfinite(found.x).all() else start


def _inequality(margins: Callable[[Array], tuple[Array, Array]]) -> dict[str, Any]:
    """Return margins in the form that scipy requires, with separate functions for values and gradients."""
    known: dict[bytes, tuple[Array, Array]] = {}

    def at(x: Array) -> tuple[Array, Array]:
        key = x.tobytes()
        if key not in known:
            known.clear()
            known[key] = margins(x)
        return known[key]

    return {"type": "ineq", "fun": lambda x: at(x)[0], "jac": lambda x: at(x)[1]}
