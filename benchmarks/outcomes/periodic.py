"""``python -m benchmarks.outcomes.periodic``: ``auto`` on functions that are periodic along one axis. The axis is
declared periodic in some runs, and plain in the others.

The minimum is 0. Each seed draws where it is: along the periodic axis within a twentieth of a turn of the place where
the ends meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import cos, exp, pi
from pathlib import Path
from typing import Any

import numpy as np

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.outcomes import runs
from benchmarks.outcomes.priors import solved
from benchmarks.output import RESULTS
from benchmarks.quality.problems import generator

OUT = RESULTS / "outcomes-periodic.json"
METHODS = ("periodic", "plain")
COUNTS = (15, 30, 50)
"""Evaluations after which methods are compared."""
SEEDS = 10
FROM_ENDS = 0.05
"""Maximum distance of the minimum from the place where the ends of the axis meet, in turns."""
FLOOR = 1e-6
"""Regrets below this value count as equal."""


def turns(u: float) -> float:
    """0 at whole turns, 1 at half turns, smooth in between."""
    return (1.0 - cos(2.0 * pi * u)) / 2.0


def waves(away: Array) -> float:
    """A function with one minimum that is nearly flat a quarter of a turn from it: the sum of two waves."""
    return turns(away[0]) + 0.3 * turns(3.0 * away[0])


def hour(away: Array) -> float:
    """A function with a few good hours of the day, and another setting."""
    return 1.0 - exp(8.0 * (cos(2.0 * pi * away[0]) - 1.0)) + 2.0 * float(away[1]) ** 2


def heading(away: Array) -> float:
    """The best angle depends on two settings."""
    bent = away[0] - 0.3 * away[1] + 0.2 * away[2]
    return turns(bent) + float(2.0 * away[1] ** 2 + away[2] ** 2)


def torsion(away: Array) -> float:
    """A function with three minima along an angle, and three settings, one of which makes them deeper."""
    depth = 0.5 + 0.5 * exp(-4.0 * away[1] ** 2)
    return 0.6 * turns(away[0]) + depth * turns(3.0 * away[0]) + (1.0 - depth) + float((away[1:] ** 2).sum())


PROBLEMS: dict[str, tuple[int, Callable[[Array], float]]] = {
    "waves": (1, waves),
    "hour": (2, hour),
    "heading": (3, heading),
    "torsion": (4, torsion),
}
"""Name -> number of axes (the first is periodic), and the value at a position relative to the minimum."""


@dataclass(frozen=True, slots=True)
class Job:
    """A run."""

    problem: str
    method: str
    seed: int
    budget: int = max(COUNTS)

    def run(self) -> dict[str, Any]:
        """Return the smallest regret after each evaluation."""
        dimension, function = PROBLEMS[self.problem]
        rng = generator(f"periodic {self.problem}", self.seed)
        minimum = rng.uniform(0.2, 0.8, dimension)
        minimum[0] = rng.uniform(-FROM_ENDS, FROM_ENDS)
        angle = FloatAxis("angle", 0.0, 360.0, periodic=self.method == "periodic")
        space = Space((angle, *(FloatAxis(f"x{axis}", 0.0, 1.0) for axis in range(1, dimension))))
        _, values = solved(space, Config(), lambda at: -function(at - minimum), self.seed, self.budget)
        return {"best": [float(f"{-value:.4g}") for value in np.maximum.accumulate(values)]}


def tables(path: Path) -> Iterator[runs.Table]:
    """The median regret per function."""
    found = runs.comparable(path, PROBLEMS, METHODS)
    for count in COUNTS:
        rows = []
        for problem in found.problems:
            each = {method: _regrets(found, problem, method, count) for method in METHODS}
            medians = (f"{np.median(regrets):.2g}" for regrets in each.values())
            better, worse = (int((each[one] < each[other]).sum()) for one, other in (METHODS, METHODS[::-1]))
            rows.append([problem, *medians, str(better), str(worse)])
        title = f"Regret after {count} evaluations, {len(found.seeds)} seeds"
        yield runs.Table(title, ["function", *METHODS, f"seeds where {METHODS[0]} is better", "worse"], rows)


def _regrets(found: runs.Found, problem: str, method: str, count: int) -> Array:
    """The regret of each seed."""
    return np.maximum([run["best"][:count][-1] for run in found.of(problem, method)], FLOOR)


def benchmark() -> runs.Benchmark:
    """The benchmark; its runs are stored in ``OUT`` by default."""
    return runs.Benchmark(
        "benchmarks.outcomes.periodic",
        __doc__,
        Job,
        list(PROBLEMS),
        list(METHODS),
        SEEDS,
        OUT,
        tables,
        runs.Axes("best", "regret", y_scale="log"),
        budget=max(COUNTS),
    )


if __name__ == "__main__":
    raise SystemExit(benchmark().main())
