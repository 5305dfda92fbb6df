"""POST /v1/studies/{id}/trials: a point of the user's own, to be handed out before any new one."""

from __future__ import annotations

from functools import partial

from adabkb_service.contract.answers import Trial
from adabkb_service.contract.requests import QueueBody
from adabkb_service.errors import StudyComplete
from adabkb_service.study import lifecycle, render
from adabkb_service.study.draft import Draft
from adabkb_service.study.point_checks import check_offered, feasible_point
from adabkb_service.study.request import Key, Outcome, Points, Request


def queue(study_id: str, body: QueueBody, key: Key | None = None) -> Request[Trial]:
    """Add a trial that waits for a worker; it is one unit of the budget.

    Raises:
        StudyNotFound: there is no such study.
        Invalid: the point is not in the space.
        StudyComplete: the study is complete or its budget is used.
    """
    return Request(study_id, Trial, partial(_add, body), key, invalidates_decisions=True)


def _add(body: QueueBody, draft: Draft, _: Points) -> Outcome[Trial]:
    study = draft.study
    point = feasible_point(draft.space, body.parameters, "/parameters")
    check_offered(draft.space, point, "/parameters")
    state, reason = lifecycle.status(study)
    if lifecycle.spent(study) == "budget":  # a paused study stands at its pause
        reason = "budget"
    if state == "complete" or reason == "budget":
        raise StudyComplete(f"Study {study.id!r} takes no further trials ({reason}).")
    number = study.trials + 1
    draft.record("queued", {"parameters": point}, number)
    row = draft.set_lease_length(number, study.lease_seconds)
    lifecycle.update_state(draft)
    return Outcome(render.trial(row), created=True)
