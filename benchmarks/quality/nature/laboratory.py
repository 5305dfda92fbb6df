"""Simulated laboratory experiments: a yield in percent that depends on numbers and on choices, with noise.

Each level of each category has a factor, and moves the optimum of the numbers. Each combination of levels has a further
factor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import ChoiceAxis, FloatAxis
from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.quality.problems import Outcome, generator

HIGHEST = 88.0
"""Yield of the best choices at their optimum, in percent."""
NOISE = 1.5
"""Percent."""
BORDER = 0.2
"""Minimum distance of the mean optimum from the faces of the cube."""
MEDIAN_POINTS = 4096
"""Number of random points that determine the median."""


@dataclass(frozen=True)
class LaboratoryInstance:
    """The simulation of one seed."""

    levels: tuple[int, ...]
    factors: Array
    """(combinations,) in (0, 1], the best is 1."""
    optima: Array
    """(combinations, floats) in the cube."""
    widths: Array
    """(floats,)"""
    noise_std: float = NOISE

    @cached_property
    def space(self) -> Space:
        """The search space: first the numbers, then the categories."""
        floats = [FloatAxis(f"x{i}", 0.0, 1.0) for i in range(len(self.widths))]
        choices = [ChoiceAxis(f"c{i}", tuple(f"{i}{k}" for k in range(n))) for i, n in enumerate(self.levels)]
        return Space((*floats, *choices))

    def evaluate(self, parameters: Mapping[str, Any]) -> Outcome:
        """The difference from the highest yield, and the regret, which is 1 for the median of the space."""
        x = np.array([parameters[f"x{i}"] for i in range(len(self.widths))])
        chosen = tuple(int(parameters[f"c{i}"][1:]) for i in range(len(self.levels)))
        combination = int(np.ravel_multi_index(chosen, self.levels))
        lost = HIGHEST - self._yields(x[None], np.array([combination]))[0]
        return Outcome(float(lost), max(float(lost), 0.1 * self.noise_std) / self._median)

    def regret(self, parameters: Mapping[str, Any]) -> float:
        """As ``WithRegret``."""
        return self.evaluate(parameters).value

    def _yields(self, x: Array, combinations: NDArray[np.int64]) -> Array:
        apart = (((x - self.optima[combinations]) / self.widths) ** 2).sum(axis=1)
        found: Array = HIGHEST * self.factors[combinations] * np.exp(-apart / 2.0)
        return found

    @cached_property
    def _median(self) -> float:
        rng = np.random.default_rng(0)
        x = rng.random((MEDIAN_POINTS, len(self.widths)))
        return float(np.median(HIGHEST - self._yields(x, rng.integers(len(self.factors), size=MEDIAN_POINTS))))


@dataclass(frozen=True, slots=True)
class Laboratory:
    """Simulations with a number of floats, and categories with given numbers of levels."""

    floats: int
    categories: tuple[int, ...]
    budget: int = 100
    seeds: int = 20
    is_task: bool = False

    @property
    def name(self) -> str:
        """The name in the results."""
        return f"laboratory_{self.floats}_{'x'.join(map(str, self.categories))}"

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return self.floats + len(self.categories)

    def draw(self, seed: int) -> LaboratoryInstance:
        """The simulation of a seed."""
        rng = generator(self.name, seed)
        combinations = list(product(*map(range, self.categories)))
        effects = [rng.normal(0.0, 0.4, count) for count in self.categories]
        main = np.array(
            [sum(effect[level] for effect, level in zip(effects, each, strict=True)) for each in combinations]
        )
        logs = main + rng.normal(0.0, 0.2, prod(self.categories))
        shifts = [rng.normal(0.0, 0.08, (count, self.floats)) for count in self.categories]
        center = rng.uniform(BORDER, 1.0 - BORDER, self.floats)
        optima = np.array(
            [center + sum(shift[level] for shift, level in zip(shifts, each, strict=True)) for each in combinations]
        )
        widths = rng.uniform(0.2, 0.5, self.floats)
        return LaboratoryInstance(self.categories, np.exp(logs - logs.max()), np.clip(optima, 0.05, 0.95), widths)
