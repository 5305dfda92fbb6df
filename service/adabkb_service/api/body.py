"""Request bodies: strictly JSON (RFC 8259), before pydantic sees them.

Python's parser takes more than JSON has: NaN, lone surrogates, integers of any size. And PostgreSQL takes less: no
NUL in text. Each is refused here with a pointer, so nothing behind this has to think of it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Coroutine, Iterator
from itertools import islice
from typing import Any

from anyio.to_thread import run_sync
from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from adabkb_service.errors import FieldError, Invalid

MAX_DEPTH = 32
SMALL = 2**16


def parse(raw: bytes) -> Any:
    """The value of a body.

    Raises:
        HTTPException: 400, it is not JSON.
        Invalid: it holds a value that nothing of ours can mean.
    """
    try:
        value = json.loads(raw.decode("utf-8"), parse_int=_parse_int)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"The body is not JSON: {error}") from error
    faults = list(islice(_faults(value, "", 0), 100))
    if faults:
        raise Invalid(faults)
    return value


def _parse_int(digits: str) -> int | float:
    """Beyond 18 digits no integer of ours is valid; as a float it is out of range where an integer is asked for."""
    return int(digits) if len(digits) <= 18 else float(digits)


def _faults(value: Any, pointer: str, depth: int) -> Iterator[FieldError]:
    if depth > MAX_DEPTH:
        yield FieldError(pointer[:200], f"is nested deeper than {MAX_DEPTH} levels", "too_deep")
    elif isinstance(value, float) and not math.isfinite(value):
        yield FieldError(pointer, "must be a finite number", "finite_number")
    elif isinstance(value, str) and (sentence := _text_fault(value)):
        yield FieldError(pointer, sentence, "invalid_text")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _faults(item, f"{pointer}/{index}", depth + 1)
    elif isinstance(value, dict):
        for name, item in value.items():
            if sentence := _text_fault(name):
                yield FieldError(pointer, f"has a name that {sentence}", "invalid_text")
            else:
                escaped = name.replace("~", "~0").replace("/", "~1")
                yield from _faults(item, f"{pointer}/{escaped}", depth + 1)


def _text_fault(text: str) -> str | None:
    if "\0" in text:
        return "must not hold the character U+0000"
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        return "must be valid Unicode (it has half a surrogate pair)"
    return None


class StrictRequest(Request):
    """A request whose JSON is parsed by ``parse``."""

    async def json(self) -> Any:
        """The parsed body."""
        if not hasattr(self, "_json"):
            raw = await self.body()
            # A large body would hold up everybody else's requests while it is parsed.
            self._json = parse(raw) if len(raw) < SMALL else await run_sync(parse, raw)
        return self._json


class StrictRoute(APIRoute):
    """A route that reads its body strictly, and only as application/json, and then waits to be admitted."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, given a ``StrictRequest`` whose body is parsed already."""
        handler = super().get_route_handler()
        takes_body = self.body_field is not None

        async def strictly(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            if takes_body and await strict.body():
                _check_media_type(strict)
                await strict.json()  # here, as FastAPI answers 400 to whatever is raised while it parses
            async with request.app.state.admission.admitted(strict):
                return await handler(strict)

        return strictly


def _check_media_type(request: Request) -> None:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != "application/json":
        raise HTTPException(415, f"Send the body as application/json, not {given or 'without a type'}.")
