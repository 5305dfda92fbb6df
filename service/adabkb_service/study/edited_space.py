"""Trials affected by an edit of the space: those now outside the space, and those without a parameter that was
added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from adabkb_service.contract.stored import is_edited
from adabkb_service.storage.rows import TrialRow
from adabkb_service.study.draft import Draft

OUTSIDE = "outside of the study's space, which was edited"
"""Reason for which a waiting trial is withdrawn."""


def withdraw_out_of_space_trials(draft: Draft, count: int | None = None) -> None:
    """Withdraw the waiting trials that are outside the edited space, so that no worker evaluates them.

    Args:
        draft: the draft of the study.
        count: number of trials about to be issued. Afterwards, the first ``count`` waiting trials are inside the
            space. None checks all waiting trials.
    """
    if not is_edited(draft.study.definition):
        return
    first = draft.study.waiting if count is None else count
    while outside := [trial for trial in draft.waiting(first) if is_outside(draft, trial)]:
        for trial in outside:
            draft.record("withdrawn", {"attempt": None, "reason": OUTSIDE}, trial.number)


def is_outside(draft: Draft, trial: TrialRow) -> bool:
    """Return whether a trial is outside the current space, between the steps of a parameter, or uses a withdrawn row of
    a catalogue."""
    present = draft.space.present(trial.parameters)
    return present is None or bool(draft.space.between_steps(present) or draft.space.withdrawn(present))


def as_issued(draft: Draft, trial: TrialRow) -> TrialRow:
    """Return a trial with all parameters that a worker needs. Parameters added to the space after the trial's creation
    have their defaults."""
    return replace(trial, parameters=draft.space.present(trial.parameters) or trial.parameters)


def evaluated(draft: Draft, trial: TrialRow, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters at which a worker evaluated a trial: those that it reports. Parameters added to the space
    after the trial's creation have their defaults if the worker reports none."""
    present = draft.space.present(trial.parameters) or {}
    return {name: value for name, value in present.items() if name not in trial.parameters} | dict(given)
