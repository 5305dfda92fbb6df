"""/v1/studies/{id}/trials"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from adabkb_service.api.body import StrictRoute
from adabkb_service.api.deps import KeyDep, Number, PageDep, ServiceDep, StudyId, reply
from adabkb_service.api.problems import responses
from adabkb_service.contract import answers as views
from adabkb_service.contract.requests import HeartbeatBody, Listing, QueueBody, ReleaseBody
from adabkb_service.operations import lease, report
from adabkb_service.operations.queue import queue
from adabkb_service.operations.why import why
from adabkb_service.storage.rows import TrialState

router = APIRouter(prefix="/v1/studies/{study_id}/trials", tags=["trials"], route_class=StrictRoute)


@router.post("", operation_id="queueTrial", status_code=201, responses=responses(400, 404, 409, 413, 415, 422))
def queue_trial(
    study_id: StudyId, body: QueueBody, service: ServiceDep, key: KeyDep, response: Response
) -> views.Trial:
    """Queue a point of one's own; it is handed out before any new point."""
    return reply(response, queue(service, study_id, body.parameters, key))


@router.get("", operation_id="listTrials", responses=responses(404, 422))
def list_trials(
    study_id: StudyId,
    service: ServiceDep,
    page: PageDep,
    state: Annotated[TrialState | None, Query()] = None,
) -> Listing[views.Trial]:
    """Trials by number."""
    items = report.list_trials(service, study_id, state=state, after=page.after, limit=page.limit)
    return Listing(items=items, next_cursor=page.cursor_after(len(items), items[-1].number if items else 0))


@router.get("/{number}", operation_id="getTrial", responses=responses(404, 422))
def get_trial(study_id: StudyId, number: Number, service: ServiceDep) -> views.Trial:
    """A trial."""
    return report.trial(service, study_id, number)


@router.get("/{number}/why", operation_id="explainTrial", responses=responses(404, 422))
def explain_trial(study_id: StudyId, number: Number, service: ServiceDep) -> views.Why:
    """What a trial was decided on, and what became of it."""
    return why(service, study_id, number)


@router.post("/{number}/heartbeat", operation_id="heartbeat", responses=responses(400, 404, 409, 413, 415, 422))
def heartbeat(
    study_id: StudyId,
    number: Number,
    service: ServiceDep,
    key: KeyDep,
    response: Response,
    body: HeartbeatBody | None = None,
) -> views.Held:
    """Renew the lease."""
    asked = body or HeartbeatBody()
    renewed = lease.heartbeat(
        service, study_id, number, attempt=asked.attempt, lease_seconds=asked.lease_seconds, key=key
    )
    return reply(response, renewed)


@router.post("/{number}/release", operation_id="release", responses=responses(400, 404, 409, 413, 415, 422))
def release(
    study_id: StudyId,
    number: Number,
    service: ServiceDep,
    key: KeyDep,
    response: Response,
    body: ReleaseBody | None = None,
) -> views.Held:
    """Give the trial back unfinished; it is handed out again before any new point."""
    asked = body or ReleaseBody()
    return reply(response, lease.release(service, study_id, number, attempt=asked.attempt, key=key))
