"""Undo the import of a table in one transaction: exclude its results, and withdraw its failures."""

from __future__ import annotations

from functools import partial

from adabkb_service.contract.answers import StudySummary
from adabkb_service.contract.pasted import UndoImportBody
from adabkb_service.operations.correct import record_change
from adabkb_service.study import lifecycle
from adabkb_service.study.draft import Draft
from adabkb_service.study.request import Outcome, Points, Request


def undo_import(study_id: str, body: UndoImportBody) -> Request[StudySummary]:
    """Return a request to exclude results, and to withdraw failed trials. Those that are excluded or withdrawn already
    stay so.

    Raises:
        StudyNotFound, ObservationNotFound, TrialNotFound: the study, a result or a trial does not exist; then nothing
            changes.
    """
    return Request(study_id, StudySummary, partial(_undo, body), invalidates_decisions=True)


def _undo(body: UndoImportBody, draft: Draft, _: Points) -> Outcome[StudySummary]:
    with draft.best_found_once():
        for seq in body.observations:
            was = draft.observation(seq)
            if not was.excluded:
                record_change(draft, was, {"excluded": True}, body.reason)
    for number in body.trials:
        trial = draft.trial(number)
        if trial.state == "failed":
            draft.record("retried", {"attempt": trial.attempt, "reason": body.reason}, number)
            draft.record("withdrawn", {"attempt": trial.attempt, "reason": body.reason}, number)
    lifecycle.update_state(draft)
    return Outcome(lifecycle.summary(draft.study))
