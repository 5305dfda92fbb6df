"""Restarts: looking elsewhere once the search has stalled.

A posterior that has seen an optimum from many sides stays there: its lengthscales are those of that neighbourhood, and
the rest of the box seems to offer nothing. So while the search has stalled, two of three suggestions belong to a
*restart*: the same search on the same tree, under a posterior that is given only the results since the restart began,
and of these none around the best point. The first points of a restart are random, and so is a later one if the restart
has come back to the best point. After some results the next restart begins. If one finds a better point, the search
gains by it, and restarts pause until it stalls again.

Because each restart begins with random points, the evaluated points become dense in the box with probability 1,
whatever the objective is (docs/algorithm.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import likelihood, surrogate, warp
from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.domain import Domain
from adabkb_service.engine.auto.likelihood import Hyperparameters
from adabkb_service.engine.auto.noise import noise_ratios
from adabkb_service.engine.auto.surrogate import Surrogate
from adabkb_service.engine.auto.warp import Warp
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

STALL, STALL_PER_AXIS = 20, 5
"""Results without a gain after which the search has stalled: 20, or 5 per relevant axis if that is more."""
GAIN = 0.05
"""A smaller improvement, as a share of the distance from the median result to the best one, is no gain."""
RANDOM_POINTS = 8
"""Random points that a restart begins with."""
RESULTS, RESULTS_PER_AXIS = 12, 6
"""Results from one restart to the next, those of the search included: 12, and 6 per relevant axis."""
IRRELEVANT = 30.0
"""An axis is irrelevant if its lengthscale is more than so many times the shortest one, ..."""
BEYOND_PRIOR = 1.1
"""... more than so many times the prior's, where it stays if the results say nothing about the axis, and more than the
width of the cube."""
APART = 0.05
"""Radius of the neighbourhood of the best point, times the root of the number of relevant axes, in the cube and along
these. A restart does not see it."""


@dataclass(frozen=True, slots=True)
class Restart:
    """What a restart knows."""

    rows: Ints
    """Of the record, ascending: the results that it sees."""
    avoided: Array
    """(d,) the best point of the study, around which it sees nothing."""
    relevant: Bools
    """(d,) the axes that count in the distance from it."""
    best: Array | None
    """(d,) the point of its best result by the posterior mean; None before the first result."""
    posterior: Surrogate
    warp: Warp

    def size(self, pending: Array, domain: Domain) -> int:
        """Number of its results and of those pending points, of (k, d), that are outside of the neighbourhood."""
        return len(self.rows) + int(is_outside_neighbourhood(domain, pending, self.avoided, self.relevant).sum())


def restart(problem: Problem, record: Record, start: int, avoided: Array, known: Hyperparameters) -> Restart:
    """The restart that began after so many results.

    Warp and posterior are those of its rows alone. The hyperparameters are the prior's, since to learn them from so few
    results gains nothing. Which axes are irrelevant, and their lengthscales, are known from all results.

    Args:
        problem: of the study.
        record: all results.
        start: the number of results before the restart.
        avoided: (d,) the best point.
        known: what was learned from all results.
    """
    relevant = relevant_axes(problem, known)
    apart = is_outside_neighbourhood(problem.domain, record.positions[start:], avoided, relevant)
    rows: Ints = start + np.flatnonzero(apart)
    hyperparameters = _hyperparameters(problem, known, relevant)
    posterior, warped = _fitted(problem, record, rows, hyperparameters)
    best = record.positions[rows[np.argmax(posterior.mean(record.positions[rows]))]] if len(rows) else None
    return Restart(rows, avoided, relevant, best, posterior, warped)


def start_after(start: int | None, record: Record, axes: int) -> int | None:
    """The number of results before the present restart; None unless the search has stalled.

    Args:
        start: what this was as of the result before.
        record: all results.
        axes: relevant ones that are active together, at most.
    """
    if not _has_stalled(record, axes):
        return None
    if start is None or record.size - start >= RESULTS + RESULTS_PER_AXIS * axes:
        return record.size
    return start


def is_outside_neighbourhood(domain: Domain, positions: Array, best: Array, relevant: Bools) -> Bools:
    """Which positions, (k, d), are not around the best point, (d,), along the relevant axes, (d,); one that is in
    another category along one of them never is."""
    away = domain.differences(positions, best)
    if domain.spreads is not None:
        away /= domain.spreads
    away[:, domain.categorical] = away[:, domain.categorical] != 0.0
    away[:, ~relevant] = 0.0
    apart: Bools = (away**2).sum(axis=1) >= APART**2 * relevant.sum()
    return apart


def relevant_axes(problem: Problem, hyperparameters: Hyperparameters) -> Bools:
    """Along which axes, (d,), the objective changes, or may change for all that is known. Metrics, and the means of
    older studies, may change along others."""
    # Beside an additive part they are no plain ones.
    lengthscales = hyperparameters.shortest(problem.domain.components)
    if problem.config.metrics or problem.config.older or hyperparameters.additive is not None:
        return np.ones(len(lengthscales), dtype=bool)
    prior = math.exp(likelihood.prior_centre(problem.domain.together or len(lengthscales)))
    relevant: Bools = lengthscales <= max(1.0, BEYOND_PRIOR * prior, IRRELEVANT * lengthscales.min())
    return relevant | problem.domain.shares  # what one share gains, others lose


def is_nearest_to_failed(domain: Domain, point: Array, positions: Array, failed: Array) -> bool:
    """Whether the nearest neighbour of a point, (d,), is a failed one (f, d), and not one with a result (n, d)."""
    if not len(failed):
        return False
    nearest: list[float] = [(domain.differences(each, point) ** 2).sum(axis=1).min() for each in (failed, positions)]
    return nearest[0] < nearest[1]


def _has_stalled(record: Record, axes: int) -> bool:
    """Whether the last results brought no gain."""
    last = max(STALL, STALL_PER_AXIS * axes)
    if record.size <= last:
        return False
    best = record.values.max()
    return bool(best - record.values[:-last].max() <= GAIN * (best - np.median(record.values)))


def _hyperparameters(problem: Problem, known: Hyperparameters, relevant: Bools) -> Hyperparameters:
    """Those of the prior if there were no other axes than the relevant ones, (d,); along the others the lengthscales
    that are known."""
    domain, count = problem.domain, int(relevant.sum())
    components = domain.components.along(np.flatnonzero(relevant))
    spreads = None if domain.spreads is None else domain.spreads[relevant]
    prior = likelihood.prior(count, min(domain.together or count, count), components, spreads)
    lengthscales, along_components = known.lengthscales.copy(), known.components.copy()
    lengthscales[relevant] = prior.lengthscales
    along_components[relevant[domain.components.axes]] = prior.components
    return replace(prior, lengthscales=lengthscales, components=along_components)


def _fitted(problem: Problem, record: Record, rows: Ints, hyperparameters: Hyperparameters) -> tuple[Surrogate, Warp]:
    """The exact posterior given these rows alone, and their warp."""
    positions, values = record.positions[rows], record.values[rows]
    warped = warp.fit(values)
    noises = noise_ratios(problem, hyperparameters, warped, record, rows)
    kernel = hyperparameters.kernel(problem.domain.categorical, problem.domain.components, problem.domain.periodic)
    return surrogate.exact(kernel, hyperparameters.variance, positions, warped.forward(values), noises), warped
