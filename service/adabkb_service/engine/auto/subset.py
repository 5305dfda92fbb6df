"""What some results alone say, the others left aside: their hyperparameters and their posterior."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import likelihood, surrogate, warp
from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.likelihood import Evidence, Hyperparameters
from adabkb_service.engine.auto.rows import noise_ratios
from adabkb_service.engine.auto.surrogate import Surrogate
from adabkb_service.engine.auto.warp import Warp
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def learn(problem: Problem, record: Record, rows: Ints, axes: Bools) -> Hyperparameters:
    """The hyperparameters by these rows as if there were no other axes than some, (d,), starting from the prior's; the
    prior's if they are too few."""
    domain, count = problem.domain, int(axes.sum())
    together = min(domain.together or count, count)
    components = domain.components.along(np.flatnonzero(axes))
    start = likelihood.prior(count, together, components)
    if len(rows) < likelihood.MIN_RESULTS:
        return start
    _, outputs, noises = _warped(problem, record, rows, start)
    positions, extra = np.ascontiguousarray(record.positions[rows][:, axes]), noises - start.noise_ratio
    categorical = domain.categorical[axes]
    evidence = Evidence(positions, outputs, extra, categorical, together=together, components=components)
    return likelihood.learn(evidence, [start])


def fit(problem: Problem, record: Record, rows: Ints, hyperparameters: Hyperparameters) -> tuple[Surrogate, Warp]:
    """The exact posterior given these rows, and their warp."""
    warped, outputs, noises = _warped(problem, record, rows, hyperparameters)
    kernel = hyperparameters.kernel(problem.domain.categorical, problem.domain.components)
    return surrogate.exact(kernel, hyperparameters.variance, record.positions[rows], outputs, noises), warped


def _warped(
    problem: Problem, record: Record, rows: Ints, hyperparameters: Hyperparameters
) -> tuple[Warp, Array, Array]:
    """The warp of these rows, their model outputs under it, and their noise ratios."""
    values = record.values[rows]
    warped = warp.fit(values)
    noises = noise_ratios(problem, hyperparameters, warped, values, record.errors[rows])
    return warped, warped.forward(values), noises
