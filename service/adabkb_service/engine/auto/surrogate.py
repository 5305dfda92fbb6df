"""The posterior, exact or compressed, in one form.

With inducing points S (m of them), weights a and a factor W (rows by m),

    mean(x) = k_S(x)' a        variance(x) = sigma_f^2 (k(x, x) - |W k_S(x)|^2),

where k includes the constant mean (see ``kernel``). Exact: S is every row and W'W = (K + N)^-1, N the noise ratios.
Compressed (Nystrom; paper, section 3): S is a dictionary and W'W = K_SS^-1 - (K_SS + K_Sn N^-1 K_nS)^-1. Either is a
Gaussian process in its own right, so later rows condition it exactly, by the same new rows of W, whatever it
began with: an exact posterior on top of a compressed past. Pending points do the same with their own mean as value.
(W rather than W'W: with small noise the variance near a result would drown in the rounding of the product.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from adabkb_service.engine.auto.kernel import MEAN_VARIANCE, Metric, add_to_diagonal

Array = NDArray[np.float64]

# k(x, x).
PRIOR_VARIANCE = 1.0 + MEAN_VARIANCE
# Added to the diagonal of K_SS, whose points may lie close together.
JITTER = 1e-9
# Rows whose kernel columns are held at a time.
CHUNK = 2048


@dataclass(frozen=True, slots=True)
class Surrogate:
    """A Gaussian process given rows."""

    metric: Metric
    variance: float
    """sigma_f^2, in squared model output units."""
    inducing: Array
    """(m, d) S, scaled."""
    weights: Array
    """(m,) a."""
    factor: Array
    """(rows, m) W."""

    def mean(self, positions: Array) -> Array:
        """Of cube positions (k, d), shape (k,), in model output units."""
        mean: Array = self._columns(positions) @ self.weights
        return mean

    def moments(self, positions: Array) -> tuple[Array, Array]:
        """Mean and standard deviation, (k,) each, of the objective (without noise) at cube positions (k, d)."""
        K = self._columns(positions)
        return K @ self.weights, self._deviation(K @ self.factor.T)

    def bound(self, positions: Array, beta: float) -> Array:
        """f~ = mean + beta s at cube positions (k, d), shape (k,)."""
        mean, deviation = self.moments(positions)
        return mean + beta * deviation

    def slopes(self, positions: Array, beta: float) -> tuple[Array, Array]:
        """f~, (k,), and its gradient in the cube, (k, d): zero along categorical axes."""
        scaled = self.metric.scaled(positions)
        k, E = self.metric.parts(scaled, self.inducing)
        K = k + MEAN_VARIANCE
        V = K @ self.factor.T
        deviation = self._deviation(V)
        pull = beta * self.variance / np.maximum(deviation, 1e-12)
        G = E * (self.weights - pull[:, None] * (V @ self.factor))
        gradient = -3.0 * (scaled * G.sum(axis=1)[:, None] - G @ self.inducing) / self.metric.lengthscales
        gradient[:, self.metric.categorical] = 0.0
        return K @ self.weights + beta * deviation, gradient

    def condition(self, positions: Array, outputs: Array | None, noises: Array) -> Surrogate:
        """Given more rows: cube positions (k, d), model outputs (k,) and noise ratios (k,).

        Without outputs the rows are hallucinated: the variance falls, the mean stays.
        """
        K = self._columns(positions)
        V = K @ self.factor.T
        scaled = self.metric.scaled(positions)
        C = self.metric.parts(scaled, scaled)[0] + MEAN_VARIANCE - V @ V.T
        add_to_diagonal(C, noises)
        whitening = _inverse_root(C)
        born, old = np.empty((len(C), len(self.weights) + len(C))), len(self.weights)
        born[:, :old], born[:, old:] = whitening @ (V @ -self.factor), whitening
        weights = np.append(self.weights, np.zeros(len(C)))
        if outputs is not None:
            weights += (whitening @ (outputs - K @ self.weights)) @ born
        factor = np.zeros((len(self.factor) + len(C), len(weights)))
        factor[: len(self.factor), :old], factor[len(self.factor) :] = self.factor, born
        return Surrogate(self.metric, self.variance, np.concatenate([self.inducing, scaled]), weights, factor)

    def _columns(self, positions: Array) -> Array:
        """k_S(x)' of cube positions (k, d), shape (k, m)."""
        k, _ = self.metric.parts(self.metric.scaled(positions), self.inducing)
        k += MEAN_VARIANCE
        return k

    def _deviation(self, V: Array) -> Array:
        reduced = np.maximum(PRIOR_VARIANCE - np.einsum("km,km->k", V, V), 0.0)
        deviation: Array = np.sqrt(self.variance * reduced)
        return deviation


def empty(metric: Metric, variance: float) -> Surrogate:
    """The prior."""
    nothing = np.zeros(0)
    return Surrogate(metric, variance, np.zeros((0, len(metric.lengthscales))), nothing, np.zeros((0, 0)))


def exact(metric: Metric, variance: float, positions: Array, outputs: Array, noises: Array) -> Surrogate:
    """Given rows: cube positions (n, d), model outputs and noise ratios (n,)."""
    return empty(metric, variance).condition(positions, outputs, noises) if len(outputs) else empty(metric, variance)


def compressed(
    metric: Metric, variance: float, dictionary: Array, positions: Array, outputs: Array, noises: Array
) -> Surrogate:
    """Given rows, (n, d), (n,) and (n,), through a dictionary of cube positions (m, d)."""
    inducing = metric.scaled(dictionary)
    prior = metric.parts(inducing, inducing)[0] + MEAN_VARIANCE
    add_to_diagonal(prior, JITTER)
    root = _inverse_root(prior)
    information, target = np.zeros_like(prior), np.zeros(len(prior))
    for first in range(0, len(positions), CHUNK):
        rows = slice(first, first + CHUNK)
        A = root @ (metric.parts(inducing, metric.scaled(positions[rows]))[0] + MEAN_VARIANCE)
        weighted = A / noises[rows]
        information += weighted @ A.T
        target += weighted @ outputs[rows]
    gains, Q = np.linalg.eigh(information)
    gains, turned = np.maximum(gains, 0.0), Q.T @ root
    weights = turned.T @ ((Q.T @ target) / (1.0 + gains))
    return Surrogate(metric, variance, inducing, weights, np.sqrt(gains / (1.0 + gains))[:, None] * turned)


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
