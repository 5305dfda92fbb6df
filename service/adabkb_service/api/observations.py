"""/v1/studies/{id}/observe and /observations"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from adabkb_service.api.body import StrictRoute
from adabkb_service.api.deps import KeyDep, Number, PageDep, ServiceDep, StudyId, reply
from adabkb_service.api.problems import describe, responses
from adabkb_service.contract import answers as views
from adabkb_service.contract.requests import BatchBody, CorrectionBody, Listing, ObserveBody
from adabkb_service.operations import report
from adabkb_service.operations.correct import correct
from adabkb_service.operations.observe import observe, observe_batch

router = APIRouter(prefix="/v1/studies/{study_id}", tags=["observations"], route_class=StrictRoute)


@router.post("/observe", operation_id="observe", responses=responses(400, 404, 409, 413, 415, 422))
def observe_result(
    study_id: StudyId, body: ObserveBody, service: ServiceDep, key: KeyDep, response: Response
) -> views.Observed:
    """Store a result; it is durable when this answers. The same result again changes nothing."""
    return reply(response, observe(service, study_id, body.result(), key))


@router.post("/observations", operation_id="observeBatch", responses=responses(400, 404, 413, 415, 422))
def observe_results(
    study_id: StudyId, body: BatchBody, service: ServiceDep, key: KeyDep, response: Response
) -> views.ObservedBatch:
    """Store many results; one that is refused stops no other."""
    results = [item.result() for item in body.items]
    return reply(response, observe_batch(service, study_id, results, describe, dry_run=body.dry_run, key=key))


@router.get("/observations", operation_id="listObservations", responses=responses(404, 422))
def list_observations(study_id: StudyId, service: ServiceDep, page: PageDep) -> Listing[views.Observation]:
    """Observations in order."""
    items = report.list_observations(service, study_id, page.after, page.limit)
    return Listing(items=items, next_cursor=page.cursor_after(len(items), items[-1].seq if items else 0))


@router.patch("/observations/{seq}", operation_id="correctObservation", responses=responses(400, 404, 413, 415, 422))
def correct_observation(
    study_id: StudyId, seq: Number, body: CorrectionBody, service: ServiceDep, key: KeyDep, response: Response
) -> views.Corrected:
    """Correct a result, exclude it or count it again; an event in the log, and the model is rebuilt."""
    changes = body.model_dump(exclude_unset=True, exclude={"reason"})
    return reply(response, correct(service, study_id, seq, changes, body.reason, key))


@router.delete("/observations/{seq}", operation_id="excludeObservation", responses=responses(404, 422))
def exclude_observation(
    study_id: StudyId,
    seq: Number,
    service: ServiceDep,
    key: KeyDep,
    response: Response,
    reason: Annotated[str | None, Query(max_length=1000, description="why, for the log")] = None,
) -> views.Corrected:
    """Exclude a result: it stays on record and no longer counts."""
    return reply(response, correct(service, study_id, seq, {"excluded": True}, reason, key))
