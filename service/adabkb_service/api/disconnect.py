"""Detect that a client has disconnected."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import Request


async def disconnected(request: Request) -> None:
    """Return when the client has disconnected. The body of the request must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


@asynccontextmanager
async def watched(request: Request) -> AsyncIterator[Callable[[], bool]]:
    """Yield a function that returns whether the client has disconnected; any thread may call it. The body of the
    request must have been read."""
    leaving = asyncio.ensure_future(disconnected(request))
    try:
        yield leaving.done
    finally:
        leaving.cancel()
