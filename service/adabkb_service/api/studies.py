"""/v1/studies"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Body, Query, Request, Response

from adabkb_service.api.admission import CallerDep, SpendDep, by_follower, by_follower_once, needs
from adabkb_service.api.body import StrictRoute
from adabkb_service.api.conditional import UNCHANGED, KnownDep, RevisionsDep, conditional_study
from adabkb_service.api.deps import (
    KeyDep,
    Owner,
    PageDep,
    ServiceDep,
    StudyId,
    encoded_time,
    named,
    perform,
    reply,
)
from adabkb_service.api.disconnect import watched
from adabkb_service.api.fair_queue import run_serialized
from adabkb_service.api.long_poll import WaitDep, long_poll
from adabkb_service.api.model_reads import rendered
from adabkb_service.api.problems import responses
from adabkb_service.contract import answers as views
from adabkb_service.contract.requests import Page, PatchStudyBody, SuggestBody
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.errors import Busy, Unavailable
from adabkb_service.operations.data import trash
from adabkb_service.operations.studies import manage
from adabkb_service.operations.suggest import suggest
from adabkb_service.study.request import Outcome, never

router = APIRouter(prefix="/v1/studies", tags=["studies"], route_class=StrictRoute)


@router.post(
    "",
    operation_id="createStudy",
    status_code=201,
    response_model=views.Study,
    responses={
        200: {"model": views.Study, "description": "The study existed already"},
        **responses(400, 409, 413, 415, 422),
    },
)
@needs("work")
async def create_study(
    body: StudyDefinition, request: Request, service: ServiceDep, key: KeyDep, caller: CallerDep
) -> Response:
    """Create a study. If a study with this id and the same definition exists, the response is this study, with status
    200."""
    create = partial(manage.create, service, body, key, caller)
    outcome = await (run_serialized(request, create) if body.constraints else run_sync(create))
    return reply(outcome)


@router.get("", operation_id="listStudies", response_model=Page[views.ListedStudy], responses=responses(422))
@needs("read")
def list_studies(
    service: ServiceDep,
    page: PageDep,
    caller: CallerDep,
    tag: Annotated[
        list[str] | None,
        Query(
            description="tag of the studies, as name:text, where the name has no colon; if given several times, all "
            "must match",
            max_length=10,
        ),
    ] = None,
    owner: Owner = None,
) -> Response:
    """The caller's studies and those shared with the caller, newest first."""
    tags = [named("tag", each, "project:solvents") for each in tag or ()]
    found = manage.page(service, page.after_study, page.limit, caller, tags, owner)
    return rendered(Page(items=found.items, next_cursor=encoded_time(found.after)))


@router.get(
    "/{study_id}", operation_id="getStudy", response_model=views.Study, responses=UNCHANGED | responses(404, 422)
)
@needs("read")
@by_follower
async def get_study(study_id: StudyId, service: ServiceDep, known: KnownDep) -> Response:
    """A study. If-Match compares its ETag only as far as the revision."""
    try:
        outcome = await service.do_async(manage.get(study_id), service.timeouts.read)
    except (Busy, Unavailable):  # its queue does not move, for example because the database accepts no writes
        outcome = Outcome(await run_sync(manage.stored, service, study_id))
    return conditional_study(outcome.view, outcome.json, known)


@router.patch(
    "/{study_id}",
    operation_id="changeStudy",
    response_model=views.Study,
    responses=responses(400, 404, 412, 413, 415, 422),
)
@needs("work")
@by_follower_once
async def change_study(
    study_id: StudyId,
    body: PatchStudyBody,
    service: ServiceDep,
    revisions: RevisionsDep,
    key: KeyDep,
    spend: SpendDep,
    caller: CallerDep,
) -> Response:
    """Pause or resume a study, change its limits or tags, or edit its space."""
    outcome = await perform(
        service, manage.change(study_id, body.changes(), revisions, key, body.was), spend, caller.user
    )
    return reply(outcome)


@router.delete(
    "/{study_id}", operation_id="deleteStudy", status_code=204, response_model=None, responses=responses(404, 412, 422)
)
@needs("own")
def delete_study(
    study_id: StudyId,
    service: ServiceDep,
    revisions: RevisionsDep,
    caller: CallerDep,
    purge: Annotated[bool, Query(description="delete permanently instead of moving to the trash")] = False,
) -> None:
    """Delete a study and everything in it. Without `purge`, it can be restored from the trash for 30 days. While it is
    in the trash, its webhooks send nothing and its links do not work."""
    trash.delete(service, study_id, revisions, caller, purge=purge)


@router.post(
    "/{study_id}/suggest",
    operation_id="suggest",
    tags=["suggestions"],
    response_model=views.Suggested,
    responses=responses(400, 404, 409, 413, 415, 422),
)
@needs("work", model=True)
@by_follower_once
async def suggest_trials(
    study_id: StudyId,
    request: Request,
    service: ServiceDep,
    key: KeyDep,
    spend: SpendDep,
    caller: CallerDep,
    wait: WaitDep,
    body: Annotated[SuggestBody, Body(default_factory=SuggestBody)],
) -> Response:
    """Issue trials: waiting ones first, then new ones. If there are fewer than requested, the response says why. With
    `Prefer: wait=30` a request waits up to 30 seconds if there is no trial at once."""

    async def ask() -> Outcome[views.Suggested]:
        with service.metrics.suggest_seconds.time():
            return await perform(service, suggest(study_id, body, key, has_left), spend)

    # The web interface asks without a fallback; a person who has left the page would not learn of a trial. A program
    # repeats the request with its key.
    watching = nullcontext(never) if body.fallback else watched(request)
    async with watching as has_left:
        outcome, waited = await long_poll(service.changes, study_id, request, caller, ask, wait)
    response = reply(outcome)
    if waited:
        response.headers["Preference-Applied"] = f"wait={wait}"
    return response
