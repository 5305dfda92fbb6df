"""/v1/trash and /v1/studies/{id}/restore"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Body, Path, Request, Response

from adabkb_service.api.admission import CallerDep, needs, not_for_links
from adabkb_service.api.body import StrictRoute
from adabkb_service.api.deps import KeyDep, Owner, PageDep, ServiceDep, StudyId, reply
from adabkb_service.api.parts import parts_of
from adabkb_service.api.problems import responses
from adabkb_service.contract import answers as views
from adabkb_service.contract.access import Deletion, RestoreBody
from adabkb_service.contract.parameters import MAX_SAFE_INTEGER
from adabkb_service.contract.requests import Page
from adabkb_service.operations.data import trash

router = APIRouter(prefix="/v1", tags=["trash"], route_class=StrictRoute)


@router.get("/trash", operation_id="listTrash", responses=responses(422))
@needs("read")
@not_for_links
def list_trash(service: ServiceDep, page: PageDep, caller: CallerDep, owner: Owner = None) -> Page[Deletion]:
    """The caller's deleted studies, latest deletion first; for administrators, those of all users."""
    items = trash.page(service, caller, page.after, page.limit, owner)
    return Page(items=items, next_cursor=page.cursor_after(len(items), items[-1].deletion if items else 0))


@router.post(
    "/studies/{study_id}/restore",
    operation_id="restoreStudy",
    response_model=views.Study,
    responses=responses(400, 404, 409, 413, 415, 422),
)
@needs("work", study="")
async def restore_study(
    request: Request,
    study_id: StudyId,
    service: ServiceDep,
    caller: CallerDep,
    key: KeyDep,
    body: Annotated[RestoreBody, Body(default_factory=RestoreBody)],
) -> Response:
    """Restore a deleted study from the trash. It continues in the state in which it was deleted, with its webhooks and
    links."""
    work = partial(trash.restore, service, caller, study_id, body.deletion, key)
    async with parts_of(request.app).restores.slot(request):
        return reply(await run_sync(work))


@router.delete(
    "/trash/{deletion}", operation_id="purgeStudy", status_code=204, response_model=None, responses=responses(404, 422)
)
@needs("work")
def purge_study(
    deletion: Annotated[int, Path(ge=1, le=MAX_SAFE_INTEGER, description="number of the deletion")],
    service: ServiceDep,
    caller: CallerDep,
) -> None:
    """Permanently delete a study that is in the trash."""
    trash.purge(service, caller, deletion)
