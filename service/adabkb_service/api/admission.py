"""Admission of requests: before the body is read, the token is checked against the right that the endpoint needs.

Each endpoint declares what it needs, ``@needs("work")`` or ``@needs_nothing``. An endpoint without such a
declaration cannot be routed: ``GuardedRoute`` raises TypeError.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.types import Message, Receive, Scope, Send

from adabkb_service.access.caller import ANYBODY, SCOPE_FOR, Caller, Need
from adabkb_service.access.concurrency import REQUESTS
from adabkb_service.access.gate import Gate
from adabkb_service.access.meter import Meter, Spend
from adabkb_service.api.forwarding import is_forwarded
from adabkb_service.api.middleware import sender
from adabkb_service.api.parts import parts_of
from adabkb_service.api.ratelimit import rate_limit_headers
from adabkb_service.contract.parameters import STUDY_ID
from adabkb_service.errors import Forbidden
from adabkb_service.telemetry.logs import note

COOKIE = "adabkb_token"
SCHEME = "token"
"""Name of the security scheme in the OpenAPI document."""

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

_ACCESS = "__access__"
"""The attribute of an endpoint with the fields of ``Access`` that it declares."""


@dataclass(frozen=True, slots=True)
class Access:
    """Who may call an endpoint, and which process performs its requests."""

    need: Need | None
    """The required right; None if anyone may call it."""
    study: str = ""
    """The path parameter with the study's id; empty if the path has none."""
    uses_model: bool = False
    """Whether calls count against the quota of processor time of models."""
    is_for_links: bool = True
    """Whether share links may use it."""
    follower: Literal["", "idempotent", "once"] = ""
    """Empty if the server that receives a request performs it. Otherwise the study's follower does (see
    ``forwarding``). "once": the request is not idempotent, so it is forwarded with an Idempotency-Key."""


def needs(need: Need, study: str = "study_id", *, model: bool = False) -> Callable[[Endpoint], Endpoint]:
    """Declare what an endpoint needs.

    Args:
        need: the right to read, to work, to own the study, or to administer.
        study: name of the path parameter with the study's id; empty if the path has none.
        model: whether the endpoint uses the model, which counts against the user's quota of processor time.
    """
    return partial(_declare, need=need, study=study, uses_model=model)


def not_for_links(endpoint: Endpoint) -> Endpoint:
    """Declare that share links may not use an endpoint, because it returns more than their study."""
    return _declare(endpoint, is_for_links=False)


def by_follower(endpoint: Endpoint) -> Endpoint:
    """Declare that the study's follower performs the requests of an endpoint, and that they are idempotent; see
    ``forwarding``."""
    return _declare(endpoint, follower="idempotent")


def by_follower_once(endpoint: Endpoint) -> Endpoint:
    """As ``by_follower``, for an endpoint whose requests are not idempotent."""
    return _declare(endpoint, follower="once")


def needs_nothing(endpoint: Endpoint) -> Endpoint:
    """Declare that anyone may use an endpoint."""
    return _declare(endpoint, need=None)


def _declare(endpoint: Endpoint, **fields: Any) -> Endpoint:
    vars(endpoint)[_ACCESS] = {**vars(endpoint).get(_ACCESS, {}), **fields}
    return endpoint


class GuardedRoute(APIRoute):
    """A route that checks a request with the gate before it calls the endpoint.

    Raises:
        TypeError: the endpoint does not declare what it needs.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        declared = vars(endpoint).get(_ACCESS, {})
        if "need" not in declared:
            raise TypeError(f"{endpoint.__name__} does not declare what it needs; see {needs.__module__}")
        self.access = Access(**declared)
        need = self.access.need
        if need is not None:
            security = {"security": [{SCHEME: [SCOPE_FOR[need]]}]}
            options["openapi_extra"] = {**(options.get("openapi_extra") or {}), **security}
        super().__init__(path, endpoint, **options)
        self._changes_rights = need in ("own", "admin") and "GET" not in (self.methods or ())

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, then call the endpoint (ASGI). A client that disconnects before the response is no error of
        the server."""
        try:
            await self._handle(scope, receive, send)
        except ClientDisconnect:
            await Response(status_code=400)(scope, receive, send)  # for logs and metrics: nobody reads it

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        note(study=scope["path_params"].get("study_id"), trial=_number(scope["path_params"].get("number", "")))
        caller, parts = await self.admit(scope), parts_of(scope["app"])
        gate = parts.gate
        if is_forwarded(scope):  # the server that forwarded the request counts it
            self._charge(gate.meter, caller, scope)
            await super().handle(scope, receive, send)
            return
        with parts.concurrency.hold(REQUESTS, caller or ANYBODY):
            if caller is not None:
                send = _metered(gate.meter, caller, send)
            self._charge(gate.meter, caller, scope)
            if self._changes_rights:
                send = _after_change(gate, send, parts.admission)
            if self.access.follower and parts.forwarding is not None:
                is_once = self.access.follower == "once"
                again = await parts.forwarding.forward(self._study_id(scope) or "", scope, receive, send, once=is_once)
                if again is None:
                    return
                receive = again
            await super().handle(scope, receive, send)

    async def admit(self, scope: Scope) -> Caller | None:
        """Check a request with the gate.

        Returns:
            The sender of the request; None where no token is required.

        Raises:
            Unauthorized, Forbidden, StudyNotFound: see ``Gate.admit``.
        """
        gate = parts_of(scope["app"]).gate
        is_open = scope["state"]["admitted_token"] is None if is_forwarded(scope) else gate.is_open
        if self.access.need is not None and not is_open:
            caller = scope["state"]["caller"] = await self._admitted(gate, scope, self.access.need)
            note(user=caller.user)
            return caller
        return None

    async def _admitted(self, gate: Gate, scope: Scope, need: Need) -> Caller:
        study_id, threads = self._study_id(scope), parts_of(scope["app"]).admission
        if study_id is not None and re.fullmatch(STUDY_ID, study_id) is None:
            study_id = None  # no study has such an id; the endpoint reports it if the token is valid
        if (token_id := scope["state"].get("admitted_token")) is not None:
            caller = gate.cached_caller_by_id(token_id, need, study_id)
            if caller is None:
                caller = await run_sync(gate.admit_by_id, token_id, need, study_id, limiter=threads)
            return caller
        token = token_of(scope)
        caller = None if token is None else gate.cached_caller(token, need, study_id)
        if caller is None:
            caller = await run_sync(gate.admit, token, need, study_id, sender(scope), limiter=threads)
        if caller.is_link and not self.access.is_for_links:
            raise Forbidden("A share link only allows reading its study.", SCOPE_FOR[need])
        return caller

    def _study_id(self, scope: Scope) -> str | None:
        """The id in the path of a request; None if the path has none."""
        study_id: str | None = scope["path_params"].get(self.access.study)
        return study_id

    def _charge(self, meter: Meter, caller: Caller | None, scope: Scope) -> None:
        """If the endpoint uses the model, charge the model's work from now on to the sender: see ``Meter.set_payer``.

        Raises:
            TooManyRequests: the quota is used up.
        """
        if caller is not None and self.access.uses_model:
            meter.set_payer(caller, self._study_id(scope) or "", is_read=self.access.need == "read")


def _metered(meter: Meter, caller: Caller, send: Send) -> Send:
    """Count a request, and send the remaining quota in the headers of the response.

    Raises:
        TooManyRequests: the quota is used up.
    """
    limit = meter.request(caller)
    if limit is None:
        return send
    headers = rate_limit_headers(limit)

    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(headers)
        await send(message)

    return answer


async def readmit(request: Request) -> None:
    """Check a long request again: its token may have expired, or its right to the study may have been revoked.

    Raises:
        Unauthorized, Forbidden, StudyNotFound: see ``Gate.admit``.
    """
    route = request.scope["route"]
    assert isinstance(route, GuardedRoute)
    await route.admit(request.scope)


def _number(text: str) -> int | None:
    """Return the number of the trial in the path, for the log; None if the text is not a valid number."""
    return int(text) if re.fullmatch(r"[0-9]{1,10}", text) else None


def _after_change(gate: Gate, send: Send, threads: CapacityLimiter) -> Send:
    """Delay the response until the gate has dropped its cached grants."""

    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            await run_sync(gate.rights_changed, limiter=threads)
        await send(message)

    return answer


def token_of(scope: Scope) -> str | None:
    """Return the bearer token of the header Authorization ("" if it has another scheme) or, without this header, the
    token in the cookie of the web interface. (``OriginMiddleware`` has already refused cross-site requests.)"""
    cookie = None
    for name, value in scope["headers"]:
        if name == b"authorization":
            scheme, _, token = value.decode("latin-1").partition(" ")
            return token.strip() if scheme.lower() == "bearer" else ""
        if name == b"cookie":
            cookie = cookie_parser(value.decode("latin-1")).get(COOKIE)
    return cookie


def cookie_of(scope: Scope) -> str | None:
    """Return the token in the cookie of the web interface."""
    return Request(scope).cookies.get(COOKIE)


async def _caller(request: Request) -> Caller:
    caller: Caller = request.scope["state"].get("caller", ANYBODY)
    return replace(caller, address=sender(request.scope))


CallerDep = Annotated[Caller, Depends(_caller)]


async def _spend(request: Request) -> Spend | None:
    caller: Caller = request.scope["state"].get("caller", ANYBODY)
    return parts_of(request.app).gate.meter.spending(caller)


SpendDep = Annotated[Spend | None, Depends(_spend)]
"""A function to call with the amounts that a request stores, so that they count against the quotas; None without
quotas."""
