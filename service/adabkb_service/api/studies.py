"""/v1/studies"""

from __future__ import annotations

from fastapi import APIRouter, Response

from adabkb_service.api.body import StrictRoute
from adabkb_service.api.deps import KeyDep, PageDep, RevisionsDep, ServiceDep, StudyId, encoded, reply, tag
from adabkb_service.api.problems import responses
from adabkb_service.contract import answers as views
from adabkb_service.contract.requests import Listing, PatchStudyBody, SuggestBody
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.operations import manage
from adabkb_service.operations.suggest import SuggestRequest, suggest

router = APIRouter(prefix="/v1/studies", tags=["studies"], route_class=StrictRoute)


@router.post(
    "",
    operation_id="createStudy",
    status_code=201,
    responses={200: {"model": views.Study, "description": "It existed already"}, **responses(400, 409, 413, 415, 422)},
)
def create_study(body: StudyDefinition, service: ServiceDep, key: KeyDep, response: Response) -> views.Study:
    """Create a study. The same definition under the same id again answers 200 with the existing one."""
    response.status_code = 200
    study = reply(response, manage.create(service, body, key))
    tag(response, study.revision)
    return study


@router.get("", operation_id="listStudies", responses=responses(422))
def list_studies(service: ServiceDep, page: PageDep) -> Listing[views.Study]:
    """Studies, newest first."""
    found = manage.page(service, page.after_study, page.limit)
    last = None if found.last is None else encoded([found.last[0].isoformat(), found.last[1]])
    return Listing(items=found.items, next_cursor=last)


@router.get("/{study_id}", operation_id="getStudy", responses=responses(404, 422))
def get_study(study_id: StudyId, service: ServiceDep, response: Response) -> views.Study:
    """A study; its ETag is its revision."""
    study = manage.get(service, study_id)
    tag(response, study.revision)
    return study


@router.patch("/{study_id}", operation_id="changeStudy", responses=responses(400, 404, 412, 413, 415, 422))
def change_study(
    study_id: StudyId,
    body: PatchStudyBody,
    service: ServiceDep,
    revisions: RevisionsDep,
    key: KeyDep,
    response: Response,
) -> views.Study:
    """Pause or resume a study, change its limits or tags."""
    study = reply(response, manage.change(service, study_id, body.model_dump(exclude_unset=True), revisions, key))
    tag(response, study.revision)
    return study


@router.delete("/{study_id}", operation_id="deleteStudy", status_code=204, responses=responses(404, 412, 422))
def delete_study(study_id: StudyId, service: ServiceDep, revisions: RevisionsDep) -> None:
    """Delete a study and everything below it."""
    manage.delete(service, study_id, revisions)


@router.post(
    "/{study_id}/suggest", operation_id="suggest", tags=["suggestions"], responses=responses(400, 404, 413, 415, 422)
)
def suggest_trials(
    study_id: StudyId, service: ServiceDep, key: KeyDep, response: Response, body: SuggestBody | None = None
) -> views.Suggested:
    """Hand out trials: waiting ones first, then new ones. Fewer than asked for only with a reason."""
    asked = body or SuggestBody()
    request = SuggestRequest(asked.count, asked.worker, asked.lease_seconds)
    return reply(response, suggest(service, study_id, request, key))
