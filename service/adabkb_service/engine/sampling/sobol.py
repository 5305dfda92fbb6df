"""Sobol' points (with the direction numbers of Joe and Kuo 2008) under a random digital shift.

Point n of a study is Sobol' point n, with the 32 bits of each coordinate flipped according to the seed. The shift
preserves the digital net. Unlike scrambling, it does not depend on the version of scipy.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy  # imports its subpackages on first use
from numpy.typing import NDArray

from adabkb_service.engine.randomness import uniforms

Array = NDArray[np.float64]

BITS = 32
BLOCK = 256
"""The number of points computed at a time."""
SHIFT = -2
"""The step at which the shift is drawn (see ``randomness``)."""


def shifted_sobol(seed: int, number: int, dimension: int) -> Array:
    """Point ``number``, from 0, in the unit cube, (d,)."""
    place = number % 2**BITS
    shift = (uniforms(seed, SHIFT, dimension) * 2.0**BITS).astype(np.uint64)
    bits = _block(dimension, place // BLOCK)[place % BLOCK] ^ shift
    found: Array = (bits + 0.5) / 2.0**BITS
    return found


@lru_cache(16)
def _block(dimension: int, number: int) -> NDArray[np.uint64]:
    engine = scipy.stats.qmc.Sobol(dimension, scramble=False, bits=BITS)
    if number:
        engine.fast_forward(number * BLOCK)
    found: NDArray[np.uint64] = (engine.random(BLOCK) * 2.0**BITS).astype(np.uint64)
    return found
