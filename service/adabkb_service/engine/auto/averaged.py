"""The posterior that reports rest on: averaged over hyperparameters and warps.

The search takes the likeliest hyperparameters for certain, and its results crowd around the best one. Both make it too
sure of itself. This posterior is a mixture of members, of the same record:

* Its hyperparameters are learned from results that are apart, of those within ``APART`` sqrt(d) of each other only the
  best one: else the crowd decides how the objective varies everywhere.
* Its warp compresses the results worse than the median only, with one of ``POWERS``. Members have each power as often
  as the evidence for it says.
* The parameters of a member are drawn from the Laplace approximation around their maximum (Rasmussen and Williams 2006,
  section 3.4); sigma_f^2 from its posterior, a scaled inverse chi-squared distribution.

Nothing is suggested by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.special import chdtri, ndtri

from adabkb_service.engine.auto import likelihood, surrogate, warp
from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.kernel import Kernel
from adabkb_service.engine.auto.likelihood import Evidence, Hyperparameters
from adabkb_service.engine.auto.rows import noise_ratios, to_learn_from
from adabkb_service.engine.auto.surrogate import Surrogate
from adabkb_service.engine.auto.warp import Warp
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

MEMBERS = 8
"""Of the mixture."""
POWERS = (1.0, 0.5, 0.0, -0.5)
"""Of the warp of the results worse than the median."""
APART = 0.1
"""Results closer than this times sqrt(d) count as one for how the objective varies; choices that differ are 1 apart."""
FEWEST, MOST = 8, 100
"""Results that hyperparameters are learned from: at least so many, whether they are apart or not, and at most."""
NOISY_START = 0.01
"""Noise ratio from which the search for hyperparameters starts as well."""
LEAST_CURVATURE = 0.25
"""Of the posterior density's logarithm, along any direction: it is flat in none."""
LARGEST_STEP = 2.5
"""Of a member's parameters from the maximum: they are logarithms."""
DIFFERENCE = 1e-3
"""Of a parameter, for the curvature."""
LEAST_NOISE = 1e-6
"""Noise ratio of a member at least, for the factorisation."""
JITTERS = (1e-8, 1e-6, 1e-4)
"""Added to the diagonal of the candidates' covariance, which lie close together: the first one that suffices."""
STREAM = -1 << 41
"""Step of the random numbers: that of no decision."""


@dataclass(frozen=True, slots=True)
class Member:
    """A Gaussian process with its warp."""

    warp: Warp
    posterior: Surrogate
    degrees: int
    """Of freedom of sigma_f^2."""

    def draws(self, positions: Array, draw: tuple[int, int], count: int) -> Array:
        """Joint draws, (k, count), in model output units, at positions (k, d), with sigma_f^2 drawn anew for each."""
        view = self.posterior
        scaled = view.kernel.scaled(positions)
        K = view.kernel.gram(scaled, view.inducing)
        V = K @ view.factor.T
        root = _root(view.kernel.gram(scaled, scaled) - V @ V.T)
        drawn = np.clip(uniforms(*draw, (len(positions) + 1) * count), 1e-12, 1.0 - 1e-12)
        scales = np.sqrt(view.variance * self.degrees / chdtri(self.degrees, drawn[:count]))
        normals = ndtri(drawn[count:]).reshape(len(positions), count)
        found: Array = (K @ view.weights)[:, None] + scales * (root @ normals)
        return found


@dataclass(frozen=True, slots=True)
class _Fit:
    """What was learned under one warp."""

    warp: Warp
    evidence: Evidence
    parameters: Array
    log_density: float
    """Of results and parameters, in the units of the results: these compare between warps."""


def members(problem: Problem, record: Record) -> list[Member]:
    """The members of the posterior given a record of ``likelihood.MIN_RESULTS`` results or more. There are fewer where
    a covariance cannot be factorised."""
    given = to_learn_from(problem.seed, record.values)
    fits = _fits(problem, record, given[apart(problem, record, given)])
    weights = np.exp([fit.log_density - max(each.log_density for each in fits) for fit in fits])
    shares = np.cumsum(weights / weights.sum())
    chosen = [fits[int(np.searchsorted(shares, (k + 0.5) / MEMBERS))] for k in range(MEMBERS)]
    likeliest = max(fits, key=lambda fit: fit.log_density)
    steps = _steps(likeliest, problem.seed, record.size)
    found = [_member(problem, record, given, *each) for each in zip(chosen, steps, strict=True)]
    return [each for each in found if each is not None]


def apart(problem: Problem, record: Record, rows: Ints) -> Ints:
    """Which of some rows of the record are apart from all better ones, rising: the best ``MOST`` of them, and at least
    ``FEWEST``, if there are so many rows."""
    positions, d = record.positions[rows], problem.domain.dimension
    order = np.argsort(-record.values[rows], kind="stable")
    kept: list[int] = []
    left: list[int] = []
    for row in order:
        differences = positions[kept] - positions[row]
        squares = np.where(problem.domain.categorical, differences != 0.0, differences**2).sum(axis=1)
        (left if (squares < APART**2 * d).any() else kept).append(row)
    chosen = kept[:MOST] + left[: max(FEWEST - len(kept), 0)]
    return np.sort(np.array(chosen, dtype=np.int64))


def _fits(problem: Problem, record: Record, rows: Ints) -> list[_Fit]:
    """What is learned under each warp. The search for the next one starts where the last one ended."""
    domain, values, found = problem.domain, record.values[rows], []
    prior = likelihood.prior(domain.dimension, domain.together)
    starts = [prior.parameters(), replace(prior, noise_ratio=NOISY_START).parameters()]
    for power in POWERS:
        warped = warp.of_worse(record.values, power)
        declared = noise_ratios(problem, prior, warped, values, record.errors[rows]) - prior.noise_ratio
        outputs, log_slopes = warped.forward(values), float(warped.log_slope(values).sum())
        positions, together = np.ascontiguousarray(record.positions[rows]), domain.together
        evidence = Evidence(positions, outputs, declared, domain.categorical, log_slopes, together)
        value, parameters, _ = min((evidence.maximum(start) for start in starts), key=lambda each: each[0])
        found.append(_Fit(warped, evidence, parameters, log_slopes - value))
        starts = [parameters]
    return found


def _steps(fit: _Fit, seed: int, count: int) -> Array:
    """(MEMBERS, d + 1) from the maximum to the parameters of each member, by the curvature there."""
    size = len(fit.parameters)
    gradient = fit.evidence.negative_log_posterior(fit.parameters)[1]
    moved = [fit.evidence.negative_log_posterior(fit.parameters + step)[1] for step in DIFFERENCE * np.eye(size)]
    curvature = (np.array(moved) - gradient) / DIFFERENCE
    curvatures, directions = np.linalg.eigh((curvature + curvature.T) / 2.0)
    drawn = np.clip(uniforms(seed, STREAM + count, MEMBERS * size), 1e-12, 1.0 - 1e-12).reshape(MEMBERS, size)
    steps = ndtri(drawn) / np.sqrt(np.maximum(curvatures, LEAST_CURVATURE)) @ directions.T
    found: Array = np.clip(steps, -LARGEST_STEP, LARGEST_STEP)
    return found


def _member(problem: Problem, record: Record, rows: Ints, fit: _Fit, step: Array) -> Member | None:
    """The member with these parameters, given some rows of the record; None if that is beyond floating point."""
    least = np.log([likelihood.LENGTHSCALES[0]] * (len(step) - 1) + [LEAST_NOISE])
    most = np.log([likelihood.LENGTHSCALES[1]] * (len(step) - 1) + [likelihood.NOISES[1]])
    parameters = np.clip(fit.parameters + step, least, most)
    variance = fit.evidence.variance(parameters)
    hyperparameters = Hyperparameters(np.exp(parameters[:-1]), math.exp(parameters[-1]), variance)
    values = record.values[rows]
    noises = noise_ratios(problem, hyperparameters, fit.warp, values, record.errors[rows])
    kernel = Kernel(hyperparameters.lengthscales, problem.domain.categorical)
    try:
        posterior = surrogate.exact(kernel, variance, record.positions[rows], fit.warp.forward(values), noises)
    except FloatingPointError:
        return None
    return Member(fit.warp, posterior, len(fit.evidence.outputs))


def _root(covariance: Array) -> Array:
    """A Cholesky factor of a matrix that is positive semidefinite up to rounding.

    Raises:
        FloatingPointError: it is not.
    """
    for jitter in JITTERS:
        root, failed = lapack.dpotrf(covariance + jitter * np.eye(len(covariance)), lower=1)
        if not failed:
            found: Array = root
            return found
    raise FloatingPointError("the covariance of the candidates is not positive definite")
