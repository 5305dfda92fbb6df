"""Widths: the confidence width beta_t of the posterior and the variation bound V_h of a cell.

beta_t, three forms. The paper prints three different factors for its first term (theorem: 2 lambda^2 sqrt(.),
proof: 2 lambda sqrt(.)); BKB, from which it descends, has 2 xi sqrt(.) with lambda = xi^2. Taken: BKB's as
``theory``; the authors' code as ``authors``; or a constant.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.kernels import Kernel, distance

Array = NDArray[np.float64]
Beta = Literal["theory", "authors"] | float


def width(
    form: Beta,
    *,
    effective_dimension: float,
    observations: int,
    ridge: float,
    noise_std: float,
    norm_bound: float,
    delta: float,
    epsilon: float,
) -> float:
    """beta_t, in model output units per unit of (ridge-scaled) standard deviation.

    theory   2 xi sqrt(a ln(t) D + ln(1/delta)) + (1 + 1/sqrt(1 - eps)) sqrt(lambda) F,  a = (1 + eps)/(1 - eps),
             kappa = 1 (paper, Theorem 1, with BKB's factor 2 xi)
    authors  lambda sqrt(D ln(t) + ln(1/delta)) + sqrt(lambda) F (their code: no a, factor 1 for F)

    Args:
        form: "theory", "authors" or the constant itself.
        effective_dimension: D = sum over observations of the current variance, d_eff(t).
        observations: t; 0 counts as 1.
        ridge: lambda.
        noise_std: xi, in model output units.
        norm_bound: F.
        delta: failure probability in (0, 1).
        epsilon: sketch accuracy in (0, 1).
    """
    logarithm = math.log(max(observations, 1))
    if form == "theory":
        inflation = (1.0 + epsilon) / (1.0 - epsilon)
        root = math.sqrt(inflation * logarithm * effective_dimension + math.log(1.0 / delta))
        return 2.0 * noise_std * root + (1.0 + 1.0 / math.sqrt(1.0 - epsilon)) * math.sqrt(ridge) * norm_bound
    if form == "authors":
        root = math.sqrt(logarithm * effective_dimension + math.log(1.0 / delta))
        return ridge * root + math.sqrt(ridge) * norm_bound
    return float(form)


def variation_of_cells(kernel: Kernel, norm_bound: float, radii: Array) -> Array:
    """V_h per cell, shape (k,): F d_k(radius), the tightest g at the cell's own scaled radius, shape (k,).

    The lemma's V_h bounds f over pairs of points of a cell with the radius, although two of them may be twice as
    far apart; what the index needs is the distance from the centroid, for which the radius is right.
    """
    return norm_bound * distance(kernel, radii)


def variation_at_depth(kernel: Kernel, norm_bound: float, v1: float, rho: float, shortest: float, depth: int) -> float:
    """V_h = F g(v1 rho^h) with the linear g (paper, Lemma 1): g(r) = slope * r / lengthscale.

    Args:
        kernel: with a finite ``slope``.
        norm_bound: F.
        v1, rho: as configured, in model coordinates (the authors' do not depend on the size of the box).
        shortest: the smallest lengthscale, which gives the largest bound.
        depth: h.
    """
    return norm_bound * kernel.slope * v1 * rho**depth / shortest
