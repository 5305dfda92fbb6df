"""POST /v1/studies/{id}/trials: a point of the user's own, to be handed out before any new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adabkb_service.contract import answers as views
from adabkb_service.errors import StudyComplete
from adabkb_service.operations.retry import retried
from adabkb_service.operations.service import Service
from adabkb_service.storage.rows import TrialRow
from adabkb_service.study import idempotency, lifecycle, render
from adabkb_service.study.draft import changing
from adabkb_service.study.idempotency import Key, Outcome
from adabkb_service.study.points import checked_point


@retried
def queue(
    service: Service, study_id: str, parameters: Mapping[str, Any], key: Key | None = None
) -> Outcome[views.Trial]:
    """Add a trial that waits for a worker; it is one unit of the budget.

    Raises:
        StudyNotFound: there is no such study.
        Invalid: the point is not in the space.
        StudyComplete: the study is complete or its budget is used.
    """
    with changing(service, study_id) as change:
        if known := idempotency.recall(change.connection, key, views.Trial):
            return known
        study = change.study
        point = checked_point(lifecycle.definition_of(study).space(), parameters, "/parameters")
        state, reason = lifecycle.standing(study)
        if lifecycle.spent(study) == "budget":  # a paused study stands at its pause
            reason = "budget"
        if state == "complete" or reason == "budget":
            raise StudyComplete(f"Study {study_id!r} takes no further trials ({reason}).")
        row = TrialRow.new(study_id, study.trials + 1, point, change.now, lease_seconds=study.lease_seconds)
        change.add_trial(row)
        change.note("queued", {"parameters": point}, row.number)
        outcome = Outcome(render.trial(row), created=True)
        idempotency.store(change, key, outcome)
    return outcome
