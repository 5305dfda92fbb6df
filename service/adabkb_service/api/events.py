"""/v1/studies/{id}/events as a list or a stream, /export and /report"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import chain
from typing import Annotated, Literal, get_args

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response, StreamingResponse

from adabkb_service.access.caller import Caller
from adabkb_service.api.admission import CallerDep, by_follower, needs
from adabkb_service.api.body import StrictRoute
from adabkb_service.api.deps import PageDep, ServiceDep, StudyId
from adabkb_service.api.event_stream import STREAM, LastEventId, event_stream, prefers_stream
from adabkb_service.api.model_reads import ReadingDep
from adabkb_service.api.problems import responses
from adabkb_service.contract import history
from adabkb_service.contract.requests import Page
from adabkb_service.errors import FieldError, Invalid
from adabkb_service.operations.access import sharing
from adabkb_service.operations.data import export
from adabkb_service.operations.data.sheet import MEDIA_TYPE
from adabkb_service.operations.reports import report_in_markdown
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read
from adabkb_service.storage.rows import EventKind

router = APIRouter(prefix="/v1/studies/{study_id}", tags=["log"], route_class=StrictRoute)

Format = Literal["jsonl", "csv", "xlsx", "curves"]

MOST_KINDS = len(get_args(EventKind))

BOM = "\ufeff"
MARKDOWN = "text/markdown"
CSV = "text/csv"


@router.get(
    "/events",
    operation_id="listEvents",
    response_model=Page[history.Event],
    responses={200: {"content": {STREAM: {"schema": {"type": "string"}}}}, **responses(404, 422)},
)
@needs("read")
def list_events(
    study_id: StudyId,
    service: ServiceDep,
    page: PageDep,
    request: Request,
    caller: CallerDep,
    kind: Annotated[
        list[EventKind] | None,
        Query(description="kind of the events; if given several times, one of them must match", max_length=MOST_KINDS),
    ] = None,
    last_event_id: LastEventId = None,
) -> Response:
    """The events of the log in order; with ``Accept: text/event-stream``, as a stream that continues with new events,
    whatever the limit. If the log has no event Last-Event-ID, the stream begins with the first event; if the study of
    this event was deleted, the response is 404 ``study_deleted``."""
    if kind and prefers_stream(request.headers.get("accept", "")):
        remedy = "selects events of a list, but a stream has all events; select them by their event name"
        raise Invalid([FieldError("?kind", remedy, "invalid_kind")])
    listed = partial(read.list_events, kinds=kind or ())
    return event_stream(request, caller, service, study_id, page, last_event_id, listed)


@router.get(
    "/export",
    operation_id="export",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"application/x-ndjson": {}, "text/csv": {}, MEDIA_TYPE: {}}, "description": "Everything"},
        **responses(404, 422),
    },
)
@needs("read")
async def export_study(
    study_id: StudyId,
    reading: ReadingDep,
    caller: CallerDep,
    format: Annotated[Format, Query()] = "jsonl",
    bom: Annotated[
        bool, Query(description="start a CSV with a byte order mark, so that Excel reads it as UTF-8")
    ] = False,
    decimal: Annotated[
        Literal["point", "comma"],
        Query(description="decimal separator in a CSV of trials and results; with comma, semicolons separate cells"),
    ] = "point",
    titles: Annotated[
        bool,
        Query(
            description="write a CSV of trials and results in words, like the Excel file: with the titles, units, "
            "states and purposes of the web interface, and times in UTC without a time zone"
        ),
    ] = False,
) -> Response:
    """Export a study: everything as JSON lines (study, trials, observations, reports, events, model and, for users who
    may work on the study, stored responses), trials and results as CSV or as an Excel file with labels and units, or
    curves as CSV with one report per line."""
    given = {"bom": bom, "decimal": decimal == "comma", "titles": titles}
    unused = [name for name, value in given.items() if value and format not in OF_FORMATS[name]]
    if unused:
        raise Invalid(
            [
                FieldError(f"?{name}", f"has no effect with the format {format}; leave it out", f"invalid_{name}")
                for name in unused
            ]
        )
    return await reading(_export, study_id, caller, format, bom, decimal == "comma", titles)


OF_FORMATS: Mapping[str, tuple[Format, ...]] = {"bom": ("csv", "curves"), "decimal": ("csv",), "titles": ("csv",)}
"""For each option of an export, the formats that have it."""


def _export(
    service: Service, study_id: str, caller: Caller, format: Format, bom: bool, has_commas: bool, in_words: bool
) -> StreamingResponse:
    if format == "xlsx":
        return _download(export.excel(service, study_id), MEDIA_TYPE, f"{study_id}.xlsx")
    if format == "curves":
        return _download(_after_mark(bom, export.csv_curves(service, study_id)), CSV, f"{study_id}-curves.csv")
    if format == "csv":
        rows = export.csv_rows(service, study_id, has_commas=has_commas, in_words=in_words)
        return _download(_after_mark(bom, rows), CSV, f"{study_id}.csv")
    may_work = sharing.right(service, caller, study_id) != "read"
    lines = export.json_lines(service, study_id, with_keys=may_work)
    return _download(lines, "application/x-ndjson", f"{study_id}.jsonl")


def _after_mark(bom: bool, rows: Iterable[str]) -> Iterable[str]:
    return chain([BOM] if bom else [], rows)


def _download(content: Iterable[str] | Iterable[bytes], media_type: str, name: str) -> StreamingResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(content, media_type=media_type, headers=headers)


@router.get(
    "/report",
    operation_id="getReport",
    response_class=StreamingResponse,
    responses={
        200: {"content": {MARKDOWN: {}}, "description": "Definition, best point, results, who did what, log"},
        **responses(404, 422),
    },
)
@needs("read", model=True)
@by_follower
async def get_report(study_id: StudyId, reading: ReadingDep, caller: CallerDep) -> Response:
    """A report as Markdown, for a notebook: a summary, the definition, the best point with its uncertainty, all
    results, failures with reasons, who did what, and revision and hash of the log. Only the owner and administrators
    get entries of the audit log."""
    return await reading(_report, study_id, caller)


def _report(service: Service, study_id: str, caller: Caller) -> StreamingResponse:
    with_audit = sharing.right(service, caller, study_id) == "own"
    text = report_in_markdown.markdown(service, study_id, with_audit=with_audit)
    return _download(text, MARKDOWN, f"{study_id}.md")
