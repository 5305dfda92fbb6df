"""Intermediate results: the best full evaluation at any number of steps. ``python -m benchmarks.outcomes.reports``

There are three training tasks (``curves.py``), each with as many steps as 40 full evaluations take. A trial that is
stopped costs the steps that it took. ``auto`` uses the rules, the summaries of curves and the estimates of stopped
trials of the service. Completed runs are not repeated. Results are in ``benchmarks/results/outcomes-reports.json``.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from adabkb_service.engine.auto.policy import Config, auto
from adabkb_service.engine.early_stopping import Rule, extended, extrapolated
from benchmarks.functions import Array
from benchmarks.outcomes import runs
from benchmarks.outcomes.curves import MAX_STEPS, TASKS, Parameters, Task
from benchmarks.output import RESULTS

EVALUATIONS = 40
"""The total number of steps, in full evaluations."""
SHARES = (0.1, 0.2, 1 / 3, 0.5, 1.0)
"""Shares of that total at which methods are compared."""
SEEDS = 10
OUT = RESULTS / "outcomes-reports.json"


class UsedUp(Exception):
    """The steps of a run are used up."""


@dataclass
class Training:
    """Trains a task for one seed, up to a total number of steps, and keeps the best full evaluation."""

    task: Task
    seed: int
    best: list[float] = field(default_factory=list)
    """After each step; infinite before the first full evaluation."""
    seconds: float = 0.0
    """Processor time of the training."""

    def __post_init__(self) -> None:
        self._curve = self.task.curves(self.seed)

    def steps(self, parameters: Parameters) -> Iterator[float]:
        """The values of a trial, step by step. To stop the trial, stop iterating.

        Raises:
            UsedUp: there are no steps left.
        """
        curve = self._curve(parameters)
        for _ in range(MAX_STEPS):
            if len(self.best) == EVALUATIONS * MAX_STEPS:
                raise UsedUp
            before = time.process_time()
            value = next(curve)
            self.seconds += time.process_time() - before
            self.best.append(self.best[-1] if self.best else math.inf)
            yield value

    def complete(self, value: float) -> None:
        """Record the result of a full evaluation, or of a trial whose curve had settled."""
        self.best[-1] = min(self.best[-1], value)


def ours(training: Training, rule: Rule | None, *, learns: bool = True) -> None:
    """The ``auto`` profile with a stopping rule. With ``learns=False``, the model ignores stopped trials."""
    space = training.task.space
    none = np.zeros((0, space.dimension))
    state, stopped = auto.start(space, Config(), training.seed), none
    at_mark: dict[int, dict[int, float]] = {}
    results: dict[int, float] = {}
    for number in range(EVALUATIONS * MAX_STEPS):
        suggestion = next(auto.suggestions(state, none, none, stopped))
        state, curve, value, estimate = suggestion.state, None, math.nan, None
        for step, value in enumerate(training.steps(space.decode(suggestion.point)), 1):
            curve = extended(curve, step, value, -1.0, 0.0 if rule is None else rule.min_gain)
            if rule is None or not rule.may_stop(step):
                continue
            mark = rule.mark(step - 1, step)
            values = {} if mark is None else at_mark.setdefault(mark, {})
            others = list(values.values())
            values[number] = value
            if (mark is not None or not rule.compares) and rule.verdict(curve, others):
                estimate = extrapolated(value, values, results) if rule.compares else None
                break
        else:
            results[number] = value
        if estimate is None:
            training.complete(value)
            state = auto.observe(state, suggestion.point, -value).state
        elif learns:
            state = auto.observe(state, suggestion.point, -estimate[0], estimate[1]).state
        else:
            stopped = np.concatenate([stopped, suggestion.point[None]])


def optuna_tpe(training: Training, pruner: str | None) -> None:
    """Optuna's TPE (multivariate), with one of its pruners or none."""
    import optuna  # noqa: PLC0415 (only where it runs)

    from benchmarks.quality.methods.optuna_samplers import distribution  # noqa: PLC0415 (as above)

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    pruners: dict[str | None, Callable[[], Any]] = {
        None: optuna.pruners.NopPruner,
        "asha": partial(optuna.pruners.SuccessiveHalvingPruner, min_resource=1, reduction_factor=3),
        "hyperband": partial(
            optuna.pruners.HyperbandPruner, min_resource=1, max_resource=MAX_STEPS, reduction_factor=3
        ),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = optuna.samplers.TPESampler(multivariate=True, seed=training.seed)
        study = optuna.create_study(sampler=sampler, pruner=pruners[pruner]())
        distributions = {axis.name: distribution(axis) for axis in training.task.space.axes}
        while True:
            trial = study.ask(distributions)
            value = math.nan
            for step, value in enumerate(training.steps(trial.params), 1):
                trial.report(value, step)
                if step < MAX_STEPS and trial.should_prune():
                    study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                    break
            else:
                training.complete(value)
                study.tell(trial, value)


ASHA = Rule("asha", MAX_STEPS, -1.0)
METHODS: dict[str, Callable[[Training], None]] = {
    "auto": partial(ours, rule=None),
    "auto, asha": partial(ours, rule=ASHA),
    "auto, asha, stopped ones ignored": partial(ours, rule=ASHA, learns=False),
    "auto, median": partial(ours, rule=Rule("median", MAX_STEPS, -1.0, after_trials=5)),
    "auto, patience": partial(ours, rule=Rule("patience", MAX_STEPS, -1.0, no_gain_for=5)),
    "tpe": partial(optuna_tpe, pruner=None),
    "tpe, asha": partial(optuna_tpe, pruner="asha"),
    "tpe, hyperband": partial(optuna_tpe, pruner="hyperband"),
}
PACKAGES = {name: ("optuna", "scikit-learn") if name.startswith("tpe") else ("scikit-learn",) for name in METHODS}


@dataclass(frozen=True, slots=True)
class Job:
    """A run."""

    task: str
    method: str
    seed: int

    def run(self) -> dict[str, Any]:
        """Return the best value of a full evaluation after the steps of 1, 2, ... full evaluations (null before the
        first), and the seconds of the method."""
        training = Training(TASKS[self.task], self.seed)
        before = time.process_time()
        with suppress(UsedUp):
            METHODS[self.method](training)
        seconds = time.process_time() - before - training.seconds
        best = training.best[MAX_STEPS - 1 :: MAX_STEPS]
        shown = [None if math.isinf(value) else float(f"{value:.7g}") for value in best]
        return {"seconds": round(seconds, 2), "best": shown}


def tables(path: Path) -> Iterator[runs.Table]:
    """The difference of each method from the best value found by any, at shares of the total number of steps."""
    found = runs.comparable(path, TASKS, METHODS, problem_word="task")
    if not found.seeds:
        return
    methods = found.methods
    values = np.array([[[_values(run) for run in found.of(t, m)] for m in methods] for t in found.problems])
    regrets = _regrets(values)
    at = [max(round(share * EVALUATIONS) - 1, 0) for share in SHARES]
    header = ["method", *(f"{share:.0%}" for share in SHARES), "steps to the final regret of auto"]
    ranks = rankdata(values, axis=1).mean(axis=(0, 2))
    means = regrets.mean(axis=(0, 2))
    rows = []
    for index, method in enumerate(methods):
        shown = [f"{means[index, k]:.3f} ({ranks[index, k]:.2f})" for k in at]
        end = means[methods.index("auto"), -1] if "auto" in methods else -math.inf
        reached = np.flatnonzero(means[index] <= end).tolist()
        rows.append([method, *shown, f"{(reached[0] + 1) / EVALUATIONS:.0%}" if len(reached) else "never"])
    yield runs.Table(f"Mean regret (mean rank) at shares of the steps, {found.among}", header, rows)


def _values(run: Mapping[str, Any]) -> Array:
    return np.array([math.inf if value is None else value for value in run["best"]])


def _regrets(found: Array) -> Array:
    """The regrets of values, (tasks, methods, seeds, evaluations): 0 for the best value that any method found with the
    seed; 1 for the median, over methods and seeds, after the steps of one full evaluation, and for worse values."""
    best = found.min(axis=(1, 3), keepdims=True)
    first = np.where(np.isinf(found[..., :1]), np.nan, found[..., :1])
    usual = np.nanmedian(first, axis=(1, 2), keepdims=True)
    regrets: Array = np.clip((found - best) / np.maximum(usual - best, 1e-12), 0.0, 1.0)
    return regrets


def benchmark() -> runs.Benchmark:
    """The benchmark; its runs are stored in ``OUT`` by default."""
    return runs.Benchmark(
        "benchmarks.outcomes.reports",
        __doc__,
        Job,
        list(TASKS),
        list(METHODS),
        SEEDS,
        OUT,
        tables,
        runs.Axes("best", "validation error", x_label="steps, in full evaluations"),
        packages=PACKAGES,
        problem_word="task",
        separator=";",
    )


if __name__ == "__main__":
    raise SystemExit(benchmark().main())
