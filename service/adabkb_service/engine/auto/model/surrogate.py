"""The posterior, exact or compressed, in one representation.

With inducing points S (m of them), weights a and a factor W (rows by m),

    mean(x) = k_S(x)' a        variance(x) = sigma_f^2 (k(x, x) - |W k_S(x)|^2),

where k includes the constant mean (see ``kernel``). Exact: S is every row and W'W = (K + N)^-1, N the noise ratios.
Compressed (Nystrom; paper, section 3): S is a dictionary and W'W = K_SS^-1 - (K_SS + K_Sn N^-1 K_nS)^-1. The variance
of the objective at a row's point, given the dictionary, is added to its noise ratio (FITC: Snelson and Ghahramani
2006). Otherwise, rows that the dictionary cannot represent would distort the posterior at other rows. Either form is a
Gaussian process, so later rows condition it exactly, by new rows of W. Pending points condition it in the same way,
with their means as outputs.

Rows of the same plate share an offset: their covariance has the additional term tau, in K above and in the covariance
of later rows with those of S. Predictions are for a new plate, so k_S(x) does not have it. When rows are compressed,
tau is a part of N, and later rows of a plate do not share the offset of its compressed rows.

(W is stored rather than W'W because, with small noise, rounding would dominate the variance near a result.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from adabkb_service.engine.auto.model.kernel import MEAN_VARIANCE, Kernel, add_to_diagonal
from adabkb_service.engine.native.library import COUNT, NUMBER, POINTER, reals, routine
from adabkb_service.engine.native.structures import Posterior

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

PRIOR_VARIANCE = 1.0 + MEAN_VARIANCE
"""k(x, x)."""
JITTER = 1e-9
"""Added to the diagonal of K_SS, whose points may lie close together."""
ADDED_NOISES = (1e-8, 1e-6, 1e-4, 1e-2)
"""Values added to the diagonal of a covariance that rounding has made indefinite, as shares of k(x, x). The first
sufficient one is used."""
CHUNK = 2048
"""The number of rows whose kernel columns are in memory at a time."""

_mean = routine("mean", POINTER, COUNT, POINTER, POINTER)
_mean_and_std = routine("mean_and_std", POINTER, COUNT, POINTER, POINTER, POINTER)
_ucb = routine("ucb", POINTER, COUNT, POINTER, NUMBER, POINTER)
_ucb_and_gradient = routine("ucb_and_gradient", POINTER, COUNT, POINTER, NUMBER, POINTER, POINTER)


@dataclass(frozen=True)
class Surrogate:
    """A Gaussian process conditioned on rows."""

    kernel: Kernel
    variance: float
    """sigma_f^2, in squared model output units."""
    inducing: Array
    """(m, d + p + q) S, scaled (``Kernel.scaled``)."""
    weights: Array
    """(m,) a."""
    factor: Array
    """(rows, m) W."""
    clipped: int = 0
    """The number of factorizations that needed more noise, because rounding had made the covariance indefinite."""
    plates: Ints | None = None
    """(m,) the plate of each inducing point, -1 for none; None if none has one."""

    @cached_property
    def native(self) -> Posterior:
        """The posterior as a structure for the C functions."""
        points = np.ascontiguousarray(self.inducing.T)
        return Posterior(self.kernel.native, points, self.weights, self.factor, self.variance)

    def precisions(self) -> Array:
        """Return the diagonal of W'W, (m,).

        If the posterior is exact, this is the diagonal of (K + N)^-1. Then sigma_f^2 divided by an entry is the
        variance of a row's output given the other rows, and the row's weight divided by the entry is the distance of
        the output from its prediction by the other rows (Rasmussen and Williams 2006, eq. 5.12).
        """
        found: Array = np.einsum("ij,ij->j", self.factor, self.factor)
        return found

    def mean(self, positions: Array) -> Array:
        """Return the mean at cube positions (k, d), shape (k,), in model output units."""
        mean = np.empty(len(positions))
        _mean(self.native.address, len(positions), reals(positions), reals(mean))
        return mean

    def mean_and_std(self, positions: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation, (k,) each, of the objective (without noise) at cube positions (k, d)."""
        mean, deviation = np.empty(len(positions)), np.empty(len(positions))
        _mean_and_std(self.native.address, len(positions), reals(positions), reals(mean), reals(deviation))
        return mean, deviation

    def ucb(self, positions: Array, beta: float) -> Array:
        """Return f~ = mean + beta s at cube positions (k, d), shape (k,)."""
        values = np.empty(len(positions))
        _ucb(self.native.address, len(positions), reals(positions), beta, reals(values))
        return values

    def ucb_and_gradient(self, positions: Array, beta: float) -> tuple[Array, Array]:
        """Return f~, (k,), and its gradient in the cube, (k, d), which is zero along categorical axes."""
        values, gradient = np.empty(len(positions)), np.empty(positions.shape)
        native, count = self.native.address, len(positions)
        _ucb_and_gradient(native, count, reals(positions), beta, reals(values), reals(gradient))
        return values, gradient

    def condition(
        self, positions: Array, outputs: Array | None, noise_ratios: Array, plates: Ints | None = None
    ) -> Surrogate:
        """Return the posterior that is also conditioned on more rows: cube positions (k, d), model outputs (k,), noise
        ratios (k,) and, for results of a study with plates, the plate of each (k,). The plate -1 stands for a plate
        without other rows.

        Without outputs, the rows count as observed at their means: the variance decreases, the mean stays. Without
        plates, the rows have no offset.

        Raises:
            FloatingPointError: the numbers overflow floating point.
        """
        scaled = self.kernel.scaled(positions)
        K = self.kernel.gram(scaled, self.inducing)
        if plates is not None and self.plates is not None:
            K += self.kernel.between_plates(plates, self.plates)
        V = K @ self.factor.T
        C = self.kernel.gram(scaled, scaled) - V @ V.T
        if plates is not None:
            C += self.kernel.between_plates(plates, plates)
            noise_ratios = noise_ratios + np.where(plates < 0, self.kernel.plates or 0.0, 0.0)
        add_to_diagonal(C, noise_ratios)
        whitening, clipped = _inverse_root(C)
        (rows, old), count = self.factor.shape, len(C)
        factor, weights = np.empty((rows + count, old + count)), np.zeros(old + count)
        factor[:rows, :old], factor[:rows, old:] = self.factor, 0.0
        added = factor[rows:]
        added[:, :old], added[:, old:] = whitening @ -(V @ self.factor), whitening
        weights[:old] = self.weights
        if outputs is not None:
            weights += (whitening @ (outputs - K @ self.weights)) @ added
        inducing = np.concatenate([self.inducing, scaled])
        labels = self._with_plates(count, plates)
        return Surrogate(self.kernel, self.variance, inducing, weights, factor, self.clipped + clipped, labels)

    def _with_plates(self, count: int, plates: Ints | None) -> Ints | None:
        """Return the plates of the inducing points and of this many more rows."""
        if plates is None and self.plates is None:
            return None
        before = np.full(len(self.weights), -1) if self.plates is None else self.plates
        return np.concatenate([before, np.full(count, -1) if plates is None else plates])


def empty(kernel: Kernel, variance: float) -> Surrogate:
    """Return the prior."""
    nothing = np.zeros(0)
    return Surrogate(
        kernel, variance, kernel.scaled(np.zeros((0, len(kernel.lengthscales)))), nothing, np.zeros((0, 0))
    )


def exact(
    kernel: Kernel,
    variance: float,
    positions: Array,
    outputs: Array,
    noise_ratios: Array,
    plates: Ints | None = None,
) -> Surrogate:
    """Return the posterior given rows: cube positions (n, d), model outputs and noise ratios (n,), and plates, (n,), as
    in ``Surrogate.condition``.

    Raises:
        FloatingPointError: the numbers overflow floating point.
    """
    prior = empty(kernel, variance)
    return prior.condition(positions, outputs, noise_ratios, plates) if len(outputs) else prior


def compressed(
    kernel: Kernel,
    variance: float,
    dictionary: Array,
    positions: Array,
    outputs: Array,
    noise_ratios: Array,
    plates: Ints | None = None,
) -> Surrogate:
    """Return the posterior given rows, compressed to a dictionary of cube positions, (m, d). The rows are given as for
    ``exact``. Each one is weighted by how well the dictionary represents it.

    Raises:
        FloatingPointError: the numbers overflow floating point.
    """
    inducing = kernel.scaled(dictionary)
    prior = kernel.gram(inducing, inducing)
    add_to_diagonal(prior, JITTER)
    root, clipped = _inverse_root(prior)
    information, target = np.zeros_like(prior), np.zeros(len(prior))
    of_plates = None if plates is None else _Offsets(kernel.plates or 0.0, plates, len(prior))
    for first in range(0, len(positions), CHUNK):
        rows = slice(first, first + CHUNK)
        A = root @ kernel.gram(inducing, kernel.scaled(positions[rows]))
        unrepresented = np.maximum(PRIOR_VARIANCE - np.einsum("mn,mn->n", A, A), 0.0)
        noises = noise_ratios[rows] + unrepresented
        weighted = A / noises
        information += weighted @ A.T
        target += weighted @ outputs[rows]
        if of_plates is not None:
            of_plates.add(rows, weighted, outputs[rows] / noises, 1.0 / noises)
    if of_plates is not None:
        less, less_target = of_plates.reductions()
        information, target = information - less, target - less_target
    gains, Q = np.linalg.eigh(information)
    gains, turned = np.maximum(gains, 0.0), Q.T @ root
    weights = turned.T @ ((Q.T @ target) / (1.0 + gains))
    factor = np.sqrt(gains / (1.0 + gains))[:, None] * turned
    return Surrogate(kernel, variance, inducing, weights, factor, int(clipped))


class _Offsets:
    """Sums over the rows of each plate, for the noise N = D + tau [same plate] of compressed rows. For each plate, N^-1
    is D^-1 minus D^-1 1 1' D^-1 / (1 / tau + 1' D^-1 1) (Sherman and Morrison)."""

    def __init__(self, tau: float, plates: Ints, count: int) -> None:
        alone = np.where(plates < 0, -1 - np.arange(len(plates)), plates)
        _, self._plates = np.unique(alone, return_inverse=True)
        plates_count = int(self._plates.max(initial=-1)) + 1
        self._tau = tau
        self._columns = np.zeros((count, plates_count))
        self._outputs, self._precisions = np.zeros(plates_count), np.zeros(plates_count)

    def add(self, rows: slice, columns: Array, outputs: Array, precisions: Array) -> None:
        """Add rows: their columns of A D^-1, (m, k), their outputs divided by D, (k,), and 1 / D, (k,)."""
        np.add.at(self._columns.T, self._plates[rows], columns.T)
        np.add.at(self._outputs, self._plates[rows], outputs)
        np.add.at(self._precisions, self._plates[rows], precisions)

    def reductions(self) -> tuple[Array, Array]:
        """Return by how much A N^-1 A', (m, m), and A N^-1 z, (m,), are smaller than with D."""
        scaled = self._columns * (self._tau / (1.0 + self._tau * self._precisions))
        return scaled @ self._columns.T, scaled @ self._outputs


def _inverse_root(covariance: Array) -> tuple[Array, bool]:
    """Return L^-1 for the Cholesky factor L of a symmetric positive definite matrix, and whether noise had to be added
    to make the matrix definite. The largest of ``ADDED_NOISES`` exceeds the rounding errors of a covariance.

    Raises:
        FloatingPointError: the numbers overflow floating point.
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
