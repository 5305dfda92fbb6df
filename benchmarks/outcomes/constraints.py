"""Constraints on parameters: ``auto``, random search among feasible points, Optuna's TPE and GPSampler, and Ax.

``python -m benchmarks.outcomes.constraints`` writes benchmarks/results/outcomes-constraints.json. Problems have known
optima, which lie on the boundary or near it. Methods are compared by the regret of the best feasible evaluation after
50 and 100 evaluations. Optuna gets the violations of a trial after its evaluation (``trial.set_constraint``), so it
also evaluates infeasible points. So does Ax, which gets violations as metrics with bounds, but knows linear constraints
beforehand. ``auto`` and the random search know the constraints, and evaluate no infeasible points.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.samplers import BaseSampler, GPSampler, TPESampler
from scipy.stats import rankdata

from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from benchmarks.outcomes import runs
from benchmarks.output import RESULTS
from benchmarks.quality.methods.base import Method, Parameters
from benchmarks.quality.methods.policy import Policy

SEEDS, BUDGETS = 10, (50, 100)
PEERS, PEER_BUDGET = ("ax",), 50
"""Optional methods, for ``--methods``: they take seconds for each suggestion, and have fewer seeds and evaluations."""
OUT, PEERS_OUT = RESULTS / "outcomes-constraints.json", RESULTS / "outcomes-constraints-peers.json"
DRAWN = 4096
LIMIT = 1e9
"""Largest violation that Optuna and Ax get."""
SMALLEST = 1e-6
"""Regrets below this value, in units of the problem, count as equal."""


@dataclass(frozen=True)
class Problem:
    """A function to be minimized under constraints."""

    function: Callable[..., float]
    bounds: Mapping[str, tuple[float, float]]
    constraints: tuple[str, ...]
    optimum: float
    unit: float
    """A relevant difference of values."""

    @property
    def space(self) -> Space:
        """The search space for the engine."""
        axes = tuple(FloatAxis(name, low, high) for name, (low, high) in self.bounds.items())
        return Space(axes, tuple(map(Constraint, self.constraints)))


def _bird(x: float, y: float) -> float:
    first = math.sin(y) * math.exp((1 - math.cos(x)) ** 2)
    return first + math.cos(x) * math.exp((1 - math.sin(y)) ** 2) + (x - y) ** 2


def _townsend(x: float, y: float) -> float:
    return -(math.cos((x - 0.1) * y) ** 2) - x * math.sin(3 * x + y)


LINEAR = {"x + y - 2 <= 0": "x + y <= 2", "wire + coil <= 1.5": "wire + coil <= 1.5"}
"""The linear constraints, as Ax writes them."""
_RADIUS = "sqrt(x ** 2 + y ** 2)"
_EIGHTH = "x ** 2 / (x ** 2 + y ** 2)"
"""The square of the sine of the angle from the y axis: cos(8 t) is a polynomial of it."""
PROBLEMS = {
    "Mishra's bird": Problem(
        _bird, {"x": (-10, 0), "y": (-6.5, 0)}, ("(x + 5) ** 2 + (y + 5) ** 2 < 25",), -106.7645367, 50
    ),
    "Simionescu": Problem(
        lambda x, y: 0.1 * x * y,
        {"x": (-1.25, 1.25), "y": (-1.25, 1.25)},
        (
            f"{_RADIUS} <= 1 + 0.2 * (128 * ({_EIGHTH}) ** 4 - 256 * ({_EIGHTH}) ** 3 + 160 * ({_EIGHTH}) ** 2"
            f" - 32 * ({_EIGHTH}) + 1)",
        ),
        -0.072,
        0.02,
    ),
    "Townsend": Problem(
        _townsend,
        {"x": (-2.25, 2.25), "y": (-2.5, 1.75)},
        (
            f"x ** 2 + y ** 2 < (2.75 * y / {_RADIUS} + 0.375 - (y / {_RADIUS}) ** 3 - (y / {_RADIUS}) ** 4) ** 2"
            f" + (2 * x / {_RADIUS}) ** 2",
        ),
        -2.0239884,
        1,
    ),
    "Rosenbrock, cubic and line": Problem(
        lambda x, y: (1 - x) ** 2 + 100 * (y - x**2) ** 2,
        {"x": (-1.5, 1.5), "y": (-0.5, 2.5)},
        ("(x - 1) ** 3 - y + 1 <= 0", "x + y - 2 <= 0"),
        0.0,
        10,
    ),
    "G6": Problem(
        lambda x, y: (x - 10) ** 3 + (y - 20) ** 3,
        {"x": (13, 100), "y": (0, 100)},
        ("(x - 5) ** 2 + (y - 5) ** 2 >= 100", "(x - 6) ** 2 + (y - 5) ** 2 <= 82.81"),
        -6961.81388,
        1000,
    ),
    "spring": Problem(
        lambda wire, coil, turns: (turns + 2) * coil * wire**2,
        {"wire": (0.05, 2), "coil": (0.25, 1.3), "turns": (2, 15)},
        (
            "coil ** 3 * turns >= 71785 * wire ** 4",
            "(4 * coil ** 2 - wire * coil) / (12566 * (coil * wire ** 3 - wire ** 4)) + 1 / (5108 * wire ** 2) <= 1",
            "140.45 * wire >= coil ** 2 * turns",
            "wire + coil <= 1.5",
        ),
        0.012665,
        0.01,
    ),
}


class Rejection(Method):
    """Uniform random feasible points."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._random = space, np.random.default_rng(seed)
        self._feasible = Slice(space, {}).feasible

    def ask(self) -> Parameters:
        """Draw points until one is feasible."""
        assert self._feasible is not None
        while True:
            drawn = self._random.random((DRAWN, self._space.dimension))
            for position in drawn[self._feasible.mask(drawn)]:
                point = self._space.decode(position)
                if not self._space.violated(point):
                    return point

    def tell(self, parameters: Parameters, value: float) -> None:
        """Ignore the result."""
        del parameters, value


class Optuna(Method):
    """An Optuna sampler that gets the constraint violations of each trial."""

    def __init__(self, space: Space, sampler: BaseSampler) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._space, self._study = space, optuna.create_study(sampler=sampler)
        self._distributions: dict[str, BaseDistribution] = {
            axis.name: FloatDistribution(axis.low, axis.high) for axis in space.axes if isinstance(axis, FloatAxis)
        }

    def ask(self) -> Parameters:
        """A new trial's parameters."""
        self._trial = self._study.ask(self._distributions)
        parameters: Parameters = self._trial.params
        return parameters

    def tell(self, parameters: Parameters, value: float) -> None:
        """Complete the trial; positive numbers are violations."""
        for constraint, violation in violations(self._space, parameters).items():
            self._trial.set_constraint(constraint, violation)
        self._study.tell(self._trial, value)


class Ax(Method):
    """Ax, which knows the linear constraints, and gets the violations of the others after each trial."""

    def __init__(self, space: Space, seed: int) -> None:
        from benchmarks.outcomes.ax_peer import AxClient, Goals  # noqa: PLC0415 (only where it runs)

        known = [each.text for each in space.constraints if each.text in LINEAR]
        self._space = space
        self._learned = {
            each.text: f"violation{k}" for k, each in enumerate(space.constraints) if each.text not in known
        }
        bounds = [f"{name} <= 0" for name in self._learned.values()]
        self._ax = AxClient(space.axes, Goals("-value", bounds, [LINEAR[text] for text in known]), seed)

    def ask(self) -> Parameters:
        """A new trial's parameters."""
        return self._ax.ask()

    def tell(self, parameters: Parameters, value: float) -> None:
        """Complete the trial; positive numbers are violations."""
        found = violations(self._space, parameters)
        self._ax.tell({"value": value, **{name: found[text] for text, name in self._learned.items()}})


def violations(space: Space, parameters: Parameters) -> dict[str, float]:
    """By how much a point violates each constraint, by its text; negative if it does not."""
    feasible = Slice(space, {}).feasible
    assert feasible is not None
    slacks = feasible.slack(space.encode(parameters)[None])[0]
    texts = [constraint.text for constraint in space.constraints]
    return {text: float(np.clip(-slack, -LIMIT, LIMIT)) for text, slack in zip(texts, slacks, strict=True)}


def tpe(space: Space, seed: int) -> Method:
    """Multivariate TPE."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return Optuna(space, TPESampler(multivariate=True, seed=seed))


def gpsampler(space: Space, seed: int) -> Method:
    """Constrained log-EI; it needs torch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return Optuna(space, GPSampler(seed=seed))


METHODS: dict[str, Callable[[Space, int], Method]] = {
    "auto": lambda space, seed: Policy(space, seed, "adabkb_service.engine.auto.policy"),
    "random": Rejection,
    "tpe": tpe,
    "gpsampler": gpsampler,
    "ax": Ax,
}
PACKAGES = {"ax": ("ax-platform", "botorch"), "gpsampler": ("optuna", "torch"), "tpe": ("optuna",)}


@dataclass(frozen=True, slots=True)
class Job:
    """A run."""

    problem: str
    method: str
    seed: int
    budget: int

    def run(self) -> dict[str, Any]:
        """Return the regret, in units of the problem, of the best feasible evaluation after each one (null before the
        first), the number of infeasible ones, and the processor time in seconds."""
        problem, best = PROBLEMS[self.problem], math.inf
        method, regrets, violations, before = METHODS[self.method](problem.space, self.seed), [], 0, process_time()
        for _ in range(self.budget):
            parameters = method.ask()
            value = problem.function(**parameters)
            if problem.space.violated(parameters):
                violations += 1
            else:
                best = min(best, value)
            method.tell(parameters, value)
            regret = max((best - problem.optimum) / problem.unit, 0.0)
            regrets.append(None if math.isinf(regret) else float(f"{regret:.4g}"))
        return {"seconds": round(process_time() - before, 2), "violations": violations, "regrets": regrets}


def tables(path: Path) -> Iterator[runs.Table]:
    """The median regret per problem, and the mean rank over problems and seeds, at each budget; ties share a rank."""
    found = runs.comparable(path, PROBLEMS, METHODS)
    for budget in BUDGETS if found.seeds else ():
        if any(len(run["regrets"]) < budget for run in found.runs.values()):
            continue
        regrets = np.array(
            [[[_regret(run, budget) for run in found.of(p, m)] for m in found.methods] for p in found.problems]
        )
        medians = np.median(regrets, axis=2)
        rows = [[name, *(f"{value:.2g}" for value in row)] for name, row in zip(found.problems, medians, strict=True)]
        ranks = rankdata(regrets, axis=1).mean(axis=(0, 2))
        rows.append(["mean rank", *(f"{rank:.2f}" for rank in ranks)])
        title = f"Regret of the best feasible evaluation after {budget}, {len(found.seeds)} seeds"
        yield runs.Table(title, ["problem", *found.methods], rows)


def _regret(run: Mapping[str, Any], budget: int) -> float:
    regret = run["regrets"][budget - 1]
    return math.inf if regret is None else max(float(regret), SMALLEST)


def peer_tables(path: Path) -> Iterator[runs.Table]:
    """The medians per problem, with the peers, whose runs are in another file."""

    def scores(found: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
        return [f"{np.median([_regret(run, PEER_BUDGET) for run in each]):.2g}" for each in found]

    title = f"Regret of the best feasible evaluation after {PEER_BUDGET}, with peers"
    yield runs.beside(OUT, path, PROBLEMS, list(METHODS), PEER_BUDGET, title, scores)


def benchmark() -> runs.Benchmark:
    """The benchmark; its runs are stored in ``OUT`` by default."""
    return runs.Benchmark(
        "benchmarks.outcomes.constraints",
        __doc__,
        Job,
        list(PROBLEMS),
        [name for name in METHODS if name not in PEERS],
        SEEDS,
        OUT,
        tables,
        runs.Axes("regrets", "regret", y_scale="log"),
        budget=max(BUDGETS),
        packages=PACKAGES,
    )


if __name__ == "__main__":
    raise SystemExit(benchmark().main())
