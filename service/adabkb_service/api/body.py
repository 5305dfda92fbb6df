"""Strict reading of requests: a body must be JSON (RFC 8259) before pydantic validates it, and unknown query parameters
are refused.

Python's parser accepts NaN, which JSON does not allow; lone surrogates, which are not valid Unicode; and NUL, which
PostgreSQL does not accept in texts. All are refused here, each with a pointer, so that other code need not check them.
A body with more values than any request needs is refused before it is parsed, since as Python objects it would be
thirty times as large."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from itertools import islice
from json import JSONDecodeError
from typing import Any, Literal, get_args, get_origin
from urllib.parse import unquote_to_bytes

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from adabkb_service.api.admission import GuardedRoute
from adabkb_service.api.conditional import IF_MATCH
from adabkb_service.api.fair_queue import run_serialized
from adabkb_service.contract.strict import MAX_DEPTH, find_errors, loads, steps, text_error
from adabkb_service.contract.wording import unknown
from adabkb_service.errors import MAX_ERRORS, FieldError, Invalid, json_pointer, shortened

MAX_VALUES = 200_000
"""The maximum number of values of a body: twice as many as in a batch of 1,000 results with 100 parameters each."""
LARGE_BODY_BYTES = 2**16
"""A body of at least this many bytes is processed in a thread, so that it does not delay other requests."""

LISTS = frozenset({IF_MATCH, "If-None-Match", "Prefer"})
"""Headers whose values are lists, which may be divided into several lines (RFC 9110, 5.3)."""
UTF_8 = frozenset({"utf-8", "utf8", "us-ascii"})
_CHARSET = re.compile(r'\bcharset\s*=\s*"?([^\s";]*)')

Validate = Callable[..., tuple[Any, list[Any]]]
"""Validates a body for FastAPI: returns the model and the validation errors."""

_PYTHONS_WORDS = {
    "Extra data": "There is text after its end",
    "Expecting value": "A value is missing, or begins with a wrong character",
    "Expecting property name enclosed in double quotes": "A name in double quotation marks is missing",
    "Illegal trailing comma before end of object": "There is a comma after the last item",
    "Illegal trailing comma before end of array": "There is a comma after the last item",
    "Expecting ':' delimiter": "A colon is missing",
    "Expecting ',' delimiter": "A comma is missing",
}
"""Messages of Python's parser -> the same in words that do not depend on Python and its version."""

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
        value = loads(raw.decode("utf-8-sig"))  # without the byte order mark, if there is one (RFC 8259, 8.1)
    except UnicodeDecodeError as error:
        raise HTTPException(400, f"The body is not valid UTF-8; see byte {error.start + 1}.") from error
    except RecursionError as error:
        raise HTTPException(400, f"The body is nested deeper than {MAX_DEPTH} levels.") from error
    except JSONDecodeError as error:
        what = _PYTHONS_WORDS.get(error.msg, error.msg)
        place = f"line {error.lineno} column {error.colno} (character {error.pos + 1})"
        raise HTTPException(400, f"The body is not JSON: {what}: {place}") from error
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
    """A route that reads its body strictly, only as application/json. It refuses query parameters and preconditions
    that it would ignore, and bodies that it cannot read."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if options.get("status_code") == 204:
            options["response_class"] = Response  # without a body, and therefore without a Content-Type
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return FastAPI's handler, called with a ``StrictRequest`` whose body is prepared."""
        handler, field = super().get_route_handler(), self.body_field
        queries, headers = _parameters(self.dependant, "query_params"), _parameters(self.dependant, "header_params")

        async def strictly(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            _check_queries(strict, queries)
            _check_headers(strict, headers)
            if request.method == "DELETE" and await strict.body():
                detail = "is not read by this call; send no body, and a reason as ?reason= if the call has it"
                raise Invalid([FieldError("", detail, "ignored")])
            if field is not None and await strict.body():
                _check_media_type(strict)
                # Here, because FastAPI answers 400 to any error during parsing.
                await strict.prepare(field.validate)
            return await handler(strict)

        return strictly


def _parameters(dependant: Dependant, kind: Literal["query_params", "header_params"]) -> dict[str, bool]:
    """Return the parameters of an endpoint and its dependencies: name -> whether its value is a list."""
    found = {field.alias: _is_list(field.field_info.annotation) for field in getattr(dependant, kind)}
    for needed in dependant.dependencies:
        found |= _parameters(needed, kind)
    return found


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is list or any(map(_is_list, get_args(annotation)))


def _check_queries(request: Request, known: Mapping[str, bool]) -> None:
    unknown_names = [name for name in request.query_params if name not in known]
    if unknown_names:
        field_errors = [
            FieldError(f"?{name}", unknown(name, known, "query parameter"), "unknown_query")
            for name in unknown_names[:MAX_ERRORS]
        ]
        raise Invalid(field_errors, len(unknown_names) - len(field_errors))
    given = request.query_params.multi_items()
    counts = Counter(name for name, _ in given)
    if repeated := [name for name, is_list in known.items() if counts[name] > 1 and not is_list]:
        raise Invalid([FieldError(f"?{name}", "is given twice; give it once", "repeated") for name in repeated])
    texts = ((name, text_error(value)) for name, value in given)
    if field_errors := [FieldError(f"?{name}", sentence, "invalid_text") for name, sentence in texts if sentence]:
        raise Invalid(field_errors)
    if not _is_utf8(unquote_to_bytes(request.scope["query_string"])):
        names = [name for name, value in given if "\ufffd" in value]
        raise Invalid([FieldError(f"?{name}", "must be percent-encoded UTF-8", "invalid_text") for name in names])


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _check_headers(request: Request, known: Mapping[str, bool]) -> None:
    """Refuse headers that the endpoint would ignore, although the sender relies on them."""
    given = Counter(name.lower() for name in request.headers)
    if repeated := [name for name in known if given[name.lower()] > 1 and name not in LISTS]:
        raise Invalid([FieldError(f"header:{name}", "is given twice; send it once", "repeated") for name in repeated])
    if request.method not in ("GET", "HEAD") and IF_MATCH not in known and request.headers.get(IF_MATCH, "*") != "*":
        detail = "is not evaluated by this call, which would be performed whatever has changed; leave it out"
        raise Invalid([FieldError(f"header:{IF_MATCH}", detail, "ignored")])
    coding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("", "identity"):
        detail = (
            f"The server does not decompress bodies; send the body without Content-Encoding: {shortened(coding, 50)}."
        )
        raise HTTPException(415, detail, {"Accept-Encoding": "identity"})


def _check_media_type(request: Request) -> None:
    given, _, parameters = map(str.strip, request.headers.get("content-type", "").lower().partition(";"))
    if given == "application/json" and (charset := _CHARSET.search(parameters)) and charset[1] not in UTF_8:
        raise HTTPException(415, f"Send the body in UTF-8, not in {shortened(charset[1], 50)}.")
    if given != "application/json":
        reason = f", not {given}" if given else "; the request has no content type"
        raise HTTPException(415, f"Send the body with the header Content-Type: application/json{reason}.")
