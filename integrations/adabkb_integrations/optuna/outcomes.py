"""Outcomes of finished trials: the objectives of the study, and the constraints that its trials report."""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Literal

from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from adabkb_integrations.model import Position, Result
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.metrics import Measured, Metric

COST = "cost"
"""User attribute with the cost of a trial."""
CostSource = Literal["told", "measured"]
CONSTRAINTS = "constraints"
"""System attribute in which Optuna stores the return value of ``constraints_func``."""


@dataclass(frozen=True)
class Goals:
    """The objectives and constraints of a branch."""

    signs: tuple[float, ...]
    """Signs of the objectives: +1 to maximize, -1 to minimize."""
    constraints: tuple[str, ...] = ()
    """Names of the constraints that are modeled: values above 0 violate them."""
    cost: CostSource | None = None
    """Where the costs of trials come from; None without costs."""

    def config(self, noises: Sequence[float | None], *, per_cost: bool = False) -> Config:
        """Return the configuration of a model, given the noise of each objective. With ``per_cost``, the search
        maximizes the gain per cost."""
        each = enumerate(zip(self.signs, noises, strict=True))
        objectives = [Metric(f"objective {index}", goal=sign, noise_std=noise) for index, (sign, noise) in each]
        bounds = [Metric(f"constraint {name}", upper=0.0) for name in self.constraints]
        costs = [Metric(COST, is_cost=True)] if self.cost else []
        first = objectives[0] if len(objectives) > 1 else None
        metrics = (*objectives[1:], *bounds, *costs)
        return Config(noise_std=noises[0], objective=first, metrics=metrics, per_cost=per_cost)


def goals_of(
    directions: Sequence[StudyDirection], complete: Sequence[FrozenTrial], cost: CostSource | None = None
) -> Goals:
    """Return the objectives, the constraints that all complete trials report, and the costs."""
    signs = tuple(1.0 if direction == StudyDirection.MAXIMIZE else -1.0 for direction in directions)
    names = set[str].intersection(*(set(constraints(trial)) for trial in complete)) if complete else set[str]()
    return Goals(signs, tuple(sorted(names)), cost)


def cost_of(trial: FrozenTrial, source: CostSource) -> float:
    """Return the cost of a finished trial, which is positive; NaN if it is not known."""
    if source == "measured":  # create_trial of Optuna sets the same time as the start and the end
        seconds = trial.duration.total_seconds() if trial.duration else 0.0
        return seconds if seconds > 0.0 else math.nan
    given = trial.user_attrs.get(COST)
    if isinstance(given, bool) or not isinstance(given, Real):
        return math.nan
    try:
        cost = float(given)
    except OverflowError:
        return math.nan
    return cost if 0.0 < cost < math.inf else math.nan


def check_told_cost(trial: FrozenTrial, state: TrialState) -> None:
    """Check the cost of a trial that ends in the given state.

    Raises:
        ValueError: the cost is not a positive number, or a complete trial has none.
    """
    given = trial.user_attrs.get(COST)
    if given is not None and math.isnan(cost_of(trial, "told")):
        raise ValueError(f"trial {trial.number}: the user attribute {COST!r} must be a positive number, not {given!r}")
    if given is None and state is TrialState.COMPLETE:
        raise ValueError(f'trial {trial.number} has no cost; call trial.set_user_attr("{COST}", ...) in the objective')


def constraints(trial: FrozenTrial) -> Mapping[str, float]:
    """Return the constraints that a trial reports, by name. Before Optuna 5, names are numbers."""
    named: Mapping[str, float] | None = getattr(trial, "constraints", None)
    if named is not None:
        return named
    return {str(index): value for index, value in enumerate(trial.system_attrs.get(CONSTRAINTS) or ())}


@dataclass
class Outcomes:
    """The outcomes of finished trials, given in order of completion."""

    goals: Goals
    _finished: list[float] = field(default_factory=list)
    """Sorted values of the complete trials that satisfy all constraints, for a study with one objective."""

    def result(self, point: Position, trial: FrozenTrial) -> Result:
        """Return the result of a trial at a point. It has no value if the trial only shows that the point is bad."""
        unknown = Result(point, None)
        if trial.state is TrialState.FAIL:
            return unknown
        reported = constraints(trial)
        bounded = [reported.get(name, math.inf) for name in self.goals.constraints]
        violates = any(violation > 0 for violation in reported.values())
        is_modeled = reported.keys() <= set(self.goals.constraints)
        values = self._values(trial, counts=not violates)
        if not all(map(math.isfinite, [*values, *bounded])):
            return unknown
        costs = [Measured(cost_of(trial, self.goals.cost), 0.0)] if self.goals.cost else []
        if violates and not is_modeled:  # it gets the worst value so far
            is_usable = self._finished and not bounded
            return Result(point, self._finished[0], metrics=tuple(costs)) if is_usable else unknown
        first, *others = values
        numbers = (*(Measured(value, 0.0) for value in others), *(Measured(-each, 0.0) for each in bounded))
        return Result(point, first, metrics=(*numbers, *costs))

    def _values(self, trial: FrozenTrial, *, counts: bool) -> list[float]:
        """Return the value of a trial for each objective; larger is better.

        A pruned trial has its last intermediate value, but at most the median of the trials completed before it, since
        intermediate values may measure something else. ``counts`` says whether a complete trial is added to these.
        """
        if trial.state is TrialState.PRUNED:
            last = trial.intermediate_values.get(trial.last_step if trial.last_step is not None else -1)
            value = math.nan if last is None else self.goals.signs[0] * last
            return [min(value, _median(self._finished)) if self._finished else value]
        values = [sign * value for sign, value in zip(self.goals.signs, trial.values, strict=True)]
        if counts and len(values) == 1 and math.isfinite(values[0]):
            bisect.insort(self._finished, values[0])
        return values


def _median(ordered: Sequence[float]) -> float:
    return ordered[(len(ordered) - 1) // 2]
