"""/v1/studies/{id}/observe, /observations and /rows"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query, Response

from adabkb_service.api.admission import CallerDep, SpendDep, by_follower_once, needs
from adabkb_service.api.body import StrictRoute
from adabkb_service.api.conditional import RevisionsDep
from adabkb_service.api.deps import KeyDep, Number, PageDep, ServiceDep, StudyId, encoded_number, perform, reply
from adabkb_service.api.model_reads import rendered
from adabkb_service.api.problems import describe, responses
from adabkb_service.contract import answers as views
from adabkb_service.contract.requests import BatchBody, CorrectionBody, ObserveBody, Page
from adabkb_service.operations.correct import correct
from adabkb_service.operations.observe import observe, observe_batch
from adabkb_service.operations.studies import read
from adabkb_service.telemetry.logs import note

router = APIRouter(prefix="/v1/studies/{study_id}", tags=["observations"], route_class=StrictRoute)


@router.post(
    "/observe",
    operation_id="observe",
    response_model=views.Observed,
    responses=responses(400, 404, 409, 413, 415, 422),
)
@needs("work")
@by_follower_once
async def observe_result(
    study_id: StudyId,
    body: Annotated[ObserveBody, Body()],
    service: ServiceDep,
    key: KeyDep,
    spend: SpendDep,
    caller: CallerDep,
) -> Response:
    """Store a result. It is durable when the response arrives. Sending the result of a trial again, or any result with
    the same Idempotency-Key, changes nothing."""
    note(trial=getattr(body, "trial", None))
    with service.metrics.observe_seconds.time():
        return reply(await perform(service, observe(study_id, body, key), spend, caller.user))


@router.post(
    "/observations",
    operation_id="observeBatch",
    response_model=views.ObservedBatch,
    responses=responses(400, 404, 413, 415, 422),
)
@needs("work", model=True)
@by_follower_once
async def observe_results(
    study_id: StudyId, body: BatchBody, service: ServiceDep, key: KeyDep, spend: SpendDep, caller: CallerDep
) -> Response:
    """Store many results; a refused one does not affect the others."""
    with service.metrics.observe_seconds.time():
        return reply(await perform(service, observe_batch(study_id, body, describe, key), spend, caller.user))


@router.get(
    "/observations",
    operation_id="listObservations",
    response_model=Page[views.Observation],
    responses=responses(404, 422),
)
@needs("read")
def list_observations(study_id: StudyId, service: ServiceDep, page: PageDep) -> Response:
    """Observations in the order in which they were stored."""
    found = read.list_observations(service, study_id, page.after, page.limit)
    return rendered(Page(items=found.items, next_cursor=encoded_number(found.after)))


@router.get("/rows", operation_id="listRows", response_model=Page[views.CatalogueRow], responses=responses(404, 422))
@needs("read")
def list_rows(
    study_id: StudyId,
    service: ServiceDep,
    page: PageDep,
    containing: Annotated[
        str, Query(description="only rows whose names contain this text, in upper or lower case", max_length=1000)
    ] = "",
) -> Response:
    """The rows of the study's catalogue in the order of its table; none without a catalogue."""
    found = read.list_rows(service, study_id, containing, page.after, page.limit)
    return rendered(Page(items=found.items, next_cursor=encoded_number(found.after)))


@router.patch(
    "/observations/{seq}",
    operation_id="correctObservation",
    response_model=views.Corrected,
    responses=responses(400, 404, 412, 413, 415, 422),
)
@needs("work")
@by_follower_once
async def correct_observation(
    study_id: StudyId,
    seq: Number,
    body: CorrectionBody,
    service: ServiceDep,
    revisions: RevisionsDep,
    key: KeyDep,
    spend: SpendDep,
    caller: CallerDep,
) -> Response:
    """Correct a result, exclude it or include it again. This is an event in the log, and the model is rebuilt."""
    request = correct(study_id, seq, body.changes(), body.reason, key, body.was, revisions)
    return reply(await perform(service, request, spend, caller.user))


@router.delete(
    "/observations/{seq}",
    operation_id="excludeObservation",
    response_model=views.Corrected,
    responses=responses(404, 412, 422),
)
@needs("work")
@by_follower_once
async def exclude_observation(
    study_id: StudyId,
    seq: Number,
    service: ServiceDep,
    revisions: RevisionsDep,
    key: KeyDep,
    spend: SpendDep,
    caller: CallerDep,
    reason: Annotated[str | None, Query(max_length=1000, description="reason, for the log")] = None,
) -> Response:
    """Exclude a result. It stays in the log, but the model no longer uses it."""
    request = correct(study_id, seq, {"excluded": True}, reason, key, revisions=revisions)
    return reply(await perform(service, request, spend, caller.user))
