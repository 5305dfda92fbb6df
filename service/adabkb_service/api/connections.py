"""Connections: how many there may be, and how long and how large what comes over them may be.

uvicorn itself has no limit on the size of a header, nor on the time for it or for a body; and a connection without a
request counts as much as one with one. Here a connection that waits for its client may be closed for a new one: of the
address with the most connections the one that has waited for longest. So idle and slow clients do not keep others out.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from adabkb_service.api.problem_types import CONNECTIONS, TABLE, ProblemType
from adabkb_service.errors import Unavailable

LAST_SECONDS = 1.0
"""Between a refusal and the end of its connection: a connection that is closed at once may lose it on its way."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of a server's connections."""

    connections: int = 800
    """That are open."""
    header_bytes: int = 65_536
    """Of a request line and its headers."""
    header_seconds: float = 10.0
    """From the first byte of a header to its last one, or from the begin of a connection."""
    body_seconds: float = 60.0
    """From the end of the header to the end of the body."""
    idle_seconds: float = 15.0
    """Between an answer and the next request."""
    stall_seconds: float = 60.0
    """For which an answer may wait for its reader."""


def config(app: FastAPI, **options: Any) -> uvicorn.Config:
    """How uvicorn is to serve an app whose state has ``connection_limits``."""
    limits: ConnectionLimits = app.state.connection_limits
    # uvicorn calls it as it would call the class.
    protocol: Any = partial(LimitedProtocol, limits)
    return uvicorn.Config(app, http=protocol, ws="none", timeout_keep_alive=limits.idle_seconds, **options)  # type: ignore[arg-type]


class LimitedProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, limits: ConnectionLimits, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._limits = limits
        self._unparsed = 0
        """Bytes that have come of a header that is not complete."""
        self._size = 0
        """Of the header, as far as it is parsed."""
        self._in_body = False
        self._is_refused = False
        self._timer: asyncio.TimerHandle | None = None
        self.waits_since: float | None = None
        """Since when the client is to send or to read something; None while a request is at work."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come; another one may have to leave."""
        try:
            self._begin(transport)
        except BaseException:
            transport.abort()  # asyncio leaves it open, without anything that would end it
            raise

    def _begin(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.waits_since = self.loop.time()
        if len(self.connections) > self._limits.connections and not self._close_another():
            self._refuse(CONNECTIONS[503], f"{self._limits.connections:,} connections are open, all of them at work.")
            return
        self._set_timer(self._limits.header_seconds, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has left, or was made to."""
        self._set_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what has come, and begin to wait for the rest."""
        if self._is_refused:
            return
        self._unparsed += len(data)
        super().data_received(data)
        if self._is_refused or self.transport.is_closing():
            return
        if not self._in_body and self._unparsed > self._limits.header_bytes:
            self._header_too_large()
        elif not self._in_body and not self._unparsed:
            self._set_timer()
        elif self._timer is None:
            seconds = self._limits.body_seconds if self._in_body else self._limits.header_seconds
            self._set_timer(seconds, self._too_slow)

    def on_message_begin(self) -> None:
        """A header begins."""
        self._size = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """A part of the request line."""
        self._size += len(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A line of the header."""
        self._size += len(name) + len(value) + 4
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The application gets to work."""
        if self._size > self._limits.header_bytes:
            self._header_too_large()
            return
        self._in_body = True
        self.waits_since = self.loop.time()
        self._set_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Nothing more is to come."""
        if not self._is_refused:
            self._in_body, self._unparsed, self.waits_since = False, 0, None
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """The next request may come."""
        super().on_response_complete()
        if not self.pipeline:
            self.waits_since = self.loop.time()

    def pause_writing(self) -> None:
        """The client does not read; it has so long to begin again, and may have to leave."""
        super().pause_writing()
        self.waits_since = self.loop.time()
        self._set_timer(self._limits.stall_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads."""
        self._set_timer()
        if self.cycle is not None and not self.cycle.response_complete:
            self.waits_since = None
        super().resume_writing()

    def shutdown(self) -> None:
        """The server stops: refuse a request whose body has not come wholly."""
        if self._in_body and self.cycle is not None and not self.cycle.response_started:
            detail = "The server is stopping, and the body of the request had not come wholly; send it again."
            self._refuse(TABLE[Unavailable], detail)
        super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        del msg
        self._refuse(CONNECTIONS[400], "What was sent is not a request of HTTP/1.1.")

    def _close_another(self) -> bool:
        """Close a connection that waits for its client, if there is one but this: of the address with the most
        connections the one that has waited for longest."""
        connections: set[Any] = self.connections
        others = [each for each in connections if each is not self and each.waits_since is not None]
        if others:
            count = Counter(each.address for each in connections)
            min(others, key=lambda each: (-count[each.address], each.waits_since)).leave()
        return bool(others)

    @property
    def address(self) -> str:
        """Where the connection comes from: a client, or a proxy."""
        return self.client[0] if self.client else ""

    def leave(self) -> None:
        """Make room for somebody else."""
        self.connections.discard(self)
        self.transport.abort()

    def _header_too_large(self) -> None:
        detail = f"The request line and the headers may have {self._limits.header_bytes:,} bytes."
        self._refuse(CONNECTIONS[431], detail)

    def _too_slow(self) -> None:
        what, seconds = (
            ("body", self._limits.body_seconds) if self._in_body else ("header", self._limits.header_seconds)
        )
        is_answered = self._in_body and self.cycle.response_complete
        if is_answered or not (self._in_body or self._unparsed):
            self.transport.close()
        else:
            self._refuse(CONNECTIONS[408], f"The {what} of the request did not come within {seconds:g} s.")

    def _set_timer(self, seconds: float | None = None, act: Any = None) -> None:
        """Act after so many seconds, unless it is set again before."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, act)

    def _refuse(self, problem_type: ProblemType, detail: str) -> None:
        """Answer in place of the application, and end the connection."""
        if self._is_refused:
            return
        self._is_refused = True
        if self.cycle is not None and not self.cycle.response_complete:  # what it would answer comes too late
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            self.transport.write(_answer(problem_type, detail))
        self._set_timer(LAST_SECONDS, self.transport.close)


def _answer(problem_type: ProblemType, detail: str) -> bytes:
    """A problem as it is sent, without an application that would know the path or the id of a request."""
    problem = {
        "type": "about:blank",
        "title": problem_type.title,
        "status": problem_type.status,
        "detail": detail,
        "instance": "",
        "code": problem_type.code,
        "request_id": "",
        "retryable": problem_type.retryable,
        "remedy": problem_type.remedy,
        "errors": [],
    }
    body = json.dumps(problem).encode()
    headers = [
        b"content-type: application/problem+json",
        b"content-length: %d" % len(body),
        b"connection: close",
        b"x-content-type-options: nosniff",
        *([b"retry-after: 1"] if problem_type.retryable else []),
    ]
    return b"".join([STATUS_LINE[problem_type.status], *(header + b"\r\n" for header in headers), b"\r\n", body])
