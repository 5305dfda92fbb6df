"""Middleware of every request: its id, the limit of its size, its metrics and its line in the log."""

from __future__ import annotations

import logging
import math
import random
import re
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adabkb_service.api.problem_types import HTTP
from adabkb_service.api.problems import problem
from adabkb_service.errors import Busy
from adabkb_service.telemetry.logs import FACTS
from adabkb_service.telemetry.metrics import Metrics

access_log = logging.getLogger("adabkb.access")

VALID_ID = re.compile(r"[\w.:-]{1,100}", re.ASCII)


class RequestMiddleware:
    """Gives each request an id (from ``X-Request-ID``, or a new one), counts, times and logs the request, and sets
    ``nosniff`` in the response."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request (ASGI)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        request_id = given if VALID_ID.fullmatch(given) else f"{random.getrandbits(128):032x}"
        scope.setdefault("state", {})["request_id"] = request_id
        before = FACTS.set({"request_id": request_id, "address": sender(scope)})
        status, started = 500, time.perf_counter()

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update({"X-Request-ID": request_id, "X-Content-Type-Options": "nosniff"})
                if headers.get("Content-Encoding") == "gzip" and headers.get("ETag", "").startswith('"'):
                    headers["ETag"] = f"W/{headers['ETag']}"  # a strong tag is of the bytes (RFC 9110, 8.8.1)
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        finally:
            self._record(scope, status, time.perf_counter() - started)
            FACTS.reset(before)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unmatched")
        method = scope["method"] if scope["method"] in METHODS else "other"
        self._metrics.answered(method, route, status, seconds)
        if access_log.isEnabledFor(logging.INFO):
            path = scope["path"]  # without the query, which may contain a token by mistake
            facts = {"method": method, "path": path, "status": status, "milliseconds": round(seconds * 1000, 1)}
            access_log.info("%s %s %d in %.1f ms", *facts.values(), extra={"facts": facts})


class HeadMiddleware:
    """Answers HEAD wherever GET is allowed, with the status and headers of GET but no body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request (ASGI)."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        as_get = {**scope, "method": "GET"}

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                # End the response. The server then reports a disconnect, which ends a stream.
                await send({"type": "http.response.body", "body": b""})

        try:
            await self._app(as_get, receive, send_head)
        finally:
            scope["route"] = as_get.get("route")


def sender(scope: Scope) -> str:
    """Return the address of the client, as reported by a trusted proxy if there is one."""
    client = scope.get("client")
    return "" if client is None else str(client[0])[:100]


METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def _length(declared: str) -> float:
    """Return the value of a Content-Length; infinity if it is not a number or has too many digits."""
    digits = declared.lstrip("0")
    if not declared.isascii() or not declared.isdigit() or len(digits) > 18:
        return math.inf
    return int(digits or "0")


class BodyLimitMiddleware:
    """Refuses a body over the limit: at once if the declared length is too large, otherwise as soon as too many bytes
    have arrived.

    Starlette's own middleware would answer in plain text.
    """

    def __init__(self, app: ASGIApp, limit: int, total: int) -> None:
        """Set the limits of one body and of all bodies that are processed at a time."""
        self._app = app
        self._limit = limit
        self._total = total
        self._bytes_in_memory = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request (ASGI)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        detail = f"A body may have at most {self._limit:,} bytes."
        declared = Headers(scope=scope).get("content-length", "0")
        if _length(declared) > self._limit:
            await problem(Request(scope), HTTP[413], detail)(scope, receive, send)
            return
        received = 0

        async def receive_within_limit() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            self._bytes_in_memory += len(message.get("body", b""))
            if received > self._limit:
                raise HTTPException(413, detail)
            if self._bytes_in_memory > self._total:
                raise Busy("The server is processing as many large requests as its memory allows; try again.")
            return message

        try:
            await self._app(scope, receive_within_limit, send)
        finally:
            self._bytes_in_memory -= received
