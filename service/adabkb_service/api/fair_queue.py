"""A fair queue for long computations: a few at a time, and at most one per user."""

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
from adabkb_service.api.middleware import sender
from adabkb_service.api.parts import parts_of

T = TypeVar("T")


class FairQueue:
    """The queue. Computations of one user run one after the other, so other users wait for at most one of them. Used
    only by the server's event loop.

    Args:
        most: the maximum number of computations at a time.
    """

    def __init__(self, most: int) -> None:
        self._places = CapacityLimiter(most)
        self._locks: WeakValueDictionary[str, CapacityLimiter] = WeakValueDictionary()
        """User (or address, without a token) -> lock, as long as computations use it."""

    @asynccontextmanager
    async def slot(self, request: Request) -> AsyncIterator[None]:
        """Wait for a place in the queue, and hold it within the block."""
        caller: Caller = request.scope["state"].get("caller", ANYBODY)
        lock = self._locks.setdefault(caller.user or sender(request.scope), CapacityLimiter(1))
        async with lock, self._places:
            yield


async def run_serialized(request: Request, work: Callable[[], T]) -> T:
    """Process a large request in a thread, and return the result. Its processor time counts against the user's quota.
    Only one thread does such work at a time, since more would slow down small requests.

    Raises:
        TooManyRequests: the quota is used up.
    """
    parts = parts_of(request.app)
    meter = parts.gate.meter
    caller: Caller = request.scope["state"].get("caller", ANYBODY)

    def timed() -> T:
        before = time.thread_time()
        try:
            return work()
        finally:
            meter.charge_processor_time(caller, time.thread_time() - before)

    meter.check_processor_quota(caller)
    async with parts.large_requests.slot(request):
        return await run_sync(timed, limiter=CapacityLimiter(1))
