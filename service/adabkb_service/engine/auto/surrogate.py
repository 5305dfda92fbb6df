"""The posterior, exact or compressed, in one form.

With inducing points S (m of them), weights a and a factor W (rows by m),

    mean(x) = k_S(x)' a        variance(x) = sigma_f^2 (k(x, x) - |W k_S(x)|^2),

where k includes the constant mean (see ``kernel``). Exact: S is every row and W'W = (K + N)^-1, N the noise ratios.
Compressed (Nystrom; paper, section 3): S is a dictionary and W'W = K_SS^-1 - (K_SS + K_Sn N^-1 K_nS)^-1. What the
objective varies by at a row's point, given the dictionary's, joins its noise ratio (FITC: Snelson and Ghahramani 2006):
else rows that the dictionary cannot represent would spoil the posterior at those that it can. Either is a Gaussian
process in its own right, so later rows condition it exactly, by the same new rows of W, whatever it began with: an
exact posterior on top of a compressed past. Pending points do the same with their own mean as value.
(W rather than W'W: with small noise the variance near a result would drown in the rounding of the product.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from adabkb_service.engine.auto.additive import TABLES, Tables, slopes
from adabkb_service.engine.auto.kernel import MEAN_VARIANCE, Kernel, add_to_diagonal, gram, gram_and_radial
from adabkb_service.engine.compiled import compiled, inlined

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

# k(x, x).
PRIOR_VARIANCE = 1.0 + MEAN_VARIANCE
# Added to the diagonal of K_SS, whose points may lie close together.
JITTER = 1e-9
# Rows whose kernel columns are held at a time.
CHUNK = 2048
# Standard deviations below it count as this in the gradient.
SMALLEST_DEVIATION = 1e-12

Posterior = tuple[Array, Bools, Array, Array, Array, float, Tables]
"""What the compiled functions take: lengthscales and categorical axes (d,), S transposed (d, m), weights (m,), factor
(rows, m), sigma_f^2, the additive part."""
POSTERIOR = f"Tuple((f8[::1], b1[::1], f8[:,::1], f8[::1], f8[:,::1], f8, {TABLES}))"
"""Its type, for their signatures."""


@dataclass(frozen=True)
class Surrogate:
    """A Gaussian process given rows."""

    kernel: Kernel
    variance: float
    """sigma_f^2, in squared model output units."""
    inducing: Array
    """(m, d) S, scaled."""
    weights: Array
    """(m,) a."""
    factor: Array
    """(rows, m) W."""

    @cached_property
    def posterior(self) -> Posterior:
        """Its numbers, for compiled functions."""
        kernel = self.kernel
        points = np.ascontiguousarray(self.inducing.T)
        tables = kernel.tables(points)
        return kernel.lengthscales, kernel.categorical, points, self.weights, self.factor, self.variance, tables

    def mean(self, positions: Array) -> Array:
        """Of cube positions (k, d), shape (k,), in model output units."""
        return _mean(self.posterior, positions)

    def mean_and_std(self, positions: Array) -> tuple[Array, Array]:
        """Mean and standard deviation, (k,) each, of the objective (without noise) at cube positions (k, d)."""
        return _mean_and_std(self.posterior, positions)

    def ucb(self, positions: Array, beta: float) -> Array:
        """f~ = mean + beta s at cube positions (k, d), shape (k,)."""
        return _ucb(self.posterior, positions, beta)

    def ucb_and_gradient(self, positions: Array, beta: float) -> tuple[Array, Array]:
        """f~, (k,), and its gradient in the cube, (k, d): zero along categorical axes."""
        return _ucb_and_gradient(self.posterior, positions, beta)

    def condition(self, positions: Array, outputs: Array | None, noise_ratios: Array) -> Surrogate:
        """Given more rows: cube positions (k, d), model outputs (k,) and noise ratios (k,).

        Without outputs the rows are hallucinated: the variance falls, the mean stays.
        """
        scaled = self.kernel.scaled(positions)
        K = self.kernel.gram(scaled, self.inducing)
        V = K @ self.factor.T
        C = self.kernel.gram(scaled, scaled) - V @ V.T
        add_to_diagonal(C, noise_ratios)
        whitening = _inverse_root(C)
        born, old = np.empty((len(C), len(self.weights) + len(C))), len(self.weights)
        born[:, :old], born[:, old:] = whitening @ -(V @ self.factor), whitening
        weights = np.append(self.weights, np.zeros(len(C)))
        if outputs is not None:
            weights += (whitening @ (outputs - K @ self.weights)) @ born
        factor = np.zeros((len(self.factor) + len(C), len(weights)))
        factor[: len(self.factor), :old], factor[len(self.factor) :] = self.factor, born
        return Surrogate(self.kernel, self.variance, np.concatenate([self.inducing, scaled]), weights, factor)


@compiled(f"f8[::1]({POSTERIOR}, f8[:,::1])")
def _mean(posterior: Posterior, X: Array) -> Array:
    lengthscales, categorical, points, weights, _, _, tables = posterior
    K = gram(scaled_by(lengthscales, categorical, X), points, lengthscales, categorical, tables)
    mean: Array = np.dot(K, weights)
    return mean


@compiled(f"UniTuple(f8[::1], 2)({POSTERIOR}, f8[:,::1])")
def _mean_and_std(posterior: Posterior, X: Array) -> tuple[Array, Array]:
    return mean_and_std(posterior, X)


@compiled(f"f8[::1]({POSTERIOR}, f8[:,::1], f8)")
def _ucb(posterior: Posterior, X: Array, beta: float) -> Array:
    return ucb(posterior, X, beta)


@compiled(f"Tuple((f8[::1], f8[:,::1]))({POSTERIOR}, f8[:,::1], f8)")
def _ucb_and_gradient(posterior: Posterior, X: Array, beta: float) -> tuple[Array, Array]:
    return ucb_and_gradient(posterior, X, beta)


@inlined
def mean_and_std(posterior: Posterior, X: Array) -> tuple[Array, Array]:
    """As ``Surrogate.mean_and_std``."""
    lengthscales, categorical, points, weights, factor, variance, tables = posterior
    K = gram(scaled_by(lengthscales, categorical, X), points, lengthscales, categorical, tables)
    return np.dot(K, weights), deviations(np.dot(K, factor.T), variance)


@inlined
def ucb(posterior: Posterior, X: Array, beta: float) -> Array:
    """As ``Surrogate.ucb``."""
    mean, deviation = mean_and_std(posterior, X)
    for i in range(len(mean)):
        mean[i] += beta * deviation[i]
    return mean


@inlined
def ucb_and_gradient(posterior: Posterior, X: Array, beta: float) -> tuple[Array, Array]:
    """As ``Surrogate.ucb_and_gradient``: d s / d k = -sigma_f^2 W'W k / s, and dk / dx is ``gram_and_radial``'s, with
    that of the additive part."""
    lengthscales, categorical, points, weights, factor, variance, tables = posterior
    scaled = scaled_by(lengthscales, categorical, X)
    K, E = gram_and_radial(scaled, points, lengthscales, categorical, tables)
    V = np.dot(K, factor.T)
    deviation = deviations(V, variance)
    values, pulled = np.dot(K, weights), np.dot(V, factor)
    sums, added = np.zeros(len(X)), np.zeros(X.shape)
    for i in range(len(X)):
        values[i] += beta * deviation[i]
        pull = beta * variance / max(deviation[i], SMALLEST_DEVIATION)
        row, pulls = E[i], pulled[i]
        for j in range(len(weights)):
            pulls[j] = weights[j] - pull * pulls[j]
            row[j] *= pulls[j]
        sums[i] = row.sum()
        if tables[0] > 0.0:
            added[i] = slopes(tables, scaled[i], points, lengthscales, categorical, pulls)
    gradient = np.dot(E, points.T)
    for i in range(len(X)):
        for axis in range(len(lengthscales)):
            slope = -3.0 * (scaled[i, axis] * sums[i] - gradient[i, axis]) / lengthscales[axis]
            gradient[i, axis] = 0.0 if categorical[axis] else slope + added[i, axis]
    return values, gradient


@inlined
def scaled_by(lengthscales: Array, categorical: Bools, X: Array) -> Array:
    """As ``Kernel.scaled``."""
    scaled = np.empty(X.shape)
    for i in range(X.shape[0]):
        for axis in range(X.shape[1]):
            scaled[i, axis] = X[i, axis] if categorical[axis] else X[i, axis] / lengthscales[axis]
    return scaled


@inlined
def deviations(V: Array, variance: float) -> Array:
    """sigma_f sqrt(k(x, x) - |V_x|^2), (n,); V: (n, rows). Four sums at a time, as one would wait for itself."""
    n, m = V.shape
    deviation = np.empty(n)
    for i in range(n):
        row = V[i]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for j in range(0, m - 3, 4):
            s0 += row[j] * row[j]
            s1 += row[j + 1] * row[j + 1]
            s2 += row[j + 2] * row[j + 2]
            s3 += row[j + 3] * row[j + 3]
        for j in range(m - m % 4, m):
            s0 += row[j] * row[j]
        deviation[i] = math.sqrt(variance * max(PRIOR_VARIANCE - (s0 + s1 + s2 + s3), 0.0))
    return deviation


def empty(kernel: Kernel, variance: float) -> Surrogate:
    """The prior."""
    nothing = np.zeros(0)
    return Surrogate(kernel, variance, np.zeros((0, len(kernel.lengthscales))), nothing, np.zeros((0, 0)))


def exact(kernel: Kernel, variance: float, positions: Array, outputs: Array, noise_ratios: Array) -> Surrogate:
    """Given rows: cube positions (n, d), model outputs and noise ratios (n,)."""
    prior = empty(kernel, variance)
    return prior.condition(positions, outputs, noise_ratios) if len(outputs) else prior


def compressed(
    kernel: Kernel,
    variance: float,
    dictionary: Array,
    positions: Array,
    outputs: Array,
    noise_ratios: Array,
    *,
    is_weighted: bool,
) -> Surrogate:
    """Given rows, (n, d), (n,) and (n,), through a dictionary of cube positions (m, d); each weighted by how well the
    dictionary represents it, or not."""
    inducing = kernel.scaled(dictionary)
    prior = kernel.gram(inducing, inducing)
    add_to_diagonal(prior, JITTER)
    root = _inverse_root(prior)
    information, target = np.zeros_like(prior), np.zeros(len(prior))
    for first in range(0, len(positions), CHUNK):
        rows = slice(first, first + CHUNK)
        A = root @ kernel.gram(inducing, kernel.scaled(positions[rows]))
        noises = noise_ratios[rows]
        if is_weighted:
            noises = noises + np.maximum(PRIOR_VARIANCE - np.einsum("mn,mn->n", A, A), 0.0)
        weighted = A / noises
        information += weighted @ A.T
        target += weighted @ outputs[rows]
    gains, Q = np.linalg.eigh(information)
    gains, turned = np.maximum(gains, 0.0), Q.T @ root
    weights = turned.T @ ((Q.T @ target) / (1.0 + gains))
    return Surrogate(kernel, variance, inducing, weights, np.sqrt(gains / (1.0 + gains))[:, None] * turned)


def _inverse_root(matrix: Array) -> Array:
    """L^-1 of the Cholesky factor L of a symmetric positive definite matrix.

    Raises:
        FloatingPointError: it is not definite.
    """
    L, failed = lapack.dpotrf(matrix, lower=1)
    if failed:
        raise FloatingPointError("the covariance of the results is not positive definite")
    inverse: Array = np.ascontiguousarray(lapack.dtrtri(L, lower=1, overwrite_c=1)[0])
    return inverse
