"""The service in this process, with the cost of responses to hostile requests."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from adabkb_service.app import create_app
from adabkb_service.settings import Settings

JSON = {"content-type": "application/json"}

FLOAT = {"name": "x", "kind": "float", "low": 0, "high": 1}
STUDY: dict[str, Any] = {"direction": "minimize", "parameters": [FLOAT]}
NARROW = {"id": "narrow", **STUDY}
WIDE: dict[str, Any] = {
    "id": "wide",
    "direction": "minimize",
    "parameters": [{**FLOAT, "name": f"{i:03}".ljust(200, "n")} for i in range(100)],
}
VAST = {
    "id": "vast",
    "direction": "minimize",
    "parameters": [
        {"name": "c", "kind": "categorical", "choices": [f"{i:04}".ljust(990, "c") for i in range(1000)]},
        {"name": "d", "kind": "ordinal", "values": [f"{i:04}".ljust(990, "d") for i in range(1000)]},
    ],
}


class App:
    """The service in this process."""

    def __init__(self, portal: BlockingPortal, client: httpx.AsyncClient) -> None:
        self._portal = portal
        self._client = client

    def send(self, method: str, path: str, **request: Any) -> tuple[httpx.Response, float]:
        """Return the answer, and the processor seconds of all threads."""
        before = time.process_time()
        answer = self._portal.call(partial(self._client.request, method, path, **request))
        return answer, time.process_time() - before

    def post(self, path: str, body: Any) -> httpx.Response:
        return self.send("POST", path, content=json.dumps(body), headers=JSON)[0]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """With three studies, each with a trial and two results."""
    database = f"sqlite:///{tmp_path_factory.mktemp('bounded')}/adabkb.db"
    made = create_app(Settings(database=database, model_processes=0, sweep_seconds=30))
    transport = httpx.ASGITransport(app=made, raise_app_exceptions=False)
    client = httpx.AsyncClient(transport=transport, base_url="http://localhost")
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(made.router.lifespan_context(made)):
        app = App(portal, client)
        for study in (NARROW, WIDE, VAST):
            assert app.post("/v1/studies", study).status_code == 201
            assert app.post(f"/v1/studies/{study['id']}/suggest", {}).status_code == 200
            assert app.post(f"/v1/studies/{study['id']}/observe", {"trial": 1, "value": 1}).status_code == 200
        yield app


def names(n: int) -> dict[str, Any]:
    return {f"unknown{i}": 0 for i in range(n)}
