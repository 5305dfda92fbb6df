"""Noise that differs between regions, estimated from replicates.

The sample variance of the g-th replicated point, with m_g degrees of freedom, is approximately log-normal:

    log s_g^2 - psi(m_g / 2) + log(m_g / 2) ~ N(log v(x_g), psi'(m_g / 2))

(Bartlett and Kendall 1946). log v is a constant plus a Gaussian process with a squared exponential kernel over the
cube. Its lengthscale and amplitude are those with the largest likelihood among a few values. This likelihood must be
more than ``EVIDENCE`` times that of a constant alone; otherwise the noise is learned from all results together, as
without replicates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, polygamma

from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]

FEWEST = 4
"""The minimum number of points with replicates for noise that differs between regions."""
EVIDENCE = 20.0
"""The ratio that the likelihood to that of constant noise must exceed."""
LENGTHSCALES = (0.15, 0.3, 0.6)
"""Lengthscales in the unit cube, in units of the square root of the number of axes."""
AMPLITUDES = (1.0, 2.5)
"""Amplitudes: standard deviations of log v."""
CONSTANT = 10.0
"""Prior standard deviation of the constant term of log v."""
LEAST = 1e-6
"""The minimum sample standard deviation at a point, as a share of the range of the results; without it, the logarithm
for equal replicates would be infinite."""


def noise_by_region(problem: Problem, record: Record) -> Array:
    """Return the standard deviation of the noise of each result, (T,), in the user's units; all zeros if the replicates
    do not support noise that differs between regions."""
    if record.size - record.points < FEWEST:
        return np.zeros(record.size)
    return problem.remembered("noise_by_region", record, _noise_by_region).copy()


def _noise_by_region(problem: Problem, record: Record) -> Array:
    nothing = np.zeros(record.size)
    counts = np.bincount(record.ordinals)
    replicated = np.flatnonzero(counts > 1)
    if len(replicated) < FEWEST:
        return nothing
    sums = np.bincount(record.ordinals, record.values)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.bincount(record.ordinals, (record.values - (sums / counts)[record.ordinals]) ** 2)[replicated]
        floor = (LEAST * np.ptp(record.values)) ** 2
    degrees = counts[replicated] - 1.0
    if not (np.isfinite(squares).all() and 0.0 < floor < np.inf):
        return nothing
    halves = degrees / 2.0
    logs = np.log(np.maximum(squares / degrees, floor)) - digamma(halves) + np.log(halves)
    places = record.positions[record.first_rows()]
    found = _smoothed(problem.domain, places[replicated], logs, polygamma(1, halves), places)
    return nothing if found is None else np.exp(found / 2.0)[record.ordinals]


def _smoothed(domain: Domain, at: Array, logs: Array, variances: Array, places: Array) -> Array | None:
    """Return log v at places, (k, d), given log sample variances, (g,), at points, (g, d), and the variances of their
    errors, (g,); None unless a log v that differs between points is more than ``EVIDENCE`` times as likely as a
    constant."""
    constant = CONSTANT**2
    center = float(np.average(logs, weights=1.0 / variances))
    alone = _log_likelihood(np.diag(variances) + constant, logs - center)
    best, found = alone + np.log(EVIDENCE), None
    among, between = _squares(domain, at, at), _squares(domain, places, at)
    for lengthscale in LENGTHSCALES:
        scale = -0.5 / (lengthscale**2 * domain.dimension)
        for amplitude in AMPLITUDES:
            K = amplitude**2 * np.exp(scale * among) + constant + np.diag(variances)
            value = _log_likelihood(K, logs - center)
            if value > best:
                cross = amplitude**2 * np.exp(scale * between) + constant
                best, found = value, center + cross @ np.linalg.solve(K, logs - center)
    return found


def _log_likelihood(K: Array, z: Array) -> float:
    return float(-0.5 * (z @ np.linalg.solve(K, z) + np.linalg.slogdet(K)[1]))


def _squares(domain: Domain, some: Array, others: Array) -> Array:
    """Return squared distances, (k, m); different categories have distance 1."""
    away = np.array([domain.differences(others, each) for each in some])
    away[:, :, domain.categorical] = away[:, :, domain.categorical] != 0.0
    squares: Array = (away**2).sum(axis=2)
    return squares
