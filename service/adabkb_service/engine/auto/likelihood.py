"""Learning the constants: lengthscales per axis, output scale and noise, by maximum a posteriori.

Minimised over the logarithms of the lengthscales l and of the noise ratio nu = noise variance / output variance:

    (n / 2) log sigma_f^2 + (1 / 2) log |K| + sum (log l_k - mu0)^2 / 2 + (log nu - log 1e-4)^2 / (2 * 3^2)

with K = k + MEAN_VARIANCE + diag(nu + extra), sigma_f^2 = z' K^-1 z / n (the output scale, profiled), and the
prior's centre mu0 = log 0.5 + log(d / 3) / 2: weak, and longer in more dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.optimize import minimize

from adabkb_service.engine.auto.kernel import MEAN_VARIANCE, Metric, add_to_diagonal

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

LENGTHSCALES = (0.02, 20.0)
NOISES = (1e-7, 0.5)
NOISE_PRIOR = (math.log(1e-4), 3.0)
SMALLEST_VARIANCE = 1e-4
ITERATIONS = 25
FEWEST = 4
"""Results before which nothing is learned."""
INDEFINITE = 1e10


@dataclass(frozen=True, slots=True)
class Constants:
    """What is learned: lengthscales (d,) in the unit cube, noise ratio nu and sigma_f^2 in model output units."""

    lengthscales: Array
    noise: float
    variance: float


def prior_centre(dimension: int) -> float:
    """mu0, of log l."""
    return math.log(0.5) + 0.5 * math.log(dimension / 3.0)


def prior(dimension: int) -> Constants:
    """Before there is enough to learn from."""
    return Constants(np.full(dimension, math.exp(prior_centre(dimension))), math.exp(NOISE_PRIOR[0]), 1.0)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is learned from: positions (n, d), model outputs (n,), known noise ratios (n,), categorical axes (d,)."""

    positions: Array
    outputs: Array
    extra: Array
    categorical: Bools

    def loss(self, parameters: Array) -> tuple[float, Array]:
        """The objective at log (l_1 .. l_d, nu), and its gradient, (d + 1,); huge where K is not definite."""
        n, d = len(self.outputs), len(parameters) - 1
        lengthscales, noise = np.exp(parameters[:d]), math.exp(parameters[d])
        metric = Metric(lengthscales, self.categorical)
        scaled = metric.scaled(self.positions)
        k, E = metric.parts(scaled, scaled)
        K = k + MEAN_VARIANCE
        add_to_diagonal(K, noise + self.extra)
        L, failed = lapack.dpotrf(K, lower=1, overwrite_a=1)
        if failed:
            return INDEFINITE, np.zeros(d + 1)
        log_determinant = 2.0 * float(np.log(np.diag(L)).sum())
        alpha = lapack.dpotrs(L, self.outputs, lower=1)[0]
        inverse = lapack.dpotri(L, lower=1, overwrite_c=1)[0]
        diagonal = inverse.diagonal().copy()
        inverse = inverse + inverse.T  # LAPACK gives the lower triangle, and zeros above it
        np.fill_diagonal(inverse, diagonal)
        variance = float(self.outputs @ alpha) / n
        fit_weight = 1.0 / variance if variance > SMALLEST_VARIANCE else 0.0
        variance = max(variance, SMALLEST_VARIANCE)
        G = 0.5 * (inverse - fit_weight * np.outer(alpha, alpha))
        H = G * E
        along = 6.0 * ((H.sum(axis=1) @ scaled**2) - (scaled * (H @ scaled)).sum(axis=0))
        for axis in np.flatnonzero(self.categorical):
            differs = self.positions[:, axis, None] != self.positions[None, :, axis]
            along[axis] = float((G * k)[differs].sum()) / lengthscales[axis]
        from_centre = parameters[:d] - prior_centre(d)
        from_noise = (parameters[d] - NOISE_PRIOR[0]) / NOISE_PRIOR[1]
        loss = 0.5 * (n * math.log(variance) + log_determinant + float(from_centre @ from_centre) + from_noise**2)
        gradient = np.append(along + from_centre, noise * float(np.trace(G)) + from_noise / NOISE_PRIOR[1])
        return float(loss), gradient

    def variance(self, parameters: Array) -> float:
        """sigma_f^2 at these parameters."""
        n, d = len(self.outputs), len(parameters) - 1
        metric = Metric(np.exp(parameters[:d]), self.categorical)
        scaled = metric.scaled(self.positions)
        K = metric.parts(scaled, scaled)[0] + MEAN_VARIANCE
        add_to_diagonal(K, math.exp(parameters[d]) + self.extra)
        variance = float(self.outputs @ np.linalg.solve(K, self.outputs)) / n
        return max(variance, SMALLEST_VARIANCE)


def learn(evidence: Evidence, starts: Iterable[Constants]) -> Constants:
    """The best of the optima found from these starts; the first start itself if none is found."""
    d = evidence.positions.shape[1]
    bounds = [tuple(map(math.log, LENGTHSCALES))] * d + [tuple(map(math.log, NOISES))]
    candidates = []
    for start in starts:
        initial = np.append(np.log(start.lengthscales), math.log(start.noise))
        initial = np.clip(initial, [low for low, _ in bounds], [high for _, high in bounds])
        found = minimize(
            evidence.loss, initial, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": ITERATIONS}
        )
        candidates.append((float(found.fun), found.x))
    parameters = min(candidates, key=lambda candidate: candidate[0])[1]
    return Constants(np.exp(parameters[:d]), math.exp(parameters[d]), evidence.variance(parameters))
