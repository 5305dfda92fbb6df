"""The rows of a record that a computation uses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.randomness import uniforms

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

FITTED = (2_000, 8_000)
"""The maximum numbers of best and of other results to which a posterior is fitted."""
LEARNED_FROM = (100, 100)
"""The maximum numbers of best and of other results from which the hyperparameters are learned."""


def to_fit(seed: int, values: Array) -> Ints:
    """Return the rows of results, (n,), to which a posterior is fitted, in increasing order."""
    return best_and_sample(seed, values, *FITTED)


def to_learn_from(seed: int, values: Array) -> Ints:
    """Return the rows of results, (n,), from which the hyperparameters are learned, in increasing order."""
    return best_and_sample(seed, values, *LEARNED_FROM)


def best_and_sample(seed: int, values: Array, best: int, others: int) -> Ints:
    """Return all rows of ``values``, (n,), or, if n exceeds ``best + others``, the best ones and a random sample of the
    others, in increasing order."""
    if len(values) <= best + others:
        return np.arange(len(values))
    priority = uniforms(seed, len(values), len(values))
    priority[np.argsort(-values, kind="stable")[:best]] = -1.0
    return np.sort(np.argsort(priority, kind="stable")[: best + others])
