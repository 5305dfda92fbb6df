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
from adabkb_service.errors import (
    Busy,
    FieldError,
    Forbidden,
    Invalid,
    StudyDeleted,
    StudyNotFound,
    TooManyAtOnce,
    Unauthorized,
    Unavailable,
)
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read

PING_SECONDS = 15.0
"""Seconds without an event after which a stream sends a comment."""
READMIT_SECONDS = 0.5
"""Seconds between checks that the caller may still read."""
MAX_SEQ = 2**31 - 1
STREAM = "text/event-stream"
JSON = "application/json"
_QUALITY = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")
_EVENT_ID = re.compile(r"(\d{1,10})(?:\.([0-9a-f]{8}))?", re.ASCII)
LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", description="id of the last event that the client has, in a stream; or its seq"),
]
Listed = Callable[[Service, str, int, int], read.Page[Any, int]]
"""Reads events, given the service, the study, the seq before the first event and a limit, as ``read.list_events``."""


def event_stream(
    request: Request,
    caller: Caller,
    service: Service,
    study_id: str,
    page: PageRequest,
    last_event_id: str | None,
    listed: Listed,
) -> Response:
    """Return events as a list or, with ``Accept: text/event-stream``, as a stream.

    Args:
        request, caller: who reads.
        service, study_id: the study whose log to read.
        page: the position before the first event, and how many events to read at a time.
        last_event_id: the id of the event after which a stream continues; None for the position of ``page``.
        listed: reads events.

    Raises:
        StudyNotFound: the study does not exist.
        StudyDeleted: the study of ``last_event_id`` was deleted.
        Invalid: ``last_event_id`` is not the id of an event.
        TooManyAtOnce: the caller has too many streams.
    """
    after, known = (page.after, None) if last_event_id is None else _position(last_event_id)
    identity = _identity(service, study_id, known)
    if last_event_id is not None and after and not read.list_events(service, study_id, after - 1, 1).items:
        after = 0  # unknown: from before the database was restored
    if prefers_stream(request.headers.get("accept", "")):
        concurrency = parts_of(request.app).concurrency
        concurrency.check(STREAMS, caller)
        first = _batch(listed, service, study_id, identity, after, page.limit)
        stream = _stream(concurrency, service, study_id, identity, request, caller, listed, first, page.limit)
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


def _position(event_id: str) -> tuple[int, str | None]:
    """Return the seq in the id of an event, and the ``identity_tag`` of its study, if the id has one."""
    found = _EVENT_ID.fullmatch(event_id)
    if found is None or int(found[1]) > MAX_SEQ:
        sentence = "must be the id of an event in the stream, or the seq of an event, such as 12"
        raise Invalid([FieldError("header:Last-Event-ID", sentence, "invalid_event_id")])
    return int(found[1]), found[2]


def _identity(service: Service, study_id: str, known: str | None) -> str:
    """Return the ``identity_tag`` of a study.

    Args:
        service, study_id: the study.
        known: the tag of the study whose events the client has; None if it may be any.

    Raises:
        StudyNotFound: the study does not exist.
        StudyDeleted: the client has events of a study that does not exist any more.
    """
    try:
        found = read.identity(service, study_id)
    except StudyNotFound:
        if known is None:
            raise
        raise StudyDeleted(study_id) from None
    if known not in (None, found):
        raise StudyDeleted(study_id, "another study has its id now")
    return found


class _Batch(NamedTuple):
    """Some events of a stream."""

    text: str
    last: int
    """The seq of the last event, or the previous position without events."""
    is_followed: bool
    """Whether more events are stored."""


def _batch(listed: Listed, service: Service, study_id: str, identity: str, after: int, limit: int) -> _Batch:
    """Return the events after a seq. Call it on a thread, because many streams may start at once.

    Raises:
        StudyNotFound: the study does not exist.
        StudyDeleted: the study with this id is another one.
    """
    found = listed(service, study_id, after, limit)
    _identity(service, study_id, identity)  # after reading, so that these are events of the study
    text = "".join(
        f"id: {event.seq}.{identity}\nevent: {event.kind}\ndata: {event.model_dump_json()}\n\n" for event in found.items
    )
    return _Batch(text, found.items[-1].seq if found.items else after, found.after is not None)


async def _stream(
    concurrency: Concurrency,
    service: Service,
    study_id: str,
    identity: str,
    request: Request,
    caller: Caller,
    listed: Listed,
    found: _Batch,
    limit: int,
) -> AsyncIterator[str]:
    """Yield server-sent events until the client disconnects or loses access, the study is deleted, the database does
    not respond, or the server stops. Clients reconnect, and get a 503 from an outage, and a 404 after a deletion, also
    if there is another study with the id: the ids of events contain the identity of their study.

    Args:
        concurrency: counts the streams.
        service, study_id: the study whose log to stream.
        identity: its ``identity_tag``.
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
        beginning = "" if found.text else f"id: {found.last}.{identity}\n"  # for clients that reconnect before an event
        yield f"{beginning}retry: 1000\n\n"
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
                found = await run_sync(_batch, listed, service, study_id, identity, found.last, limit)
            else:
                found = _Batch("", found.last, is_followed=False)
