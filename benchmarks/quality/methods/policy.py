"""Our policies: any module with the interface of ``adabkb_service.engine.policies``."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from adabkb_service.engine.space import Space
from benchmarks.quality.methods.base import Method, Parameters


class Policy(Method):
    """A policy module as a study runs it, with its default constants; results enter negated, as larger is better."""

    def __init__(self, space: Space, seed: int, module: str) -> None:
        self._policy = import_module(module)
        self._space = space
        self._state = self._policy.start(space, self._policy.Config(), seed)
        self._nothing_pending = np.zeros((0, space.dimension))

    def ask(self) -> Parameters:
        """The policy's suggestion."""
        suggestion = self._policy.suggest(self._state, self._nothing_pending)
        self._state, self._point = suggestion.state, suggestion.point
        return self._space.decode(self._point)

    def tell(self, parameters: Parameters, value: float) -> None:
        """Observe the result."""
        del parameters
        self._state = self._policy.observe(self._state, self._point, -value).state

    def recommend(self) -> Parameters | None:
        """The policy's recommendation."""
        recommendation = self._policy.recommend(self._state)
        return None if recommendation is None else self._space.decode(recommendation.point)
