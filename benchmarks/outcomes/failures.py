"""``python -m benchmarks.outcomes.failures``: failing evaluations; ``auto`` with and without a model of failures.

A failed evaluation returns no value. The designs from the literature fail where they violate a constraint that the
methods do not know. Other functions fail in a region that each seed draws. ``crashes`` fails at random, whatever the
point. The peers are random points, and ``tpe``, which is Optuna's TPE sampler with trials in the state FAIL. It ignores
them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adabkb_service.engine.auto import failures as failing_points
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.outcomes import metric_problems, runs
from benchmarks.outcomes.priors import point, typical_regret
from benchmarks.output import RESULTS
from benchmarks.quality.functions import FUNCTIONS
from benchmarks.quality.mechanisms import NEVER, Mechanism
from benchmarks.quality.problems import generator

OUT = RESULTS / "outcomes-failures.json"
METHODS = ("learned", "not learned")
PEERS = ("tpe", "random")
PEER_COUNTS = (15, 30)
COUNTS = (15, 30, 60)
"""Evaluations, failed ones included, after which methods are compared."""
SEEDS = 10
BY_CHANCE = 0.2
"""Share of the evaluations of ``crashes`` that fail."""
REGIONS = {"Branin": 0.35, "Hartmann_3": 0.5, "Hartmann_6": 0.5, "Trid_4": 0.6, "Rosenbrock_2": 0.5}
"""Functions, and the share of the box in which they fail: beyond a plane that passes near the best point."""
NEAR = 0.02
"""Distance in the unit cube from the best point to that plane."""
DESIGNS = ("gramacy", "welded_beam", "pressure_vessel", "speed_reducer")
PROBLEMS = (*REGIONS, *DESIGNS, "crashes")
NOT_LEARNED = Mechanism("failures", "", "", ((failing_points, "FEWEST", NEVER),))
"""Without the model of failures, failed points only count as imprecise results."""
Peer = tuple[Callable[[], Array], Callable[[float | None], None]]
"""Asks for a position in the unit cube, and is told its regret, or None if the evaluation has failed."""
FLOOR = 1e-6
"""Regrets below this value count as equal."""


@dataclass(frozen=True, slots=True)
class Failing:
    """A function to minimize whose evaluation fails at some points."""

    space: Space
    evaluate: Callable[[Array], float | None]
    """Cube position (d,) -> regret relative to a typical one, or None if the evaluation fails."""


def problem(name: str, seed: int) -> Failing:
    """The problem with the failure region of a seed."""
    if name in DESIGNS:
        return _design(name, seed)
    rng = generator(f"failures {name}", seed)
    if name == "crashes":
        function = FUNCTIONS["Hartmann_3"]
        space, unit = function.space, typical_regret(function)
        return Failing(space, lambda at: None if rng.random() < BY_CHANCE else function.regret(point(space, at)) / unit)
    return _beyond_plane(name, rng)


def _beyond_plane(name: str, rng: np.random.Generator) -> Failing:
    function = FUNCTIONS[name]
    space, unit = function.space, typical_regret(function)
    scattered = rng.random((4000, space.dimension))
    best = space.encode(dict(zip((axis.name for axis in space.axes), function.minimizer, strict=True)))
    directions = rng.normal(size=(200, space.dimension))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    shares = ((scattered - best) @ directions.T > NEAR).mean(axis=0)
    direction = directions[np.argmin(np.abs(shares - REGIONS[name]))]

    def evaluate(at: Array) -> float | None:
        return None if (at - best) @ direction > NEAR else function.regret(point(space, at)) / unit

    return Failing(space, evaluate)


def _design(name: str, seed: int) -> Failing:
    design = metric_problems.PROBLEMS[name]
    assert design.minimum is not None

    def evaluate(at: Array) -> float | None:
        value, metrics = design.evaluate(design.space.decode(at), seed)
        breaks = any(metric.violation(metrics[metric.name]) > 0.0 for metric in design.metrics)
        return None if breaks else value / (design.minimum or 1.0) - 1.0

    return Failing(design.space, evaluate)


@dataclass(frozen=True, slots=True)
class Job:
    """A run."""

    problem: str
    method: str
    seed: int
    budget: int = max(COUNTS)

    def run(self) -> dict[str, Any]:
        """Return the smallest regret after each evaluation, and how many of them failed."""
        if self.method in PEERS:
            return self._run_peer()
        with nullcontext() if self.method == "learned" else NOT_LEARNED.off():
            return self._run()

    def _run_peer(self) -> dict[str, Any]:
        given = problem(self.problem, self.seed)
        ask, tell = (_tpe if self.method == "tpe" else _random)(given.space, self.seed)
        best, smallest, failed = [], math.inf, 0
        for _ in range(self.budget):
            regret = given.evaluate(ask())
            tell(regret)
            failed += regret is None
            smallest = min(smallest, math.inf if regret is None else regret)
            best.append(None if math.isinf(smallest) else float(f"{smallest:.4g}"))
        return {"best": best, "failed": failed}

    def _run(self) -> dict[str, Any]:
        given = problem(self.problem, self.seed)
        none = np.zeros((0, given.space.dimension))
        state, failed = auto.start(given.space, Config(), self.seed), none
        best, smallest = [], math.inf
        for _ in range(self.budget):
            suggestion = auto.suggest(state, none, failed)
            state, regret = suggestion.state, given.evaluate(suggestion.point)
            if regret is None:
                failed = np.concatenate([failed, suggestion.point[None]])
            else:
                state, smallest = auto.observe(state, suggestion.point, -regret).state, min(smallest, regret)
            best.append(None if math.isinf(smallest) else float(f"{smallest:.4g}"))
        return {"best": best, "failed": len(failed)}


def _random(space: Space, seed: int) -> Peer:
    """Random points."""
    rng = np.random.default_rng(seed)
    return lambda: rng.random(space.dimension), lambda _: None


def _tpe(space: Space, seed: int) -> Peer:
    """Optuna's TPE sampler in the unit cube."""
    import optuna  # noqa: PLC0415 (the peer may be missing)

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study, asked = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed)), []

    def ask() -> Array:
        asked.append(study.ask())
        at = [asked[-1].suggest_float(f"x{axis}", 0.0, 1.0) for axis in range(space.dimension)]
        snapped: Array = space.snap(np.array([at]))[0]
        return snapped

    def tell(regret: float | None) -> None:
        study.tell(asked[-1], regret, state=optuna.trial.TrialState.FAIL if regret is None else None)

    return ask, tell


def tables(path: Path) -> Iterator[runs.Table]:
    """The median regret per problem, and the failed evaluations."""
    beside = runs.comparable(path, PROBLEMS, (METHODS[0], *PEERS))
    if set(PEERS) <= set(beside.methods):
        yield from _beside_peers(beside)
        return
    found = runs.comparable(path, PROBLEMS, METHODS)
    header = ["problem", *METHODS, "seeds better", "seeds worse"]
    for count in COUNTS:
        rows = []
        for name in found.problems:
            each = [_regrets(found, name, method, count) for method in METHODS]
            medians = (f"{np.median(regrets):.2g}" for regrets in each)
            better, worse = int((each[0] < each[1]).sum()), int((each[0] > each[1]).sum())
            rows.append([name, *medians, str(better), str(worse)])
        yield runs.Table(f"Regret after {count} evaluations, {len(found.seeds)} seeds", header, rows)
    rows = [
        [name, *(f"{np.median([run['failed'] for run in found.of(name, method)]):g}" for method in METHODS)]
        for name in found.problems
    ]
    yield runs.Table(f"Failed evaluations of {max(COUNTS)}, median", ["problem", *METHODS], rows)


def _beside_peers(found: runs.Found) -> Iterator[runs.Table]:
    """The median regret per problem with peers, and the failed evaluations."""
    for count in PEER_COUNTS:
        rows = []
        for name in found.problems:
            each = [_regrets(found, name, method, count) for method in found.methods]
            against = [f"{int((each[0] < of).sum())}, {int((each[0] > of).sum())}" for of in each[1:]]
            rows.append([name, *(f"{np.median(regrets):.2g}" for regrets in each), *against])
        others = [runs.against_name(found.methods[0], method) for method in found.methods[1:]]
        title = f"Regret after {count} evaluations, {len(found.seeds)} seeds"
        yield runs.Table(title, ["problem", *found.methods, *others], rows)
    rows = [
        [name, *(f"{np.median([run['failed'] for run in found.of(name, method)]):g}" for method in found.methods)]
        for name in found.problems
    ]
    yield runs.Table(f"Failed evaluations of {max(PEER_COUNTS)}, median", ["problem", *found.methods], rows)


def _regrets(found: runs.Found, name: str, method: str, count: int) -> Array:
    """The regret of each seed; infinite while all evaluations have failed."""
    best = (run["best"][:count][-1] for run in found.of(name, method))
    return np.array([math.inf if each is None else max(each, FLOOR) for each in best])


def benchmark() -> runs.Benchmark:
    """The benchmark; its runs are stored in ``OUT`` by default."""
    return runs.Benchmark(
        "benchmarks.outcomes.failures",
        __doc__,
        Job,
        list(PROBLEMS),
        list(METHODS),
        SEEDS,
        OUT,
        tables,
        runs.Axes("best", "regret", y_scale="log"),
        budget=max(COUNTS),
        packages={"tpe": ("optuna",)},
    )


if __name__ == "__main__":
    raise SystemExit(benchmark().main())
