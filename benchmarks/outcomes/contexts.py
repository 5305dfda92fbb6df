"""``python -m benchmarks.outcomes.contexts``: a context that is known when a point is suggested, compared with BoTorch.

The last parameter of a test function is the context: a value that each evaluation draws, and that nobody chooses.
``context`` declares it; ``ignored`` is the same search without it. ``botorch`` is a Gaussian process of all parameters,
with the context as a fixed feature of ``optimize_acqf``; its first points are quasi-random. ``random`` suggests random
points. Every method knows the same contexts. It is judged by the regret of its recommended points in five other
contexts: the difference from the best point there, divided by that of a typical point, without noise. BoTorch
recommends the maximum of its posterior mean; ``random`` the best result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from adabkb_service.engine.auto.policy import Config, auto
from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.outcomes import runs
from benchmarks.output import RESULTS
from benchmarks.quality.functions import FUNCTIONS
from benchmarks.quality.problems import generator

OUT = RESULTS / "outcomes-contexts.json"
PROBLEMS = ("Branin", "Hartmann_3", "Hartmann_6")
COUNTS = (10, 20, 30)
"""Evaluations after which recommendations are compared."""
BUDGET, SEEDS = 30, 5
JUDGED = 5
"""The number of contexts for which points are recommended."""
SCATTERED, KEPT, STEPS = 20_000, 20, 200
"""Random points, those from which the search for the best point in a context starts, and its steps."""
NOISE = 0.01
"""Standard deviation of the noise, as a share of the spread of the values of random points."""


@dataclass(frozen=True)
class InContext:
    """A function of the unit cube, to be maximised, whose last coordinate is the context. Over the cube, its mean is 0
    and its variance 1."""

    problem: str
    seed: int

    @property
    def chosen(self) -> int:
        """The number of parameters that are chosen."""
        return FUNCTIONS[self.problem].dimension - 1

    @cached_property
    def _scale(self) -> tuple[float, float]:
        found = self._raw(np.random.default_rng(0).random((SCATTERED, self.chosen + 1)))
        return float(found.mean()), float(found.std())

    @cached_property
    def contexts(self) -> Array:
        """The context of each evaluation, (budget,)."""
        return generator(f"contexts {self.problem}", self.seed).random(BUDGET)

    @cached_property
    def noise(self) -> Array:
        """The noise of each evaluation, (budget,)."""
        return NOISE * generator(f"noise {self.problem}", self.seed).standard_normal(BUDGET)

    @cached_property
    def judged(self) -> Array:
        """The contexts for which points are recommended, (n,)."""
        return (np.arange(JUDGED) + generator(f"judged {self.problem}", self.seed).random(JUDGED)) / JUDGED

    def values(self, points: Array, context: float) -> Array:
        """The values at points (k, chosen) in a context, without noise."""
        mean, std = self._scale
        return (self._raw(np.column_stack([points, np.full(len(points), context)])) - mean) / std

    def _raw(self, positions: Array) -> Array:
        low, high = np.array(FUNCTIONS[self.problem].box).T
        regret = FUNCTIONS[self.problem].regret
        return -np.array([regret(low + each * (high - low)) for each in positions])

    @cached_property
    def _ends(self) -> list[tuple[float, float]]:
        """The largest value in each judged context, and the median value of random points there."""
        return [self._end(float(context)) for context in self.judged]

    def _end(self, context: float) -> tuple[float, float]:
        rng = np.random.default_rng(1)
        points = rng.random((SCATTERED // 10, self.chosen))
        values = self.values(points, context)
        kept = np.argsort(-values)[:KEPT]
        best, at, width = values[kept], points[kept], 0.1
        for _ in range(STEPS):
            moved = np.clip(at + width * rng.normal(size=at.shape), 0.0, 1.0)
            after = self.values(moved, context)
            better = after > best
            best[better], at[better] = after[better], moved[better]
            width *= 0.97
        return float(best.max()), float(np.median(values))

    def regret(self, recommended: Array) -> float:
        """The mean regret of a point for each judged context, (n, chosen), as a share."""
        shares = [
            max(best - float(self.values(point[None], float(context))[0]), 0.0) / (best - usual)
            for point, context, (best, usual) in zip(recommended, self.judged, self._ends, strict=True)
        ]
        return float(np.mean(shares))


Recommend = Callable[[Array], None]
"""Told the recommended point of each judged context, (n, chosen), after each evaluation."""


def context(problem: InContext, seed: int, recommend: Recommend) -> None:
    """Search with ``auto`` and the declared context."""
    axes = tuple(FloatAxis(f"x{number}", 0.0, 1.0) for number in range(problem.chosen + 1))
    last = axes[-1].name
    space = Space(axes, context=frozenset([last]))
    state, none = auto.start(space, Config(), seed), np.zeros((0, len(axes)))
    for number, (at, noise) in enumerate(zip(problem.contexts, problem.noise, strict=True), 1):
        suggestion = next(auto.suggestions_within(state, Slice(space, {last: float(at)}), none))
        value = float(problem.values(suggestion.point[None, :-1], float(at))[0] + noise)
        state = auto.observe(suggestion.state, suggestion.point, value).state
        if number in COUNTS:
            found = [auto.recommend_within(state, Slice(space, {last: float(each)})) for each in problem.judged]
            recommend(np.array([each.point[:-1] for each in found if each is not None]))


def ignored(problem: InContext, seed: int, recommend: Recommend) -> None:
    """Search with ``auto`` without the context."""
    space = Space(tuple(FloatAxis(f"x{number}", 0.0, 1.0) for number in range(problem.chosen)))
    state, none = auto.start(space, Config(), seed), np.zeros((0, problem.chosen))
    for number, (at, noise) in enumerate(zip(problem.contexts, problem.noise, strict=True), 1):
        suggestion = auto.suggest(state, none)
        value = float(problem.values(suggestion.point[None], float(at))[0] + noise)
        state = auto.observe(suggestion.state, suggestion.point, value).state
        if number in COUNTS:
            found = auto.recommend(state)
            assert found is not None
            recommend(np.tile(found.point, (JUDGED, 1)))


def botorch(problem: InContext, seed: int, recommend: Recommend) -> None:
    """Search with BoTorch."""
    from benchmarks.outcomes import context_peers  # noqa: PLC0415 (the peer may be missing)

    context_peers.botorch(problem, seed, COUNTS, recommend)


def random(problem: InContext, seed: int, recommend: Recommend) -> None:
    """Evaluate random points."""
    points = generator(f"random {problem.problem}", seed).random((BUDGET, problem.chosen))
    told = [
        float(problem.values(point[None], float(at))[0] + noise)
        for point, at, noise in zip(points, problem.contexts, problem.noise, strict=True)
    ]
    for count in COUNTS:
        recommend(np.tile(points[int(np.argmax(told[:count]))], (JUDGED, 1)))


METHODS: Mapping[str, Callable[[InContext, int, Recommend], None]] = {
    "context": context,
    "botorch": botorch,
    "ignored": ignored,
    "random": random,
}


@dataclass(frozen=True, slots=True)
class Job:
    """A run."""

    problem: str
    method: str
    seed: int

    def run(self) -> dict[str, Any]:
        """Return the mean regret of the recommended points after each of the counts."""
        problem, regrets = InContext(self.problem, self.seed), []

        def recommend(points: Array) -> None:
            regrets.append(float(f"{problem.regret(points):.4g}"))

        METHODS[self.method](problem, self.seed, recommend)
        return {"regret": regrets, "evaluations": list(COUNTS)}


def tables(path: Path) -> Iterator[runs.Table]:
    """The median regret per function."""
    yield from runs.scored(path, PROBLEMS, METHODS, COUNTS, "regret", _regret)


def _regret(run: Mapping[str, Any], count: int) -> float:
    return float(run["regret"][COUNTS.index(count)])


def benchmark() -> runs.Benchmark:
    """The benchmark; its runs are stored in ``OUT`` by default."""
    return runs.Benchmark(
        "benchmarks.outcomes.contexts",
        __doc__,
        Job,
        list(PROBLEMS),
        list(METHODS),
        SEEDS,
        OUT,
        tables,
        runs.Axes("regret", "regret", x="evaluations", y_scale="log"),
        packages={"botorch": ("botorch",)},
    )


if __name__ == "__main__":
    raise SystemExit(benchmark().main())
