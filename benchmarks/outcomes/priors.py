"""``python -m benchmarks.outcomes.priors``: ``auto`` with a good prior on the optimum, a misleading one, and none.

Each seed shifts the box of a function. Both priors cover every parameter, with a width of a tenth of the box. The good
prior is centered at the minimizer, displaced along each axis by a normal random number whose standard deviation is this
width. The misleading prior is centered half of the box away from the minimizer along every axis. The target is the
regret of ``auto`` without a prior after 10, 20 or 40 evaluations. Methods are compared by the number of evaluations
that they need to reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.prior import Around, Prior
from adabkb_service.engine.space import Space
from benchmarks.functions import Array, Function
from benchmarks.outcomes import runs, shares
from benchmarks.output import RESULTS
from benchmarks.quality.functions import FUNCTIONS
from benchmarks.quality.problems import generator, shifted

OUT = RESULTS / "outcomes-priors.json"
PROBLEMS = (
    *("Branin", "SixHumpCamel", "Rosenbrock_2", "Hartmann_3", "Trid_4", "Shekel_4"),
    *("Ackley_5", "Hartmann_6", "Levy_6", "Rastrigin_8"),
)
METHODS = ("none", "good", "misleading")
WIDTH = 0.1
"""Width of the priors, and standard deviation of the displacement of the good prior, as shares of the box."""
COUNTS = (10, 20, 40)
"""Numbers of evaluations without a prior; the regret after each is a target."""
BUDGET = 2 * max(COUNTS)
SEEDS = 10
SCATTERED = 1000
"""Number of random points whose median regret is the unit of regrets."""


def prior(function: Function, method: str, seed: int) -> Prior | None:
    """The prior of a method."""
    if method == "none":
        return None
    low, high = np.array(function.box).T
    minimizer = (np.array(function.minimizer) - low) / (high - low)
    displaced = minimizer + WIDTH * generator(f"prior {function.name}", seed).standard_normal(len(low))
    middle = np.clip(displaced, 0.0, 1.0) if method == "good" else (minimizer + 0.5) % 1.0
    return Prior(tuple(Around(axis, float(at), WIDTH) for axis, at in enumerate(middle)), ())


@dataclass(frozen=True, slots=True)
class Job:
    """A run."""

    problem: str
    method: str
    seed: int
    budget: int = BUDGET

    def run(self) -> dict[str, Any]:
        """Return the smallest regret after each evaluation, as a share of the median regret of random points."""
        function = shifted(FUNCTIONS[self.problem], generator(self.problem, self.seed))
        space, unit = function.space, typical_regret(function)
        config = Config(prior=prior(function, self.method, self.seed))
        _, values = solved(space, config, lambda at: -function.regret(point(space, at)), self.seed, self.budget)
        best = np.minimum.accumulate([-value for value in values]) / unit
        return {"best": [float(f"{value:.4g}") for value in best]}


def solved(
    space: Space, config: Config, value: Callable[[Array], float], seed: int, budget: int
) -> tuple[list[Array], list[float]]:
    """The points, (d,) in the unit cube each, that ``auto`` evaluates, and their values, of which larger ones are
    better."""
    state, none = auto.start(space, config, seed), np.zeros((0, space.dimension))
    points, values = [], []
    for _ in range(budget):
        suggestion = auto.suggest(state, none)
        points.append(suggestion.point)
        values.append(value(suggestion.point))
        state = auto.observe(suggestion.state, suggestion.point, values[-1]).state
    return points, values


def tables(path: Path) -> Iterator[runs.Table]:
    """The number of evaluations that each method needs to reach the regret of ``auto`` without a prior."""
    yield from shares.tables(path, PROBLEMS, METHODS, COUNTS, "without a prior")


def typical_regret(function: Function) -> float:
    """The median regret of random points, by which regrets are divided."""
    space = function.space
    positions = np.random.default_rng(0).random((SCATTERED, space.dimension))
    return float(np.median([function.regret(point(space, position)) for position in positions]))


def point(space: Space, position: Array) -> Array:
    found = space.decode(position)
    assert all(isinstance(axis, FloatAxis) for axis in space.axes)
    return np.array([found[axis.name] for axis in space.axes], dtype=np.float64)


def benchmark() -> runs.Benchmark:
    """The benchmark; its runs are stored in ``OUT`` by default."""
    return runs.Benchmark(
        "benchmarks.outcomes.priors",
        __doc__,
        Job,
        list(PROBLEMS),
        list(METHODS),
        SEEDS,
        OUT,
        tables,
        runs.Axes("best", "regret", y_scale="log"),
        budget=BUDGET,
    )


if __name__ == "__main__":
    raise SystemExit(benchmark().main())
