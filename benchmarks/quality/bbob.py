"""The BBOB suite of COCO: 24 public functions in 2, 3, 5 and 10 dimensions, without noise.

A seed is an instance of the suite, which moves, rotates and scales the function. The score is the regret in the
function's own units, at least the smallest target. The suite's measure is the share of 51 targets for the regret, 1e2
to 1e-8, that a run has reached (Hansen et al., "COCO: a platform for comparing continuous optimizers in a black-box
setting", Optimization Methods and Software 36, 2021). The functions are those of the package ``ioh``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.space import Space
from benchmarks.quality.problems import Outcome, Problem

FUNCTIONS = 24
DIMENSIONS = (2, 3, 5, 10)
EVALUATIONS = (10, 50)
"""The numbers of evaluations per dimension at which methods are compared."""
TARGETS = 10.0 ** np.linspace(2.0, -8.0, 51)
BOX = (-5.0, 5.0)


@dataclass(frozen=True)
class BbobInstance:
    """A function of the suite."""

    number: int
    dimension: int
    instance: int
    noise_std: float = 0.0

    @cached_property
    def _function(self) -> Any:
        ioh = import_module("ioh")
        return ioh.get_problem(self.number, self.instance, self.dimension, ioh.ProblemClass.BBOB)

    @cached_property
    def space(self) -> Space:
        """The suite's box."""
        return Space(tuple(FloatAxis(f"x{axis}", *BOX) for axis in range(self.dimension)))

    def evaluate(self, parameters: Mapping[str, Any]) -> Outcome:
        """The function's value, and its regret."""
        value = float(self._function([parameters[axis.name] for axis in self.space.axes]))
        return Outcome(value, max(value - self._function.optimum.y, float(TARGETS[-1])))


@dataclass(frozen=True, slots=True)
class BbobProblem:
    """A function in one number of dimensions."""

    number: int
    dimension: int
    seeds: int = 5
    is_task: bool = False

    @property
    def name(self) -> str:
        """Number and dimension."""
        return f"bbob_f{self.number}_{self.dimension}"

    @property
    def budget(self) -> int:
        """50 evaluations per dimension."""
        return EVALUATIONS[-1] * self.dimension

    def draw(self, seed: int) -> BbobInstance:
        """The instance of a seed; the suite counts from 1."""
        return BbobInstance(self.number, self.dimension, seed + 1)


def reached(regret: float) -> float:
    """The share of the targets that a regret has reached, 0 to 1."""
    return float((regret <= TARGETS * (1.0 + 1e-9)).mean())  # a regret at the floor has reached the last one


BBOB_PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (BbobProblem(number, d) for d in DIMENSIONS for number in range(1, FUNCTIONS + 1))
}
