"""/v1/studies/{id}/events as a list or a stream, /export and /report"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from itertools import chain
from typing import Annotated, Literal, NamedTuple

from anyio.to_thread import run_sync
from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response, StreamingResponse

from adabkb_service.access.caller import Caller
from adabkb_service.access.concurrency import STREAMS, Concurrency
from adabkb_service.api.admission import CallerDep, by_follower, needs, readmit
from adabkb_service.api.body import StrictRoute
from adabkb_service.api.deps import PageDep, ServiceDep, StudyId, encoded_number
from adabkb_service.api.model_reads import ReadingDep, rendered
from adabkb_service.api.problems import responses
from adabkb_service.contract import history
from adabkb_service.contract.requests import Page
from adabkb_service.errors import Busy, FieldError, Forbidden, Invalid, StudyNotFound, TooManyAtOnce, Unauthorized
from adabkb_service.operations.access import sharing
from adabkb_service.operations.data import export
from adabkb_service.operations.data.sheet import MEDIA_TYPE
from adabkb_service.operations.reports import report_in_markdown
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read

router = APIRouter(prefix="/v1/studies/{study_id}", tags=["log"], route_class=StrictRoute)

Format = Literal["jsonl", "csv", "xlsx", "curves"]

PING_SECONDS = 15.0
"""Seconds without an event after which a stream sends a comment."""
READMIT_SECONDS = 0.5
"""Seconds between checks that the caller may still read."""
STREAM = "text/event-stream"
JSON = "application/json"
_QUALITY = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")
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
    last_event_id: Annotated[int | None, Header(alias="Last-Event-ID", ge=0, le=2**31 - 1)] = None,
) -> Response:
    """The events of the log in order; with ``Accept: text/event-stream``, as a stream that continues with new events,
    whatever the limit. If the log has no event Last-Event-ID, the stream begins with the first event."""
    after = page.after if last_event_id is None else last_event_id
    if last_event_id and not read.list_events(service, study_id, last_event_id - 1, 1).items:
        after = 0  # unknown: from a deleted study with the same id, or from before the database was restored
    if _prefers_stream(request.headers.get("accept", "")):
        concurrency: Concurrency = request.app.state.concurrency
        concurrency.check(STREAMS, caller)
        first = _page(service, study_id, after, page.limit)
        stream = _stream(concurrency, service, study_id, request, caller, first, page.limit)
        return StreamingResponse(stream, media_type=STREAM, headers={"Cache-Control": "no-store"})
    found = read.list_events(service, study_id, after, page.limit)
    return rendered(Page(items=found.items, next_cursor=encoded_number(found.after)))


def _prefers_stream(accept: str) -> bool:
    """Return whether a client accepts a stream, and does not prefer JSON."""
    weights = {STREAM: 0.0, JSON: 0.0}
    for part in accept.lower().split(","):
        kind, *parameters = map(str.strip, part.split(";"))
        if kind in weights:
            quality = next((each[2:] for each in parameters if each.startswith("q=")), "1")
            weights[kind] = float(quality) if _QUALITY.fullmatch(quality) else 1.0
    return weights[STREAM] > 0 and weights[STREAM] >= weights[JSON]


class _Page(NamedTuple):
    """A batch of events of a stream."""

    text: str
    last: int
    """The seq of the last event, or the previous position without events."""
    is_followed: bool
    """Whether more events are stored."""


def _page(service: Service, study_id: str, after: int, limit: int) -> _Page:
    """Return the events after a seq. Call it on a thread, because many streams may start at once.

    Raises:
        StudyNotFound: the study does not exist.
    """
    found = read.list_events(service, study_id, after, limit)
    text = "".join(
        f"id: {event.seq}\nevent: {event.kind}\ndata: {event.model_dump_json()}\n\n" for event in found.items
    )
    return _Page(text, found.items[-1].seq if found.items else after, found.after is not None)


async def _stream(
    concurrency: Concurrency,
    service: Service,
    study_id: str,
    request: Request,
    caller: Caller,
    found: _Page,
    limit: int,
) -> AsyncIterator[str]:
    """Yield server-sent events, with seq as the id, until the client disconnects or loses access, the study is
    deleted, or the server stops.

    Args:
        concurrency: counts the streams.
        service, study_id: the study whose log to stream.
        request: its token must stay valid.
        caller: the sender of the request.
        found: the first events.
        limit: the maximum number of events to read at a time.
    """
    with (
        suppress(StudyNotFound, Unauthorized, Forbidden, Busy, TooManyAtOnce),
        concurrency.hold(STREAMS, caller),
        service.changes.waiting(study_id) as changed,
    ):
        yield "retry: 1000\n\n"
        sent_at = time.monotonic()
        while not service.stopping.is_set():
            if found.text:
                yield found.text
                sent_at = time.monotonic()
            elif time.monotonic() - sent_at >= PING_SECONDS:
                yield ": keep-alive\n\n"  # detects dead clients, and keeps proxies from closing the stream
                sent_at = time.monotonic()
            if not found.is_followed:
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), READMIT_SECONDS)
            await readmit(request)
            if found.is_followed or changed.is_set():
                changed.clear()
                found = await run_sync(_page, service, study_id, found.last, limit)
            else:
                found = _Page("", found.last, is_followed=False)


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
