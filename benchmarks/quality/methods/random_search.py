"""Uniform random search over the unit cube."""

from __future__ import annotations

import numpy as np

from adabkb_service.engine.space import Space
from benchmarks.quality.methods.base import Method, Parameters


class RandomSearch(Method):
    """Independent uniform points."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._rng = np.random.default_rng(seed)

    def ask(self) -> Parameters:
        """A uniform point."""
        return self._space.decode(self._rng.random(self._space.dimension))

    def tell(self, parameters: Parameters, value: float) -> None:
        """Ignore the result."""
