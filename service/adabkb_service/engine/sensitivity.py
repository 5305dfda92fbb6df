"""Sensitivity to the parameters: Sobol' indices of the posterior mean m over the whole space (Sobol' 2001).

The coordinates x are independent and uniform in the unit cube, and x_~k are all coordinates but x_k:

    first order  S_k = Var(E[m | x_k]) / Var(m)        share explained by the parameter alone
    total        T_k = E(Var[m | x_~k]) / Var(m)       share explained by the parameter alone or together with others

The weight of an integer or a choice is the width of its bin, and log scales are uniform in the logarithm. Where a
parameter is inactive, m does not vary with it, so a parameter that is rarely active has small indices. The coordinates
x of a mixture's shares need not sum to its total; m is evaluated at the nearest mixture.

There is no closed form, because the kernel of ``auto`` is not a product over the axes, and the model's outputs are
warped. So both indices are estimated by pick-freeze (Saltelli et al. 2010), from a few random shifts of one Sobol'
sequence. The spread over the shifts gives the standard error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]

MIN_RESULTS = 4
"""The minimum number of results; with fewer, the indices reflect the prior of the model rather than the objective."""
SHIFTS = 8
MAX_PREDICTIONS = 1 << 15
MIN_POINTS, MAX_POINTS = 16, 512
"""The minimum and maximum number of points per shift. They are powers of two, for a balanced Sobol' sequence."""
CONSTANT = 1e-9
"""The posterior mean counts as constant if its standard deviation, divided by its largest absolute value, is at most
this."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Indices and their standard errors, (d,) each, in the order of the axes."""

    std: float
    """Standard deviation of the posterior mean over the space, in the objective's units."""
    first: Array
    first_error: Array
    total: Array
    total_error: Array


def sensitivity(mean: Callable[[Array], Array], space: Space) -> Sensitivity | None:
    """The indices of a function on the space; None if it is constant or the space has no axes. The same function always
    has the same indices.

    Args:
        mean: the function. It gets cube positions (k, d) of points of the space, and returns k finite values.
        space: the domain of the function.
    """
    from scipy.stats import sobol_indices  # noqa: PLC0415 (half a second and 30 MB, needed only here)

    if not space.dimension:
        return None
    A, B = _samples(space)
    shifts, points, axes = A.shape
    AB = np.repeat(A[None], axes, axis=0)
    for axis in range(axes):
        AB[axis, :, :, axis] = B[:, :, axis]
    positions = np.concatenate([A[None], B[None], AB]).reshape(-1, axes)
    values = mean(space.with_inactive_at_rest(positions))
    size = float(np.abs(values).max())
    values = (values / (size or 1.0)).reshape(-1, shifts, points)
    std = float(values[:2].std())
    if std <= CONSTANT:
        return None
    found = sobol_indices(func={"f_A": values[0], "f_B": values[1], "f_AB": values[2:]}, n=points)
    # With one axis, the shape of both indices is (shifts,).
    first, total = (order.reshape(shifts, axes) for order in (found.first_order, found.total_order))
    return Sensitivity(std * size, *_averaged(first), *_averaged(total))


def _averaged(estimates: Array) -> tuple[Array, Array]:
    """The mean over the shifts of estimates (shifts, d), clipped to [0, 1], and its standard error."""
    error = estimates.std(axis=0, ddof=1) / np.sqrt(len(estimates))
    return np.clip(estimates.mean(axis=0), 0.0, 1.0), error


def _samples(space: Space) -> tuple[Array, Array]:
    """Two independent samples of points of the space, A and B of the pick-freeze method, (shifts, points, d) each."""
    from scipy.stats.qmc import Sobol  # noqa: PLC0415 (as above)

    axes = space.dimension
    affordable = MAX_PREDICTIONS // (SHIFTS * (axes + 2))
    points = min(max(1 << (affordable.bit_length() - 1), MIN_POINTS), MAX_POINTS)
    sequence = Sobol(2 * axes, scramble=False).random(points)
    both = np.concatenate([(sequence + uniforms(0, shift, 2 * axes)) % 1.0 for shift in range(SHIFTS)])
    A, B = (space.rounded(half).reshape(SHIFTS, points, axes) for half in (both[:, :axes], both[:, axes:]))
    return A, B
