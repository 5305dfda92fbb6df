"""``python -m benchmarks.outcomes.replicates``: ``auto`` with noise that differs between regions, with each point
measured twice.

``uneven`` noise is 25 times as large on one side of a plane through the middle of the box, whose direction each seed
draws; ``even`` is the same everywhere. One method learns from the replicates how noise differs, the other one assumes
that it is the same everywhere. They are compared by the regret of the recommended point, without noise, as a share of
the regret of a typical point, and by predictions over the whole box.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.model import noise_by_region
from adabkb_service.engine.auto.policy import auto
from benchmarks.functions import Array
from benchmarks.outcomes import runs
from benchmarks.outcomes.priors import point, typical_regret
from benchmarks.output import RESULTS
from benchmarks.quality.functions import FUNCTIONS
from benchmarks.quality.mechanisms import NEVER, Mechanism
from benchmarks.quality.problems import generator, shifted

OUT = RESULTS / "outcomes-replicates.json"
METHODS = ("learned", "taken as equal")
EQUAL = Mechanism("noise_by_region", "", "", ((noise_by_region, "FEWEST", NEVER),))
NOISES = {"uneven": (0.02, 0.5), "even": (0.1, 0.1)}
"""Standard deviation of the noise on either side, as a share of the function's."""
PROBLEMS = tuple(f"{name} {kind}" for kind in NOISES for name in ("Branin", "Hartmann_3", "Rosenbrock_2", "Ackley_2"))
COUNTS = (15, 30)
"""Points, of two results each, after which methods are compared."""
SEEDS = 10
TIMES = 2
SCATTERED = 300
"""Points at which predictions are compared with the truth in the end."""
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
        """Return the regret of the recommended point after each evaluated point, and measures of the predictions in the
        end."""
        with nullcontext() if self.method == "learned" else EQUAL.off():
            return self._run()

    def _run(self) -> dict[str, Any]:
        name, kind = self.problem.split()
        rng = generator(self.problem, self.seed)
        function = shifted(FUNCTIONS[name], rng)
        space, unit = function.space, typical_regret(function)
        deviation = float(np.std([function.regret(point(space, at)) for at in rng.random((500, space.dimension))]))
        direction, none = rng.normal(size=space.dimension), np.zeros((0, space.dimension))
        state, regrets = auto.start(space, Config(), self.seed), []
        for _ in range(self.budget):
            suggestion = auto.suggest(state, none)
            state, regret = suggestion.state, function.regret(point(space, suggestion.point))
            noise = NOISES[kind][int((suggestion.point - 0.5) @ direction > 0.0)] * deviation
            for _ in range(TIMES):
                state = auto.observe(state, suggestion.point, -(regret + noise * rng.standard_normal())).state
            best = auto.recommend(state)
            assert best is not None
            regrets.append(float(f"{function.regret(point(space, best.point)) / unit:.4g}"))
        at = generator(f"replicates {self.problem}", self.seed).random((SCATTERED, space.dimension))
        found, truth = auto.predict(state, at), np.array([-function.regret(point(space, each)) for each in at])
        inside = (found.lcb <= truth) & (truth <= found.ucb)
        score = np.median(-0.5 * ((truth - found.mean) / found.std) ** 2 - np.log(found.std / deviation))
        error = np.abs(truth - found.mean).mean() / deviation
        return {"regret": regrets, "error": float(error), "inside": float(inside.mean()), "score": float(score)}


def tables(path: Path) -> Iterator[runs.Table]:
    """The median regret per problem."""
    found = runs.comparable(path, PROBLEMS, METHODS)
    for count in COUNTS:
        rows = []
        for problem in found.problems:
            each = [_regrets(found, problem, method, count) for method in METHODS]
            medians, worst = ([f"{np.quantile(of, q):.2g}" for of in each] for q in (0.5, 0.9))
            better, worse = int((each[0] < each[1]).sum()), int((each[0] > each[1]).sum())
            rows.append([problem, *medians, *worst, str(better), str(worse)])
        header = ["problem", *METHODS, *(f"{method}, 90%" for method in METHODS), "seeds better", "seeds worse"]
        title = f"Regret of the recommended point after {count} points, median and 90% quantile"
        yield runs.Table(f"{title} of {len(found.seeds)} seeds", header, rows)
    rows = [
        [
            problem,
            *(
                f"{np.mean([run[field] for run in found.of(problem, method)]):.2f}"
                for field in ("error", "inside", "score")
                for method in METHODS
            ),
        ]
        for problem in found.problems
    ]
    fields = ("mean error", "in 90% intervals", "log density")
    header = ["problem", *(f"{field}, {method}" for field in fields for method in METHODS)]
    yield runs.Table(f"Predictions after {max(COUNTS)} points, in standard deviations of the function", header, rows)


def _regrets(found: runs.Found, problem: str, method: str, count: int) -> Array:
    """The regret of each seed."""
    return np.maximum([run["regret"][:count][-1] for run in found.of(problem, method)], FLOOR)


def benchmark() -> runs.Benchmark:
    """The benchmark; its runs are stored in ``OUT`` by default."""
    return runs.Benchmark(
        "benchmarks.outcomes.replicates",
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
