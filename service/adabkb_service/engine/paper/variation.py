"""The variation bound V_h of a cell, in two forms.

Both are made of g, which bounds the kernel's distance between a cell's centroid and its points: the kernel's own at
the cell's scaled radius, or ``distance_at_depth``. Ada-BKB's V_h is F g. (The lemma's V_h bounds f over pairs of points
of a cell with the radius, although two of them may be twice as far apart; what the index needs is the distance from the
centroid, for which the radius is right.) Ada-GP-UCB's comes from chaining, holds for draws of the Gaussian process,
and is larger by a factor that hardly falls with h.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.paper.kernels import Kernel

Array = NDArray[np.float64]
TINY = 1e-300
"""Instead of a g of 0, where a logarithm is taken."""


@dataclass(frozen=True, slots=True)
class Chaining:
    """The constants of Ada-GP-UCB's V_h (Shekhar and Javidi 2018) that Ada-BKB has no use for."""

    horizon: int
    """T, the number of results that the bound is to hold for."""
    c1: float
    """C_1: how many balls of radius r cover the box, times r^d."""


def distance_at_depth(kernel: Kernel, v1: float, rho: float, shortest: float, depth: int) -> float:
    """g(v1 rho^h), with the linear g (paper, Lemma 1): g(r) = slope * r / lengthscale.

    Args:
        kernel: with a finite ``slope``.
        v1, rho: as configured, in model coordinates (the authors' do not depend on the size of the box).
        shortest: the smallest lengthscale, which gives the largest bound.
        depth: h.
    """
    return kernel.slope * v1 * rho**depth / shortest


def variation_by_chaining(
    form: Chaining, g: Array, *, dimension: int, depth: int, max_depth: int, branching: int, delta: float
) -> Array:
    """Ada-GP-UCB's V_h of k cells of one depth, shape (k,), in standard deviations of the process.

        V_h = g_h (sqrt(2 delta + C_4 + h ln N + 4 d ln(1 / g_h)) + C_3)
        C_4 = 2 ln(C_1^2 pi^2 / 3) + 2 ln(T^2 pi^2 / 6)
        C_3 = sum over i <= h_max of 2^(1 - i) (sqrt(ln i) + sqrt(2 d ln 2) sqrt(i))

    as in the code of Ada-BKB's authors, but with ln(1 / delta) where their code has delta itself; a negative root,
    where g is large, counts as 0 (theirs is nan).

    Args:
        form: T and C_1.
        g: (k,) bound on the kernel's distance between the centroid and a point of the cell.
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
