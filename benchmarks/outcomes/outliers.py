"""``python -m benchmarks.outcomes.outliers``: wrong results; ``auto`` with and without ``robust``.

A wrong result is off by 3 to 10 standard deviations of the function to either side, like a result of another sample. A
repetition counts as an evaluation. Methods are compared by the regret of the recommended point, without noise, as a
share of the regret of a typical point. ``noisy`` and ``exact`` have no wrong results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import auto
from benchmarks.functions import Array
from benchmarks.outcomes import runs
from benchmarks.outcomes.priors import point, typical_regret
from benchmarks.output import RESULTS
from benchmarks.quality.functions import FUNCTIONS
from benchmarks.quality.problems import generator, shifted

OUT = RESULTS / "outcomes-outliers.json"
METHODS = ("robust", "plain")
KINDS = {"wrong": (0.02, 0.07), "noisy": (0.05, 0.0), "exact": (0.0, 0.0)}
"""Standard deviation of the noise relative to the function's, and the share of wrong results."""
OFF = (3.0, 10.0)
"""Range of the errors of wrong results, in standard deviations of the function."""
PROBLEMS = tuple(f"{name} {kind}" for kind in KINDS for name in ("Branin", "Hartmann_3", "Hartmann_6", "Rosenbrock_2"))
COUNTS = (20, 40)
"""Evaluations after which methods are compared."""
SEEDS = 8
FLOOR = 1e-6
"""Regrets below this value count as equal."""


@dataclass(frozen=True, slots=True)
class Job:
    """A run."""

    problem: str
    method: str
    seed: int
    budget: int = max(COUNTS)

    def run(self) -> dict[str, Any]:
        """Return the regret of the recommended point after each evaluation, and how many were repetitions."""
        name, kind = self.problem.split()
        rng, (noise, wrong) = generator(self.problem, self.seed), KINDS[kind]
        function = shifted(FUNCTIONS[name], rng)
        space, unit = function.space, typical_regret(function)
        deviation = float(np.std([function.regret(point(space, at)) for at in rng.random((500, space.dimension))]))
        config, none = Config(robust=self.method == "robust"), np.zeros((0, space.dimension))
        state = auto.start(space, config, self.seed)
        regrets, repeated = [], 0
        for _ in range(self.budget):
            suggestion = auto.suggest(state, none)
            result = function.regret(point(space, suggestion.point)) + noise * deviation * rng.standard_normal()
            if rng.random() < wrong:
                result += rng.choice([-1.0, 1.0]) * rng.uniform(*OFF) * deviation
            state = auto.observe(suggestion.state, suggestion.point, -result).state
            repeated += suggestion.phase == "repeat"
            best = auto.recommend(state)
            assert best is not None
            regrets.append(float(f"{function.regret(point(space, best.point)) / unit:.4g}"))
        return {"regret": regrets, "repeated": repeated}


def tables(path: Path) -> Iterator[runs.Table]:
    """The median regret per problem, and the repetitions."""
    found = runs.comparable(path, PROBLEMS, METHODS)
    for count in COUNTS:
        rows = []
        for problem in found.problems:
            each = [_regrets(found, problem, method, count) for method in METHODS]
            medians, worst = ([f"{np.quantile(of, q):.2g}" for of in each] for q in (0.5, 0.9))
            better, worse = int((each[0] < each[1]).sum()), int((each[0] > each[1]).sum())
            rows.append([problem, *medians, *worst, str(better), str(worse)])
        header = ["problem", *METHODS, *(f"{method}, 90%" for method in METHODS), "seeds better", "seeds worse"]
        title = f"Regret of the recommended point after {count} evaluations, median and 90% quantile"
        yield runs.Table(f"{title} of {len(found.seeds)} seeds", header, rows)
    repeated = {name: [run["repeated"] for run in found.of(name, "robust")] for name in found.problems}
    counts = [[name, f"{np.mean(each):.1f}"] for name, each in repeated.items()]
    yield runs.Table(f"Repetitions among {max(COUNTS)} evaluations, mean", ["problem", "robust"], counts)


def _regrets(found: runs.Found, problem: str, method: str, count: int) -> Array:
    """The regret of each seed."""
    return np.maximum([run["regret"][:count][-1] for run in found.of(problem, method)], FLOOR)


def benchmark() -> runs.Benchmark:
    """The benchmark; its runs are stored in ``OUT`` by default."""
    return runs.Benchmark(
        "benchmarks.outcomes.outliers",
        __doc__,
        Job,
        list(PROBLEMS),
        list(METHODS),
        SEEDS,
        OUT,
        tables,
        runs.Axes("regret", "regret", y_scale="log"),
        budget=max(COUNTS),
    )


if __name__ == "__main__":
    raise SystemExit(benchmark().main())
