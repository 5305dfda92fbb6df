"""An error that says that the machine is short of something asks to come again; any other is an unexpected one."""

from __future__ import annotations

import asyncio
import errno
import os

import httpx
import pytest
from fastapi import FastAPI

from adabkb_service.api import problems


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RuntimeError("can't start new thread"), 503),
        (MemoryError(), 503),
        *[(OSError(code, os.strerror(code)), 503) for code in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC)],
        (RuntimeError("no"), 500),
        (RecursionError(), 500),
        (OSError(errno.EIO, os.strerror(errno.EIO)), 500),
        (FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)), 500),
    ],
    ids=repr,
)
def test_a_shortage_asks_to_come_again(error: Exception, status: int) -> None:
    app = FastAPI()
    problems.install(app)

    @app.get("/")
    async def fail() -> None:
        raise error

    answer = asyncio.run(get(app))
    assert (answer.status_code, answer.json()["retryable"]) == (status, status == 503)
    assert answer.headers.get("Retry-After") == ("1" if status == 503 else None)


async def get(app: FastAPI) -> httpx.Response:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.get("/")
