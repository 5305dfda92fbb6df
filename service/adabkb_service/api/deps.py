"""Dependencies of the endpoints: the service, the idempotency key and the page of a list.

All of them are coroutines, because FastAPI would run other functions on a thread.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Query, Request, Response
from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from adabkb_service.access.caller import ANYBODY, Caller
from adabkb_service.access.meter import Spend
from adabkb_service.api.body import LARGE_BODY_BYTES, StrictRequest
from adabkb_service.api.conditional import etag_of
from adabkb_service.api.fair_queue import run_serialized
from adabkb_service.api.parts import parts_of
from adabkb_service.api.prefix import own_path
from adabkb_service.contract import answers as views
from adabkb_service.contract.access import USER
from adabkb_service.contract.parameters import MAX_SAFE_INTEGER, STUDY_ID
from adabkb_service.contract.requests import IDEMPOTENCY_KEY
from adabkb_service.errors import FieldError, Invalid, StudyNotFound
from adabkb_service.operations.service import Service
from adabkb_service.study.request import Answer, Key, Outcome
from adabkb_service.study.request import Request as StudyRequest
from adabkb_service.telemetry.logs import note


async def _study_id(study_id: Annotated[str, Path(description="the study's id")]) -> str:
    if re.fullmatch(STUDY_ID, study_id) is None:
        raise StudyNotFound(study_id)
    return study_id


StudyId = Annotated[str, Depends(_study_id)]


def _digits(text: str) -> str:
    """Return a number in a path unchanged, so that each object has one address: not "01", "+1" or "1.0".

    Raises:
        PydanticCustomError: it is written in another form.
    """
    if re.fullmatch(r"-?(0|[1-9][0-9]*)", text) is None:
        raise PydanticCustomError("int_parsing", "must be a whole number, such as 12")
    return text


Number = Annotated[int, Path(ge=1, le=2**31 - 1), BeforeValidator(_digits)]


async def _service(request: Request) -> Service:
    return parts_of(request.app).service


ServiceDep = Annotated[Service, Depends(_service)]


Parts = tuple[str, str, str, Any]


async def _key(
    request: StrictRequest,
    idempotency_key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            description="1 to 255 visible ASCII characters; new for each call and the same for its retries, so "
            "that a call has one effect and one response",
            pattern=IDEMPOTENCY_KEY,
        ),
    ] = None,
) -> Key | None:
    if idempotency_key is None:
        return None
    raw = await request.body()
    query = request.scope["query_string"].decode("latin-1")
    parts: Parts = request.method, own_path(request.scope), query, await request.parsed() if raw else None
    caller: Caller = request.scope["state"].get("caller", ANYBODY)
    fingerprint = (
        _fingerprint(parts)
        if len(raw) < LARGE_BODY_BYTES
        else await run_serialized(request, partial(_fingerprint, parts))
    )
    return Key(request.path_params.get("study_id", ""), idempotency_key, fingerprint, caller.user)


def _fingerprint(parts: Parts) -> str:
    """Return a hash of a request's method, path, query and body. The order of names and white space in the body do not
    matter."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


KeyDep = Annotated[Key | None, Depends(_key)]


async def perform(
    service: Service, request: StudyRequest[Answer], spend: Spend | None = None, user: str | None = None
) -> Outcome[Answer]:
    """Perform a request without a thread, and return its outcome. ``spend`` charges a quota for the request; ``user``
    is named in its events.

    Raises:
        AdaBKBError: see ``Service.do_async``.
    """
    sent = request if spend is None and user is None else replace(request, spend=spend, user=user)
    outcome = await service.do_async(sent)
    note(trial=_trials(outcome.view))
    return outcome


def _trials(view: Any) -> int | list[int] | None:
    """Return the numbers of the trials in a response, for the log."""
    if trials := getattr(view, "trials", None):
        return [trial.number for trial in trials]
    trial = getattr(view, "trial", None)
    return None if trial is None else trial.number


def reply(outcome: Outcome[Any]) -> Response:
    """Return an outcome as a response. If the outcome is a study, the response has the same ETag as a GET of the
    study."""
    is_study = isinstance(outcome.view, views.Study)
    headers = {"ETag": f'"{etag_of(outcome.view, outcome.json)}"'} if is_study else {}
    if outcome.replayed:
        headers["Idempotent-Replayed"] = "true"
    status = 201 if outcome.created else 200
    return Response(outcome.json, status, headers, media_type="application/json")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The requested page of a list."""

    limit: int
    cursor: str | None

    @property
    def after(self) -> int:
        """The last number of the previous page; 0 for the first page."""
        if self.cursor is None:
            return 0
        value = _decode(self.cursor)
        if not isinstance(value, int) or not 0 <= value <= MAX_SAFE_INTEGER:
            raise _not_a_cursor()
        return value

    @property
    def after_study(self) -> tuple[datetime, str] | None:
        """(created_at, id) of the last study or token of the previous page; None for the first page."""
        if self.cursor is None:
            return None
        match _decode(self.cursor):
            case [str(created_at), str(study_id)] if re.fullmatch(STUDY_ID, study_id):
                try:
                    return datetime.fromisoformat(created_at).astimezone(UTC), study_id
                except (ValueError, OverflowError):
                    raise _not_a_cursor() from None
            case _:
                raise _not_a_cursor()

    @property
    def after_name(self) -> str:
        """The last name of the previous page; empty for the first page."""
        if self.cursor is None:
            return ""
        value = _decode(self.cursor)
        if not isinstance(value, str) or re.fullmatch(USER, value) is None:
            raise _not_a_cursor()
        return value

    def cursor_after(self, count: int, last: int) -> str | None:
        """Return the cursor of the next page, or None if ``count`` items do not fill this one."""
        return encoded(last) if count == self.limit else None


async def _page(
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(description="next_cursor of the previous page", max_length=500)] = None,
) -> PageRequest:
    return PageRequest(limit, cursor)


PageDep = Annotated[PageRequest, Depends(_page)]


Owner = Annotated[str | None, Query(description="only studies that this user owns", pattern=USER)]


def named(field: str, text: str, example: str) -> tuple[str, str]:
    """Return the name and the value in a query parameter ``name:value``.

    Raises:
        Invalid: the name or the colon is missing.
    """
    name, colon, value = text.partition(":")
    if not name or not colon:
        raise Invalid([FieldError(f"?{field}", f"must be name:value, such as {example}", f"invalid_{field}")])
    return name, value


def encoded(position: Any) -> str:
    """Return a position in a list as an opaque cursor."""
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")


def encoded_number(position: int | None) -> str | None:
    """Return a number as an opaque cursor; None for the end."""
    return None if position is None else encoded(position)


def encoded_time(position: tuple[datetime, str] | None) -> str | None:
    """Return (created_at, id) as an opaque cursor; None for the end."""
    return None if position is None else encoded([position[0].isoformat(), position[1]])


def _decode(cursor: str) -> Any:
    try:
        return json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, RecursionError):
        raise _not_a_cursor() from None


def _not_a_cursor() -> Invalid:
    return Invalid(
        [
            FieldError(
                "?cursor",
                "is not a next_cursor of this list; take it from the previous page, or leave it out for the first page",
                "invalid_cursor",
            )
        ]
    )
