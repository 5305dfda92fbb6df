"""Errors as ``application/problem+json`` (RFC 9457). ``TABLE`` alone decides which status an error gets."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.routing import Match

from adabkb_service import errors
from adabkb_service.api.addresses import meant
from adabkb_service.contract.answers import Answer, BatchItem, Fault
from adabkb_service.contract.faults import MORE
from adabkb_service.contract.wording import sentence

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 1
UNKNOWN = "extra_forbidden"
"""Code of the fault of a field that there is not."""


class Kind(NamedTuple):
    """How an error is answered."""

    status: int
    code: str
    title: str
    retryable: bool = False
    remedy: str | None = None
    """What to do, in terms of the API, where the ``detail`` of the error does not say it."""


TABLE: dict[type[errors.AdaBKBError], Kind] = {
    errors.StudyNotFound: Kind(
        404,
        "study_not_found",
        "No such study",
        remedy="GET /v1/studies lists those that there are, and POST /v1/studies creates one.",
    ),
    errors.TrialNotFound: Kind(
        404, "trial_not_found", "No such trial", remedy="GET .../trials lists those that there are."
    ),
    errors.ObservationNotFound: Kind(
        404,
        "observation_not_found",
        "No such observation",
        remedy="GET .../observations lists those that there are; their seq is the number that is meant.",
    ),
    errors.StudyExists: Kind(
        409,
        "study_exists",
        "The id is taken",
        remedy="Give another id, or the same definition to go on with the study that there is. PATCH /v1/studies/... "
        "changes its limits, stop and tags; the rest of a definition cannot change.",
    ),
    errors.ResultConflict: Kind(
        409,
        "result_conflict",
        "The attempt has another result",
        remedy="PATCH .../observations/... corrects a result that is stored, and POST .../retry hands out a failed "
        "trial again.",
    ),
    errors.TrialFinished: Kind(
        409,
        "trial_finished",
        "The trial is finished",
        remedy="There is nothing left to do for this trial. DELETE .../observations/... excludes a wrong result, and "
        "POST .../retry hands out a failed trial again.",
    ),
    errors.LeaseLost: Kind(
        409,
        "lease_lost",
        "The attempt does not hold the trial",
        remedy="Stop working on the trial and ask for another with POST .../suggest. A result that is there already "
        "may still be told, with its attempt.",
    ),
    errors.StudyComplete: Kind(
        409,
        "study_complete",
        "The study takes no further trials",
        remedy="PATCH /v1/studies/... with a larger budget lets it go on, if the budget is the reason. A result at a "
        "point of your own costs no budget: POST .../observe with parameters and value.",
    ),
    errors.RequestInProgress: Kind(409, "request_in_progress", "The same request is in progress", retryable=True),
    errors.PreconditionFailed: Kind(
        412,
        "precondition_failed",
        "The study has changed",
        remedy="GET the study, decide again, and send If-Match with the ETag of that answer; without If-Match the "
        "request is performed whatever the revision is.",
    ),
    errors.IdempotencyKeyReused: Kind(422, "idempotency_key_reused", "The idempotency key belongs to another request"),
    errors.Invalid: Kind(422, "invalid", "The request is not valid"),
    errors.Busy: Kind(503, "busy", "Busy", retryable=True),
    errors.ModelOutOfOrder: Kind(503, "unavailable", "Unavailable"),
    errors.Unavailable: Kind(503, "unavailable", "Unavailable", retryable=True),
}

HTTP: dict[int, Kind] = {
    400: Kind(
        400,
        "malformed_body",
        "The body is not JSON",
        remedy="Send JSON in UTF-8: names and texts in double quotation marks, true, false and null in small letters, "
        "no comma after the last item.",
    ),
    404: Kind(404, "not_found", "No such page", remedy="/docs shows all calls, /openapi.json lists them for programs."),
    405: Kind(
        405,
        "method_not_allowed",
        "Method not allowed",
        remedy="Use one of the methods that it takes; /docs shows what each does.",
    ),
    413: Kind(
        413,
        "body_too_large",
        "The body is too large",
        remedy="Send less at once, such as results in several batches; the setting body_limit of the server raises the "
        "limit.",
    ),
    415: Kind(415, "unsupported_media_type", "The body is not application/json"),
    500: Kind(500, "internal", "Internal error"),
}


class Problem(Answer):
    """What went wrong."""

    type: str = Field(description="about:blank; the code says more")
    title: str
    status: int
    detail: str
    instance: str = Field(description="the path asked for")
    code: str = Field(description="stable; for programs")
    request_id: str = Field(description="also in the server's log")
    retryable: bool = Field(description="whether the same request may succeed later")
    remedy: str | None = Field(description="what to do; null where detail and errors say it")
    errors: list[Fault] = Field(default_factory=list)


def kind_of(error: errors.AdaBKBError) -> Kind:
    """The entry of the table for the class of the error, or for its nearest base class."""
    return next(TABLE[cls] for cls in type(error).__mro__ if cls in TABLE)


def describe(error: errors.AdaBKBError) -> BatchItem:
    """A refusal as an item of a batch's answer."""
    kind, detail = kind_of(error), errors.shortened(error.detail, errors.LONGEST_MESSAGE)
    return BatchItem(
        status=kind.status,
        title=kind.title,
        detail=detail,
        code=kind.code,
        remedy=kind.remedy,
        errors=_faults(error.errors),
    )


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems that a route may answer with, for the OpenAPI document. Every route may answer 503."""
    return {
        status: {
            "description": "; ".join(sorted({kind.title for kind in _all_kinds() if kind.status == status})),
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in (*statuses, 503)
    }


def install(app: FastAPI) -> None:
    """Answer every error of the app with a problem."""
    app.add_exception_handler(errors.AdaBKBError, _on_domain_error)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(Exception, _on_unexpected)


def problem(
    request: Request,
    kind: Kind,
    detail: str,
    faults: Iterable[errors.FieldError] = (),
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """The answer for one error."""
    body = Problem(
        type="about:blank",
        title=kind.title,
        status=kind.status,
        detail=errors.shortened(detail, errors.LONGEST_MESSAGE),
        instance=_path(request),
        code=kind.code,
        request_id=getattr(request.state, "request_id", ""),
        retryable=kind.retryable,
        remedy=kind.remedy,
        errors=_faults(faults),
    )
    extra = {"X-Request-ID": body.request_id}  # the answer to an unexpected error passes no middleware
    if kind.retryable:
        extra["Retry-After"] = str(RETRY_SECONDS)
    return JSONResponse(body.model_dump(), kind.status, headers={**(headers or {}), **extra}, media_type=MEDIA_TYPE)


def _all_kinds() -> list[Kind]:
    return [*TABLE.values(), *HTTP.values()]


def _faults(found: Iterable[errors.FieldError]) -> list[Fault]:
    return [Fault(pointer=fault.pointer, detail=fault.detail, code=fault.code) for fault in found]


def _on_domain_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, errors.AdaBKBError)
    return problem(request, kind_of(error), error.detail, error.errors)


def _on_http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    kind = HTTP.get(error.status_code) or Kind(error.status_code, f"http_{error.status_code}", error.detail)
    if error.status_code == 404:
        calls = [route for route in request.app.state.routes if route.include_in_schema]  # programs want no pages
        near = meant(calls, request.scope)
        suggestion = "" if near is None else f"; did you mean {near}?"
        return problem(request, kind, f"There is no {_path(request)} here{suggestion or '.'}")
    if error.status_code == 405:
        allowed = ", ".join(sorted(_allowed_methods(request)))
        return problem(request, kind, f"{_path(request)} takes {allowed}.", headers={"Allow": allowed})
    return problem(request, kind, str(error.detail), headers=error.headers)


def _path(request: Request) -> str:
    return errors.shortened(request.url.path, errors.LONGEST_POINTER)


def _allowed_methods(request: Request) -> set[str]:
    """All methods of the path. Starlette's own answer would name those of one route only."""
    routes: list[APIRoute] = request.app.state.routes
    allowed = {
        method for route in routes if route.matches(request.scope)[0] != Match.NONE for method in route.methods or ()
    }
    return allowed | {"HEAD"} if "GET" in allowed else allowed


def _on_invalid_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    found: Sequence[Mapping[str, Any]] = error.errors()
    uncollected = sum(item["ctx"]["count"] for item in found if item["type"] == MORE)
    faults = [_field_error(item, error.body) for item in found if item["type"] != MORE]
    return _on_domain_error(request, errors.Invalid(_telling(faults), uncollected))


def _on_unexpected(request: Request, error: Exception) -> JSONResponse:
    detail = f"An unexpected error; the server's log has it under the request id ({type(error).__name__})."
    return problem(request, HTTP[500], detail)


def _telling(faults: Sequence[errors.FieldError]) -> list[errors.FieldError]:
    """Without faults of a wrong type where another fault says more: pydantic reports one for each branch of a union.
    Unknown fields come first, because a misspelt one explains the one that is missing."""
    said_better = {place for fault in faults if not _is_of_type(fault) for place in _holding(fault.pointer)}
    telling = [fault for fault in faults if not (_is_of_type(fault) and fault.pointer in said_better)]
    return sorted(telling, key=lambda fault: fault.code != UNKNOWN)


def _holding(pointer: str) -> Iterator[str]:
    """The pointer, and those of all lists and objects around its value."""
    yield pointer
    while "/" in pointer:
        pointer = pointer.rpartition("/")[0]
        yield pointer


def _is_of_type(fault: errors.FieldError) -> bool:
    return fault.code.endswith("_type")


def _field_error(item: Mapping[str, Any], body: Any) -> errors.FieldError:
    where, *path = item["loc"]
    missing = item["type"] == "missing"
    if field := item.get("ctx", {}).get("field"):  # the object was checked as a whole
        path, missing = [*path, field], True
    if where == "body":
        return errors.FieldError(_pointer(path, body, missing=missing), sentence(item), item["type"])
    prefix = {"query": "?", "path": "path:", "header": "header:", "cookie": "cookie:"}[where]
    return errors.FieldError(prefix + ".".join(map(str, path)), sentence(item), item["type"])


def _pointer(path: Sequence[str | int], body: Any, *, missing: bool) -> str:
    """A JSON pointer from pydantic's location, without the union tags that pydantic puts between the names."""
    steps: list[str | int] = []
    node = body
    for position, step in enumerate(path):
        known = step in node if isinstance(node, dict) else isinstance(node, list) and step in range(len(node))
        if known:
            node = node[step]
        elif not (missing and position == len(path) - 1):
            continue
        steps.append(step)
    return errors.json_pointer(*steps)
