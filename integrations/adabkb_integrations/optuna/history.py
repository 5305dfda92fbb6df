"""The information in a study's trials about one branch: results, pending points, and points with another outcome."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from adabkb_integrations.model import Position, Result
from adabkb_integrations.optuna.axes import plain, position
from adabkb_integrations.optuna.branches import Branch
from adabkb_integrations.optuna.outcomes import Goals, Outcomes
from adabkb_service.engine.space import Space

SUGGESTED = "adabkb:suggested"
"""Attribute of a trial that says which values of which parameters were suggested, choices by their index: others see
them before the objective has asked for them."""


@dataclass(frozen=True)
class History:
    """The trials as one branch sees them."""

    branch: Branch
    space: Space
    goals: Goals
    results: dict[int, Result] = field(default_factory=dict)
    """By trial number, in order of completion."""
    pending: list[Position] = field(default_factory=list)
    """Points of running trials."""
    moved: list[Position] = field(default_factory=list)
    """Points that were suggested, in whose place the objective ran others."""
    left: int = 0
    """How many suggestions led to other branches since the last trial that is of this one."""

    @property
    def values(self) -> list[tuple[float, ...]]:
        """Of each objective, of the results that have values and keep the constraints, the larger the better."""
        others = len(self.goals.signs) - 1
        return [
            (each.value, *(metric.value for metric in each.metrics[:others]))
            for each in self.results.values()
            if each.value is not None and all(metric.value >= 0 for metric in each.metrics[others:])
        ]


def history(branch: Branch, space: Space, trials: Iterable[FrozenTrial], goals: Goals) -> History:
    """Return what the trials say about a branch.

    Args:
        branch: one of the study's.
        space: those of its parameters that are searched.
        trials: all of the study; finished ones come first, in order of completion.
        goals: what results are measured by.
    """
    found, left, outcomes = History(branch, space, goals), 0, Outcomes(goals)
    for trial in trials:
        suggested = _suggested(space, trial)
        aimed_at = position(space, suggested)
        if trial.params.keys() == branch.names or (aimed_at and _may_be_of(branch, trial)):
            # Queued trials and changed ranges have other values than were suggested.
            point = position(space, {**suggested, **plain(trial.params, branch.distributions)})
            if aimed_at and point != aimed_at:
                found.moved.append(aimed_at)
            if point and trial.state is TrialState.RUNNING:
                found.pending.append(point)
            elif point:
                found.results[trial.number] = outcomes.result(point, trial)
            left = 0 if trial.state is TrialState.COMPLETE else left
        elif aimed_at and trial.state is TrialState.RUNNING:
            found.pending.append(aimed_at)
        elif aimed_at:  # the objective took another branch: there is no such point in this one
            found.results[trial.number] = Result(aimed_at, None)
            left += 1
    return History(branch, space, goals, found.results, found.pending, found.moved, left)


def _suggested(space: Space, trial: FrozenTrial) -> dict[str, Any]:
    """The suggested values of a trial, unless they were for another branch."""
    suggested: dict[str, Any] = trial.system_attrs.get(SUGGESTED, {})
    return suggested if suggested.keys() == {each.name for each in space.parameters} else {}


def _may_be_of(branch: Branch, trial: FrozenTrial) -> bool:
    """Whether a trial may yet ask, or might have asked, for the rest of the branch's parameters."""
    return trial.state is not TrialState.COMPLETE and trial.params.keys() <= branch.names
