"""Constraints on parameters: ``auto`` beside random search among feasible points, and Optuna's TPE and GPSampler.

``python -m benchmarks.outcomes.constraints`` writes benchmarks/results/outcomes-constraints.json. Problems have known
optima, which lie on the boundary or near it. Judged by the regret of the best feasible evaluation after 50 and 100
evaluations. Optuna learns about constraints by ``trial.set_constraint`` after a trial, so that an infeasible trial is
an evaluation; ``auto`` and the random search know them and have none.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.samplers import BaseSampler, GPSampler, TPESampler
from threadpoolctl import threadpool_limits

from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.quality.methods.base import Method, Parameters
from benchmarks.quality.methods.policy import Policy

SEEDS, BUDGETS = 10, (50, 100)
DRAWN = 4096
SMALLEST = 1e-6
"""Regret, in units of the problem, below which runs are equally good."""


@dataclass(frozen=True)
class Problem:
    """A function to be minimised under constraints."""

    function: Callable[..., float]
    bounds: Mapping[str, tuple[float, float]]
    constraints: tuple[str, ...]
    optimum: float
    unit: float
    """A difference of values that matters."""

    @property
    def space(self) -> Space:
        """For the engine."""
        axes = tuple(FloatAxis(name, low, high) for name, (low, high) in self.bounds.items())
        return Space(axes, tuple(map(Constraint, self.constraints)))


def _bird(x: float, y: float) -> float:
    first = math.sin(y) * math.exp((1 - math.cos(x)) ** 2)
    return first + math.cos(x) * math.exp((1 - math.sin(y)) ** 2) + (x - y) ** 2


def _townsend(x: float, y: float) -> float:
    return -(math.cos((x - 0.1) * y) ** 2) - x * math.sin(3 * x + y)


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
        """Draw until one is feasible."""
        assert self._feasible is not None
        while True:
            drawn = self._random.random((DRAWN, self._space.dimension))
            for position in drawn[self._feasible.mask(drawn)]:
                point = self._space.decode(position)
                if not self._space.violated(point):
                    return point

    def tell(self, parameters: Parameters, value: float) -> None:
        """Of no use."""
        del parameters, value


class Optuna(Method):
    """A sampler that is told by how much each trial violates the constraints."""

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
        """Finish the trial; a violation is positive."""
        values = {name: np.array([each]) for name, each in parameters.items()}
        for constraint in self._space.constraints:
            self._trial.set_constraint(constraint.text, float(np.clip(-constraint.slack(values)[0], -1e9, 1e9)))
        self._study.tell(self._trial, value)


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
}


def run(problem: Problem, method: str, seed: int, budget: int) -> dict[str, Any]:
    """The regret, in units of the problem, of the best feasible evaluation after each one; null before the first."""
    space, best = problem.space, math.inf
    chosen, regrets, violations, started = METHODS[method](space, seed), [], 0, perf_counter()
    for _ in range(budget):
        parameters = chosen.ask()
        value = problem.function(**parameters)
        if space.violated(parameters):
            violations += 1
        else:
            best = min(best, value)
        chosen.tell(parameters, value)
        regrets.append(None if best == math.inf else max((best - problem.optimum) / problem.unit, 0.0))
    return {"regrets": regrets, "violations": violations, "seconds": round(perf_counter() - started, 2)}


def ranks(found: Mapping[str, Mapping[str, list[dict[str, Any]]]], budget: int) -> dict[str, float]:
    """Mean rank of each method over problems and seeds: 1 is the best; ties share the mean of their ranks."""
    ordered: dict[str, list[float]] = {}
    for runs in found.values():
        for seed in range(len(next(iter(runs.values())))):
            finals = {name: _final(each[seed], budget) for name, each in runs.items()}
            for name, final in finals.items():
                better = sum(other < final for other in finals.values())
                equal = sum(other == final for other in finals.values())
                ordered.setdefault(name, []).append(better + (equal + 1) / 2)
    return {name: round(float(np.mean(each)), 3) for name, each in ordered.items()}


def _final(run: Mapping[str, Any], budget: int) -> float:
    regret = run["regrets"][budget - 1]
    return math.inf if regret is None else max(regret, SMALLEST)


def compared(
    problems: Mapping[str, Problem], methods: tuple[str, ...], seeds: int, budget: int
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """By problem and method, a run for each seed."""
    with threadpool_limits(1):
        return {
            name: {method: [run(problem, method, seed, budget) for seed in range(seeds)] for method in methods}
            for name, problem in problems.items()
        }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.outcomes.constraints", description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--out", type=Path, default=RESULTS / "outcomes-constraints.json")
    options = parser.parse_args()
    found = compared(PROBLEMS, tuple(options.methods), options.seeds, max(BUDGETS))
    mean_ranks = {str(budget): ranks(found, budget) for budget in BUDGETS}
    rows = [
        [name, method, *(f"{np.median([_final(each, budget) for each in runs]):.2g}" for budget in BUDGETS),
         f"{np.mean([each['violations'] for each in runs]):.0f}", f"{np.mean([each['seconds'] for each in runs]):.1f}"]
        for name, methods in found.items() for method, runs in methods.items()
    ]  # fmt: skip
    print_table(["problem", "method", *(f"regret at {budget}" for budget in BUDGETS), "infeasible", "seconds"], rows)
    print_table(["mean rank", *options.methods], [
        [budget, *(f"{ranked[method]:.2f}" for method in options.methods)] for budget, ranked in mean_ranks.items()
    ])  # fmt: skip
    write(options.out, {**provenance("benchmarks.outcomes.constraints"), "mean_ranks": mean_ranks, "runs": found})


if __name__ == "__main__":
    main()
