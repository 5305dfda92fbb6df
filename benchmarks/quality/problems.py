"""What is optimised: a problem, drawn per seed as an instance that every method gets alike."""

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
"""Of the box's width."""
MARGIN = 0.03
"""Of the box's width, between a known minimiser and the faces of the shifted box."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one evaluation gives, both minimised."""

    value: float
    """What the method is told, up to the noise."""
    score: float
    """What the method is judged by: the regret of a function, the test loss of a tuning task."""


class Instance(Protocol):
    """A problem as one seed draws it."""

    @property
    def space(self) -> Space:
        """The search space."""

    @property
    def noise_std(self) -> float:
        """Of the noise that is added to every value."""

    def evaluate(self, parameters: Mapping[str, Any]) -> Outcome:
        """The noise-free outcome of one point."""


class WithRegret(Instance, Protocol):
    """A problem whose best value is known."""

    def regret(self, parameters: Mapping[str, Any]) -> float:
        """How much worse than the best point this one is, in the units of the value, without noise and floor."""


class Problem(Protocol):
    """A problem of the benchmark."""

    @property
    def name(self) -> str:
        """As in the results."""

    @property
    def dimension(self) -> int:
        """d."""

    @property
    def budget(self) -> int:
        """Evaluations of a run."""

    @property
    def seeds(self) -> int:
        """Runs per method: seeds 0, 1, ..."""

    @property
    def is_task(self) -> bool:
        """Whether it is a tuning task, not a function."""

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
    """A function whose box each seed shifts."""

    function: Function
    budget: int = 400
    seeds: int = 10
    is_task: bool = False

    @property
    def name(self) -> str:
        """The function's."""
        return self.function.name

    @property
    def dimension(self) -> int:
        """The function's."""
        return self.function.dimension

    def draw(self, seed: int) -> FunctionInstance:
        """The function on the seed's box."""
        return FunctionInstance(shifted(self.function, generator(self.name, seed)))


def shifted(function: Function, rng: np.random.Generator) -> Function:
    """The function on a box moved at random along each axis: methods that favour the middle gain nothing by it."""
    low, high = np.array(function.box, dtype=np.float64).T
    width, minimiser = high - low, np.array(function.minimiser)
    shift: Array = rng.uniform(-MAX_SHIFT, MAX_SHIFT, function.dimension) * width
    shift = np.clip(shift, minimiser - high + MARGIN * width, minimiser - low - MARGIN * width)
    box = tuple(zip((low + shift).tolist(), (high + shift).tolist(), strict=True))
    return replace(function, box=box)


def generator(name: str, seed: int) -> np.random.Generator:
    """A generator of the problem and the seed alone, whatever runs before it."""
    return np.random.default_rng([crc32(name.encode()), seed])


FUNCTION_PROBLEMS: dict[str, Problem] = {name: FunctionProblem(function) for name, function in FUNCTIONS.items()}
