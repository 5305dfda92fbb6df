"""``python -m benchmarks.outcomes.drift``: an optimum that moves while the study runs.

One evaluation is made a day. ``steady`` moves the optimum along a random direction by 0.4 of the box until the end;
``cycle`` moves it back and forth by 0.15 of the box, with a period of 20 days; ``none`` does not move it. ``context``
declares the day as a context parameter; the recommendation is for the next day. ``phase`` declares the day of the
period of 20 days, as a periodic context parameter. ``ignored`` is the same search without the day. ``window`` ignores
the day, too, and knows only the last 15 results. Methods are compared by the regret of the recommended point on the
next day, without noise, as a share of the regret of a typical point.
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
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.cells import NEW_TREE
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.outcomes import runs
from benchmarks.outcomes.priors import typical_regret
from benchmarks.output import RESULTS
from benchmarks.quality.functions import FUNCTIONS
from benchmarks.quality.problems import generator

OUT = RESULTS / "outcomes-drift.json"
METHODS = ("context", "phase", "ignored", "window")
KINDS = ("steady", "cycle", "none")
PROBLEMS = tuple(f"{name} {kind}" for kind in KINDS for name in ("Branin", "Rosenbrock_2", "Hartmann_3"))
DISTANCE, AMPLITUDE, PERIOD = 0.4, 0.15, 20
"""How the optimum moves: lengths as shares of the box, and days."""
WINDOW = 15
"""Results that ``window`` knows."""
NOISE = 0.02
"""Standard deviation of the noise, as a share of the regret of a typical point."""
DAYS = 60
PARTS = ((15, 30), (30, 60))
"""Ranges of days, counted from 0, whose mean regrets are compared. The second number does not belong to the range."""
SEEDS = 10
DAY = "day"


class Moving:
    """A function whose minimum moves. At the faces of the box, the function is mirrored."""

    def __init__(self, problem: str, seed: int) -> None:
        name, self.kind = problem.split()
        self.function, rng = FUNCTIONS[name], generator(f"drift {name}", seed)
        self.unit, self.dimension = typical_regret(self.function), self.function.dimension
        direction = rng.normal(size=self.dimension)
        self._direction = direction / np.linalg.norm(direction)
        self._start = rng.uniform(-0.2, 0.2, self.dimension)
        self.noise = NOISE * rng.standard_normal(DAYS + 1)

    def regret(self, position: Array, day: int) -> float:
        """The regret at a position of the unit cube, (d,), on a day, as a share of a typical regret."""
        moved = self._start + self._direction * self._distance(day)
        inside = 1.0 - np.abs((position - moved) % 2.0 - 1.0)
        low, high = np.array(self.function.box).T
        return max(self.function.regret(low + inside * (high - low)), 0.0) / self.unit

    def _distance(self, day: int) -> float:
        """How far the minimum has moved by this day."""
        if self.kind == "steady":
            return DISTANCE * day / DAYS
        return AMPLITUDE * math.sin(2.0 * math.pi * day / PERIOD) if self.kind == "cycle" else 0.0


@dataclass(frozen=True, slots=True)
class Job:
    """A run."""

    problem: str
    method: str
    seed: int
    budget: int = DAYS

    def run(self) -> dict[str, Any]:
        """Return the regret of the point recommended for the next day, after each day."""
        moving = Moving(self.problem, self.seed)
        axes = [FloatAxis(f"x{k}", 0.0, 1.0) for k in range(moving.dimension)]
        is_phase, is_told = self.method == "phase", self.method in ("context", "phase")
        day_axis = FloatAxis(DAY, 0.0, float(PERIOD if is_phase else DAYS), periodic=is_phase)
        space = Space((*axes, day_axis) if is_told else tuple(axes), context=frozenset([DAY] if is_told else []))
        first = state = auto.start(space, Config(), self.seed)
        none = np.zeros((0, space.dimension))
        points, values, regrets = none, np.zeros(0), []
        for day in range(self.budget):
            if is_told:
                within = Slice(space, {DAY: float(day % PERIOD if is_phase else day)})
                suggestion = next(auto.suggestions_within(state, within, none))
            else:
                suggestion = auto.suggest(state, none)
            at = suggestion.point
            value = -(moving.regret(at[: moving.dimension], day) + float(moving.noise[day]))
            if self.method == "window":
                points, values = np.append(points, at[None], axis=0)[-WINDOW:], np.append(values, value)[-WINDOW:]
                known = record.of(points, values, np.zeros(len(values)))
                state = auto.rebuild(first, known, NEW_TREE).state
            else:
                state = auto.observe(suggestion.state, at, value).state
            tomorrow = Slice(space, {DAY: float((day + 1) % PERIOD if is_phase else day + 1)})
            best = auto.recommend_within(state, tomorrow) if is_told else auto.recommend(state)
            assert best is not None
            regrets.append(float(f"{moving.regret(best.point[: moving.dimension], day + 1):.4g}"))
        return {"regret": regrets}


def tables(path: Path) -> Iterator[runs.Table]:
    """The median regret per problem."""
    found = runs.comparable(path, PROBLEMS, METHODS)
    for start, end in PARTS:
        rows = []
        for problem in found.problems:
            each = [
                np.array([np.mean(run["regret"][start:end] or run["regret"]) for run in found.of(problem, method)])
                for method in found.methods
            ]
            medians = [f"{np.median(of):.2g}" for of in each]
            against = [f"{int((each[0] < of).sum())}, {int((each[0] > of).sum())}" for of in each[1:]]
            rows.append([problem, *medians, *against])
        others = [runs.against_name(found.methods[0], method) for method in found.methods[1:]]
        title = f"Regret, mean over days {start + 1} to {end}, median of {len(found.seeds)} seeds"
        yield runs.Table(title, ["problem", *found.methods, *others], rows)


def benchmark() -> runs.Benchmark:
    """The benchmark; its runs are stored in ``OUT`` by default."""
    return runs.Benchmark(
        "benchmarks.outcomes.drift",
        __doc__,
        Job,
        list(PROBLEMS),
        list(METHODS),
        SEEDS,
        OUT,
        tables,
        runs.Axes("regret", "regret", x_label="days", y_scale="log"),
        budget=DAYS,
    )


if __name__ == "__main__":
    raise SystemExit(benchmark().main())
