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

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from adabkb_service.engine.auto.kernel import MEAN_VARIANCE, Kernel, add_to_diagonal
from adabkb_service.engine.native.library import COUNT, NUMBER, POINTER, reals, routine
from adabkb_service.engine.native.structures import Posterior

Array = NDArray[np.float64]

# k(x, x).
PRIOR_VARIANCE = 1.0 + MEAN_VARIANCE
# Added to the diagonal of K_SS, whose points may lie close together.
JITTER = 1e-9
# Added to the diagonal of a covariance that rounding has left indefinite, as shares of k(x, x): the first that
# is enough.
ADDED_NOISES = (1e-8, 1e-6, 1e-4, 1e-2)
# Rows whose kernel columns are held at a time.
CHUNK = 2048

_mean = routine("mean", POINTER, COUNT, POINTER, POINTER)
_mean_and_std = routine("mean_and_std", POINTER, COUNT, POINTER, POINTER, POINTER)
_ucb = routine("ucb", POINTER, COUNT, POINTER, NUMBER, POINTER)
_ucb_and_gradient = routine("ucb_and_gradient", POINTER, COUNT, POINTER, NUMBER, POINTER, POINTER)


@dataclass(frozen=True)
class Surrogate:
    """A Gaussian process given rows."""

    kernel: Kernel
    variance: float
    """sigma_f^2, in squared model output units."""
    inducing: Array
    """(m, d + p) S, scaled."""
    weights: Array
    """(m,) a."""
    factor: Array
    """(rows, m) W."""
    clipped: int = 0
    """How many factorisations needed more noise, since rounding had left the covariance indefinite."""

    @cached_property
    def native(self) -> Posterior:
        """Its numbers, for C functions."""
        points = np.ascontiguousarray(self.inducing.T)
        return Posterior(self.kernel.native, points, self.weights, self.factor, self.variance)

    def mean(self, positions: Array) -> Array:
        """Of cube positions (k, d), shape (k,), in model output units."""
        mean = np.empty(len(positions))
        _mean(self.native.address, len(positions), reals(positions), reals(mean))
        return mean

    def mean_and_std(self, positions: Array) -> tuple[Array, Array]:
        """Mean and standard deviation, (k,) each, of the objective (without noise) at cube positions (k, d)."""
        mean, deviation = np.empty(len(positions)), np.empty(len(positions))
        _mean_and_std(self.native.address, len(positions), reals(positions), reals(mean), reals(deviation))
        return mean, deviation

    def ucb(self, positions: Array, beta: float) -> Array:
        """f~ = mean + beta s at cube positions (k, d), shape (k,)."""
        values = np.empty(len(positions))
        _ucb(self.native.address, len(positions), reals(positions), beta, reals(values))
        return values

    def ucb_and_gradient(self, positions: Array, beta: float) -> tuple[Array, Array]:
        """f~, (k,), and its gradient in the cube, (k, d): zero along categorical axes."""
        values, gradient = np.empty(len(positions)), np.empty(positions.shape)
        native, count = self.native.address, len(positions)
        _ucb_and_gradient(native, count, reals(positions), beta, reals(values), reals(gradient))
        return values, gradient

    def condition(self, positions: Array, outputs: Array | None, noise_ratios: Array) -> Surrogate:
        """Given more rows: cube positions (k, d), model outputs (k,) and noise ratios (k,).

        Without outputs the rows are hallucinated: the variance falls, the mean stays.
        """
        scaled = self.kernel.scaled(positions)
        K = self.kernel.gram(scaled, self.inducing)
        V = K @ self.factor.T
        C = self.kernel.gram(scaled, scaled) - V @ V.T
        add_to_diagonal(C, noise_ratios)
        whitening, clipped = _inverse_root(C)
        born, old = np.empty((len(C), len(self.weights) + len(C))), len(self.weights)
        born[:, :old], born[:, old:] = whitening @ -(V @ self.factor), whitening
        weights = np.append(self.weights, np.zeros(len(C)))
        if outputs is not None:
            weights += (whitening @ (outputs - K @ self.weights)) @ born
        factor = np.zeros((len(self.factor) + len(C), len(weights)))
        factor[: len(self.factor), :old], factor[len(self.factor) :] = self.factor, born
        inducing = np.concatenate([self.inducing, scaled])
        return Surrogate(self.kernel, self.variance, inducing, weights, factor, self.clipped + clipped)


def empty(kernel: Kernel, variance: float) -> Surrogate:
    """The prior."""
    nothing = np.zeros(0)
    return Surrogate(
        kernel, variance, kernel.scaled(np.zeros((0, len(kernel.lengthscales)))), nothing, np.zeros((0, 0))
    )


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
) -> Surrogate:
    """Given rows, (n, d), (n,) and (n,), through a dictionary of cube positions (m, d); each weighted by how well the
    dictionary represents it."""
    inducing = kernel.scaled(dictionary)
    prior = kernel.gram(inducing, inducing)
    add_to_diagonal(prior, JITTER)
    root, clipped = _inverse_root(prior)
    information, target = np.zeros_like(prior), np.zeros(len(prior))
    for first in range(0, len(positions), CHUNK):
        rows = slice(first, first + CHUNK)
        A = root @ kernel.gram(inducing, kernel.scaled(positions[rows]))
        unrepresented = np.maximum(PRIOR_VARIANCE - np.einsum("mn,mn->n", A, A), 0.0)
        weighted = A / (noise_ratios[rows] + unrepresented)
        information += weighted @ A.T
        target += weighted @ outputs[rows]
    gains, Q = np.linalg.eigh(information)
    gains, turned = np.maximum(gains, 0.0), Q.T @ root
    weights = turned.T @ ((Q.T @ target) / (1.0 + gains))
    factor = np.sqrt(gains / (1.0 + gains))[:, None] * turned
    return Surrogate(kernel, variance, inducing, weights, factor, int(clipped))


def _inverse_root(covariance: Array) -> tuple[Array, bool]:
    """L^-1 of the Cholesky factor L of a symmetric positive definite matrix, and whether noise had to be added to make
    it definite. Rounding takes less from a covariance than the largest of ADDED_NOISES.

    Raises:
        FloatingPointError: the numbers are beyond floating point.
    """
    for added in (0.0, *ADDED_NOISES):
        if added:
            covariance = covariance.copy()
            add_to_diagonal(covariance, added * PRIOR_VARIANCE)
        L, failed = lapack.dpotrf(covariance, lower=1)
        if not failed:
            inverse: Array = np.ascontiguousarray(lapack.dtrtri(L, lower=1, overwrite_c=1)[0])
            return inverse, added > 0.0
    raise FloatingPointError("the covariance of the results is beyond floating point")
