"""Each request is answered despite injected errors, and nothing acknowledged is lost."""

from __future__ import annotations

import itertools
import time
from typing import Any

import httpx
import pytest

from adabkb_service.operations.data.doctor import examine
from adabkb_service.storage.database import Database
from tests.integration.api.conftest import DEFINITION
from tests.integration.api.injected import AT_WORK, InjectedFault, injecting
from tests.servers import server_on
from tests.waiting import wait_for

pytestmark = pytest.mark.long

SECONDS = 60.0
"""Timeout of an answer, which a request that waits forever would exceed."""


class Sender:
    """Sends requests, with retries, each over a new connection, since the server closes connections after errors."""

    def __init__(self, address: str, fault: InjectedFault, status: int) -> None:
        """``status`` is the expected status of a request that the fault affected."""
        self._address, self._fault, self._status = address, fault, status
        self._keys = itertools.count()

    def __call__(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the final answer to a request."""
        headers = {"Idempotency-Key": str(next(self._keys))} if method in ("POST", "PATCH") else {}
        answer = self._send(method, path, headers, body)
        if answer.status_code >= 400:
            assert self._fault.where, answer.text
            assert answer.status_code == self._status, (self._fault.where, answer.text)
            assert (answer.headers.get("Retry-After") is not None) == (self._status == 503), self._fault.where
            answer = self._send(method, path, headers, body)
            while (
                answer.status_code == 409 and answer.json()["code"] == "request_in_progress"
            ):  # the first one is still in progress
                time.sleep(0.1)
                answer = self._send(method, path, headers, body)
        assert answer.status_code in (200, 201), (self._fault.where, answer.text)
        found: dict[str, Any] = answer.json()
        return found

    def _send(self, method: str, path: str, headers: dict[str, str], body: dict[str, Any] | None) -> httpx.Response:
        with httpx.Client(base_url=self._address, timeout=SECONDS) as client:
            return client.request(method, path, headers=headers, json=body)


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # it ignores a failing function
@pytest.mark.parametrize(("error", "status"), [(RuntimeError, 500), (MemoryError, 503)])
def test_requests_are_answered_despite_injected_errors(other_sqlite: str, error: type[Exception], status: int) -> None:
    """At each call of this project's functions, on the event loop and on a study's thread, from the first request to
    the last response.

    Each request is then repeated with its key; the same thread also performs requests for another study.
    """
    reached: list[str] = []
    with (
        injecting(error) as fault,
        server_on(other_sqlite, study_threads=1, model_processes=1) as address,
        httpx.Client(base_url=address, timeout=60) as api,
    ):
        for name, limits in (("s", {"pending_limit": 1}), ("quiet", {})):
            assert api.post("/v1/studies", json={**DEFINITION, "id": name, **limits}).status_code == 201
        wait_for(
            lambda: api.get("/readyz").status_code == 200
        )  # the engine is loaded, so suggestions do not wait for it
        send = Sender(address, fault, status)
        for at in itertools.count(1):
            fault.arm(at)
            send("PATCH", "/v1/studies/quiet", {"tags": {"at": str(at)}})
            [trial] = send("POST", "/v1/studies/s/suggest", {})["trials"]
            assert trial["number"] == len(reached) + 1, fault.where
            path = f"/v1/studies/s/trials/{trial['number']}"
            send("POST", f"{path}/heartbeat", {})
            send("POST", "/v1/studies/s/predict", {"points": [trial["parameters"]]})
            send("POST", "/v1/studies/s/observe", {"trial": trial["number"], "value": float(at)})
            assert send("GET", path)["value"] == at
            if fault.at:  # there were fewer calls
                break
            reached.append(fault.where)
        fault.arm(0)
        assert api.get("/v1/studies/s").json()["counts"]["observations"] == len(reached) + 1
        assert api.get("/v1/studies/quiet").json()["tags"] == {"at": str(at)}
    assert fault.threads == set(AT_WORK)
    database = Database(other_sqlite)
    assert list(examine(database)) == []
    database.close()
