"""Our policies: any module with a ``Config`` and one ``Policy``."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.policy import Policy as EnginePolicy
from adabkb_service.engine.space import Space
from benchmarks.quality.methods.base import Method, Parameters


class Policy(Method):
    """A policy module as a study runs it, with its default constants. Values are negated, since the engine maximizes.

    With several workers, that many points are pending at any time, and the next result is that of a random one of them.
    """

    def __init__(self, space: Space, seed: int, module: str, workers: int = 1) -> None:
        found = import_module(module)
        (self._policy,) = (value for value in vars(found).values() if isinstance(value, EnginePolicy))
        self._space = space
        self._state = self._policy.start(space, found.Config(), seed)
        self._workers = workers
        self._pending: list[NDArray[np.float64]] = []
        self._order = np.random.default_rng(seed)

    def ask(self) -> Parameters:
        """The suggestion that is evaluated next."""
        while len(self._pending) < self._workers:
            pending = np.array(self._pending).reshape(-1, self._space.dimension)
            suggestion = self._policy.suggest(self._state, pending)
            self._state = suggestion.state
            self._pending.append(suggestion.point)
        self._point = self._pending.pop(int(self._order.integers(self._workers)))
        return self._space.decode(self._point)

    def tell(self, parameters: Parameters, value: float) -> None:
        """Observe the result."""
        del parameters
        self._state = self._policy.observe(self._state, self._point, -value).state

    def recommend(self) -> Parameters | None:
        """The policy's recommendation."""
        recommendation = self._policy.recommend(self._state)
        return None if recommendation is None else self._space.decode(recommendation.point)


def eight_workers(space: Space, seed: int) -> Method:
    """The ``auto`` profile with eight workers, which finish in random order."""
    return Policy(space, seed, "adabkb_service.engine.auto.policy", workers=8)
