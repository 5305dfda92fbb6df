"""Problems to optimize. The instance of a seed is the same for every method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol
from zlib import crc32

import numpy as np

from adabkb_service.engine.space import Space
from benchmarks.functions import Array, Function
from benchmarks.quality.functions import FUNCTIONS

NOISE_STD = 0.01
MAX_SHIFT = 0.15
"""Maximum shift, as a share of the box's width."""
MARGIN = 0.03
"""Minimum distance of a known minimizer from the faces of the shifted box, as a share of the box's width."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an evaluation; smaller is better for both numbers."""

    value: float
    """The value that the method gets, without the noise."""
    score: float
    """The score of the method: the regret of a function, or the test loss of a tuning task."""


class Instance(Protocol):
    """A problem for one seed."""

    @property
    def space(self) -> Space:
        """The search space."""

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise that is added to every value."""

    def evaluate(self, parameters: Mapping[str, Any]) -> Outcome:
        """The noise-free outcome of one point."""


class WithRegret(Instance, Protocol):
    """A problem whose best value is known."""

    def regret(self, parameters: Mapping[str, Any]) -> float:
        """The difference from the value at the best point, without noise and floor."""


class Problem(Protocol):
    """A problem of the benchmark."""

    @property
    def name(self) -> str:
        """The name in the results."""

    @property
    def dimension(self) -> int:
        """d."""

    @property
    def budget(self) -> int:
        """Number of evaluations of a run."""

    @property
    def seeds(self) -> int:
        """Number of runs per method, with seeds 0, 1, ..."""

    @property
    def is_task(self) -> bool:
        """Whether the problem is a tuning task, not a function."""

    def draw(self, seed: int) -> Instance:
        """The instance of a seed."""


@dataclass(frozen=True, slots=True)
class FunctionInstance:
    """A function on its shifted box."""

    function: Function
    noise_std: float = NOISE_STD

    @property
    def space(self) -> Space:
        """The shifted box."""
        return self.function.space

    def evaluate(self, parameters: Mapping[str, Any]) -> Outcome:
        """The function's value, and its regret."""
        x = np.array([parameters[axis.name] for axis in self.space.axes])
        value = self.function.evaluate(x)
        return Outcome(value, value - self.function.minimum)

    def regret(self, parameters: Mapping[str, Any]) -> float:
        """As ``WithRegret``."""
        return self.evaluate(parameters).score


@dataclass(frozen=True, slots=True)
class FunctionProblem:
    """A function on a box that depends on the seed."""

    function: Function
    budget: int = 400
    seeds: int = 10
    is_task: bool = False

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function.name

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return self.function.dimension

    def draw(self, seed: int) -> FunctionInstance:
        """The function on the seed's box."""
        return FunctionInstance(shifted(self.function, generator(self.name, seed)))


def shifted(function: Function, rng: np.random.Generator) -> Function:
    """The function on a box shifted at random along each axis, so that methods gain nothing by favoring the middle."""
    low, high = np.array(function.box, dtype=np.float64).T
    width, minimizer = high - low, np.array(function.minimizer)
    shift: Array = rng.uniform(-MAX_SHIFT, MAX_SHIFT, function.dimension) * width
    shift = np.clip(shift, minimizer - high + MARGIN * width, minimizer - low - MARGIN * width)
    box = tuple(zip((low + shift).tolist(), (high + shift).tolist(), strict=True))
    return replace(function, box=box)


def generator(name: str, seed: int) -> np.random.Generator:
    """A random generator that depends on the problem and the seed only."""
    return np.random.default_rng([crc32(name.encode()), seed])


FUNCTION_PROBLEMS: dict[str, Problem] = {name: FunctionProblem(function) for name, function in FUNCTIONS.items()}
