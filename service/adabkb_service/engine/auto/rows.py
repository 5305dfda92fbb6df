"""Which results a computation looks at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.randomness import uniforms

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

FITTED = (2_000, 8_000)
"""Best and other results that a posterior is fitted to, at most."""
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
