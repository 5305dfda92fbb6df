"""The events of a study as a list, or as server-sent events that continue with new ones."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Annotated, Any, NamedTuple

from anyio.to_thread import run_sync
from fastapi import Header, Request
from fastapi.responses import Response, StreamingResponse

from adabkb_service.access.caller import Caller
from adabkb_service.access.concurrency import STREAMS, Concurrency
from adabkb_service.api.admission import readmit
from adabkb_service.api.deps import PageRequest, encoded_number
from adabkb_service.api.model_reads import rendered
from adabkb_service.api.parts import parts_of
from adabkb_service.contract.requests import Page
from adabkb_service.errors import Busy, Forbidden, StudyNotFound, TooManyAtOnce, Unauthorized, Unavailable
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read

PING_SECONDS = 15.0
"""Seconds without an event after which a stream sends a comment."""
READMIT_SECONDS = 0.5
"""Seconds between checks that the caller may still read."""
STREAM = "text/event-stream"
JSON = "application/json"
_QUALITY = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")
LastEventId = Annotated[int | None, Header(alias="Last-Event-ID", ge=0, le=2**31 - 1)]
Listed = Callable[[Service, str, int, int], read.Page[Any, int]]
"""Reads events, given the service, the study, the seq before the first event and a limit, as ``read.list_events``."""


def event_stream(
    request: Request,
    caller: Caller,
    service: Service,
    study_id: str,
    page: PageRequest,
    last_event_id: int | None,
    listed: Listed,
) -> Response:
    """Return events as a list or, with ``Accept: text/event-stream``, as a stream.

    Args:
        request, caller: who reads.
        service, study_id: the study whose log to read.
        page: the position before the first event, and how many events to read at a time.
        last_event_id: the position of a stream that continues; None for that of ``page``.
        listed: reads events.

    Raises:
        StudyNotFound: the study does not exist.
        TooManyAtOnce: the caller has too many streams.
    """
    after = page.after if last_event_id is None else last_event_id
    if last_event_id and not read.list_events(service, study_id, last_event_id - 1, 1).items:
        after = 0  # unknown: from a deleted study with the same id, or from before the database was restored
    if prefers_stream(request.headers.get("accept", "")):
        concurrency = parts_of(request.app).concurrency
        concurrency.check(STREAMS, caller)
        first = _batch(listed, service, study_id, after, page.limit)
        stream = _stream(concurrency, service, study_id, request, caller, listed, first, page.limit)
        return StreamingResponse(stream, media_type=STREAM, headers={"Cache-Control": "no-store"})
    found = listed(service, study_id, after, page.limit)
    return rendered(Page(items=found.items, next_cursor=encoded_number(found.after)))


def prefers_stream(accept: str) -> bool:
    """Return whether a client accepts a stream, and does not prefer JSON."""
    weights = {STREAM: 0.0, JSON: 0.0}
    for part in accept.lower().split(","):
        kind, *parameters = map(str.strip, part.split(";"))
        if kind in weights:
            quality = next((each[2:] for each in parameters if each.startswith("q=")), "1")
            weights[kind] = float(quality) if _QUALITY.fullmatch(quality) else 1.0
    return weights[STREAM] > 0 and weights[STREAM] >= weights[JSON]


class _Batch(NamedTuple):
    """Some events of a stream."""

    text: str
    last: int
    """The seq of the last event, or the previous position without events."""
    is_followed: bool
    """Whether more events are stored."""


def _batch(listed: Listed, service: Service, study_id: str, after: int, limit: int) -> _Batch:
    """Return the events after a seq. Call it on a thread, because many streams may start at once.

    Raises:
        StudyNotFound: the study does not exist.
    """
    found = listed(service, study_id, after, limit)
    text = "".join(
        f"id: {event.seq}\nevent: {event.kind}\ndata: {event.model_dump_json()}\n\n" for event in found.items
    )
    return _Batch(text, found.items[-1].seq if found.items else after, found.after is not None)


async def _stream(
    concurrency: Concurrency,
    service: Service,
    study_id: str,
    request: Request,
    caller: Caller,
    listed: Listed,
    found: _Batch,
    limit: int,
) -> AsyncIterator[str]:
    """Yield server-sent events, with seq as the id, until the client disconnects or loses access, the study is
    deleted, the database does not respond, or the server stops. Clients reconnect, and get a 503 from an outage.

    Args:
        concurrency: counts the streams.
        service, study_id: the study whose log to stream.
        request: its token must stay valid.
        caller: the sender of the request.
        listed: reads events.
        found: the first events.
        limit: the maximum number of events to read at a time.
    """
    with (
        suppress(StudyNotFound, Unauthorized, Forbidden, Busy, TooManyAtOnce, Unavailable),
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
                found = await run_sync(_batch, listed, service, study_id, found.last, limit)
            else:
                found = _Batch("", found.last, is_followed=False)
