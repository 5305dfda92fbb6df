"""Work of requests that takes a processor for long: on a thread, one piece at a time, and one of each user."""

from __future__ import annotations

import time
from collections.abc import Callable
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
    """The line of a server. Used by its event loop alone.

    More threads than one would only take the interpreter from small requests. A user who sends many large requests
    waits for one's own, so that the requests of other users wait for one of them at most.
    """

    def __init__(self) -> None:
        self._thread = CapacityLimiter(1)
        self._own: WeakValueDictionary[str, CapacityLimiter] = WeakValueDictionary()
        """By user, or by address without a token; those who have work here."""

    async def take(self, who: str, work: Callable[[], T]) -> T:
        """What the work gives, once its turn has come."""
        own = self._own.setdefault(who, CapacityLimiter(1))
        async with own:
            return await run_sync(work, limiter=self._thread)


async def in_turn(request: Request, work: Callable[[], T]) -> T:
    """What the work on a large request gives, once its turn has come. The user pays for the processor.

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
    return await turns.take(caller.user or sender(request.scope), counted)
