"""TuRBO-1 with batches of one (Eriksson, Pearce, Gardner, Turner and Poloczek 2019): Algorithm 1 and appendix A.

Our own transcription. The model is the paper's, a Gaussian process with a Matern 5/2 kernel, a lengthscale per axis and
the paper's bounds on the hyperparameters, fitted by L-BFGS instead of Adam. Thompson samples are drawn by pathwise
conditioning (Wilson et al. 2020) instead of from the joint distribution of all candidates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.stats import qmc

from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.quality.methods.base import Method, Parameters

FIRST_LENGTH, MIN_LENGTH, MAX_LENGTH = 0.8, 0.5**7, 1.6
"""Sizes of the trust region, in widths of the cube."""
SUCCESSES = 3
"""Number of consecutive successes after which the trust region doubles."""
GAIN = 1e-3
"""Minimum improvement of a success, relative to the absolute best value."""
LENGTHSCALES, SIGNALS, NOISES = (0.005, 2.0), (0.05, 20.0), (5e-4, 0.2)
MAX_CANDIDATES = 5000
MAX_CHANGED = 20
"""Average number of coordinates in which a candidate differs from the best point."""
FEATURES = 1024
"""Number of random Fourier features of a sample path."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Hyperparameters, and quantities for predictions."""

    lengthscales: Array
    signal: float
    noise: float
    points: Array
    """(n, d)"""
    values: Array
    """(n,), standardized."""

    def path(self, at: Array, rng: np.random.Generator) -> Array:
        """A sample of the function at points (k, d)."""
        d = self.points.shape[1]
        # Spectral density of the Matern 5/2 kernel: Student's t with five degrees of freedom.
        frequencies = rng.normal(size=(FEATURES, d)) / np.sqrt(rng.chisquare(5.0, (FEATURES, 1)) / 5.0)
        frequencies /= self.lengthscales
        phases, weights = rng.uniform(0.0, 2.0 * math.pi, FEATURES), rng.normal(size=FEATURES)
        amplitude = math.sqrt(2.0 * self.signal / FEATURES)

        def prior(x: Array) -> Array:
            found: Array = amplitude * np.cos(x @ frequencies.T + phases) @ weights
            return found

        gram = matern(self.points, self.points, self.lengthscales, self.signal)
        factor = cho_factor(gram + self.noise * np.eye(len(gram)))
        disturbed = prior(self.points) + math.sqrt(self.noise) * rng.normal(size=len(gram))
        update = cho_solve(factor, self.values - disturbed)
        found: Array = prior(at) + matern(at, self.points, self.lengthscales, self.signal) @ update
        return found


class Turbo(Method):
    """One trust region, which restarts with 2d Sobol points when it has become too small."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._rng = np.random.default_rng(seed)
        self._failures = math.ceil(max(4.0, space.dimension))
        self.begun = 0
        """Number of searches so far; a new one begins whenever the trust region has become too small."""
        self._begin()

    def ask(self) -> Parameters:
        """A Sobol point, or the best candidate of a Thompson sample within the trust region."""
        n = len(self._values)
        self._point = self._initial[n] if n < len(self._initial) else self._sampled()
        return self._space.decode(self._point)

    def tell(self, parameters: Parameters, value: float) -> None:
        """Grow, shrink or restart the trust region."""
        del parameters
        if len(self._values) >= len(self._initial):
            self._adjust(value)
        self._points.append(self._point)
        self._values.append(value)
        if self._length < MIN_LENGTH:
            self._begin()

    def _begin(self) -> None:
        d = self._space.dimension
        self.begun += 1
        self._initial = qmc.Sobol(d, rng=self._rng).random(2 ** math.ceil(math.log2(2 * d)))[: 2 * d]
        self._points: list[Array] = []
        self._values: list[float] = []
        self._length, self._succeeded, self._failed = FIRST_LENGTH, 0, 0
        self._start = np.concatenate([np.full(d, math.log(0.5)), [0.0, math.log(0.005)]])

    def _adjust(self, value: float) -> None:
        best = min(self._values)
        if value < best - GAIN * abs(best):
            self._succeeded, self._failed = self._succeeded + 1, 0
        else:
            self._succeeded, self._failed = 0, self._failed + 1
        if self._succeeded == SUCCESSES:
            self._length, self._succeeded = min(2.0 * self._length, MAX_LENGTH), 0
        elif self._failed == self._failures:
            self._length, self._failed = self._length / 2.0, 0

    def _sampled(self) -> Array:
        points, values = np.array(self._points), np.array(self._values)
        fit = self._fitted(points, (values - values.mean()) / (values.std() or 1.0))
        candidates = self._candidates(points[values.argmin()], fit.lengthscales)
        best: Array = candidates[fit.path(candidates, self._rng).argmin()]
        return best

    def _candidates(self, center: Array, lengthscales: Array) -> Array:
        d = len(center)
        weights = lengthscales / np.exp(np.log(lengthscales).mean())
        low = np.clip(center - weights * self._length / 2.0, 0.0, 1.0)
        high = np.clip(center + weights * self._length / 2.0, 0.0, 1.0)
        count = min(100 * d, MAX_CANDIDATES)
        inside = low + (high - low) * qmc.Sobol(d, rng=self._rng).random(2 ** math.ceil(math.log2(count)))[:count]
        changed = self._rng.random((count, d)) <= min(MAX_CHANGED / d, 1.0)
        idle = np.flatnonzero(~changed.any(axis=1))
        changed[idle, self._rng.integers(d, size=len(idle))] = True
        return np.where(changed, inside, center)

    def _fitted(self, points: Array, values: Array) -> Fit:
        d = points.shape[1]
        bounds = np.log([LENGTHSCALES] * d + [SIGNALS, NOISES])
        found = minimize(negative_log_likelihood, self._start, (points, values), "L-BFGS-B", jac=True, bounds=bounds)
        self._start = found.x
        *lengthscales, signal, noise = np.exp(found.x)
        return Fit(np.array(lengthscales), float(signal), float(noise), points, values)


def matern(a: Array, b: Array, lengthscales: Array, signal: float) -> Array:
    """The Matern 5/2 kernel between points (n, d) and (m, d): (n, m)."""
    r = math.sqrt(5.0) * cdist(a / lengthscales, b / lengthscales)
    found: Array = signal * (1.0 + r + r**2 / 3.0) * np.exp(-r)
    return found


def negative_log_likelihood(logs: Array, points: Array, values: Array) -> tuple[float, Array]:
    """Negative log marginal likelihood, and its gradient in the logarithms of the hyperparameters."""
    n, d = points.shape
    lengthscales, signal, noise = np.exp(logs[:d]), math.exp(logs[d]), math.exp(logs[d + 1])
    scaled = points / lengthscales
    r = math.sqrt(5.0) * cdist(scaled, scaled)
    decay = signal * np.exp(-r)
    gram = decay * (1.0 + r + r**2 / 3.0)
    lower, _ = factor = cho_factor(gram + noise * np.eye(n), lower=True)
    weights = cho_solve(factor, values)
    loss = 0.5 * float(values @ weights) + float(np.log(np.diag(lower)).sum())
    outer = cho_solve(factor, np.eye(n)) - np.outer(weights, weights)
    radial = outer * decay * (1.0 + r) * (5.0 / 3.0)
    # d gram / d log lengthscale_i = radial factor times the squared scaled difference along axis i
    sums = radial.sum(axis=1)
    of_lengthscales = sums @ scaled**2 - np.einsum("ni,nm,mi->i", scaled, radial, scaled, optimize=True)
    return loss, np.concatenate([of_lengthscales, [0.5 * (outer * gram).sum(), 0.5 * noise * np.trace(outer)]])
