"""Limits on the number of connections, and on the size and the duration of requests.

uvicorn itself limits neither the size of a header nor the time for a header or a body, and treats idle connections like
busy ones. Here, a new connection over the limit replaces a connection that waits for its client, so that idle and slow
clients do not block others. The replaced connection is the longest-waiting one of the address with the most
connections.
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

from adabkb_service.api.parts import parts_of
from adabkb_service.api.problem_types import CONNECTIONS, TABLE, ProblemType
from adabkb_service.errors import Unavailable

LAST_SECONDS = 1.0
"""Seconds between a refusal and the end of its connection. If the server closed the connection at once, the client
might never receive the refusal."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of a server's connections."""

    connections: int = 4000
    """The maximum number of open connections."""
    header_bytes: int = 65_536
    """The maximum size of the request line and the headers together, in bytes."""
    header_seconds: float = 10.0
    """The time for a header, from its first byte or from the beginning of the connection."""
    body_seconds: float = 60.0
    """The time from the end of the header to the end of the body."""
    idle_seconds: float = 15.0
    """The time between a response and the next request."""
    stall_seconds: float = 60.0
    """The maximum time for which a client may read nothing of a response."""


def config(app: FastAPI, **options: Any) -> uvicorn.Config:
    """Return the configuration of uvicorn for an app with ``Parts``."""
    limits = parts_of(app).connection_limits
    # uvicorn calls this instead of the class.
    protocol: Any = partial(LimitedProtocol, limits)
    return uvicorn.Config(app, http=protocol, ws="none", timeout_keep_alive=limits.idle_seconds, **options)  # type: ignore[arg-type]


class LimitedProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, limits: ConnectionLimits, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._limits = limits
        self._unparsed = 0
        """Number of bytes received since the last complete request."""
        self._size = 0
        """Size of the parsed part of the header, in bytes."""
        self._in_body = False
        self._is_refused = False
        self._timer: asyncio.TimerHandle | None = None
        self.waits_since: float | None = None
        """The time since which the connection has waited for its client to send or to read; None while a request is
        performed."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection. If there are too many, close another one."""
        try:
            self._begin(transport)
        except BaseException:
            transport.abort()  # asyncio would leave it open, without a timeout
            raise

    def _begin(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.waits_since = self.loop.time()
        if len(self.connections) > self._limits.connections and not self._close_another():
            self._refuse(CONNECTIONS[503], f"{self._limits.connections:,} connections are open, and all are busy.")
            return
        self._set_timer(self._limits.header_seconds, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop the timer of a connection that the client or the server has closed."""
        self._set_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the received bytes, and set the timer for the rest."""
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
        """Begin a header."""
        self._size = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Add a part of the request line to the size of the header."""
        self._size += len(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a line to the size of the header."""
        self._size += len(name) + len(value) + 4
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the application, and wait for the body. If the header is too large, refuse the request."""
        if self._size > self._limits.header_bytes:
            self._header_too_large()
            return
        self._in_body = True
        self.waits_since = self.loop.time()
        self._set_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Pass a part of the body on, unless the request was refused."""
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """End a complete request, unless it was refused."""
        if not self._is_refused:
            self._in_body, self._unparsed, self.waits_since = False, 0, None
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if not self.pipeline:
            self.waits_since = self.loop.time()

    def pause_writing(self) -> None:
        """Give a client that does not read ``stall_seconds`` to resume. Until then, a new connection may replace this
        one."""
        super().pause_writing()
        self.waits_since = self.loop.time()
        self._set_timer(self._limits.stall_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Drop the time limit, since the client reads again."""
        self._set_timer()
        if self.cycle is not None and not self.cycle.response_complete:
            self.waits_since = None
        super().resume_writing()

    def shutdown(self) -> None:
        """Refuse a request whose body is incomplete, because the server stops."""
        if self._in_body and self.cycle is not None and not self.cycle.response_started:
            detail = "The server is stopping, and the body of the request was incomplete; send it again."
            self._refuse(TABLE[Unavailable], detail)
        super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not HTTP."""
        del msg
        self._refuse(CONNECTIONS[400], "The received bytes are not a valid request in HTTP/1.1.")

    def _close_another(self) -> bool:
        """Close another connection in favor of this one, as described at the top of this module. Return whether there
        was one to close."""
        connections: set[Any] = self.connections
        others = [each for each in connections if each is not self and each.waits_since is not None]
        if others:
            count = Counter(each.address for each in connections)
            min(others, key=lambda each: (-count[each.address], each.waits_since)).leave()
        return bool(others)

    @property
    def address(self) -> str:
        """The address of the client, or of a proxy."""
        return self.client[0] if self.client else ""

    def leave(self) -> None:
        """Close the connection in favor of a new one."""
        self.connections.discard(self)
        self.transport.abort()

    def _header_too_large(self) -> None:
        detail = f"The request line and the headers together are limited to {self._limits.header_bytes:,} bytes."
        self._refuse(CONNECTIONS[431], detail)

    def _too_slow(self) -> None:
        what, seconds = (
            ("body", self._limits.body_seconds) if self._in_body else ("header", self._limits.header_seconds)
        )
        is_answered = self._in_body and self.cycle.response_complete
        if is_answered or not (self._in_body or self._unparsed):
            self.transport.close()
        else:
            self._refuse(CONNECTIONS[408], f"The {what} of the request did not arrive within {seconds:g} s.")

    def _set_timer(self, seconds: float | None = None, act: Any = None) -> None:
        """Call ``act`` after ``seconds``, in place of any timer that is set."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, act)

    def _refuse(self, problem_type: ProblemType, detail: str) -> None:
        """Respond in place of the application, and close the connection."""
        if self._is_refused:
            return
        self._is_refused = True
        if self.cycle is not None and not self.cycle.response_complete:  # its response would come too late
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            self.transport.write(_answer(problem_type, detail))
        self._set_timer(LAST_SECONDS, self.transport.close)


def _answer(problem_type: ProblemType, detail: str) -> bytes:
    """Return the bytes of a problem response, without the path and the id of a request, which only the application
    knows."""
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
