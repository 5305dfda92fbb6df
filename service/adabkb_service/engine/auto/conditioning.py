"""The posterior conditioned on rows of a record: their positions, warped results, noise and plates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import surrogate
from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.likelihood import Hyperparameters
from adabkb_service.engine.auto.noise import noise_ratios
from adabkb_service.engine.auto.surrogate import Surrogate
from adabkb_service.engine.auto.warp import Warp
from adabkb_service.engine.record import Record

Ints = NDArray[np.int64]


def given_rows(
    problem: Problem,
    hyperparameters: Hyperparameters,
    warped: Warp,
    record: Record,
    rows: Ints | slice,
    dictionary: Sequence[int] | None = None,
) -> Surrogate:
    """Return the posterior given some rows of a record.

    Args:
        problem, hyperparameters, warped: the model.
        record: the results.
        rows: those that are used.
        dictionary: rows of the record to whose points the posterior is compressed; None for an exact one.

    Raises:
        FloatingPointError: the covariance overflows floating point.
    """
    kernel, variance = hyperparameters.kernel(problem.domain), hyperparameters.variance
    noises = noise_ratios(problem, hyperparameters, warped, record, rows)
    given = record.positions[rows], warped.forward(record.values[rows]), noises, record.plates_of(rows)
    if dictionary is None:
        return surrogate.exact(kernel, variance, *given)
    return surrogate.compressed(kernel, variance, record.positions[np.array(dictionary, dtype=np.int64)], *given)


def given_last(
    posterior: Surrogate, problem: Problem, hyperparameters: Hyperparameters, warped: Warp, record: Record
) -> Surrogate:
    """Return a posterior given the rows of a record but the last, also conditioned on the last row.

    Raises:
        FloatingPointError: the covariance overflows floating point.
    """
    last = slice(record.size - 1, record.size)
    noises = noise_ratios(problem, hyperparameters, warped, record, last)
    outputs = warped.forward(record.values[last])
    return posterior.condition(record.positions[last], outputs, noises, record.plates_of(last))
