"""Restarts: search elsewhere once the search has stalled.

With many results around an optimum, the search stays there: the lengthscales fit this neighborhood, and the posterior
predicts no improvement in the rest of the space. So while the search has stalled, two of three suggestions belong to a
*restart*. It is the same search on the same tree, but its posterior is conditioned only on results since the restart
began, without those around the best point. The first points of a restart are random, and so are later ones if the
largest bound is around the best point. The next restart begins after some results. If a restart finds a better point,
restarts pause until the search stalls again.

Since each restart begins with random points, the evaluated points become dense in the box with probability 1 for every
objective (docs/algorithm.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.model import likelihood, warp
from adabkb_service.engine.auto.model.conditioning import given_rows
from adabkb_service.engine.auto.model.likelihood import Hyperparameters
from adabkb_service.engine.auto.model.surrogate import Surrogate
from adabkb_service.engine.auto.model.warp import Warp
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

STALL, STALL_PER_AXIS = 20, 5
"""The number of results without a gain after which the search has stalled: 20, or 5 per relevant axis if that is
more."""
GAIN = 0.05
"""The minimum improvement that counts as a gain, as a share of the distance from the median result to the best one."""
RANDOM_POINTS = 8
"""The number of random points at the beginning of a restart."""
RESULTS, RESULTS_PER_AXIS = 12, 6
"""The number of results from one restart to the next, including those of the search: 12 plus 6 per relevant axis."""
IRRELEVANT = 30.0
"""An axis is irrelevant if its lengthscale is more than this many times the shortest one, and the condition of
``BEYOND_PRIOR`` holds."""
BEYOND_PRIOR = 1.1
"""The lengthscale of an irrelevant axis is also more than this many times that of the prior, and more than the width of
the cube. (While the results give no information about an axis, its lengthscale stays near that of the prior.)"""
SETTLED, NEGLIGIBLE = 4, 1e-8
"""The search has settled if enough results are near the best point and as good as it: at least ``SETTLED`` plus the
number of relevant axes. Differences count only if they exceed the share ``NEGLIGIBLE`` of the distance from the best
result to the median of the results that are not near."""
APART = 0.05
"""Radius of the neighborhood of the best point along the relevant axes of the cube, in units of the square root of
their number. Restarts ignore results in it."""


@dataclass(frozen=True, slots=True)
class Restart:
    """The data of a restart."""

    rows: Ints
    """Rows of the record that the restart uses, in increasing order."""
    avoided: Array
    """(d,) the best point of the study, whose neighborhood is ignored."""
    relevant: Bools
    """(d,) whether each axis is part of the distance from that point."""
    best: Array | None
    """(d,) the point with the best posterior mean of the restart; None before its first result."""
    posterior: Surrogate
    warp: Warp

    def size(self, pending: Array, domain: Domain) -> int:
        """Return the number of results of the restart, plus that of pending points, (k, d), outside of the
        neighborhood."""
        return len(self.rows) + int(is_outside_neighborhood(domain, pending, self.avoided, self.relevant).sum())


def restart(problem: Problem, record: Record, start: int, avoided: Array, known: Hyperparameters) -> Restart:
    """Return the restart that began after ``start`` results.

    Warp and posterior use only the results of the restart. The hyperparameters are those of the prior, since learning
    them from so few results gains nothing. Irrelevant axes, and their lengthscales, come from all results.

    Args:
        problem: the problem of the study.
        record: all results.
        start: the number of results before the restart.
        avoided: (d,) the best point.
        known: the hyperparameters learned from all results.
    """
    relevant = relevant_axes(problem, known)
    apart = is_outside_neighborhood(problem.domain, record.positions[start:], avoided, relevant)
    rows: Ints = start + np.flatnonzero(apart)
    hyperparameters = _hyperparameters(problem, known, relevant)
    warped = warp.fit(record.values[rows])
    posterior = given_rows(problem, record, rows).posterior(problem.domain, hyperparameters, warped)
    best = record.positions[rows[np.argmax(posterior.mean(record.positions[rows]))]] if len(rows) else None
    return Restart(rows, avoided, relevant, best, posterior, warped)


def start_after(start: int | None, domain: Domain, record: Record, relevant: Bools) -> int | None:
    """Return the number of results before the current restart; None unless the search has stalled or settled.

    Args:
        start: the value before the last result.
        domain: the space.
        record: all results.
        relevant: (d,) the relevant axes.
    """
    count = int(relevant.sum())
    axes = min(domain.together or count, count)  # the relevant axes that are active together
    if not (_has_stalled(record, axes) or _has_settled(domain, record, relevant)):
        return None
    if start is None or record.size - start >= RESULTS + RESULTS_PER_AXIS * axes:
        return record.size
    return start


def is_outside_neighborhood(domain: Domain, positions: Array, best: Array, relevant: Bools) -> Bools:
    """Return which positions, (k, d), are outside the neighborhood of the best point, (d,), along the relevant axes,
    (d,). Positions with another choice of a relevant category are always outside."""
    away = domain.differences(positions, best)
    if domain.spreads is not None:
        away /= domain.spreads
    away[:, domain.categorical] = away[:, domain.categorical] != 0.0
    away[:, ~relevant] = 0.0
    apart: Bools = (away**2).sum(axis=1) >= APART**2 * relevant.sum()
    return apart


def relevant_axes(problem: Problem, hyperparameters: Hyperparameters) -> Bools:
    """Return the axes, (d,), along which the objective changes or may still turn out to change. With metrics or older
    studies, these are all axes, since metrics and older means may change along the others."""
    # With an additive part, these lengthscales do not show which axes are relevant.
    lengthscales = hyperparameters.shortest(problem.domain.components)
    if problem.config.metrics or problem.config.older or hyperparameters.additive is not None:
        return np.ones(len(lengthscales), dtype=bool)
    prior = math.exp(likelihood.prior_center(problem.domain.together or len(lengthscales)))
    relevant: Bools = lengthscales <= max(1.0, BEYOND_PRIOR * prior, IRRELEVANT * lengthscales.min())
    return relevant | problem.domain.shares  # a larger share makes others smaller


def is_nearest_to_failed(domain: Domain, point: Array, positions: Array, failed: Array) -> bool:
    """Return whether the nearest neighbor of a point, (d,), is a failed one (f, d) rather than one with a result (n,
    d)."""
    if not len(failed):
        return False
    nearest: list[float] = [(domain.differences(each, point) ** 2).sum(axis=1).min() for each in (failed, positions)]
    return nearest[0] < nearest[1]


def _has_stalled(record: Record, axes: int) -> bool:
    """Return whether the last results brought no gain."""
    last = max(STALL, STALL_PER_AXIS * axes)
    if record.size <= last:
        return False
    best = record.values.max()
    return bool(best - record.values[:-last].max() <= GAIN * (best - np.median(record.values)))


def _has_settled(domain: Domain, record: Record, relevant: Bools) -> bool:
    """Return whether further results near the best point can bring no gain. Results with noise never show this."""
    values, best = record.values, int(np.argmax(record.values))
    apart = is_outside_neighborhood(domain, record.positions, record.positions[best], relevant)
    if not apart.any() or np.count_nonzero(~apart) < relevant.sum() + SETTLED:
        return False
    negligible = NEGLIGIBLE * (values[best] - np.median(values[apart]))
    return bool(np.count_nonzero(values[~apart] >= values[best] - negligible) >= relevant.sum() + SETTLED)


def _hyperparameters(problem: Problem, known: Hyperparameters, relevant: Bools) -> Hyperparameters:
    """Return the hyperparameters of a prior on the relevant axes, (d,), only; along the others, the known
    lengthscales."""
    domain, count = problem.domain, int(relevant.sum())
    components = domain.components.along(np.flatnonzero(relevant))
    lengths = None if domain.lengths is None else domain.lengths[relevant]
    prior = likelihood.prior(count, min(domain.together or count, count), components, lengths)
    lengthscales, along_components = known.lengthscales.copy(), known.components.copy()
    lengthscales[relevant] = prior.lengthscales
    along_components[relevant[domain.components.axes]] = prior.components
    smooth = domain.is_smooth
    return replace(prior, lengthscales=lengthscales, components=along_components, smooth=smooth, plates=known.plates)
