"""/v1/studies/{id}/trials"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query, Response

from adabkb_service.api.admission import CallerDep, SpendDep, by_follower, by_follower_once, needs
from adabkb_service.api.body import StrictRoute
from adabkb_service.api.conditional import UNCHANGED, KnownDep, TrialTagsDep, conditional
from adabkb_service.api.deps import KeyDep, Number, PageDep, ServiceDep, StudyId, encoded_number, named, perform, reply
from adabkb_service.api.model_reads import ReadingDep, rendered
from adabkb_service.api.problems import responses
from adabkb_service.contract import answers as views
from adabkb_service.contract import history
from adabkb_service.contract.curves import CurvePoint
from adabkb_service.contract.reports import ReportBody, Reported
from adabkb_service.contract.requests import (
    AnnotationBody,
    HeartbeatBody,
    Page,
    QueueBody,
    ReleaseBody,
    RepeatBody,
    RetryBody,
    WithdrawBody,
)
from adabkb_service.operations import lease
from adabkb_service.operations.annotate import annotate
from adabkb_service.operations.model.why import why
from adabkb_service.operations.queue import queue, repeat
from adabkb_service.operations.report import report
from adabkb_service.operations.studies import read
from adabkb_service.storage.rows import TrialState

router = APIRouter(prefix="/v1/studies/{study_id}/trials", tags=["trials"], route_class=StrictRoute)


@router.post(
    "",
    operation_id="queueTrial",
    status_code=201,
    response_model=views.Trial,
    responses=responses(400, 404, 409, 413, 415, 422),
)
@needs("work")
@by_follower_once
async def queue_trial(
    study_id: StudyId, body: QueueBody, service: ServiceDep, key: KeyDep, spend: SpendDep, caller: CallerDep
) -> Response:
    """Queue your own point; it is issued before any new point."""
    return reply(await perform(service, queue(study_id, body, key), spend, caller.user))


@router.post(
    "/repeat",
    operation_id="repeatPoint",
    status_code=201,
    response_model=views.Repeated,
    responses=responses(400, 404, 409, 413, 415, 422),
)
@needs("work")
@by_follower_once
async def repeat_point(
    study_id: StudyId, body: RepeatBody, service: ServiceDep, key: KeyDep, spend: SpendDep, caller: CallerDep
) -> Response:
    """Queue one or several trials at an evaluated point, to measure it again."""
    return reply(await perform(service, repeat(study_id, body, key), spend, caller.user))


@router.get("", operation_id="listTrials", response_model=Page[views.Trial], responses=UNCHANGED | responses(404, 422))
@needs("read")
def list_trials(
    study_id: StudyId,
    service: ServiceDep,
    page: PageDep,
    known: KnownDep,
    state: Annotated[TrialState | None, Query()] = None,
    attribute: Annotated[
        list[str] | None,
        Query(
            description="attribute of the trials, as name:value; if given several times, all must match",
            max_length=10,
        ),
    ] = None,
) -> Response:
    """The trials of a study, ordered by number."""
    wanted = [named("attribute", each, "host:n1") for each in attribute or ()]
    found = read.list_trials(service, study_id, state=state, attributes=wanted, after=page.after, limit=page.limit)
    return conditional(Page(items=found.items, next_cursor=encoded_number(found.after)), known, is_weak=True)


@router.get("/{number}", operation_id="getTrial", response_model=views.Trial, responses=UNCHANGED | responses(404, 422))
@needs("read")
def get_trial(study_id: StudyId, number: Number, service: ServiceDep, known: KnownDep) -> Response:
    """A trial."""
    return conditional(read.trial(service, study_id, number), known)


@router.get("/{number}/why", operation_id="explainTrial", response_model=history.Why, responses=responses(404, 422))
@needs("read", model=True)
@by_follower
async def explain_trial(study_id: StudyId, number: Number, reading: ReadingDep) -> Response:
    """A trial, the decision that led to it, with its reasons in words and in numbers, and all events of the trial."""
    return await reading(why, study_id, number)


@router.patch(
    "/{number}",
    operation_id="annotateTrial",
    response_model=views.TrialAnswer,
    responses=responses(400, 404, 412, 413, 415, 422),
)
@needs("work")
@by_follower_once
async def annotate_trial(
    study_id: StudyId,
    number: Number,
    body: AnnotationBody,
    service: ServiceDep,
    tags: TrialTagsDep,
    key: KeyDep,
    spend: SpendDep,
    caller: CallerDep,
) -> Response:
    """Set, change or remove attributes of a trial, in any state; the model ignores them."""
    request = annotate(study_id, number, body.attributes, key, body.was, tags)
    return reply(await perform(service, request, spend, caller.user))


@router.post(
    "/{number}/heartbeat",
    operation_id="heartbeat",
    response_model=views.TrialAnswer,
    responses=responses(400, 404, 409, 413, 415, 422),
)
@needs("work")
@by_follower
async def heartbeat(
    study_id: StudyId,
    number: Number,
    service: ServiceDep,
    key: KeyDep,
    spend: SpendDep,
    body: Annotated[HeartbeatBody, Body(default_factory=HeartbeatBody)],
) -> Response:
    """Renew the lease of a trial."""
    return reply(await perform(service, lease.heartbeat(study_id, number, body, key), spend))


@router.post(
    "/{number}/reports",
    operation_id="report",
    response_model=Reported,
    responses=responses(400, 404, 409, 413, 415, 422),
)
@needs("work")
@by_follower
async def report_values(
    study_id: StudyId,
    number: Number,
    body: Annotated[ReportBody, Body()],
    service: ServiceDep,
    key: KeyDep,
    spend: SpendDep,
    caller: CallerDep,
) -> Response:
    """Store a trial's intermediate values and renew its lease; the response says whether a rule has stopped the
    trial."""
    return reply(await perform(service, report(study_id, number, body, key), spend, caller.user))


@router.get(
    "/{number}/reports",
    operation_id="listReports",
    response_model=Page[CurvePoint],
    responses=responses(404, 422),
)
@needs("read")
def list_reports(
    study_id: StudyId,
    number: Number,
    service: ServiceDep,
    page: PageDep,
    attempt: Annotated[
        int | None, Query(ge=0, le=2**31 - 1, description="number of the attempt; by default the current one")
    ] = None,
) -> Response:
    """The curve of a trial: the intermediate values of an attempt, by step."""
    items = read.list_reports(service, study_id, number, attempt=attempt, first=page.after, limit=page.limit)
    return rendered(Page(items=items, next_cursor=page.cursor_after(len(items), items[-1].step + 1 if items else 0)))


@router.post(
    "/{number}/release",
    operation_id="release",
    response_model=views.TrialAnswer,
    responses=responses(400, 404, 409, 413, 415, 422),
)
@needs("work")
@by_follower_once
async def release(
    study_id: StudyId,
    number: Number,
    service: ServiceDep,
    key: KeyDep,
    spend: SpendDep,
    caller: CallerDep,
    body: Annotated[ReleaseBody, Body(default_factory=ReleaseBody)],
) -> Response:
    """Release a trial without a result; it is issued again before any new point."""
    return reply(await perform(service, lease.release(study_id, number, body, key), spend, caller.user))


@router.post(
    "/{number}/withdraw",
    operation_id="withdraw",
    response_model=views.TrialAnswer,
    responses=responses(400, 404, 409, 413, 415, 422),
)
@needs("work")
@by_follower_once
async def withdraw(
    study_id: StudyId,
    number: Number,
    service: ServiceDep,
    key: KeyDep,
    spend: SpendDep,
    caller: CallerDep,
    body: Annotated[WithdrawBody, Body(default_factory=WithdrawBody)],
) -> Response:
    """End a trial without a result: a declined suggestion, or a queued point that is not needed. The trial is not a
    failure, and does not count towards the budget."""
    return reply(await perform(service, lease.withdraw(study_id, number, body, key), spend, caller.user))


@router.post(
    "/{number}/retry",
    operation_id="retryTrial",
    response_model=views.TrialAnswer,
    responses=responses(400, 404, 409, 413, 415, 422),
)
@needs("work")
@by_follower_once
async def retry_trial(
    study_id: StudyId,
    number: Number,
    service: ServiceDep,
    key: KeyDep,
    spend: SpendDep,
    caller: CallerDep,
    body: Annotated[RetryBody, Body(default_factory=RetryBody)],
) -> Response:
    """Retry a failed or withdrawn trial; it is issued again before any new point."""
    return reply(await perform(service, lease.retry(study_id, number, body, key), spend, caller.user))
