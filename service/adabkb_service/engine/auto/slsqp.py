"""Maxima within the cube, also under inequality constraints, by sequential least squares (Kraft 1988; scipy's
SLSQP)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy  # imports its packages on first use
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

ITERATIONS = 40
PRECISION = 1e-6


def maximum(
    value: Callable[[Array], tuple[float, Array]],
    start: Array,
    free: Bools,
    margins: Callable[[Array], tuple[Array, Array]] | None = None,
) -> Array:
    """Return the maximum of a function in the cube near a position, (d,); the position itself if no finite one is
    found.

    Args:
        value: returns the value at a position, and its gradient, (d,).
        start: (d,) start position.
        free: (d,) axes along which to move.
        margins: returns values that must not be negative at a position, (m,), and their gradients, (m, d).
    """
    ends = [(0.0, 1.0) if is_free else (x, x) for x, is_free in zip(start.tolist(), free.tolist(), strict=True)]
    found = scipy.optimize.minimize(
        lambda x: _negative(value(x)),
        start,
        jac=True,
        bounds=ends,
        constraints=() if margins is None else _inequality(margins),
        method="SLSQP",
        options={"maxiter": ITERATIONS, "ftol": PRECISION},
    )
    return np.clip(found.x, 0.0, 1.0) if np.isfinite(found.x).all() else start


def first(found: tuple[Array, Array]) -> tuple[float, Array]:
    """Return the value and the gradient, (d,), at one position, given as (1,) and (1, d)."""
    values, gradients = found
    return float(values[0]), gradients[0]


def _negative(found: tuple[float, Array]) -> tuple[float, Array]:
    value, gradient = found
    return -value, -gradient


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
