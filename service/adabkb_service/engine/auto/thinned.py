"""A surrogate on thinned data: one result per neighbourhood, the best one. Studies of revisions 1 and 2 use it.

Late in a study most results lie close to the best point, and they dominate what is learned: the warp resolves small
differences between good results, the lengthscales are those of that neighbourhood, and the rest of the box seems to
offer nothing. While the search still improves, that is useful. Once it has stalled, the steps with the largest beta use
this surrogate instead, in which a dense neighbourhood counts as a single result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import likelihood, subset
from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.likelihood import Hyperparameters
from adabkb_service.engine.auto.surrogate import Surrogate
from adabkb_service.engine.auto.warp import Warp
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

WINDOW = 10
"""Results without a gain after which the search has stalled."""
GAIN = 1e-3
"""Of the way from the median of the neighbourhoods to the best result: less is no gain."""
APART = 0.1
"""Radius of a neighbourhood, times sqrt(d), in the cube; points that differ in a category are apart."""


@dataclass(frozen=True, slots=True)
class ThinnedModel:
    """The rows that lie apart, and the hyperparameters learned from them."""

    rows: tuple[int, ...]
    hyperparameters: Hyperparameters

    def surrogate(self, problem: Problem, record: Record) -> tuple[Surrogate, Warp]:
        """The posterior given these rows, and their warp."""
        return subset.fit(problem, record, np.array(self.rows, dtype=np.int64), self.hyperparameters)


def learn(problem: Problem, record: Record, rows: Ints) -> ThinnedModel | None:
    """The model of a record's thinned data, if its search has stalled.

    Args:
        problem: of the study.
        record: all results.
        rows: those to choose from.
    """
    if record.size <= WINDOW + likelihood.MIN_RESULTS:
        return None
    apart = _apart(record, rows, problem.domain.categorical)
    best = record.values.max()
    if best - record.values[:-WINDOW].max() > GAIN * (best - np.median(record.values[apart])):
        return None
    return ThinnedModel(
        tuple(apart.tolist()), subset.learn(problem, record, apart, np.ones(problem.domain.dimension, dtype=bool))
    )


def _apart(record: Record, rows: Ints, categorical: Bools) -> Ints:
    """Of some rows, ascending, the best of each neighbourhood: the best first, each keeps others at a distance."""
    order = rows[np.argsort(-record.values[rows], kind="stable")]
    chosen = far_from_better(record.positions[order], categorical, APART * np.sqrt(len(categorical)))
    return np.sort(order[chosen])


def far_from_better(positions: Array, categorical: Bools, radius: float) -> Bools:
    """Which positions, (k, d), best first, are no neighbours of any that was chosen before."""
    chosen = np.zeros(len(positions), dtype=np.bool_)
    for row, position in enumerate(positions):
        away = positions[:row][chosen[:row]] - position
        away[:, categorical] = away[:, categorical] != 0.0
        chosen[row] = not (np.square(away).sum(axis=1) < radius * radius).any()
    return chosen
