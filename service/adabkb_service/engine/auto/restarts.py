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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import subset
from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.surrogate import Surrogate
from adabkb_service.engine.auto.warp import Warp
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

STALL, STALL_PER_AXIS = 20, 5
"""Results without a gain after which the search has stalled: 20, or 5 per axis if that is more."""
GAIN = 0.05
"""A smaller improvement, as a share of the distance from the median result to the best one, is no gain."""
PERIOD = 3
"""While the search has stalled, one of so many suggestions is its own; the others belong to restarts."""
RANDOM_POINTS = 8
"""Random points that a restart begins with."""
RESULTS, RESULTS_PER_AXIS = 12, 6
"""Results from one restart to the next, those of the search included: 12, and 6 per axis."""
APART = 0.05
"""Radius of the neighbourhood of the best point, times sqrt(d), in the cube. A restart does not see it."""


@dataclass(frozen=True, slots=True)
class Restart:
    """What a restart knows."""

    rows: Ints
    """Of the record, ascending: the results that it sees."""
    avoided: Array
    """(d,) the best point of the study, around which it sees nothing."""
    best: Array | None
    """(d,) the point of its best result by the posterior mean; None before the first result."""
    posterior: Surrogate
    warp: Warp

    def size(self, pending: Array, categorical: Bools) -> int:
        """Number of its results and of its pending points, of all those (k, d)."""
        return len(self.rows) + int(is_outside_neighbourhood(pending, self.avoided, categorical).sum())


def restart(problem: Problem, record: Record, start: int, avoided: Array) -> Restart:
    """The restart that began after so many results. Warp, hyperparameters and posterior are those of its rows alone."""
    apart = is_outside_neighbourhood(record.positions[start:], avoided, problem.domain.categorical)
    rows: Ints = start + np.flatnonzero(apart)
    posterior, warp = subset.fit(problem, record, rows, subset.learn(problem, record, rows))
    best = record.positions[rows[np.argmax(posterior.mean(record.positions[rows]))]] if len(rows) else None
    return Restart(rows, avoided, best, posterior, warp)


def start_after(start: int | None, record: Record, together: int | None = None) -> int | None:
    """The number of results before the present restart; None unless the search has stalled.

    Args:
        start: the same as of the result before.
        record: all results.
        together: axes that are active together, at most; None for all.
    """
    axes = together or record.positions.shape[1]
    if not _has_stalled(record, axes):
        return None
    if start is None or record.size - start >= RESULTS + RESULTS_PER_AXIS * axes:
        return record.size
    return start


def is_outside_neighbourhood(positions: Array, best: Array, categorical: Bools) -> Bools:
    """Which positions, (k, d), are not around the best point, (d,); one in another category never is."""
    away = positions - best
    away[:, categorical] = away[:, categorical] != 0.0
    apart: Bools = (away**2).sum(axis=1) >= APART**2 * len(best)
    return apart


def is_nearest_to_failed(point: Array, positions: Array, failed: Array) -> bool:
    """Whether the nearest neighbour of a point, (d,), is a failed one (f, d), and not one with a result (n, d)."""
    if not len(failed):
        return False
    nearest: list[float] = [((each - point) ** 2).sum(axis=1).min() for each in (failed, positions)]
    return nearest[0] < nearest[1]


def _has_stalled(record: Record, axes: int) -> bool:
    """Whether the last results brought no gain."""
    last = max(STALL, STALL_PER_AXIS * axes)
    if record.size <= last:
        return False
    best = record.values.max()
    return bool(best - record.values[:-last].max() <= GAIN * (best - np.median(record.values)))
