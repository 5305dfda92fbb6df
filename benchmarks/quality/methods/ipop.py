"""IPOP-CMA-ES (Auger and Hansen 2005) by the authors' package `cma`: each restart doubles the population."""

from __future__ import annotations

from typing import Any

import cma
import numpy as np

from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.quality.methods.base import Method, Parameters

FIRST_STEP = 0.3
"""Initial step size in the unit cube. Its authors recommend that the optimum is within about two steps."""
GROWTH = 2


class IpopCma(Method):
    """Starts at uniform points of the cube; the package handles the bounds. CMA-ES gets the values of a population when
    it is complete."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._rng = np.random.default_rng(seed)
        self._population: int | None = None
        self._search = self._restarted()
        self._asked: list[Array] = []
        self._values: list[float] = []

    def ask(self) -> Parameters:
        """The next member of the population."""
        if len(self._values) == len(self._asked):
            if self._search.stop():
                self._search = self._restarted()
            self._asked, self._values = self._search.ask(), []
        return self._space.decode(np.clip(self._asked[len(self._values)], 0.0, 1.0))

    def tell(self, parameters: Parameters, value: float) -> None:
        """Store the value. After the last member of a population, pass all its values to CMA-ES."""
        del parameters
        self._values.append(value)
        if len(self._values) == len(self._asked):
            self._search.tell(self._asked, self._values)

    def _restarted(self) -> Any:
        d = self._space.dimension
        options: dict[str, Any] = {"bounds": [0.0, 1.0], "verbose": -9, "seed": int(self._rng.integers(1, 2**31))}
        if self._population is not None:
            options["popsize"] = GROWTH * self._population
        search = cma.CMAEvolutionStrategy(self._rng.random(d), FIRST_STEP, options)
        self._population = search.popsize
        return search
