"""The trials of a study from the perspective of one branch: results, pending points, and points with another
outcome."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from adabkb_integrations.model import Position, Result
from adabkb_integrations.optuna.axes import plain, position
from adabkb_integrations.optuna.branches import Branch
from adabkb_integrations.optuna.outcomes import Goals, Outcomes
from adabkb_integrations.optuna.plates import plate_of
from adabkb_service.engine.space import Space

SUGGESTED = "adabkb:suggested"
"""Attribute with the suggested values by parameter, choices by index, so that other workers know them before the
objective requests them."""


@dataclass(frozen=True)
class History:
    """The trials from the perspective of one branch."""

    branch: Branch
    space: Space
    goals: Goals
    results: dict[int, Result] = field(default_factory=dict)
    """By trial number, in order of completion."""
    pending: list[Position] = field(default_factory=list)
    """Points of running trials."""
    moved: list[Position] = field(default_factory=list)
    """Suggested points that the objective replaced by others."""
    left: int = 0
    """The number of suggestions that led to other branches since the last trial of this branch."""

    @property
    def values(self) -> list[tuple[float, ...]]:
        """The objectives of the results that have values and satisfy the constraints; larger is better."""
        others = len(self.goals.signs) - 1
        bounds = slice(others, others + len(self.goals.constraints))
        return [
            (each.value, *(metric.value for metric in each.metrics[:others]))
            for each in self.results.values()
            if each.value is not None and all(metric.value >= 0 for metric in each.metrics[bounds])
        ]


def history(branch: Branch, space: Space, trials: Iterable[FrozenTrial], goals: Goals) -> History:
    """Return the trials from the perspective of a branch.

    Args:
        branch: a branch of the study.
        space: the space of the searched parameters of the branch.
        trials: all trials of the study, finished ones first, in order of completion.
        goals: the objectives and constraints of the study.
    """
    found, left, outcomes = History(branch, space, goals), 0, Outcomes(goals)
    for trial in trials:
        suggested = _suggested(space, trial)
        aimed_at = position(space, suggested)
        if trial.params.keys() == branch.names or (aimed_at and _may_be_of(branch, trial)):
            # Values of queued trials, or of parameters whose ranges changed, may differ from the suggested ones.
            point = position(space, {**suggested, **plain(trial.params, branch.distributions)})
            if aimed_at and point != aimed_at:
                found.moved.append(aimed_at)
            if point and trial.state is TrialState.RUNNING:
                found.pending.append(point)
            elif point:
                found.results[trial.number] = replace(outcomes.result(point, trial), plate=plate_of(trial))
            left = 0 if trial.state is TrialState.COMPLETE else left
        elif aimed_at and trial.state is TrialState.RUNNING:
            found.pending.append(aimed_at)
        elif aimed_at:  # the objective entered another branch, so this branch has no such point
            found.results[trial.number] = Result(aimed_at, None)
            left += 1
    return History(branch, space, goals, found.results, found.pending, found.moved, left)


def _suggested(space: Space, trial: FrozenTrial) -> dict[str, Any]:
    """Return the suggested values of a trial; empty if they were for another branch."""
    suggested: dict[str, Any] = trial.system_attrs.get(SUGGESTED, {})
    return suggested if suggested.keys() == {each.name for each in space.parameters} else {}


def _may_be_of(branch: Branch, trial: FrozenTrial) -> bool:
    """Return whether the trial may belong to the branch, although it has not requested all of its parameters."""
    return trial.state is not TrialState.COMPLETE and trial.params.keys() <= branch.names
