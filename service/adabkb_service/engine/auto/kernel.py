"""The kernel of the ``auto`` profile on mixed spaces, with what its gradients need.

    k(x, x') = (1 + r) exp(-r) * exp(-q)
    r^2 = 3 sum over ordered axes ((x_k - x'_k) / l_k)^2     Matern 3/2 with a lengthscale per axis
    q   = sum over categorical axes [x_k != x'_k] / l_k      one factor exp(-1 / l_k) per axis that differs

The constant mean of the model is a part of the kernel: k + MEAN_VARIANCE is the same as a mean with a normal prior
of that variance, so what is not known about the mean widens the posterior as it should.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

MEAN_VARIANCE = 10.0


@dataclass(frozen=True)
class Metric:
    """Lengthscales, and which axes are categorical; both (d,)."""

    lengthscales: Array
    categorical: Bools

    @cached_property
    def _units(self) -> Array:
        return np.where(self.categorical, 1.0, self.lengthscales)

    @cached_property
    def _is_mixed(self) -> bool:
        return bool(self.categorical.any())

    def scaled(self, positions: Array) -> Array:
        """Positions (k, d) in lengthscales; categorical axes keep their positions, which only name the choice."""
        scaled: Array = positions / self._units
        return scaled

    def parts(self, X: Array, Y: Array) -> tuple[Array, Array]:
        """k and its radial part E = exp(-r - q), (n, m) each, between scaled points (n, d) and (m, d).

        dk/dx_k = -3 (x_k - x'_k) / l_k^2 E along an ordered axis.
        """
        categorical = self.categorical
        if not self._is_mixed:
            r = np.sqrt(3.0) * cdist(X, Y)
            E = np.exp(-r)
            return (1.0 + r) * E, E
        smooth = ~categorical
        r = np.sqrt(3.0) * cdist(X[:, smooth], Y[:, smooth]) if smooth.any() else np.zeros((len(X), len(Y)))
        q = np.zeros_like(r)
        for k in np.flatnonzero(categorical):
            q += (X[:, k, None] != Y[None, :, k]) / self.lengthscales[k]
        E = np.exp(-r - q)
        return (1.0 + r) * E, E


def add_to_diagonal(matrix: Array, values: Array | float) -> None:
    """In place, of a contiguous square matrix."""
    matrix.reshape(-1)[:: len(matrix) + 1] += values
