"""The information in a study's trials about one branch: results, pending points, and points with another outcome."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from adabkb_integrations.model import Position, Result
from adabkb_integrations.optuna.axes import plain, position
from adabkb_integrations.optuna.branches import Branch
from adabkb_service.engine.space import Space

SUGGESTED = "adabkb:suggested"
"""Attribute of a trial that says which values of which parameters were suggested, choices by their index: others see
them before the objective has asked for them."""


@dataclass(frozen=True)
class History:
    """The trials as one branch sees them."""

    branch: Branch
    space: Space
    results: dict[int, Result] = field(default_factory=dict)
    """By trial number, in order of completion."""
    pending: list[Position] = field(default_factory=list)
    """Points of running trials."""
    moved: list[Position] = field(default_factory=list)
    """Points that were suggested, in whose place the objective ran others."""
    left: int = 0
    """How many suggestions led to other branches since the last trial that is of this one."""


def history(branch: Branch, space: Space, trials: Iterable[FrozenTrial], sign: float) -> History:
    """Return the information in the trials about a branch.

    Args:
        branch: one of the study's.
        space: those of its parameters that are searched.
        trials: all of the study; finished ones come first, in order of completion.
        sign: +1 to maximise, -1 to minimise.
    """
    found, left, finished = History(branch, space), 0, list[float]()
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
                found.results[trial.number] = Result(point, _value(trial, sign, finished))
            left = 0 if trial.state is TrialState.COMPLETE else left
        elif aimed_at and trial.state is TrialState.RUNNING:
            found.pending.append(aimed_at)
        elif aimed_at:  # the objective took another branch: there is no such point in this one
            found.results[trial.number] = Result(aimed_at, None)
            left += 1
    return History(branch, space, found.results, found.pending, found.moved, left)


def _suggested(space: Space, trial: FrozenTrial) -> dict[str, Any]:
    """The suggested values of a trial, unless they were for another branch."""
    suggested: dict[str, Any] = trial.system_attrs.get(SUGGESTED, {})
    return suggested if suggested.keys() == {each.name for each in space.parameters} else {}


def _may_be_of(branch: Branch, trial: FrozenTrial) -> bool:
    """Whether a trial may yet ask, or might have asked, for the rest of the branch's parameters."""
    return trial.state is not TrialState.COMPLETE and trial.params.keys() <= branch.names


def _value(trial: FrozenTrial, sign: float, finished: list[float]) -> float | None:
    """The value of a finished trial, larger is better; None if it only shows that its point is bad.

    A pruned trial is worth its last intermediate value, but no more than the median of the trials completed before it:
    the intermediate values may be of something else. An infeasible trial is worth as little as the worst of these.

    Args:
        trial: complete, pruned or failed.
        sign: +1 to maximise, -1 to minimise.
        finished: values of the trials completed before, sorted; that of this one is added.
    """
    if trial.state is TrialState.FAIL:
        return None
    if any(violation > 0 for violation in trial.constraints.values()):
        return finished[0] if finished else None
    if trial.state is TrialState.PRUNED:
        last = trial.intermediate_values.get(trial.last_step if trial.last_step is not None else -1)
        value = math.nan if last is None else sign * last
        if finished:
            value = min(value, _median(finished))
    else:
        assert trial.value is not None
        value = sign * trial.value
        if math.isfinite(value):
            bisect.insort(finished, value)
    return value if math.isfinite(value) else None


def _median(ordered: Sequence[float]) -> float:
    return ordered[(len(ordered) - 1) // 2]
