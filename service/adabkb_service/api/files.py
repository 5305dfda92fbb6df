"""/v1/studies/{id}/trials/{n}/files"""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response

from adabkb_service.api.admission import CallerDep, needs
from adabkb_service.api.body import StrictRoute
from adabkb_service.api.deps import Number, PageDep, ServiceDep, StudyId
from adabkb_service.api.model_reads import rendered
from adabkb_service.api.problems import responses
from adabkb_service.contract.files import File
from adabkb_service.contract.requests import Page
from adabkb_service.operations import files

router = APIRouter(prefix="/v1/studies/{study_id}/trials/{number}/files", tags=["trials"], route_class=StrictRoute)

BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
SAFE = {
    "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
"""Headers that prevent a browser from running the content of a file that it opens. (All answers also have
``nosniff``.)"""


@router.post(
    "",
    operation_id="addFile",
    status_code=201,
    response_model=File,
    responses={200: {"model": File, "description": "The file was there already"}, **responses(404, 413, 422)},
    openapi_extra={"requestBody": {"required": True, "content": {files.UNKNOWN: BINARY}}},
)
@needs("work")
async def add_file(
    study_id: StudyId,
    number: Number,
    request: Request,
    service: ServiceDep,
    caller: CallerDep,
    name: Annotated[str, Query(description="name of the file, such as spectrum.csv", max_length=1000)],
) -> Response:
    """Attach a file, such as a photograph, to a trial. The body is its content, and Content-Type its type. The same
    content under the same name is attached only once, so the request may be repeated."""
    content, kind = await request.body(), request.headers.get("content-type", files.UNKNOWN)
    limits: files.Limits = request.app.state.file_limits
    found, is_new = await run_sync(files.add, service, caller, limits, study_id, number, name, kind, content)
    return Response(found.model_dump_json(), 201 if is_new else 200, media_type="application/json")


@router.get("", operation_id="listFiles", response_model=Page[File], responses=responses(404, 422))
@needs("read")
def list_files(study_id: StudyId, number: Number, service: ServiceDep, page: PageDep) -> Response:
    """The files of a trial, in order of addition, without their content."""
    found = files.page(service, study_id, number, page.after, page.limit)
    return rendered(Page(items=found, next_cursor=page.cursor_after(len(found), found[-1].number if found else 0)))


@router.get(
    "/{file}",
    operation_id="readFile",
    response_class=Response,
    responses={200: {"content": {files.UNKNOWN: BINARY}, "description": "The content"}, **responses(404, 422)},
)
@needs("read")
def read_file(
    study_id: StudyId,
    number: Number,
    file: Number,
    service: ServiceDep,
    shown: Annotated[
        bool, Query(description="send an image (PNG, JPEG, GIF or WebP) so that a browser can show it in a page")
    ] = False,
) -> Response:
    """The content of a file, for a download. The type is application/octet-stream, except for images that a page may
    show."""
    found, content = files.read(service, study_id, number, file)
    kind = files.image_type(content)
    how = "inline" if shown and kind is not None else "attachment"
    named = {"Content-Disposition": f"{how}; filename*=UTF-8''{quote(found.name, safe='')}"}
    return Response(content, media_type=kind or files.UNKNOWN, headers={**SAFE, **named})


@router.delete("/{file}", operation_id="deleteFile", status_code=204, responses=responses(404, 422))
@needs("work")
def delete_file(study_id: StudyId, number: Number, file: Number, service: ServiceDep) -> None:
    """Delete a file permanently."""
    files.remove(service, study_id, number, file)
