"""Detect that a client has disconnected."""

from __future__ import annotations

from fastapi import Request


async def disconnected(request: Request) -> None:
    """Return when the client has disconnected. The body of the request must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
