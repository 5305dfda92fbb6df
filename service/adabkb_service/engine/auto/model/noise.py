"""The noise assumed for each result.

The noise of a result is the learned noise of all results, plus its own standard error if given, else that of the study
if declared. If no standard error is declared, replicates may show that noise differs between regions
(``noise_by_region``). This is not done in a study with plates, where replicates on different plates also differ by the
offsets of the plates. If the study is declared as robust, a result that the others contradict gets more noise, and so
less weight, until a replicate confirms it (``doubts``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.model.doubts import declared, doubts
from adabkb_service.engine.auto.model.likelihood import Hyperparameters
from adabkb_service.engine.auto.model.noise_by_region import noise_by_region
from adabkb_service.engine.auto.model.warp import Warp
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_STD_ERROR = 1e5
"""The maximum standard error, in model output units; results with more noise are uninformative anyway."""


def noise_ratios(
    problem: Problem, hyperparameters: Hyperparameters, warped: Warp, record: Record, rows: Ints | slice
) -> Array:
    """Return the noise variance over sigma_f^2 of some rows of a record, (n,): the learned part plus the known part of
    each."""
    return ratios(hyperparameters, warped, record.values[rows], errors(problem, record)[rows])


def ratios(hyperparameters: Hyperparameters, warped: Warp, values: Array, known: Array) -> Array:
    """Return ``noise_ratios`` of results, (n,), with these standard errors in the user's units, (n,)."""
    if not known.any():
        return np.full(len(values), hyperparameters.noise_ratio)
    with np.errstate(over="ignore"):
        deviations = np.minimum(known * warped.slope(values), MAX_STD_ERROR)
    noises: Array = hyperparameters.noise_ratio + deviations**2 / hyperparameters.variance
    return noises


def errors(problem: Problem, record: Record) -> Array:
    """Return standard errors, (T,), in the user's units; 0 where only the learned noise of all results applies."""
    known = declared(problem, record)
    if not known.any() and not problem.config.has_plates:
        known = noise_by_region(problem, record)
    for row, deviation in doubts(problem, record).items():
        known[row] = np.hypot(known[row], deviation)
    return known
