"""Idempotency keys: a repeated call of a tool has exactly one effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from adabkb_client._calls import Steps
from adabkb_client.errors import AdaBKBError
from adabkb_client.mcp._sessions import SESSION, short_hash

T = TypeVar("T")


def keyed(steps: Steps[T], key: str | None, on_replay: Callable[[], None]) -> Steps[T]:
    """Give the changes of a procedure the keys ``key``, ``key.2``, ...; without a key, leave the procedure unchanged.
    ``on_replay`` is called if a change was made before.

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
                call = replace(call, key=key if changes == 1 else f"{key}.{changes}", on_replay=on_replay)
            try:
                answer = yield call
            except AdaBKBError as error:
                call = steps.throw(error)
            else:
                call = steps.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


def key_of(process: str, request_id: str, headers: Mapping[str, str] | None) -> str | None:
    """Return a key for a request that gives none, so that the change takes effect once if the request is repeated.

    A client numbers the requests of a session. Over stdio this process has one session. Over HTTP without sessions, two
    clients may use the same number, so None is returned, and the client generates a key for each call.

    Args:
        process: a text that no other process has, since all of them use the same numbers over stdio.
        request_id: the id of the protocol's request.
        headers: the headers of the HTTP request; None over stdio.
    """
    if headers is None:
        return f"mcp-{process}-{short_hash(request_id)}"
    session = headers.get(SESSION)
    return None if session is None else f"mcp-{short_hash(f'{session} {request_id}')}"
