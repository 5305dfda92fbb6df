"""How noisy each result is taken to be.

A result has the standard error that it was told with, else that of the study, else what is learned as noise of all
results. Where neither is declared, replicates may show that noise differs between regions (``spread``). Where the study
wants it, a result that the others contradict has more noise (``doubts``): it weighs less, until a replicate agrees with
it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.doubts import declared, doubts
from adabkb_service.engine.auto.likelihood import Hyperparameters
from adabkb_service.engine.auto.spread import spread
from adabkb_service.engine.auto.warp import Warp
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_STD_ERROR = 1e5
"""Standard error in model output units at most: what is noisier says nothing anyway."""


def noise_ratios(
    problem: Problem, hyperparameters: Hyperparameters, warped: Warp, record: Record, rows: Ints | slice
) -> Array:
    """Noise variance over sigma_f^2 of some rows of a record: what is learned, and what is known of each."""
    values, known = record.values[rows], errors(problem, record)[rows]
    if not known.any():
        return np.full(len(values), hyperparameters.noise_ratio)
    with np.errstate(over="ignore"):
        deviations = np.minimum(known * warped.slope(values), MAX_STD_ERROR)
    noises: Array = hyperparameters.noise_ratio + deviations**2 / hyperparameters.variance
    return noises


def errors(problem: Problem, record: Record) -> Array:
    """(T,) standard errors in the user's units; 0 where nothing is known but what is learned of all results."""
    known = declared(problem, record)
    if not known.any():
        known = spread(problem, record)
    for row, deviation in doubts(problem, record).items():
        known[row] = np.hypot(known[row], deviation)
    return known
