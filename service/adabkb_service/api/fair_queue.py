"""A queue for the long work of requests: some pieces at a time, and at most one of each user."""

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


class FairQueue:
    """Used by the event loop of a server alone.

    The work of one user is performed one piece after the other, so other users wait for one piece of it at most.

    Args:
        most: pieces of work at a time.
    """

    def __init__(self, most: int) -> None:
        self._places = CapacityLimiter(most)
        self._own: WeakValueDictionary[str, CapacityLimiter] = WeakValueDictionary()
        """By user, or by address without a token, as long as there is work of theirs."""

    @asynccontextmanager
    async def slot(self, request: Request) -> AsyncIterator[None]:
        """The block begins once there is room for it."""
        caller: Caller = request.scope["state"].get("caller", ANYBODY)
        own = self._own.setdefault(caller.user or sender(request.scope), CapacityLimiter(1))
        async with own, self._places:
            yield


async def run_serialized(request: Request, work: Callable[[], T]) -> T:
    """Do the work on a large request in a thread, and return its result. Its processor time counts in the quota of the
    user. One thread works at a time: more of them would take the interpreter from small requests.

    Raises:
        TooManyRequests: the user has used it up.
    """
    queue: FairQueue = request.app.state.large_requests
    meter: Meter = request.app.state.gate.meter
    caller: Caller = request.scope["state"].get("caller", ANYBODY)

    def counted() -> T:
        before = time.thread_time()
        try:
            return work()
        finally:
            meter.worked(caller, time.thread_time() - before)

    meter.let_work(caller)
    async with queue.slot(request):
        return await run_sync(counted, limiter=CapacityLimiter(1))
