"""Outcome constraints: the best feasible value that each method finds. ``python -m benchmarks.outcomes.metrics``

Each method sees the value and the metrics of every evaluation. A stopped benchmark resumes after the last completed
run. Results are in ``benchmarks/results/outcomes-metrics.json``.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import rankdata

from adabkb_service.engine.auto.policy import Config, auto
from adabkb_service.engine.metrics import Measured, Metric
from benchmarks.functions import Array
from benchmarks.outcomes import runs
from benchmarks.outcomes.metric_problems import PROBLEMS, Constrained
from benchmarks.output import RESULTS
from benchmarks.quality.problems import generator

BUDGETS = (25, 50, 100)
SEEDS = 10
OUT, PEERS_OUT = RESULTS / "outcomes-metrics.json", RESULTS / "outcomes-metrics-peers.json"
PEERS, PEER_BUDGET = ("ax",), 25
"""Optional methods, for ``--methods``: they take seconds for each suggestion, and have fewer seeds and evaluations."""
RHO_BEGIN = 0.2
"""Initial radius of COBYLA, in the unit cube."""


class UsedUp(Exception):
    """The budget of a run is used up."""


@dataclass
class Evaluations:
    """Evaluates a problem for one seed, up to a budget, and keeps the best feasible value."""

    problem: Constrained
    seed: int
    budget: int
    best: list[float] = field(default_factory=list)
    """After each evaluation; infinite before the first feasible one."""
    seconds: float = 0.0
    """Processor time of the evaluations."""

    def __call__(self, parameters: Mapping[str, Any]) -> tuple[float, dict[str, float]]:
        """The value and the metrics of a point.

        Raises:
            UsedUp: there is no budget left.
        """
        if len(self.best) == self.budget:
            raise UsedUp
        before = time.process_time()
        value, metrics = self.problem.evaluate(parameters, self.seed)
        self.seconds += time.process_time() - before
        is_feasible = all(metric.violation(metrics[metric.name]) == 0.0 for metric in self.problem.metrics)
        so_far = self.best[-1] if self.best else math.inf
        self.best.append(min(so_far, value) if is_feasible else so_far)
        return value, metrics


def ours(evaluate: Evaluations) -> None:
    """The ``auto`` profile, as a study runs it."""
    problem, space = evaluate.problem, evaluate.problem.space
    state = auto.start(space, Config(metrics=problem.metrics), evaluate.seed)
    while True:
        suggestion = auto.suggest(state, np.zeros((0, space.dimension)))
        value, metrics = evaluate(space.decode(suggestion.point))
        measured = [Measured(metric.sign * metrics[metric.name], 0.0) for metric in problem.metrics]
        state = auto.observe(suggestion.state, suggestion.point, -value, 0.0, measured).state


def random_search(evaluate: Evaluations) -> None:
    """Uniform points."""
    space, rng = evaluate.problem.space, _rng(evaluate, "random")
    while True:
        evaluate(space.decode(rng.random(space.dimension)))


def cobyla(evaluate: Evaluations) -> None:
    """scipy's COBYLA (Powell 1994) in the unit cube, restarted from random points."""
    space, rng = evaluate.problem.space, _rng(evaluate, "cobyla")
    known: dict[bytes, tuple[float, Array]] = {}

    def at(x: Array) -> tuple[float, Array]:
        inside = np.clip(x, 0.0, 1.0)
        if inside.tobytes() not in known:
            value, metrics = evaluate(space.decode(inside))
            known[inside.tobytes()] = value, _margins(evaluate.problem, metrics)
        return known[inside.tobytes()]

    while True:
        minimize(
            lambda x: at(x)[0],
            rng.random(space.dimension),
            method="COBYLA",
            bounds=[(0.0, 1.0)] * space.dimension,
            constraints={"type": "ineq", "fun": lambda x: at(x)[1]},
            options={"rhobeg": RHO_BEGIN, "maxiter": evaluate.budget},
        )


def tpe(evaluate: Evaluations) -> None:
    """Optuna's TPE (multivariate) with constraints."""
    from optuna.samplers import TPESampler  # noqa: PLC0415 (only where it runs)

    _optuna(evaluate, lambda func: TPESampler(multivariate=True, seed=evaluate.seed, constraints_func=func))


def gpsampler(evaluate: Evaluations) -> None:
    """Optuna's GPSampler with constraints."""
    from optuna.samplers import GPSampler  # noqa: PLC0415 (as above)

    _optuna(evaluate, lambda func: GPSampler(seed=evaluate.seed, constraints_func=func))


def ax(evaluate: Evaluations) -> None:
    """Ax with bounds on the metrics."""
    from benchmarks.outcomes.ax_peer import AxClient, Goals  # noqa: PLC0415 (as above)

    bounds = [_bound(metric) for metric in evaluate.problem.metrics]
    client = AxClient(evaluate.problem.axes, Goals("-value", bounds), evaluate.seed)
    while True:
        value, metrics = evaluate(client.ask())
        client.tell({"value": value, **metrics})


def _bound(metric: Metric) -> str:
    """The bound of a metric, of which each has one, as Ax writes it."""
    return f"{metric.name} <= {metric.upper}" if math.isfinite(metric.upper) else f"{metric.name} >= {metric.lower}"


METHODS: dict[str, Callable[[Evaluations], None]] = {
    "auto": ours,
    "gpsampler": gpsampler,
    "tpe": tpe,
    "cobyla": cobyla,
    "random": random_search,
    "ax": ax,
}
PACKAGES = {"ax": ("ax-platform", "botorch"), "gpsampler": ("optuna", "torch"), "tpe": ("optuna",)}


def _optuna(evaluate: Evaluations, sampler: Callable[[Callable[[Any], Sequence[float]]], Any]) -> None:
    import optuna  # noqa: PLC0415 (as above)

    from benchmarks.quality.methods.optuna_samplers import distribution  # noqa: PLC0415 (as above)

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study(sampler=sampler(lambda trial: trial.user_attrs["constraints"]))
        distributions = {axis.name: distribution(axis) for axis in evaluate.problem.axes}
        while True:
            trial = study.ask(distributions)
            value, metrics = evaluate(trial.params)
            trial.set_user_attr("constraints", (-_margins(evaluate.problem, metrics)).tolist())
            study.tell(trial, value)


def _margins(problem: Constrained, metrics: Mapping[str, float]) -> Array:
    """The distance of each metric from its bound, relative to the bound (absolute for a bound of 0); positive
    inside."""
    bounds = [metric.signed_bounds[0] for metric in problem.metrics]  # each has one
    inside = [metric.sign * metrics[metric.name] - bound for metric, bound in zip(problem.metrics, bounds, strict=True)]
    return np.array([margin / (abs(bound) or 1.0) for margin, bound in zip(inside, bounds, strict=True)])


def _rng(evaluate: Evaluations, name: str) -> np.random.Generator:
    return generator(f"{name} {evaluate.problem.name}", evaluate.seed)


@dataclass(frozen=True, slots=True)
class Job:
    """A run."""

    problem: str
    method: str
    seed: int
    budget: int

    def run(self) -> dict[str, Any]:
        """Return the best feasible value after each evaluation (null before the first), and the seconds of the
        method."""
        evaluate = Evaluations(PROBLEMS[self.problem], self.seed, self.budget)
        before = time.process_time()
        with suppress(UsedUp):
            METHODS[self.method](evaluate)
        seconds = time.process_time() - before - evaluate.seconds
        best = [None if math.isinf(value) else float(f"{value:.7g}") for value in evaluate.best]
        return {"seconds": round(seconds, 2), "best": best}


def tables(path: Path) -> Iterator[runs.Table]:
    """The median best feasible value per problem, and the mean rank over problems and seeds, at each budget."""
    found = runs.comparable(path, PROBLEMS, METHODS)
    for budget in BUDGETS if found.seeds else ():
        if any(len(run["best"]) < budget for run in found.runs.values()):
            continue
        scores = np.array([[[_best(r, budget) for r in found.of(p, m)] for m in found.methods] for p in found.problems])
        medians = np.median(scores, axis=2)
        rows = [[name, *(f"{value:.6g}" for value in row)] for name, row in zip(found.problems, medians, strict=True)]
        ranks = rankdata(scores, axis=1).mean(axis=(0, 2))
        infeasible = np.isinf(scores).sum(axis=(0, 2))
        rows += [
            ["mean rank", *(f"{rank:.2f}" for rank in ranks)],
            ["runs without a feasible point", *map(str, infeasible)],
        ]
        title = f"Best feasible value after {budget} evaluations, {len(found.seeds)} seeds"
        yield runs.Table(title, ["problem", *found.methods], rows)


def _best(run: Mapping[str, Any], budget: int) -> float:
    value = run["best"][budget - 1]
    return math.inf if value is None else float(value)


def peer_tables(path: Path) -> Iterator[runs.Table]:
    """The medians per problem, with the peers, whose runs are in another file."""

    def scores(found: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
        return [f"{np.median([_best(run, PEER_BUDGET) for run in each]):.6g}" for each in found]

    title = f"Best feasible value after {PEER_BUDGET} evaluations, with peers"
    yield runs.beside(OUT, path, PROBLEMS, list(METHODS), PEER_BUDGET, title, scores)


def benchmark() -> runs.Benchmark:
    """The benchmark; its runs are stored in ``OUT`` by default."""
    return runs.Benchmark(
        "benchmarks.outcomes.metrics",
        __doc__,
        Job,
        list(PROBLEMS),
        [name for name in METHODS if name not in PEERS],
        SEEDS,
        OUT,
        tables,
        runs.Axes("best", "best feasible value"),
        budget=max(BUDGETS),
        packages=PACKAGES,
    )


if __name__ == "__main__":
    raise SystemExit(benchmark().main())
