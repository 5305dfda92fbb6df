"""The real application in this process, called through ASGI without a socket. A separate process computes models."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from anyio.to_thread import run_sync
from fastapi import FastAPI
from starlette.types import ASGIApp

from adabkb_service.api.parts import parts_of
from adabkb_service.app import create_app
from adabkb_service.operations.service import Service
from adabkb_service.settings import Settings

TRIES = 20


@dataclass(frozen=True)
class Call:
    """An HTTP request."""

    method: str
    path: str
    body: dict[str, Any] | None = None


Operation = Call | Callable[[Service], None]
"""An operation of a server: an answer to a request, or background work."""


@dataclass(frozen=True)
class Answer:
    """The answer to an operation; empty for background work."""

    status: int = 0
    document: Any = None


class Server:
    """A running application."""

    def __init__(self, service: Service, client: httpx.AsyncClient) -> None:
        self._service = service
        self._client = client

    async def perform(self, operation: Operation, key: str | None = None) -> Answer:
        """Perform an operation, and return its answer. A request has an idempotency key, so that it can be repeated."""
        if not isinstance(operation, Call):
            await run_sync(operation, self._service)
            return Answer()
        headers = {} if key is None else {"Idempotency-Key": key}
        response = await self._ask(operation.method, operation.path, json=operation.body, headers=headers)
        return Answer(response.status_code, response.json() if response.content else None)

    async def read(self, path: str) -> Any:
        """The document at a path; one of JSON lines is a list."""
        response = await self._ask("GET", path)
        assert response.status_code == 200, response.text
        if response.headers["content-type"].startswith("application/x-ndjson"):
            return [json.loads(line) for line in response.text.splitlines()]
        return response.json()

    async def _ask(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Return the response. If the server is busy, repeat the request, as the client does."""
        for _ in range(TRIES):
            response = await self._client.request(method, path, **request)
            if response.status_code != 503:
                assert response.status_code < 500, response.text
                return response
        raise AssertionError(f"{method} {path}: {response.text}")


def application(database_url: str, model_processes: int = 1) -> FastAPI:
    """Return a new application with a model process, as in production. It sweeps only on request."""
    return create_app(Settings(database=database_url, sweep_seconds=3600, model_processes=model_processes))


@asynccontextmanager
async def running(app: FastAPI, door: ASGIApp | None = None) -> AsyncIterator[Server]:
    """Run the application within the block. Requests go through ``door``, if given."""
    transport = httpx.ASGITransport(app=door or app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        yield Server(parts_of(app).service, client)


async def perform_all(database_url: str, operations: Iterable[Operation], key: str | None = None) -> list[Answer]:
    """Perform operations in turn on a new server."""
    async with running(application(database_url)) as server:
        return [await server.perform(operation, key) for operation in operations]
