"""What requests bring, read strictly: bodies as JSON (RFC 8259), before pydantic sees them, and no unknown query.

Python's parser takes more than JSON has: NaN, lone surrogates, integers of any size. And PostgreSQL takes less: no
NUL in text. Each is refused here with a pointer, so nothing behind this has to think of it. A body with more values
than any request needs is refused before it is parsed: as Python objects it would be thirty times as large.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from itertools import islice
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from adabkb_service.api.admission import GuardedRoute
from adabkb_service.api.turns import in_turn
from adabkb_service.contract.wording import unknown
from adabkb_service.errors import MOST_ERRORS, FieldError, Invalid, json_pointer

MAX_DEPTH = 32
MAX_VALUES = 200_000
"""Values of a body: twice as many as a batch of 1,000 results has that each give 100 parameters."""
SMALL = 2**16
"""Bytes of a body from which on it is worked on in a thread: it would hold up everybody else's requests."""

_TEXT_OR_VALUE = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{,]', re.DOTALL)
"""A text, or a character that stands before a value: so commas in texts do not count. It goes through a body once,
whatever is in it: nothing is tried twice, and a text may lack its end."""
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")

Path = tuple["Path", str | int] | None
"""The way to a value: the way to what holds it, and its name or index there; None for the body."""


def parse(raw: bytes) -> Any:
    """The value of a body.

    Raises:
        HTTPException: 400, it is not JSON.
        Invalid: it holds a value that nothing of ours can mean, or too many values.
    """
    if _has_too_many_values(raw):
        raise Invalid([FieldError("", f"has more than {MAX_VALUES:,} values; send fewer at once", "too_many_values")])
    try:
        value = json.loads(raw.decode("utf-8"), parse_int=_parse_int)
    except UnicodeDecodeError as error:
        raise HTTPException(400, f"The body is not in UTF-8: see its byte {error.start + 1}.") from error
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"The body is not JSON: {error}") from error
    faults = _faults(value, None, 0)
    first = [FieldError(_pointer(path), sentence, code) for path, sentence, code in islice(faults, MOST_ERRORS)]
    if first:
        raise Invalid(first, sum(1 for _ in faults))
    return value


def _has_too_many_values(raw: bytes) -> bool:
    """Before the first value of a list or an object is a bracket, before each other one a comma; an empty list or
    object counts as two."""
    if len(raw) <= MAX_VALUES or sum(map(raw.count, (b"[", b"{", b","))) < MAX_VALUES:
        return False
    values = (found for found in _TEXT_OR_VALUE.finditer(raw) if raw[found.start()] != ord('"'))
    return next(islice(values, MAX_VALUES - 1, None), None) is not None


def _parse_int(digits: str) -> int | float:
    """Beyond 18 digits no integer of ours is valid; as a float it is out of range where an integer is asked for."""
    return int(digits) if len(digits) <= 18 else float(digits)


def _faults(value: Any, path: Path, depth: int) -> Iterator[tuple[Path, str, str]]:
    """What is wrong with a value: where, a sentence and a code. A pointer may be as long as the body, so none is
    built here, where each value would get its own."""
    if depth > MAX_DEPTH:
        yield (path, f"is nested deeper than {MAX_DEPTH} levels", "too_deep")
    elif isinstance(value, float) and not math.isfinite(value):
        yield (path, "must be a finite number", "finite_number")
    elif isinstance(value, str) and (sentence := _text_fault(value)):
        yield (path, sentence, "invalid_text")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _faults(item, (path, index), depth + 1)
    elif isinstance(value, dict):
        for name, item in value.items():
            if sentence := _text_fault(name):
                yield (path, f"has a name that {sentence}", "invalid_text")
            else:
                yield from _faults(item, (path, name), depth + 1)


def _pointer(path: Path) -> str:
    steps = []
    while path is not None:
        path, step = path
        steps.append(step)
    return json_pointer(*reversed(steps))


def _text_fault(text: str) -> str | None:
    if "\0" in text:
        return "must not hold the character U+0000"
    if not text.isascii() and _HALF_A_PAIR.search(text):
        return "must be valid Unicode (it has half a surrogate pair)"
    return None


class StrictRequest(Request):
    """A request whose JSON is parsed by ``parse``."""

    async def json(self) -> Any:
        """The parsed body."""
        if not hasattr(self, "_json"):
            raw = await self.body()
            self._json = parse(raw) if len(raw) < SMALL else await in_turn(self, partial(parse, raw))
        return self._json


class StrictRoute(GuardedRoute):
    """A route that reads its body strictly, only as application/json, and takes no unknown query parameters."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, given a ``StrictRequest`` whose body is parsed already."""
        handler = super().get_route_handler()
        takes_body = self.body_field is not None
        queries = list(_queries(self.dependant))

        async def strictly(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            _check_queries(strict, queries)
            try:
                if takes_body and await strict.body():
                    _check_media_type(strict)
                    await strict.json()  # here, as FastAPI answers 400 to whatever is raised while it parses
            except ClientDisconnect:
                return Response(status_code=400)  # nobody reads it
            return await handler(strict)

        return strictly


def _queries(dependant: Dependant) -> Iterator[str]:
    """The names of all query parameters of an endpoint and of what it depends on."""
    yield from (field.alias for field in dependant.query_params)
    for needed in dependant.dependencies:
        yield from _queries(needed)


def _check_queries(request: Request, known: list[str]) -> None:
    strange = [name for name in request.query_params if name not in known]
    if strange:
        faults = [
            FieldError(f"?{name}", unknown(name, known, "query parameter"), "unknown_query")
            for name in strange[:MOST_ERRORS]
        ]
        raise Invalid(faults, len(strange) - len(faults))
    texts = ((name, _text_fault(value)) for name, value in request.query_params.multi_items())
    if faults := [FieldError(f"?{name}", sentence, "invalid_text") for name, sentence in texts if sentence]:
        raise Invalid(faults)


def _check_media_type(request: Request) -> None:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != "application/json":
        raise HTTPException(
            415, f"Send the body with the header Content-Type: application/json, not {given or 'without a type'}."
        )
