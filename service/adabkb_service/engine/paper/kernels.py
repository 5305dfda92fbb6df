"""Stationary kernels of unit variance, on coordinates already divided by the lengthscales.

r is the scaled distance ``sqrt(sum_k ((x_k - x'_k) / l_k)^2)``. The paper's Assumption 1 requires a non-decreasing
bound g on the distance in the RKHS: ``d_k(x, x') = sqrt(2 - 2 k(r)) <= g(r)``. Two are available: ``distance`` is d_k
itself, the tightest g; ``slope * r`` is the paper's linear g. For the Gaussian kernel exp(-r^2 / 2) the slope is 1, as
in the authors' code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Kernel(Protocol):
    """k(r) with k(0) = 1."""

    @property
    def slope(self) -> float:
        """The smallest c with ``d_k <= c r`` for all r; infinite if none exists."""

    def __call__(self, X: Array, Y: Array) -> Array:
        """Gram matrix, shape (n, m), of scaled points X (n, d) and Y (m, d)."""

    def at(self, r: Array) -> Array:
        """k at scaled distances r, of any shape."""


def distance(kernel: Kernel, r: Array) -> Array:
    """d_k(r) = sqrt(2 - 2 k(r)), the tightest g, at scaled distances r of any shape."""
    return np.sqrt(np.maximum(2.0 - 2.0 * kernel.at(r), 0.0))


@dataclass(frozen=True, slots=True)
class Gaussian:
    """k(r) = exp(-r^2 / 2)."""

    @property
    def slope(self) -> float:
        """1: d_k(r) <= r."""
        return 1.0

    def __call__(self, X: Array, Y: Array) -> Array:
        """Gram matrix of scaled points. Squared distances are computed as sums of squared differences, which are
        accurate for close points."""
        K: Array = np.exp(-0.5 * _between(X, Y, "sqeuclidean"))
        return K

    def at(self, r: Array) -> Array:
        """k at scaled distances r."""
        K: Array = np.exp(-0.5 * r * r)
        return K


@dataclass(frozen=True, slots=True)
class Matern:
    """Matern kernel of smoothness nu in {1/2, 3/2, 5/2}, with a = sqrt(2 nu) r.

    nu = 1/2: exp(-a); nu = 3/2: (1 + a) exp(-a); nu = 5/2: (1 + a + a^2 / 3) exp(-a).
    """

    nu: float = 2.5

    @property
    def slope(self) -> float:
        """sqrt(-k''(0)) = sqrt(nu / (nu - 1)); infinite for nu = 1/2, whose d_k grows like sqrt(r)."""
        return math.inf if self.nu <= 1.0 else math.sqrt(self.nu / (self.nu - 1.0))

    def __call__(self, X: Array, Y: Array) -> Array:
        """Gram matrix of scaled points."""
        return self.at(_between(X, Y, "euclidean"))

    def at(self, r: Array) -> Array:
        """k at scaled distances r."""
        a = math.sqrt(2.0 * self.nu) * r
        polynomial = 1.0 if self.nu == 0.5 else 1.0 + a if self.nu == 1.5 else 1.0 + a + a * a / 3.0
        K: Array = polynomial * np.exp(-a)
        return K


def _between(X: Array, Y: Array, metric: str) -> Array:
    """The distances, (n, m), between points X (n, d) and Y (m, d)."""
    # The import takes a third of a second; the server and the commands only need the configurations.
    from scipy.spatial.distance import cdist  # noqa: PLC0415

    found: Array = cdist(X, Y, metric)
    return found
