"""A second look at the whole box, from results that lie apart.

Results crowd around the best point, and a model of them all is learned from the crowd: its warp tells good from very
good, its lengthscales are the crowd's, and the rest of the box looks as if nothing were to be had there. While the
search still gains that is as it should be. Once it has stalled, every few steps look through the overview instead: a
model learned from one result per neighbourhood, the best one, to which the crowd is a single point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import likelihood, surrogate, warp
from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.kernel import Metric
from adabkb_service.engine.auto.likelihood import Constants, Evidence
from adabkb_service.engine.auto.rows import noise_ratios
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
class Overview:
    """The rows that lie apart, and the constants learned from them."""

    rows: tuple[int, ...]
    constants: Constants

    def view(self, problem: Problem, record: Record) -> tuple[Surrogate, Warp]:
        """The posterior given these rows, and their warp."""
        rows = np.array(self.rows, dtype=np.int64)
        warped, outputs, noises = _seen(problem, record, rows, self.constants)
        metric = Metric(self.constants.lengthscales, problem.domain.categorical)
        return surrogate.exact(metric, self.constants.variance, record.positions[rows], outputs, noises), warped


def learn(problem: Problem, record: Record, rows: Ints) -> Overview | None:
    """The overview of a record, if its search has stalled.

    Args:
        problem: of the study.
        record: all results.
        rows: those to choose from.
    """
    if record.size <= WINDOW + likelihood.FEWEST:
        return None
    apart = _apart(record, rows, problem.domain.categorical)
    best = record.values.max()
    if best - record.values[:-WINDOW].max() > GAIN * (best - np.median(record.values[apart])):
        return None
    start = likelihood.prior(problem.domain.dimension)
    if len(apart) < likelihood.FEWEST:
        return Overview(tuple(apart.tolist()), start)
    _, outputs, noises = _seen(problem, record, apart, start)
    evidence = Evidence(record.positions[apart], outputs, noises - start.noise, problem.domain.categorical)
    return Overview(tuple(apart.tolist()), likelihood.learn(evidence, [start]))


def _seen(problem: Problem, record: Record, rows: Ints, constants: Constants) -> tuple[Warp, Array, Array]:
    """The warp of some rows alone, their model outputs under it, and their noise ratios."""
    values = record.values[rows]
    warped = warp.fit(values)
    noises = noise_ratios(problem, constants, warped, values, record.errors[rows])
    return warped, warped.forward(values), noises


def _apart(record: Record, rows: Ints, categorical: Bools) -> Ints:
    """Of some rows, ascending, the best of each neighbourhood: the best first, each keeps others at a distance."""
    radius = APART * np.sqrt(len(categorical))
    kept: list[int] = []
    for row in rows[np.argsort(-record.values[rows], kind="stable")]:
        away = record.positions[kept] - record.positions[row]
        away[:, categorical] = away[:, categorical] != 0.0
        if not (np.einsum("kd,kd->k", away, away) < radius**2).any():
            kept.append(int(row))
    return np.sort(np.array(kept, dtype=np.int64))
