"""/v1/studies/{id}/trials/{n}/files and /observations/{seq}/files"""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response
from starlette.exceptions import HTTPException

from adabkb_service.access.caller import Caller
from adabkb_service.api.admission import CallerDep, needs
from adabkb_service.api.body import StrictRoute
from adabkb_service.api.deps import Number, PageDep, PageRequest, ServiceDep, StudyId
from adabkb_service.api.model_reads import rendered
from adabkb_service.api.parts import parts_of
from adabkb_service.api.problems import responses
from adabkb_service.contract.files import File
from adabkb_service.contract.requests import Page
from adabkb_service.operations import files
from adabkb_service.operations.service import Service
from adabkb_service.storage.files import Holder

router = APIRouter(prefix="/v1/studies/{study_id}", route_class=StrictRoute)
OF_TRIAL, OF_RESULT = "/trials/{number}/files", "/observations/{seq}/files"

FORMS = frozenset({"multipart/form-data", "application/x-www-form-urlencoded"})
"""Types of bodies in which a program may have wrapped the file. The second is also what curl sends by default."""

BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
SAFE = {
    "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
"""Headers that prevent a browser from running the content of a file that it opens. (All answers also have
``nosniff``.)"""


Name = Annotated[str, Query(description="name of the file, such as spectrum.csv", max_length=1000)]
Shown = Annotated[
    bool, Query(description="send an image (PNG, JPEG, GIF or WebP) so that a browser can show it in a page")
]
ADDED: dict[str, Any] = {
    "status_code": 201,
    "response_model": File,
    "responses": {200: {"model": File, "description": "The file was there already"}, **responses(404, 413, 415, 422)},
    "openapi_extra": {"requestBody": {"required": True, "content": {files.UNKNOWN_TYPE: BINARY}}},
}
LISTED: dict[str, Any] = {"response_model": Page[File], "responses": responses(404, 422)}
SENT: dict[str, Any] = {
    "response_class": Response,
    "responses": {
        200: {"content": dict.fromkeys((files.UNKNOWN_TYPE, *files.IMAGES), BINARY), "description": "The content"},
        **responses(404, 422),
    },
}
REMOVED: dict[str, Any] = {"status_code": 204, "response_model": None, "responses": responses(404, 422)}


@router.post(OF_TRIAL, operation_id="addFile", tags=["trials"], **ADDED)
@needs("work")
async def add_file(
    study_id: StudyId, number: Number, request: Request, service: ServiceDep, caller: CallerDep, name: Name
) -> Response:
    """Attach a file, such as a photograph, to a trial. The body is its content, and Content-Type its type. The same
    content under the same name is attached only once, so the request may be repeated."""
    return await _add(request, service, caller, study_id, Holder(trial=number), name)


@router.get(OF_TRIAL, operation_id="listFiles", tags=["trials"], **LISTED)
@needs("read")
def list_files(study_id: StudyId, number: Number, service: ServiceDep, page: PageDep) -> Response:
    """The files of a trial, in order of addition, without their content."""
    return _list(service, study_id, Holder(trial=number), page)


@router.get(OF_TRIAL + "/{file}", operation_id="readFile", tags=["trials"], **SENT)
@needs("read")
def read_file(study_id: StudyId, number: Number, file: Number, service: ServiceDep, shown: Shown = False) -> Response:
    """The content of a file, for a download. The type is application/octet-stream, except for images with ?shown=true,
    which a page may show."""
    return _send(service, study_id, Holder(trial=number), file, is_shown=shown)


@router.delete(OF_TRIAL + "/{file}", operation_id="deleteFile", tags=["trials"], **REMOVED)
@needs("work")
def delete_file(study_id: StudyId, number: Number, file: Number, service: ServiceDep) -> None:
    """Delete a file permanently."""
    files.remove(service, study_id, Holder(trial=number), file)


@router.post(OF_RESULT, operation_id="addResultFile", tags=["observations"], **ADDED)
@needs("work")
async def add_result_file(
    study_id: StudyId, seq: Number, request: Request, service: ServiceDep, caller: CallerDep, name: Name
) -> Response:
    """Attach a file to a result without a trial, as to a trial."""
    return await _add(request, service, caller, study_id, Holder(observation=seq), name)


@router.get(OF_RESULT, operation_id="listResultFiles", tags=["observations"], **LISTED)
@needs("read")
def list_result_files(study_id: StudyId, seq: Number, service: ServiceDep, page: PageDep) -> Response:
    """The files of a result without a trial, in order of addition, without their content."""
    return _list(service, study_id, Holder(observation=seq), page)


@router.get(OF_RESULT + "/{file}", operation_id="readResultFile", tags=["observations"], **SENT)
@needs("read")
def read_result_file(
    study_id: StudyId, seq: Number, file: Number, service: ServiceDep, shown: Shown = False
) -> Response:
    """The content of a file of a result without a trial, like that of a file of a trial."""
    return _send(service, study_id, Holder(observation=seq), file, is_shown=shown)


@router.delete(OF_RESULT + "/{file}", operation_id="deleteResultFile", tags=["observations"], **REMOVED)
@needs("work")
def delete_result_file(study_id: StudyId, seq: Number, file: Number, service: ServiceDep) -> None:
    """Delete a file of a result without a trial permanently."""
    files.remove(service, study_id, Holder(observation=seq), file)


async def _add(
    request: Request, service: Service, caller: Caller, study_id: str, holder: Holder, name: str
) -> Response:
    kind = request.headers.get("content-type", files.UNKNOWN_TYPE)
    if (form := kind.partition(";")[0].strip().lower()) in FORMS:
        raise HTTPException(
            415,
            f"Send the content of the file itself as the body, with its type in Content-Type, not {form}: curl "
            "--data-binary @photo.jpg -H 'Content-Type: image/jpeg' '.../files?name=photo.jpg'",
        )
    content = await request.body()
    limits = parts_of(request.app).file_limits
    found, is_new = await run_sync(files.add, service, caller, limits, study_id, holder, name, kind, content)
    return Response(found.model_dump_json(), 201 if is_new else 200, media_type="application/json")


def _list(service: Service, study_id: str, holder: Holder, page: PageRequest) -> Response:
    found = files.page(service, study_id, holder, page.after, page.limit)
    return rendered(Page(items=found, next_cursor=page.cursor_after(len(found), found[-1].number if found else 0)))


def _send(service: Service, study_id: str, holder: Holder, file: int, *, is_shown: bool) -> Response:
    found, content = files.read(service, study_id, holder, file)
    kind = files.image_type(content)
    is_inline = is_shown and kind is not None
    how = "inline" if is_inline else "attachment"
    named = {"Content-Disposition": f"{how}; filename*=UTF-8''{quote(found.name, safe='')}"}
    return Response(content, media_type=kind if is_inline else files.UNKNOWN_TYPE, headers={**SAFE, **named})
