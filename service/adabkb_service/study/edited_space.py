"""Trials that an edit of the study's space has left outside of it, or without a parameter that it has now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from adabkb_service.contract.stored import is_edited
from adabkb_service.storage.rows import TrialRow
from adabkb_service.study.draft import Draft

WITHDRAWN = "outside of the study's space, which was edited"
"""Why a waiting trial failed."""


def fail_out_of_space_trials(draft: Draft, count: int | None = None) -> None:
    """Fail the trials that wait for a worker and are no points of the space any more: they must not be evaluated. They
    do not count as failures of evaluations.

    Args:
        draft: of the study.
        count: of trials that are about to be handed out: the first so many that wait are points of the space then.
            None for all of them.
    """
    if not is_edited(draft.study.definition):
        return
    first = draft.study.waiting if count is None else count
    while outside := [trial for trial in draft.waiting(first) if is_outside(draft, trial)]:
        for trial in outside:
            draft.record("failed", {"attempt": None, "reason": WITHDRAWN, "withdrawn": True}, trial.number)


def is_outside(draft: Draft, trial: TrialRow) -> bool:
    """Whether a trial is no point of the space as it is now, or has a row that was withdrawn."""
    return draft.space.present(trial.parameters) is None or bool(draft.space.withdrawn(trial.parameters))


def as_handed_out(draft: Draft, trial: TrialRow) -> TrialRow:
    """A trial with the parameters that a worker needs now: those that were added since it was made have their
    defaults."""
    present = draft.space.present(trial.parameters)
    return trial if present is None or present is trial.parameters else replace(trial, parameters=present)


def evaluated(draft: Draft, trial: TrialRow, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters that a worker says it has evaluated. Its trial may have been handed out before a parameter was
    added: then they have its default."""
    present = draft.space.present(trial.parameters) or {}
    return {name: value for name, value in present.items() if name not in trial.parameters} | dict(given)
