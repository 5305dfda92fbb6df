"""What a search measures besides one value: metrics, their bounds, several objectives, and costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, SupportsFloat

import numpy as np

from adabkb_client import OutcomeConstraint, StudyObjective
from adabkb_client._run.evaluation import Expected
from adabkb_client._values import finite
from adabkb_integrations.inprocess.trials import Evaluated
from adabkb_integrations.model import Position, Result
from adabkb_service.engine.auto.acquisition import pareto
from adabkb_service.engine.metrics import Measured, Metric

COST = "cost"
SIGNS = {"minimize": -1.0, "maximize": 1.0}
MAX_OBJECTIVES = 4
FOR_OPTUNA = (
    "this function is written for Optuna: run it with Optuna's study.optimize and AdaBKBSampler of "
    "adabkb_integrations.optuna, or take the parameters as arguments, `def objective(x, y):`"
)
"""The remedy for an objective of Optuna."""


@dataclass(frozen=True)
class Measurements:
    """The numbers of a result."""

    direction: Literal["minimize", "maximize"]
    """The direction of the value, and of objectives without their own."""
    metrics: tuple[Metric, ...]
    """All metrics; objectives, if there are several, come first."""
    cost: Literal["told", "measured"] | None

    @property
    def has_several(self) -> bool:
        """Whether there are several objectives, so that a result has no value."""
        return any(metric.goal for metric in self.metrics)

    @property
    def sign(self) -> float:
        """+1 if a larger value is better, -1 if a smaller one is."""
        return SIGNS[self.direction]

    @property
    def objective(self) -> Metric | None:
        """The first of several objectives, which is the value of the engine; None with a single objective."""
        return self.metrics[0] if self.has_several else None

    @property
    def others(self) -> tuple[Metric, ...]:
        """The metrics of the engine besides its value."""
        return self.metrics[1:] if self.has_several else self.metrics

    def noises(self, noise_std: SupportsFloat | None) -> tuple[float | None, ...]:
        """Return the declared noise of the value, or of each objective.

        Raises:
            ValueError: it is negative or not finite, or there are several objectives, each of which has its own.
        """
        declared = noise_of("noise_std", noise_std)
        if not self.has_several:
            return (declared,)
        if declared is not None:
            raise ValueError("noise_std: with several objectives, give it with each of them, in objectives=[...]")
        return tuple(metric.noise_std for metric in self.metrics if metric.goal)

    def expected(self, in_context: tuple[str, ...] = ()) -> Expected:
        """Return what a result must have, and the context parameters that are measured with it."""
        return Expected(
            f"{self.direction}()",
            not self.has_several,
            metrics=tuple(metric.name for metric in self.metrics),
            optional=(COST,) if self.cost == "measured" else (),
            needed=(COST,) if self.cost == "told" else (),
            measured=in_context,
            declared=f"{self.direction}(..., metrics=[...])",
            optuna=FOR_OPTUNA,
        )

    def result(self, trial: Evaluated, position: Position, reported: str | None = None) -> Result:
        """Return the result of a trial at a position in the engine's units, with NaN for numbers that it lacks.

        Args:
            trial: the trial.
            position: its position.
            reported: with several objectives, the one that a stopped trial has reported.
        """
        if trial.state == "failed":
            return Result(position, None, plate=trial.plate)
        if trial.estimate is not None:
            value, error = trial.estimate.value, trial.estimate.std_error
            if reported is None:
                trial = replace(trial, value=value, std_error=error)
            else:
                trial = replace(trial, metrics={reported: value}, std_errors={reported: error})
        others = tuple(_measured(metric, trial) for metric in self.others)
        if self.objective is not None:
            return Result(position, *_measured(self.objective, trial), others, trial.plate)
        known = math.nan if trial.value is None else self.sign * trial.value
        return Result(position, known, trial.std_error or 0.0, others, trial.plate)

    def is_decided(self, trial: Evaluated) -> bool:
        """Return whether a trial has the numbers by which results are compared: its value or all objectives, and the
        metrics with bounds."""
        needed = {metric.name for metric in self.metrics if metric.goal or metric.is_bounded}
        has_value = self.has_several or trial.value is not None
        return trial.state != "failed" and has_value and needed <= (trial.metrics or {}).keys()

    def rank(self, trial: Evaluated) -> tuple[float, float]:
        """Return the sort key of a completed trial with a value, larger is better: feasible results first, then by the
        value; others by their violation of the bounds."""
        assert trial.value is not None, "the trial has a value"
        return -self.violation(trial), self.sign * trial.value

    def violation(self, trial: Evaluated) -> float:
        """Return the total violation of the bounds of a trial, by the metrics that it has."""
        values = trial.metrics or {}
        return math.fsum(each.relative_violation(values[each.name]) for each in self.metrics if each.name in values)

    def front(self, trials: Sequence[Evaluated]) -> tuple[Evaluated, ...]:
        """Return the trials that satisfy the bounds and that no other dominates; empty with a single objective. If some
        of them are better than all references, return only these."""
        goals = [metric for metric in self.metrics if metric.goal]
        kept = [each for each in trials if self.is_decided(each) and not self.violation(each)]
        if not goals or not kept:
            return ()
        values = np.array([[goal.sign * (each.metrics or {})[goal.name] for goal in goals] for each in kept])
        found = tuple(each for each, is_on in zip(kept, pareto.front(values).tolist(), strict=True) if is_on)
        useful = (each for each in found if all(goal.is_useful((each.metrics or {})[goal.name]) for goal in goals))
        return tuple(useful) or found


def measurements(
    direction: Literal["minimize", "maximize"],
    metrics: Sequence[str],
    outcome_constraints: Sequence[OutcomeConstraint],
    objectives: Sequence[StudyObjective | str],
    cost: Literal["told", "measured"] | None,
) -> Measurements:
    """Return what a search measures.

    Args:
        direction: the direction of the search.
        metrics: names of metrics to record.
        outcome_constraints: metrics with bounds.
        objectives: several objectives, each a name or a dict with ``metric``, ``direction``, ``reference`` and
            ``noise_std``.
        cost: the source of costs; None without costs.

    Raises:
        TypeError: an argument has another form.
        ValueError: a name occurs twice, or a bound or a direction is not valid.
    """
    for name, given in (("metrics", metrics), ("outcome_constraints", outcome_constraints), ("objectives", objectives)):
        if isinstance(given, str | Mapping):
            raise TypeError(f"{name} must be a list, such as [{given!r}]")
    if cost not in (None, "told", "measured"):
        raise ValueError(f'cost must be "told" (by each result) or "measured" (in seconds), not {cost!r}')
    goals = [_goal(index, each, direction) for index, each in enumerate(objectives)]
    if goals and not 2 <= len(goals) <= MAX_OBJECTIVES:
        raise ValueError(
            f"objectives must be 2 to {MAX_OBJECTIVES}, not {len(goals)}; return a single one as the value"
        )
    bounds = [_bounded(index, each) for index, each in enumerate(outcome_constraints)]
    named = [*(each.name for each in goals), *(each.name for each in bounds)]
    plain = [Metric(name, is_cost=name == COST) for name in dict.fromkeys([*metrics, *([COST] if cost else [])])]
    found = (*goals, *bounds, *(each for each in plain if each.name not in named))
    names = [each.name for each in found]
    if twice := next((name for index, name in enumerate(names) if name in names[:index]), None):
        raise ValueError(f"{twice!r} is both an objective and a metric with bounds, or is named twice; name it once")
    if cost and COST in named:
        raise ValueError("cost cannot be an objective or have bounds here; give that metric another name")
    return Measurements(direction, found, cost)


def _goal(index: int, given: StudyObjective | str, direction: str) -> Metric:
    each: Mapping[str, Any] = {"metric": given} if isinstance(given, str) else given
    where = f"objectives[{index}]"
    if not isinstance(each, Mapping) or not isinstance(each.get("metric"), str):
        raise TypeError(f'{where} must be a name, or a dict such as {{"metric": "size", "direction": "minimize"}}')
    own = each.get("direction", direction)
    if own not in SIGNS:
        raise ValueError(f'{where}: direction must be "minimize" or "maximize", not {own!r}')
    reference = each.get("reference")
    return Metric(
        each["metric"],
        goal=SIGNS[own],
        reference=None if reference is None else finite(f"{where}: reference", reference),
        noise_std=noise_of(f"{where}: noise_std", each.get("noise_std")),
    )


def noise_of(name: str, given: SupportsFloat | None) -> float | None:
    """Return a standard deviation of results, or None to learn it.

    Raises:
        ValueError: it is negative or not finite; the message begins with its name.
    """
    if given is None:
        return None
    found = finite(name, given)
    if found < 0:
        raise ValueError(f"{name} must be 0 or more, not {found}; leave it out to learn the noise")
    return found


def _bounded(index: int, given: OutcomeConstraint) -> Metric:
    where = f"outcome_constraints[{index}]"
    if not isinstance(given, Mapping) or not isinstance(given.get("metric"), str):
        raise TypeError(f'{where} must be a dict such as {{"metric": "size", "upper": 5}}, not {given!r}')
    lower, upper = given.get("lower"), given.get("upper")
    if lower is None and upper is None:
        raise ValueError(f"{where} must have lower, upper or both")
    low = -math.inf if lower is None else finite(f"{where}: lower", lower)
    high = math.inf if upper is None else finite(f"{where}: upper", upper)
    if low > high:
        raise ValueError(f"{where}: lower must be at most upper; got lower={low} and upper={high}")
    return Metric(given["metric"], low, high)


def _measured(metric: Metric, trial: Evaluated) -> Measured:
    values, errors = trial.metrics or {}, trial.std_errors or {}
    return Measured(metric.sign * values.get(metric.name, math.nan), errors.get(metric.name, 0.0))
