"""Which requests may start: one at a time for an idempotency key, and only some at a time for one study.

Whoever waits here waits on the event loop and takes no thread: a slow study does not hold up the others.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from weakref import WeakValueDictionary

import anyio
from fastapi import Request

from adabkb_service.errors import Busy, RequestInProgress

AT_ONCE = 4
"""Requests about one study, of one kind, that have a thread: suggestions wait for one another anyway, and nothing else
must wait for them. The kinds are the last tags of the routes."""
WAIT_SECONDS = 10.0


class Admission:
    """Of one server; used on its event loop only."""

    def __init__(self) -> None:
        self._keys: set[tuple[str, str]] = set()
        self._turns: WeakValueDictionary[tuple[str, str], anyio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def admitted(self, request: Request) -> AsyncIterator[None]:
        """Hold the request's key and its turn, for the block.

        Raises:
            RequestInProgress: a request with the same key is not answered yet.
            Busy: too many others are before it.
        """
        study_id = request.path_params.get("study_id", "")
        with self._key(study_id, request.headers.get("idempotency-key")):
            turns = self._turns.setdefault((study_id, request.scope["route"].tags[-1]), anyio.Semaphore(AT_ONCE))
            try:
                with anyio.fail_after(WAIT_SECONDS):
                    await turns.acquire()
            except TimeoutError:
                raise Busy(f"Too many requests about study {study_id!r} at once; try again.") from None
            try:
                yield
            finally:
                turns.release()

    @contextmanager
    def _key(self, scope: str, key: str | None) -> Iterator[None]:
        if key is None:
            yield
            return
        if (scope, key) in self._keys:
            raise RequestInProgress(key)
        self._keys.add((scope, key))
        try:
            yield
        finally:
            self._keys.remove((scope, key))
