"""The kernel of the ``auto`` profile on mixed spaces, with what its gradients need.

    k(x, x') = (1 + r) exp(-r) * exp(-q)
    r^2 = 3 sum over ordered axes ((x_k - x'_k) / l_k)^2     Matern 3/2 with a lengthscale per axis
    q   = sum over categorical axes [x_k != x'_k] / l_k      one factor exp(-1 / l_k) per axis that differs

From revision 4 on an additive part may join it (``additive``).

The constant mean of the model is a part of the kernel: k + MEAN_VARIANCE is the same as a mean with a normal prior
of that variance, so what is not known about the mean widens the posterior as it should.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.additive import TABLES, Additive, Tables, mix, tabulated
from adabkb_service.engine.compiled import compiled, inlined

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

MEAN_VARIANCE = 10.0

_SMALLEST = -708.0
_SHIFT = 1.5 * 2.0**52
"""Adding it rounds to an integer, which the last bits of the sum then hold."""
_BIAS = 1023
_MANTISSA_BITS = 52
_LOG2_E = 1.0 / math.log(2.0)
_BLOCK = 4096
"""Entries of the matrix that are computed at a time: what the processor's nearest memory holds."""
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10


@dataclass(frozen=True)
class Kernel:
    """Lengthscales, and which axes are categorical; both (d,)."""

    lengthscales: Array
    categorical: Bools
    additive: Additive | None = None

    @cached_property
    def units(self) -> Array:
        """(d,) what positions are divided by: categorical axes keep their positions, which only name the choice."""
        return np.where(self.categorical, 1.0, self.lengthscales)

    def scaled(self, positions: Array) -> Array:
        """Positions (k, d) in lengthscales."""
        scaled: Array = positions / self.units
        return scaled

    def gram(self, X: Array, Y: Array) -> Array:
        """k + MEAN_VARIANCE, (n, m), between scaled points (n, d) and (m, d)."""
        points = np.ascontiguousarray(Y.T)
        return _gram(np.ascontiguousarray(X), points, self.lengthscales, self.categorical, self.tables(points))

    def tables(self, points: Array) -> Tables:
        """What the additive part needs to know of scaled points, (d, m)."""
        shares, lengthscale = (self.additive.shares, self.additive.lengthscale) if self.additive else (np.empty(0), 1.0)
        return _tables(shares, lengthscale, points, self.lengthscales, self.categorical)


def add_to_diagonal(matrix: Array, values: Array | float) -> None:
    """In place, of a contiguous square matrix."""
    matrix.reshape(-1)[:: len(matrix) + 1] += values


@compiled(f"f8[:,::1](f8[:,::1], f8[:,::1], f8[::1], b1[::1], {TABLES})")
def _gram(X: Array, Y: Array, lengthscales: Array, categorical: Bools, tables: Tables) -> Array:
    return gram(X, Y, lengthscales, categorical, tables)


@compiled(f"{TABLES}(f8[::1], f8, f8[:,::1], f8[::1], b1[::1])")
def _tables(shares: Array, lengthscale: float, points: Array, lengthscales: Array, categorical: Bools) -> Tables:
    return tabulated(shares, lengthscale, points, lengthscales, categorical)


@inlined
def gram(X: Array, Y: Array, lengthscales: Array, categorical: Bools, tables: Tables) -> Array:
    """k_w + MEAN_VARIANCE, (n, m), between scaled points (n, d) and, transposed, (d, m); the tables are of these."""
    n, m = X.shape[0], Y.shape[1]
    K = np.empty((n, m))
    rows = max(1, _BLOCK // max(m, 1))
    E, scratch = np.empty(min(rows, n) * m), np.empty(min(rows, n) * m)
    for first in range(0, n, rows):
        block = X[first : first + rows]
        k = K[first : first + rows].reshape(-1)
        kernel_block(block, Y, lengthscales, categorical, k, E[: len(k)], scratch[: len(k)])
        if tables[0] > 0.0:
            mix(tables, block, Y, lengthscales, categorical, k)
        for j in range(len(k)):
            k[j] += MEAN_VARIANCE
    return K


@inlined
def gram_and_radial(X: Array, Y: Array, lengthscales: Array, categorical: Bools, tables: Tables) -> tuple[Array, Array]:
    """k_w + MEAN_VARIANCE and the radial part E = (1 - w) exp(-r - q), (n, m) each, of the same points.

    (1 - w) dk/dx_k = -3 (x_k - x'_k) / l_k^2 E along an ordered axis.
    """
    n, m = X.shape[0], Y.shape[1]
    K, E, scratch = np.empty((n, m)), np.empty((n, m)), np.empty(n * m)
    k = K.reshape(-1)
    kernel_block(X, Y, lengthscales, categorical, k, E.reshape(-1), scratch)
    if tables[0] > 0.0:
        E *= 1.0 - tables[0]
        mix(tables, X, Y, lengthscales, categorical, k)
    for j in range(len(k)):
        k[j] += MEAN_VARIANCE
    return K, E


@inlined
def kernel_block(
    X: Array, Y: Array, lengthscales: Array, categorical: Bools, k: Array, E: Array, scratch: Array
) -> None:
    """k and E of scaled points (n, d) and (d, m), into arrays of shape (n m,): long loops are what is fast."""
    d, m = Y.shape
    k[:] = 0.0
    E[:] = 0.0
    for axis in range(d):
        others = Y[axis]
        for i in range(len(X)):
            here, first = X[i, axis], i * m
            if categorical[axis]:
                for j in range(m):
                    if others[j] != here:
                        E[first + j] -= 1.0 / lengthscales[axis]
            else:
                for j in range(m):
                    away = here - others[j]
                    k[first + j] += away * away
    for j in range(len(k)):
        k[j] = math.sqrt(3.0 * k[j])
    for j in range(len(k)):
        E[j] -= k[j]
    exponentials(E, scratch)
    for j in range(len(k)):
        k[j] = (1.0 + k[j]) * E[j]


@inlined
def exponentials(x: Array, scratch: Array) -> None:
    """exp(x) in place, of values up to 0; to 2 units in the last place, and about 1e-308 below -708.

    x = n ln 2 + r with |r| <= ln(2) / 2 gives 2^n times the Taylor polynomial of exp(r). Loops without branches become
    vector instructions; the C library's function would be called for one number at a time.
    """
    bits = scratch.view(np.int64)
    for j in range(len(x)):
        x[j] = max(x[j], _SMALLEST)
        scratch[j] = x[j] * _LOG2_E + _SHIFT
    for j in range(len(x)):
        n = scratch[j] - _SHIFT
        r = (x[j] - n * _LN2_HIGH) - n * _LN2_LOW
        p = 1.0 / 6227020800.0
        p = p * r + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        x[j] = p * r + 1.0
    for j in range(len(x)):
        bits[j] = (bits[j] + _BIAS) << _MANTISSA_BITS
    for j in range(len(x)):
        x[j] *= scratch[j]


@inlined
def transposed(X: Array) -> Array:
    """X', contiguous."""
    Y = np.empty((X.shape[1], X.shape[0]))
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            Y[j, i] = X[i, j]
    return Y
