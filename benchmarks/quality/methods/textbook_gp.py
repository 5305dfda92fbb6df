"""A textbook Gaussian process, which can be written in an afternoon, as a lower limit of quality.

It begins with eight quasi-random points. Results are standardized. The kernel is Matern 5/2 with a lengthscale per
ordered axis, times exp(-1 / l) per category that differs. Lengthscales and noise are found by maximum a posteriori,
from two starts of the noise. The next point has the largest upper confidence bound with beta = 2 among 2,000 points,
some of them near the best one, or among all points of a small space.

Rasmussen and Williams 2006, chapters 2, 4 and 5; Srinivas et al. 2010.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize
from scipy.stats import qmc

from adabkb_service.engine.axes import ChoiceAxis
from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.quality.methods.base import Method, Parameters

FIRST = 8
BETA = 2.0
SCATTERED, LOCAL = 1600, 400
LISTED = 4096
"""Maximum size of a finite space for which all points are candidates."""
STARTS = (1e-3, 1e-1)
"""Initial noise variances, for results with variance 1."""


class TextbookGP(Method):
    """The method described above."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._rng = np.random.default_rng([seed, 17])
        self._first = qmc.Sobol(space.dimension, seed=self._rng).random(FIRST)
        self._categorical = np.array([isinstance(axis, ChoiceAxis) and not axis.ordered for axis in space.axes])
        self._X = np.zeros((0, space.dimension))
        self._y = np.zeros(0)
        self._all = self._listed()

    def ask(self) -> Parameters:
        """The next point."""
        if len(self._y) < FIRST:
            self._asked = self._snapped(self._first[len(self._y)][None])[0]
            return self._space.decode(self._asked)
        candidates = self._candidates()
        taken = (candidates[:, None] == self._X[None]).all(axis=2).any(axis=1)
        index = self._index(candidates)
        index[taken] = -np.inf
        self._asked = candidates[int(np.argmax(index))]
        return self._space.decode(self._asked)

    def tell(self, parameters: Parameters, value: float) -> None:
        """Store the result."""
        del parameters
        self._X = np.vstack([self._X, self._asked])
        self._y = np.append(self._y, value)

    def _index(self, candidates: Array) -> Array:
        scale = self._y.std() or 1.0
        z = (self._y.mean() - self._y) / scale
        found = [self._fitted(z, noise) for noise in STARTS]
        theta = min(found, key=lambda each: each[0])[1]
        lengths, noise, variance = np.exp(theta[:-2]), math.exp(theta[-2]), math.exp(theta[-1])
        K = variance * self._kernel(self._X, self._X, lengths) + noise * np.eye(len(z))
        factor = cho_factor(K, lower=True)
        k = variance * self._kernel(self._X, candidates, lengths)
        mean = k.T @ cho_solve(factor, z)
        left = variance - (solve_triangular(factor[0], k, lower=True) ** 2).sum(axis=0)
        index: Array = mean + BETA * np.sqrt(np.maximum(left, 0.0))
        return index

    def _fitted(self, z: Array, noise: float) -> tuple[float, Array]:
        d = self._space.dimension
        start = np.append(np.full(d, math.log(0.5)), [math.log(noise), 0.0])
        bounds = [(math.log(0.03), math.log(20.0))] * d + [(math.log(1e-6), math.log(1.0)), (-3.0, 3.0)]
        found = minimize(self._loss, start, args=(z,), bounds=bounds, options={"maxiter": 60})
        return float(found.fun), found.x

    def _loss(self, theta: Array, z: Array) -> float:
        lengths, noise, variance = np.exp(theta[:-2]), math.exp(theta[-2]), math.exp(theta[-1])
        K = variance * self._kernel(self._X, self._X, lengths) + (noise + 1e-8) * np.eye(len(z))
        try:
            factor = cho_factor(K, lower=True)
        except np.linalg.LinAlgError:
            return 1e10
        fit = z @ cho_solve(factor, z) / 2.0 + np.log(np.diag(factor[0])).sum()
        prior = ((theta[:-2] - math.log(0.5)) ** 2).sum() / 2.0 + (math.log(noise) - math.log(1e-2)) ** 2 / 18.0
        return float(fit + prior + theta[-1] ** 2 / 2.0)

    def _kernel(self, X: Array, Y: Array, lengths: Array) -> Array:
        ordered, categorical = ~self._categorical, self._categorical
        A, B = X[:, ordered] / lengths[ordered], Y[:, ordered] / lengths[ordered]
        squared = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1)[None] - 2.0 * A @ B.T
        r = np.sqrt(5.0 * np.maximum(squared, 1e-20))
        K: Array = (1.0 + r + r**2 / 3.0) * np.exp(-r)
        for axis in np.flatnonzero(categorical):
            K *= np.where(X[:, axis][:, None] != Y[:, axis][None], math.exp(-1.0 / lengths[axis]), 1.0)
        return K

    def _candidates(self) -> Array:
        if self._all is not None:
            return self._all
        best = self._X[int(np.argmin(self._y))]
        scattered = self._rng.random((SCATTERED, self._space.dimension))
        local = np.clip(best + self._rng.normal(0.0, 0.1, (LOCAL, self._space.dimension)), 0.0, 1.0)
        kept = self._rng.random(local.shape) < 0.5
        return self._snapped(np.vstack([scattered, np.where(kept, best, local)]))

    def _snapped(self, points: Array) -> Array:
        return np.array([self._space.encode(self._space.decode(point)) for point in points])

    def _listed(self) -> Array | None:
        counts = [axis.count or LISTED + 1 for axis in self._space.axes]
        if math.prod(counts) > LISTED:
            return None
        return self._snapped(np.array(list(product(*[(np.arange(count) + 0.5) / count for count in counts]))))
