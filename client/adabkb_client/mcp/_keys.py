"""Idempotency keys: a repeated call of a tool has exactly one effect."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from adabkb_client._calls import Steps
from adabkb_client.errors import AdaBKBError

T = TypeVar("T")

_PROCESS = uuid.uuid4().hex
"""Distinguishes the requests of this process from requests of other processes, which use the same numbers."""
SESSION = "mcp-session-id"
"""The header that names a session over HTTP."""


def keyed(steps: Steps[T], key: str | None) -> Steps[T]:
    """Give the changes of a procedure the keys ``key``, ``key.2``, ...; without a key, leave the procedure unchanged.

    The server accepts a key for one request only, and a procedure may consist of several.
    """
    if key is None:
        return (yield from steps)
    changes = 0
    try:
        call = next(steps)
        while True:
            if call.body is not None:
                changes += 1
                call = replace(call, key=key if changes == 1 else f"{key}.{changes}")
            try:
                answer = yield call
            except AdaBKBError as error:
                call = steps.throw(error)
            else:
                call = steps.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


def key_of(request_id: str, headers: Mapping[str, str] | None) -> str | None:
    """Return a key for a request that gives none, so that the change takes effect once if the request is repeated.

    A client numbers the requests of a session. Over stdio this process has one session. Over HTTP without sessions, two
    clients may use the same number, so None is returned, and the client generates a key for each call.

    Args:
        request_id: the id of the protocol's request.
        headers: the headers of the HTTP request; None over stdio.
    """
    if headers is None:
        return f"mcp-{_PROCESS}-{_short(request_id)}"
    session = headers.get(SESSION)
    return None if session is None else f"mcp-{_short(f'{session} {request_id}')}"


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
