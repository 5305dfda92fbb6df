"""The posterior with a prior mean from older studies, in the form that the search uses.

The objective is modeled as

    f(x) = sum over older studies of t_j m_j(x) + g(x),

where m_j is the posterior mean of an older study's results, and g is the rest, with the kernel and the mean of the new
study's own model. The *trust* t_j >= 0 is learned from the new results y, (n,), alone. With P = (K + N)^-1 it minimizes

    (y - M t)' P (y - M t) + RIDGE |t - 1|^2,

and is kept if it improves the leave-one-out predictions of the results. The leave-one-out errors are
e(t) = P (y - M t) / diag P. With v(t) = sum of e_i^2 P_ii, the increase of the leave-one-out log-likelihood,
(n / 2) log (v(0) / v(t)), must be more than one per study with trust (Akaike's criterion); otherwise no older study is
used. With at most one result, each of the J studies has the trust 1 / J. So a misleading study is dropped after few
results, and a helpful one is used as long as it improves the predictions.
The variance of g is that of f times v(t) / v(0). Feurer et al. 2018 ("RGPE") also weight models by leave-one-out
errors.

The first point is chosen as without older studies, for comparison; the second is where they predict the best value.
Predictions, gap and recommendation do not use older studies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy  # imports its subpackages on first use
from numpy.typing import NDArray

from adabkb_service.engine.auto.ascent import lbfgs
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.model import likelihood, surrogate
from adabkb_service.engine.auto.model.likelihood import Evidence
from adabkb_service.engine.auto.model.surrogate import Surrogate
from adabkb_service.engine.catalogue import CatalogueAxis
from adabkb_service.engine.older import Older
from adabkb_service.engine.randomness import uniforms

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

RIDGE = 0.1
"""Strength of the prior belief that the trust is 1; it counts as much as this many results."""
EVIDENCE = 1.0
"""The minimum increase of the log-likelihood of the results per study."""
SMALLEST = 1e-4
"""Added to v in the comparison, so that differences of much smaller errors do not count."""
PRIOR = 1.0
"""Added to v, so that a few results do not reduce the variance too much."""
BEST = 5
"""The number of points of an older study that are candidates in each search."""
STREAM = 1 << 33
"""Added to the step, for a separate random stream."""
ITERATIONS = 40


@dataclass(frozen=True)
class OlderMean:
    """The posterior mean of an older study's results along the shared axes."""

    study: str
    """Id of the older study."""
    axes: NDArray[np.int64]
    """(s,) shared axes of the new study."""
    posterior: Surrogate
    best: Array
    """(k, s) positions of the older study's best results."""

    def mean(self, positions: Array) -> Array:
        """Return m at positions (k, d) of the new space, shape (k,)."""
        return self.posterior.mean(positions[:, self.axes].copy())

    def mean_and_gradient(self, positions: Array) -> tuple[Array, Array]:
        """Return m, (k,), and its gradient in the new space, (k, d)."""
        value, slope = self.posterior.ucb_and_gradient(positions[:, self.axes].copy(), 0.0)
        gradient = np.zeros(positions.shape)
        gradient[:, self.axes] = slope
        return value, gradient


def learned(older: Older, domain: Domain) -> OlderMean:
    """Return the posterior mean of an older study, with hyperparameters learned from its snapshot."""
    axes, positions, outputs = np.array(older.axes), np.array(older.positions), np.array(older.outputs)
    for column, axis in enumerate(older.axes):
        if domain.categorical[axis]:  # the kernel compares these positions exactly, and a snapshot rounds them
            positions[:, column] = _exact(domain, axis, positions[:, column])
    categorical, components, periodic = domain.categorical[axes], domain.components.along(axes), domain.periodic[axes]
    start = likelihood.prior(len(axes), components=components)
    given = positions, outputs, np.zeros(len(outputs)), categorical
    evidence = Evidence(*given, components=components, periodic=periodic)
    found = likelihood.learn(evidence, [start]) if len(outputs) >= likelihood.MIN_RESULTS else start
    noises = np.full(len(outputs), found.noise_ratio)
    kernel = found.kernel(evidence)
    posterior = surrogate.exact(kernel, found.variance, positions, outputs, noises)
    return OlderMean(older.study, axes, posterior, positions[np.argsort(-outputs, kind="stable")[:BEST]])


def _exact(domain: Domain, axis: int, positions: Array) -> Array:
    """Return the exact positions, (k,), of the choices or rows nearest to positions along an axis."""
    along = domain.space.axes[axis]
    if isinstance(along, CatalogueAxis):
        return along.positions(along.rows(positions))
    return np.array([domain.exact_along(axis, position) for position in positions.tolist()])


@dataclass(frozen=True, slots=True)
class Transferred:
    """The posterior of g, with the means of the older studies. It has the methods of ``Surrogate`` that the search
    needs."""

    posterior: Surrogate
    """The posterior of g."""
    older: tuple[OlderMean, ...]
    trust: Array
    """t, one per older study."""

    def mean(self, positions: Array) -> Array:
        """See ``Surrogate.mean``."""
        return self.posterior.mean(positions) + self._expected(positions)

    def mean_and_std(self, positions: Array) -> tuple[Array, Array]:
        """See ``Surrogate.mean_and_std``."""
        mean, deviation = self.posterior.mean_and_std(positions)
        return mean + self._expected(positions), deviation

    def ucb(self, positions: Array, beta: float) -> Array:
        """See ``Surrogate.ucb``."""
        return self.posterior.ucb(positions, beta) + self._expected(positions)

    def ucb_and_gradient(self, positions: Array, beta: float) -> tuple[Array, Array]:
        """See ``Surrogate.ucb_and_gradient``."""
        value, gradient = self.posterior.ucb_and_gradient(positions, beta)
        for trust, each in self._trusted:
            expected, slope = each.mean_and_gradient(positions)
            value, gradient = value + trust * expected, gradient + trust * slope
        return value, gradient

    def condition(self, positions: Array, outputs: Array | None, noise_ratios: Array) -> Transferred:
        """See ``Surrogate.condition``."""
        left = None if outputs is None else outputs - self._expected(positions)
        return replace(self, posterior=self.posterior.condition(positions, left, noise_ratios))

    def candidates(self, draw: tuple[int, int]) -> Array:
        """Return positions, (k, d), of the best results of the older studies with trust. Along axes that are not
        shared, coordinates are random, drawn with (seed, step)."""
        d = len(self.posterior.kernel.lengthscales)
        count = sum(len(each.best) for _, each in self._trusted)
        found = uniforms(draw[0], STREAM + draw[1], count * d).reshape(count, d)
        first = 0
        for _, each in self._trusted:
            found[first : first + len(each.best), each.axes] = each.best
            first += len(each.best)
        return found

    def ascend(self, starts: Array, beta: float, free: Bools) -> Array:
        """Return maxima near positions (k, d), along the free axes of each, (k, d): see ``lbfgs.maxima``."""
        return lbfgs.maxima(lambda positions: self.ucb_and_gradient(positions, beta), starts, free, ITERATIONS)

    def of_step(self, step: int) -> Surrogate | Transferred:
        """Return the posterior for a step, counted from 0; for the first one, without the older studies."""
        return self if step else self.posterior

    @property
    def variance(self) -> float:
        """The variance of g, in squared model output units."""
        return self.posterior.variance

    @property
    def _trusted(self) -> list[tuple[float, OlderMean]]:
        return [(t, each) for t, each in zip(self.trust.tolist(), self.older, strict=True) if t]

    def _expected(self, positions: Array) -> Array:
        """Return sum of t m, (k,)."""
        return sum((trust * each.mean(positions) for trust, each in self._trusted), np.zeros(len(positions)))


def transferred(
    own: Surrogate, positions: Array, outputs: Array, older: Sequence[OlderMean]
) -> Surrogate | Transferred:
    """Return an exact posterior, combined with the older studies that the results support.

    Args:
        own: the posterior given the rows alone.
        positions, outputs: the rows, (n, d) and (n,).
        older: the means of J older studies.
    """
    means = np.array([each.mean(positions) for each in older]).T.reshape(len(outputs), len(older))
    trust, left = _trust(own, means, outputs)
    if not trust.any():
        return own
    weights = own.factor.T @ (own.factor @ (outputs - means @ trust))
    return Transferred(replace(own, variance=own.variance * left, weights=weights), tuple(older), trust)


def _trust(own: Surrogate, means: Array, outputs: Array) -> tuple[Array, float]:
    """Return the trust t, (J,), and the share of the variance that remains, given the older means at the rows, (n, J),
    and the outputs, (n,)."""
    n, studies = means.shape
    if n <= 1:  # nothing to compare yet
        return np.full(studies, 1.0 / studies), 1.0
    whitened = own.factor @ np.column_stack([outputs, means])
    ridge = math.sqrt(RIDGE)
    A = np.vstack([whitened[:, 1:], ridge * np.eye(studies)])
    trust, _ = scipy.optimize.nnls(A, np.append(whitened[:, 0], np.full(studies, ridge)))
    errors = (own.factor.T @ whitened) / np.sqrt(own.precisions())[:, None]
    left = errors[:, 0] - errors[:, 1:] @ trust
    before, after = (SMALLEST + float(each @ each) for each in (errors[:, 0], left))
    if n / 2.0 * math.log(before / after) <= EVIDENCE * np.count_nonzero(trust):
        return np.zeros(studies), 1.0
    return trust, min((PRIOR + after) / (PRIOR + before), 1.0)
