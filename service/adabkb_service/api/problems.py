"""Errors as ``application/problem+json`` (RFC 9457). ``problem_types`` has their types."""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import Field, ValidationError
from pydantic_core import PydanticSerializationError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from adabkb_service import errors
from adabkb_service.api.addresses import suggest_path
from adabkb_service.api.parts import parts_of
from adabkb_service.api.problem_types import HTTP, TABLE, ProblemType, all_problem_types, problem_type_of
from adabkb_service.api.ratelimit import rate_limit_headers
from adabkb_service.contract.answers import Answer, BatchItem, FieldError
from adabkb_service.contract.error_limits import MORE
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, Sparse
from adabkb_service.contract.wording import sentence

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 1
UNKNOWN = "extra_forbidden"
"""Code of the error for an unknown field."""
NO_THREAD = "can't start new thread"
"""The message of Python's ``RuntimeError`` if the system refuses to create a thread."""
SHORTAGES = {errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
PYDANTIC = (ValidationError, PydanticSerializationError)
"""Raised if an answer is invalid or a computed field fails."""


class Problem(Sparse, Answer):
    """An error response (RFC 9457)."""

    type: str = Field(description="always about:blank; code identifies the problem")
    title: str
    status: int
    detail: str
    instance: str = Field(description="the requested path")
    code: str = Field(description="stable code for programs")
    request_id: str = Field(description="id of the request, also in the server's log")
    retryable: bool = Field(description="whether the same request may succeed later")
    remedy: str | None = Field(description="what to do; null if detail says it")
    errors: list[FieldError] = Field(default_factory=list)
    observation: Annotated[
        int | None,
        Field(description="with result_conflict: number of the stored result; absent without one"),
        ABSENT_BY_DEFAULT,
    ] = None


def describe(error: errors.AdaBKBError) -> BatchItem:
    """Return an error as an item of the response to a batch."""
    problem_type, detail = problem_type_of(error), errors.shortened(error.detail, errors.MAX_MESSAGE_LENGTH)
    return BatchItem(
        status=problem_type.status,
        title=problem_type.title,
        detail=detail,
        code=problem_type.code,
        remedy=problem_type.remedy,
        errors=_field_errors(error.errors),
    )


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the problems of a route for the OpenAPI document. Every route may answer 503."""
    return {
        status: {
            "description": "; ".join(
                sorted({problem_type.title for problem_type in all_problem_types() if problem_type.status == status})
            ),
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in (*statuses, 503)
    }


def install(app: FastAPI) -> None:
    """Answer every error of the app with a problem. The handlers are coroutines, so they need no thread."""
    app.add_exception_handler(errors.AdaBKBError, _on_domain_error)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(HTTPException, _on_http_error)
    for cls in (RuntimeError, MemoryError, OSError):
        app.add_exception_handler(cls, _on_shortage)
    app.add_exception_handler(Exception, _on_unexpected)


def problem(
    request: Request,
    problem_type: ProblemType,
    detail: str,
    field_errors: Iterable[errors.FieldError] = (),
    headers: Mapping[str, str] | None = None,
    observation: int | None = None,
) -> JSONResponse:
    """Return the response for one error."""
    body = Problem(
        type="about:blank",
        title=problem_type.title,
        status=problem_type.status,
        detail=errors.shortened(errors.visible(detail), errors.MAX_MESSAGE_LENGTH),
        instance=_path(request),
        code=problem_type.code,
        request_id=getattr(request.state, "request_id", ""),
        retryable=problem_type.retryable,
        remedy=problem_type.remedy,
        errors=_field_errors(field_errors),
        observation=observation,
    )
    # The response to an unexpected error bypasses the middleware.
    extra = {"X-Request-ID": body.request_id, "X-Content-Type-Options": "nosniff"}
    if problem_type.retryable:
        extra["Retry-After"] = str(RETRY_SECONDS)
    return JSONResponse(
        body.model_dump(), problem_type.status, headers={**extra, **(headers or {})}, media_type=MEDIA_TYPE
    )


def _field_errors(found: Iterable[errors.FieldError]) -> list[FieldError]:
    return [FieldError(pointer=error.pointer, detail=error.detail, code=error.code) for error in found]


def note_refusal(request: Request, error: errors.AdaBKBError) -> None:
    """Log the request if the database could not be used."""
    if isinstance(error, errors.DatabaseUnavailable):
        request_id = getattr(request.state, "request_id", "")
        parts_of(request.app).refusal_log.refused(f"{request.method} {_path(request)}", request_id, error.detail)


async def _on_domain_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, errors.AdaBKBError)
    note_refusal(request, error)
    observation = error.observation if isinstance(error, errors.ResultConflict) else None
    return problem(request, problem_type_of(error), error.detail, error.errors, _headers(error), observation)


def _headers(error: errors.AdaBKBError) -> dict[str, str]:
    """Return the headers of an error: the required authentication (RFC 6750), or when to retry."""
    if isinstance(error, errors.TooManyRequests):
        return {"Retry-After": str(max(error.limit.reset, 1)), **rate_limit_headers(error.limit)}
    if isinstance(error, errors.Unauthorized):
        invalid = "" if error.reason == "missing" else ' error="invalid_token"'
        return {"WWW-Authenticate": f'Bearer realm="adabkb"{"," if invalid else ""}{invalid}'}
    if isinstance(error, errors.Forbidden) and error.scope is not None:
        return {"WWW-Authenticate": f'Bearer realm="adabkb", error="insufficient_scope", scope="{error.scope}"'}
    return {}


async def _on_http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    problem_type = HTTP.get(error.status_code) or ProblemType(
        error.status_code, f"http_{error.status_code}", error.detail
    )
    if error.status_code == 404:
        routes = parts_of(request.app).routes
        calls = [route for route in routes if route.include_in_schema]  # programs do not need pages
        near = suggest_path(calls, request.scope)
        suggestion = "" if near is None else f"; did you mean {near}?"
        return problem(request, problem_type, f"There is no {_path(request)} here{suggestion or '.'}")
    if error.status_code == 405:
        allowed = ", ".join(sorted(_allowed_methods(request))) or (error.headers or {}).get("Allow", "")
        return problem(request, problem_type, f"{_path(request)} takes {allowed}.", headers={"Allow": allowed})
    return problem(request, problem_type, str(error.detail), headers=error.headers)


def _path(request: Request) -> str:
    return errors.shortened(errors.visible(request.url.path), errors.MAX_POINTER_LENGTH)


def _allowed_methods(request: Request) -> set[str]:
    """Return all methods of the path. Starlette would name only those of one route."""
    allowed = {
        method
        for route in parts_of(request.app).routes
        if route.matches(request.scope)[0] != Match.NONE
        for method in route.methods or ()
    }
    return allowed | {"HEAD"} if "GET" in allowed else allowed


async def _on_invalid_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    found: Sequence[Mapping[str, Any]] = error.errors()
    uncollected = sum(item["ctx"]["count"] for item in found if item["type"] == MORE)
    field_errors = [_field_error(item, error.body) for item in found if item["type"] != MORE]
    return await _on_domain_error(request, errors.Invalid(_most_specific(field_errors), uncollected))


async def _on_shortage(request: Request, error: Exception) -> JSONResponse:
    what = _missing_resource(error)
    if what is None:
        raise error
    return _shortage_response(what, request)


async def _on_unexpected(request: Request, error: Exception) -> JSONResponse:
    what = _missing_resource(error)
    if what is not None:
        return _shortage_response(what, request)
    detail = f"An unexpected error ({type(error).__name__}); find the `request_id` in the server's log."
    return problem(request, HTTP[500], detail)


def _shortage_response(what: str, request: Request) -> JSONResponse:
    logger.warning("the server's machine has %s: %s %s was refused", what, request.method, _path(request))
    return problem(request, TABLE[errors.Unavailable], f"The server's machine has {what}; try again later.")


def _most_specific(field_errors: Sequence[errors.FieldError]) -> list[errors.FieldError]:
    """Drop wrong-type errors if there is a more specific error at or below the same place, since pydantic reports one
    per branch of a union. Unknown fields come first, because a misspelled field explains a missing one."""
    explained = {place for error in field_errors if not _is_wrong_type(error) for place in _enclosing(error.pointer)}
    specific = [error for error in field_errors if not (_is_wrong_type(error) and error.pointer in explained)]
    return sorted(specific, key=lambda error: error.code != UNKNOWN)


def _enclosing(pointer: str) -> Iterator[str]:
    """Yield the pointer itself, and the pointers of all enclosing lists and objects."""
    yield pointer
    while "/" in pointer:
        pointer = pointer.rpartition("/")[0]
        yield pointer


def _is_wrong_type(error: errors.FieldError) -> bool:
    return error.code.endswith("_type")


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
    """Return a JSON pointer for pydantic's location, without union tags."""
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


def _missing_resource(error: BaseException | None) -> str | None:
    """Return the resource that the machine lacks, according to the error or its causes; None for other errors."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, PYDANTIC) and MemoryError.__name__ in str(error)):
            return "no memory left"
        if isinstance(error, RuntimeError) and str(error) == NO_THREAD:
            return "no thread left"
        if isinstance(error, OSError) and error.errno in (errno.EDQUOT, errno.ENOSPC):
            return f"no space left for temporary files ({error.strerror})"
        if isinstance(error, OSError) and error.errno in SHORTAGES:
            return f"not enough resources ({error.strerror})"
        error = error.__cause__
    return None
