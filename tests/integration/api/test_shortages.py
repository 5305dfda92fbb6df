"""Errors for lack of a resource are answered by 503 with a retry; all others are unexpected errors."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from typing import Annotated

import httpx
import pytest
from fastapi import FastAPI
from pydantic import BaseModel, PlainSerializer

from adabkb_service.api import problems


def no_memory() -> None:
    raise MemoryError


class Field(BaseModel):
    """A model whose only field cannot be serialized."""

    value: Annotated[int, PlainSerializer(lambda _: no_memory())] = 0


def raised(work: Callable[[], object]) -> Exception:
    try:
        work()
    except Exception as error:
        return error
    raise AssertionError("it raised nothing")


def while_answering() -> None:
    """Raise the error as Starlette does after the start of the response."""
    try:
        no_memory()
    except MemoryError as error:
        raise RuntimeError("Caught handled exception, but response already started.") from error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RuntimeError("can't start new thread"), 503),
        (MemoryError(), 503),
        (raised(while_answering), 503),
        (raised(Field().model_dump_json), 503),
        *[(OSError(code, os.strerror(code)), 503) for code in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC)],
        (RuntimeError("no"), 500),
        (RecursionError(), 500),
        (OSError(errno.EIO, os.strerror(errno.EIO)), 500),
        (FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)), 500),
    ],
    ids=repr,
)
def test_shortage_asks_for_a_retry(error: Exception, status: int) -> None:
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
