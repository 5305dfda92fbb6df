"""The additive part of the kernel: a sum of functions of one axis each.

    k_w(x, x') = (1 - w) k(x, x') + sum over axes w_k g(r_k)      g(r) = (1 + r + r^2 / 3) exp(-r)      w = sum of w_k
    r_k = sqrt(5) |x_k - x'_k| / a      ordered axes: Matern 5/2 with one lengthscale a for all of them
    r_k = sqrt(5) [x_k != x'_k] / a     categorical axes: choices that differ are a distance of 1 apart

The learned parameters are logit w, log a and eta, (d,), with w_k = w exp(eta_k) / sum of exp(eta_j) and independent
normal priors.

Since k(x, x) = 1, also k_w(x, x) = 1. Source: the first-order part of Duvenaud, Nickisch and Rasmussen 2011, here added
to the full kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SHARES = (0.01, 0.999)
"""Bounds of w."""
SHARE_PRIOR = 3.0
"""Standard deviation of logit w; the mean is 0."""
LENGTHSCALE_PRIOR = math.log(0.5) + 0.5 * math.log(1.0 / 3.0)
"""Mean of log a, with standard deviation 1, as for the other lengthscales in one dimension."""
WEIGHT_PRIOR = 1.5
"""Standard deviation of eta_k; the mean is 0."""
MAX_WEIGHT = 6.0
"""The maximum of |eta_k|."""
FIRST_SHARE = 0.9
"""The share w at the start of a search for an additive part."""


@dataclass(frozen=True, slots=True)
class Additive:
    """The additive part of a kernel."""

    shares: Array
    """(d,) w_k, shares of the variance."""
    lengthscale: float
    """a, in units of the unit cube."""

    def parameters(self) -> Array:
        """(logit w, log a, eta), (d + 2,)."""
        share, weights = self.shares.sum(), np.log(self.shares)
        return np.array([math.log(share / (1.0 - share)), math.log(self.lengthscale), *(weights - weights.mean())])


def of(parameters: Array) -> Additive:
    """Return the additive part with these parameters, (d + 2,): the inverse of ``Additive.parameters``."""
    return Additive(_shares(parameters), math.exp(parameters[1]))


def first(dimension: int) -> Additive:
    """Return the additive part at the start of a search."""
    return Additive(np.full(dimension, FIRST_SHARE / dimension), math.exp(LENGTHSCALE_PRIOR))


def _shares(parameters: Array) -> Array:
    """Return w_k, (d,)."""
    weights = np.exp(parameters[2:])
    shares: Array = weights / weights.sum() / (1.0 + math.exp(-parameters[0]))
    return shares
