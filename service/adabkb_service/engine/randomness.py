"""Counter-based random numbers: the numbers are a function of (seed, step), so a replay draws the same ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MASK = (1 << 64) - 1


def uniforms(seed: int, step: int, count: int) -> NDArray[np.float64]:
    """Random numbers, uniform in [0, 1), shape (count,). For one seed and step, a longer draw begins with the numbers
    of a shorter one."""
    key = np.array([seed & _MASK, step & _MASK], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key)).random(count)
