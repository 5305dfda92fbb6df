"""``python -m benchmarks.outcomes.costs``: ``auto`` with suggestions per cost, and without, where costs differ by up
to a factor of 10.

Each seed shifts the box of a function. An evaluation costs between 1 and 10, and costs rise along a direction that the
seed draws. Both methods have the same cost budget. They are compared by the smallest regret when shares of the budget
are spent, and by the cost at which they reach the final regret of the search that ignores cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.metrics import Measured, Metric
from benchmarks.functions import Array
from benchmarks.outcomes import runs
from benchmarks.outcomes.priors import PROBLEMS, SEEDS, point, typical_regret
from benchmarks.outcomes.shares import FLOOR
from benchmarks.output import RESULTS
from benchmarks.quality.functions import FUNCTIONS
from benchmarks.quality.problems import generator, shifted

OUT = RESULTS / "outcomes-costs.json"
METHODS = ("per cost", "ignoring cost")
RATIO = 10.0
"""Ratio of the largest to the smallest cost."""
BUDGET = 150.0
SHARES = (0.25, 0.5, 1.0)


def costs(problem: str, seed: int, dimension: int) -> Callable[[Array], float]:
    """Cube position (d,) -> cost: log-linear along a random direction."""
    direction = generator(f"cost {problem}", seed).standard_normal(dimension)
    span = np.abs(direction).sum()
    lowest = np.minimum(direction, 0.0).sum()
    return lambda u: float(RATIO ** ((u @ direction - lowest) / span))


@dataclass(frozen=True, slots=True)
class Job:
    """A run."""

    problem: str
    method: str
    seed: int
    budget: float = BUDGET

    def run(self) -> dict[str, Any]:
        """Return the amount spent after each evaluation, and the smallest regret so far, relative to the median regret
        of random points."""
        function = shifted(FUNCTIONS[self.problem], generator(self.problem, self.seed))
        space, unit = function.space, typical_regret(function)
        cost_at = costs(self.problem, self.seed, space.dimension)
        config = Config(
            metrics=(Metric("cost", is_cost=True),), per_cost=self.method == METHODS[0], cost_budget=self.budget
        )
        state, none = auto.start(space, config, self.seed), np.zeros((0, space.dimension))
        regrets, spent = list[float](), list[float]()
        while not spent or spent[-1] < self.budget:
            found = auto.suggest(state, none)
            regret, cost = function.regret(point(space, found.point)), cost_at(found.point)
            state = auto.observe(found.state, found.point, -regret, 0.0, [Measured(cost, 0.0)]).state
            regrets.append(regret)
            spent.append(cost + (spent[-1] if spent else 0.0))
        best = np.minimum.accumulate(regrets) / unit
        return {"spent": [round(each, 3) for each in spent], "best": [float(f"{each:.4g}") for each in best]}


def tables(path: Path) -> Iterator[runs.Table]:
    """The median regret at shares of the budget, and the relative cost at which the final regret of the search that
    ignores cost is reached."""
    found = runs.comparable(path, PROBLEMS, METHODS)
    grid = np.linspace(1.0, BUDGET, 150)
    rows, ratios = [], []
    for problem in found.problems:
        course = {m: np.median([_course(run, grid) for run in found.of(problem, m)], axis=0) for m in METHODS}
        shown = [f"{course[m][round(share * len(grid)) - 1]:.2g}" for share in SHARES for m in METHODS]
        target = max(course[METHODS[1]][-1], FLOOR)
        spent = [grid[np.argmax(course[m] <= target)] if (course[m] <= target).any() else BUDGET for m in METHODS]
        ratios.append(spent[0] / spent[1])
        rows.append([problem, *shown, f"{ratios[-1]:.2f}"])
    head = [f"{share:.0%} {method}" for share in SHARES for method in METHODS]
    rows.append(["geometric mean", *("" for _ in head), f"{np.exp(np.log(ratios).mean()):.2f}"])
    title = f"Median regret of {len(found.seeds)} seeds after shares of the budget, and relative cost"
    yield runs.Table(title, ["problem", *head, "relative cost"], rows)


def _course(run: Mapping[str, Any], grid: Array) -> Array:
    """The smallest regret of the evaluations completed within each budget; 1 before the first one."""
    done = np.searchsorted(run["spent"], grid, side="right")
    found: Array = np.array([1.0, *run["best"]])[done]
    return found


def benchmark() -> runs.Benchmark:
    """The benchmark; its runs are stored in ``OUT`` by default."""
    return runs.Benchmark(
        "benchmarks.outcomes.costs",
        __doc__,
        Job,
        list(PROBLEMS),
        list(METHODS),
        SEEDS,
        OUT,
        tables,
        runs.Axes("best", "regret", x="spent", x_label="spent", y_scale="log"),
        budget=BUDGET,
    )


if __name__ == "__main__":
    raise SystemExit(benchmark().main())
