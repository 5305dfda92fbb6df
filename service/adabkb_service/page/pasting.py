"""Tables that users paste or upload: what they would change, and undoing their import."""

from __future__ import annotations

from dataclasses import replace

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response

from adabkb_service.api.admission import CallerDep, by_follower, needs
from adabkb_service.api.body import StrictRoute
from adabkb_service.api.deps import ServiceDep, StudyId
from adabkb_service.api.parts import parts_of
from adabkb_service.contract.pasted import PastedRows, UndoImportBody
from adabkb_service.operations.data import sheet
from adabkb_service.operations.data.known_rows import known_rows
from adabkb_service.operations.undo_import import undo_import
from adabkb_service.page.deps import data_response
from adabkb_service.page.rendering import HEADERS
from adabkb_service.page.route import LoginRoute

data = APIRouter(include_in_schema=False, route_class=LoginRoute)
bodies = APIRouter(include_in_schema=False, route_class=StrictRoute)
"""Routes with a body as in the API. Their errors are problem documents."""


@data.post("/studies/{study_id}/sheet")
@needs("work")
async def read_sheet(request: Request, study_id: StudyId) -> Response:
    """Convert an uploaded Excel file to text for the paste form. Nothing is stored."""
    del study_id  # the gate has admitted the caller
    content = await request.body()
    async with parts_of(request.app).charts.slot(request):
        text = await run_sync(sheet.read, content)
    return Response(text, media_type="text/tab-separated-values; charset=utf-8", headers=HEADERS)


@bodies.post("/studies/{study_id}/known")
@needs("work")
def get_known_rows(study_id: StudyId, body: PastedRows, service: ServiceDep) -> Response:
    """Return which rows of a table are stored already. Nothing is stored."""
    return data_response(known_rows(service, study_id, body).model_dump(mode="json"))


@bodies.post("/studies/{study_id}/undo-import")
@needs("work")
@by_follower
def post_undo_import(study_id: StudyId, body: UndoImportBody, service: ServiceDep, caller: CallerDep) -> Response:
    """Undo the import of a table."""
    request = replace(undo_import(study_id, body), user=caller.user)
    return data_response(service.do(request).view.model_dump(mode="json"))
