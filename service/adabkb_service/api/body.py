"""Strict reading of requests: a body must be JSON (RFC 8259) before pydantic validates it, and unknown query parameters
are refused.

Python's parser accepts NaN, which JSON does not allow; lone surrogates, which are not valid Unicode; and NUL, which
PostgreSQL does not accept in texts. All are refused here, each with a pointer, so that other code need not check them.
A body with more values than any request needs is refused before it is parsed, since as Python objects it would be
thirty times as large."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from itertools import islice
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from adabkb_service.api.admission import GuardedRoute
from adabkb_service.api.fair_queue import run_serialized
from adabkb_service.contract.strict import MAX_DEPTH, find_errors, loads, steps, text_error
from adabkb_service.contract.wording import unknown
from adabkb_service.errors import MAX_ERRORS, FieldError, Invalid, json_pointer

MAX_VALUES = 200_000
"""The maximum number of values of a body: twice as many as in a batch of 1,000 results with 100 parameters each."""
LARGE_BODY_BYTES = 2**16
"""A body of at least this many bytes is processed in a thread, so that it does not delay other requests."""

Validate = Callable[..., tuple[Any, list[Any]]]
"""Validates a body for FastAPI: returns the model and the validation errors."""

_TEXT_OR_VALUE = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{,]', re.DOTALL)
"""Matches a text, or a character that precedes a value. Texts are matched so that the commas in them do not count. The
pattern never backtracks: it scans a body once, even if a text is not terminated."""


def parse(raw: bytes) -> Any:
    """Return the value of a body.

    Raises:
        HTTPException: 400, the body is not JSON.
        Invalid: the body has a value that no field accepts, or too many values.
    """
    if _has_too_many_values(raw):
        raise Invalid([FieldError("", f"has more than {MAX_VALUES:,} values; send fewer at once", "too_many_values")])
    try:
        value = loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise HTTPException(400, f"The body is not valid UTF-8; see byte {error.start + 1}.") from error
    except RecursionError as error:
        raise HTTPException(400, f"The body is nested deeper than {MAX_DEPTH} levels.") from error
    except ValueError as error:
        raise HTTPException(400, f"The body is not JSON: {error}") from error
    found = find_errors(value)
    first = [FieldError(json_pointer(*steps(path)), text, code) for path, text, code in islice(found, MAX_ERRORS)]
    if first:
        raise Invalid(first, sum(1 for _ in found))
    return value


def _has_too_many_values(raw: bytes) -> bool:
    """Return whether a body has too many values. Values are counted by the bracket before the first value of a list or
    object, and by the commas before the others. An empty list or object counts as two values."""
    if len(raw) <= MAX_VALUES or sum(map(raw.count, (b"[", b"{", b","))) < MAX_VALUES:
        return False
    values = (found for found in _TEXT_OR_VALUE.finditer(raw) if raw[found.start()] != ord('"'))
    return next(islice(values, MAX_VALUES - 1, None), None) is not None


class StrictRequest(Request):
    """A request whose JSON is parsed by ``parse``."""

    async def parsed(self) -> Any:
        """Return the parsed body."""
        if not hasattr(self, "_parsed"):
            raw = await self.body()
            self._parsed = (
                parse(raw) if len(raw) < LARGE_BODY_BYTES else await run_serialized(self, partial(parse, raw))
            )
        return self._parsed

    async def prepare(self, validate: Validate) -> None:
        """Make ``json`` return the parsed body, which FastAPI validates. A large body is validated here, in a thread,
        and FastAPI uses the result unchanged.

        Raises:
            RequestValidationError: a large body is not valid.
            HTTPException, Invalid: see ``parse``.
        """
        raw = await self.body()
        if len(raw) < LARGE_BODY_BYTES:
            self._json = await self.parsed()
        else:
            self._parsed, self._json = await run_serialized(self, partial(_parse_and_validate, validate, raw))


def _parse_and_validate(validate: Validate, raw: bytes) -> tuple[Any, Any]:
    """Return the parsed body and its model."""
    value = parse(raw)
    model, found = validate(value, {}, loc=("body",))
    if found:
        raise RequestValidationError(found, body=value)
    return value, model


class StrictRoute(GuardedRoute):
    """A route that reads its body strictly, only as application/json, and refuses unknown query parameters."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return FastAPI's handler, called with a ``StrictRequest`` whose body is prepared."""
        handler, field = super().get_route_handler(), self.body_field
        queries = list(_queries(self.dependant))

        async def strictly(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            _check_queries(strict, queries)
            try:
                if field is not None and await strict.body():
                    _check_media_type(strict)
                    # Here, because FastAPI answers 400 to any error during parsing.
                    await strict.prepare(field.validate)
            except ClientDisconnect:
                return Response(status_code=400)  # the client has disconnected
            return await handler(strict)

        return strictly


def _queries(dependant: Dependant) -> Iterator[str]:
    """Yield the names of all query parameters of an endpoint and its dependencies."""
    yield from (field.alias for field in dependant.query_params)
    for needed in dependant.dependencies:
        yield from _queries(needed)


def _check_queries(request: Request, known: list[str]) -> None:
    unknown_names = [name for name in request.query_params if name not in known]
    if unknown_names:
        field_errors = [
            FieldError(f"?{name}", unknown(name, known, "query parameter"), "unknown_query")
            for name in unknown_names[:MAX_ERRORS]
        ]
        raise Invalid(field_errors, len(unknown_names) - len(field_errors))
    texts = ((name, text_error(value)) for name, value in request.query_params.multi_items())
    if field_errors := [FieldError(f"?{name}", sentence, "invalid_text") for name, sentence in texts if sentence]:
        raise Invalid(field_errors)


def _check_media_type(request: Request) -> None:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        reason = f", not {media_type}" if media_type else "; the request has no content type"
        raise HTTPException(415, f"Send the body with the header Content-Type: application/json{reason}.")
