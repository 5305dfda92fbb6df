"""Which results a computation looks at, and how noisy they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.likelihood import Hyperparameters
from adabkb_service.engine.auto.warp import Warp
from adabkb_service.engine.randomness import uniforms

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

FITTED = (2_000, 8_000)
"""Best and other results that a posterior is fitted to, at most."""
MAX_STD_ERROR = 1e5
"""Standard error in model output units at most: what is noisier says nothing anyway."""
LEARNED_FROM = (100, 100)
"""Best and other results that the hyperparameters are learned from, at most."""


def to_fit(seed: int, values: Array) -> Ints:
    """Rows that a posterior is fitted to, ascending."""
    return best_and_sample(seed, values, *FITTED)


def to_learn_from(seed: int, values: Array) -> Ints:
    """Rows that the hyperparameters are learned from, ascending."""
    return best_and_sample(seed, values, *LEARNED_FROM)


def best_and_sample(seed: int, values: Array, best: int, others: int) -> Ints:
    """All rows, or where they are more the best and a random sample of the others."""
    if len(values) <= best + others:
        return np.arange(len(values))
    priority = uniforms(seed, len(values), len(values))
    priority[np.argsort(-values, kind="stable")[:best]] = -1.0
    return np.sort(np.argsort(priority, kind="stable")[: best + others])


def noise_ratios(
    problem: Problem, hyperparameters: Hyperparameters, warped: Warp, values: Array, errors: Array
) -> Array:
    """Noise variance over sigma_f^2 of results: what is learned, and what they (or the study) declare."""
    declared = np.where(errors > 0.0, errors, problem.config.noise_std or 0.0)
    if not declared.any():
        return np.full(len(values), hyperparameters.noise_ratio)
    with np.errstate(over="ignore"):
        deviations = np.minimum(declared * warped.slope(values), MAX_STD_ERROR)
    noises: Array = hyperparameters.noise_ratio + deviations**2 / hyperparameters.variance
    return noises
