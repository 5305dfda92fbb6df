"""``python -m benchmarks.outcomes.partial``: metrics with bounds that arrive five results after the value.

``partial`` reports the value at once and adds the metrics later, as a partial result. ``waiting`` reports each result
when all of its numbers are known; until then, its point is pending. ``at once`` knows all numbers at once, so neither
of these can be expected to do better. ``at once, rebuilt`` also knows them at once, but rebuilds the model at each
result, as ``partial`` does at each addition, so that hyperparameters are learned from the prior. Methods are compared
by the best feasible value among the evaluated points, whose metrics are all known in the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adabkb_service.engine import record
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import State, auto
from adabkb_service.engine.cells import NEW_TREE
from adabkb_service.engine.metrics import Measured
from benchmarks.functions import Array
from benchmarks.outcomes import runs
from benchmarks.outcomes.metric_problems import PROBLEMS as ALL
from benchmarks.outcomes.metrics import Evaluations
from benchmarks.output import RESULTS

OUT = RESULTS / "outcomes-partial.json"
METHODS = ("partial", "waiting", "at once", "at once, rebuilt")
PROBLEMS = ("gramacy", "pressure_vessel", "welded_beam")
DELAY = 5
"""Number of later results after which the metrics of a result are known."""
COUNTS = (15, 25, 40)
"""Evaluations after which methods are compared."""
SEEDS = 10


@dataclass
class Laboratory:
    """A study whose metrics arrive late."""

    evaluate: Evaluations
    method: str
    state: State

    def __post_init__(self) -> None:
        d = self.evaluate.problem.space.dimension
        self.points, self.values, self.measured = np.zeros((0, d)), np.zeros(0), list[list[Measured]]()
        self.complete = 0
        """The number of results of which the model knows all numbers."""

    def step(self) -> None:
        """Evaluate the next point, and give the model the numbers that are known by now."""
        metrics = self.evaluate.problem.metrics
        pending = self.points[self.complete :] if self.method == "waiting" else self.points[:0]
        suggestion = auto.suggest(self.state, pending)
        self.state = suggestion.state
        value, found = self.evaluate(self.evaluate.problem.space.decode(suggestion.point))
        self.points = np.append(self.points, suggestion.point[None], axis=0)
        self.values = np.append(self.values, -value)
        self.measured.append([Measured(each.sign * found[each.name], 0.0) for each in metrics])
        if self.method == "partial":
            unknown = [Measured(math.nan, 0.0)] * len(metrics)
            self.state = auto.observe(self.state, suggestion.point, -value, 0.0, unknown).state
        self._tell(len(self.values) - (DELAY if self.method in ("partial", "waiting") else 0))

    def _tell(self, known: int) -> None:
        """Give the model all numbers of the first ``known`` results."""
        if known <= self.complete:
            return
        if self.method in ("waiting", "at once"):
            for row in range(self.complete, known):
                self.state = auto.observe(
                    self.state, self.points[row], float(self.values[row]), 0.0, self.measured[row]
                ).state
        else:
            self.state = auto.rebuild(self.state, self._record(known), NEW_TREE).state
        self.complete = known

    def _record(self, known: int) -> record.Record:
        """The record of all results, with the metrics of the first ``known`` ones."""
        metrics: Array = np.array(self.measured)
        metrics[known:, :, 0] = np.nan
        return record.of(self.points, self.values, np.zeros(len(self.values)), metrics)


@dataclass(frozen=True, slots=True)
class Job:
    """A run."""

    problem: str
    method: str
    seed: int
    budget: int = max(COUNTS)

    def run(self) -> dict[str, Any]:
        """Return the best feasible value after each evaluation, null before the first one."""
        problem = ALL[self.problem]
        evaluate = Evaluations(problem, self.seed, self.budget)
        state = auto.start(problem.space, Config(metrics=problem.metrics), self.seed)
        laboratory = Laboratory(evaluate, self.method, state)
        for _ in range(self.budget):
            laboratory.step()
        return {"best": [None if math.isinf(value) else float(f"{value:.7g}") for value in evaluate.best]}


def tables(path: Path) -> Iterator[runs.Table]:
    """The median best feasible value per problem, and in how many seeds ``partial`` is better and worse."""
    found = runs.comparable(path, PROBLEMS, METHODS)
    for count in COUNTS:
        rows = []
        for problem in found.problems:
            each = [np.array([_best(run, count) for run in found.of(problem, method)]) for method in found.methods]
            medians = [f"{np.median(of):.6g}" for of in each]
            against = [f"{int((each[0] < of).sum())}, {int((each[0] > of).sum())}" for of in each[1:]]
            rows.append([problem, *medians, *against])
        others = [runs.against_name(found.methods[0], method) for method in found.methods[1:]]
        title = f"Best feasible value after {count} evaluations, {len(found.seeds)} seeds"
        yield runs.Table(title, ["problem", *found.methods, *others], rows)


def _best(run: Any, count: int) -> float:
    value = run["best"][:count][-1]
    return math.inf if value is None else float(value)


def benchmark() -> runs.Benchmark:
    """The benchmark; its runs are stored in ``OUT`` by default."""
    return runs.Benchmark(
        "benchmarks.outcomes.partial",
        __doc__,
        Job,
        list(PROBLEMS),
        list(METHODS),
        SEEDS,
        OUT,
        tables,
        runs.Axes("best", "best feasible value"),
        budget=max(COUNTS),
        separator=";",
    )


if __name__ == "__main__":
    raise SystemExit(benchmark().main())
