"""V_h, a bound on the variation of the objective in a cell, in two forms.

Both depend on g, a bound on the distance in the RKHS between the centroid of a cell and its other points: the kernel's
``distance`` at the radius of the cell, or ``distance_at_depth``. Ada-BKB's V_h is F g. (The paper's lemma bounds the
difference of f between any two points of a cell by the radius, although two points may be twice as far apart. The index
needs only the difference from the centroid, for which the radius is right.) Ada-GP-UCB's V_h comes from chaining and
holds for draws from the Gaussian process. It is usually larger, by a factor that grows slowly with h.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.paper.kernels import Kernel

Array = NDArray[np.float64]
TINY = 1e-300
"""Replaces a g of 0 in a logarithm."""


@dataclass(frozen=True, slots=True)
class Chaining:
    """Constants of Ada-GP-UCB's V_h (Shekhar and Javidi 2018) that Ada-BKB does not have."""

    horizon: int
    """T, the number of results for which the bound holds."""
    c1: float
    """C_1: C_1 r^-d balls of radius r can cover the box."""


def distance_at_depth(kernel: Kernel, v1: float, rho: float, shortest: float, depth: int) -> float:
    """g(v1 rho^h), with the linear g (paper, Lemma 1): g(r) = slope * r / lengthscale.

    Args:
        kernel: with a finite ``slope``.
        v1, rho: the constants, in model coordinates (those of the authors do not depend on the size of the box).
        shortest: the smallest lengthscale, which gives the largest bound.
        depth: h.
    """
    return kernel.slope * v1 * rho**depth / shortest


def variation_by_chaining(
    form: Chaining, g: Array, *, dimension: int, depth: int, max_depth: int, branching: int, delta: float
) -> Array:
    """Ada-GP-UCB's V_h of k cells of one depth, shape (k,), in standard deviations of the process.

        V_h = g_h (sqrt(2 ln(1 / delta) + C_4 + h ln N + 4 d ln(1 / g_h)) + C_3)
        C_4 = 2 ln(C_1^2 pi^2 / 3) + 2 ln(T^2 pi^2 / 6)
        C_3 = sum over i <= h_max of 2^(1 - i) (sqrt(ln i) + sqrt(2 d ln 2) sqrt(i))

    This is the code of Ada-BKB's authors with two differences: it has ln(1 / delta) where theirs has delta, and the
    root is 0 where g is so large that its argument would be negative (theirs is NaN).

    Args:
        form: T and C_1.
        g: (k,) bound on the distance in the RKHS between the centroid and a point of the cell.
        dimension: d.
        depth: h.
        max_depth: h_max.
        branching: N.
        delta: failure probability in (0, 1).
    """
    c4 = 2 * math.log(form.c1**2 * math.pi**2 / 3) + 2 * math.log(form.horizon**2 * math.pi**2 / 6)
    levels = np.arange(1, max_depth + 1)
    terms = np.sqrt(np.log(levels)) + math.sqrt(2 * dimension * math.log(2)) * np.sqrt(levels)
    c3 = float((2.0 ** (1 - levels) * terms).sum())
    root = 2 * math.log(1 / delta) + c4 + depth * math.log(branching) - 4 * dimension * np.log(np.maximum(g, TINY))
    bound: Array = g * (np.sqrt(np.maximum(root, 0.0)) + c3)
    return bound
