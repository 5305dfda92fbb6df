"""Work of requests that takes long: some pieces at a time, and of each user one."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Request

from adabkb_service.access.caller import ANYBODY, Caller
from adabkb_service.access.meter import Meter
from adabkb_service.api.middleware import sender

T = TypeVar("T")


class Turns:
    """A line of a server. Used by its event loop alone.

    A user who sends many large requests waits for one's own, so that the requests of other users wait for one of them
    at most.

    Args:
        most: pieces of work at a time.
    """

    def __init__(self, most: int) -> None:
        self._places = CapacityLimiter(most)
        self._own: WeakValueDictionary[str, CapacityLimiter] = WeakValueDictionary()
        """By user, or by address without a token; those who have work here."""

    @asynccontextmanager
    async def turn(self, request: Request) -> AsyncIterator[None]:
        """The block begins once its turn has come."""
        caller: Caller = request.scope["state"].get("caller", ANYBODY)
        own = self._own.setdefault(caller.user or sender(request.scope), CapacityLimiter(1))
        async with own, self._places:
            yield


async def in_turn(request: Request, work: Callable[[], T]) -> T:
    """What the work on a large request gives, once its turn has come. The user pays for the processor. One thread works
    at a time, as more of them would only take the interpreter from small requests.

    Raises:
        TooManyRequests: the user has used it up.
    """
    turns: Turns = request.app.state.turns
    meter: Meter = request.app.state.gate.meter
    caller: Caller = request.scope["state"].get("caller", ANYBODY)

    def counted() -> T:
        before = time.thread_time()
        try:
            return work()
        finally:
            meter.worked(caller, time.thread_time() - before)

    meter.let_work(caller)
    async with turns.turn(request):
        return await run_sync(counted, limiter=CapacityLimiter(1))
