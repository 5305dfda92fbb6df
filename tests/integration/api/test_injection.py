"""Each request is answered, whatever fails between its arrival and its answer, and nothing acknowledged is lost."""

from __future__ import annotations

import itertools
import time
from typing import Any

import httpx
import pytest

from adabkb_service.operations.doctor import examine
from adabkb_service.storage.database import Database
from tests.integration.api.conftest import DEFINITION
from tests.integration.api.injected import AT_WORK, Fault, injecting
from tests.servers import server_on
from tests.waiting import wait_for

STEP = 61
"""Of so many calls in a row, one fails in ``make test``, and each in ``make attack``."""

SECONDS = 60.0
"""For an answer. A request that waits for something that does not come takes longer."""


class Sender:
    """Sends requests, again if need be, over a connection of its own each: the server closes it after an error."""

    def __init__(self, address: str, fault: Fault, status: int) -> None:
        """``status`` is that of an answer to a request that the fault has met."""
        self._address, self._fault, self._status = address, fault, status
        self._keys = itertools.count()

    def __call__(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """What a request is answered in the end."""
        headers = {"Idempotency-Key": str(next(self._keys))} if method in ("POST", "PATCH") else {}
        answer = self._send(method, path, headers, body)
        if answer.status_code >= 400:
            assert self._fault.where, answer.text
            assert answer.status_code == self._status, (self._fault.where, answer.text)
            assert (answer.headers.get("Retry-After") is not None) == (self._status == 503), self._fault.where
            answer = self._send(method, path, headers, body)
            while answer.status_code == 409 and answer.json()["code"] == "request_in_progress":  # the first one, still
                time.sleep(0.1)
                answer = self._send(method, path, headers, body)
        assert answer.status_code in (200, 201), (self._fault.where, answer.text)
        found: dict[str, Any] = answer.json()
        return found

    def _send(self, method: str, path: str, headers: dict[str, str], body: dict[str, Any] | None) -> httpx.Response:
        with httpx.Client(base_url=self._address, timeout=SECONDS) as client:
            return client.request(method, path, headers=headers, json=body)


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # which does without a function that fails
@pytest.mark.parametrize("step", [STEP, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize(("error", "status"), [(RuntimeError, 500), (MemoryError, 503)])
def test_whatever_fails_while_requests_are_performed_they_are_answered(
    other_sqlite: str, step: int, error: type[Exception], status: int
) -> None:
    """At each call of a function of ours, on the event loop and on a study's thread, from the arrival of the first
    request until the last answer. Each request is then repeated with its key; requests of another study are performed
    by the same thread."""
    reached: list[str] = []
    with (
        injecting(error) as fault,
        server_on(other_sqlite, study_threads=1, model_processes=1) as address,
        httpx.Client(base_url=address, timeout=60) as api,
    ):
        for name, limits in (("s", {"pending_limit": 1}), ("quiet", {})):
            assert api.post("/v1/studies", json={**DEFINITION, "id": name, **limits}).status_code == 201
        wait_for(lambda: api.get("/readyz").status_code == 200)  # the engine is loaded, or suggestions wait for it
        send = Sender(address, fault, status)
        for at in itertools.count(1, step):
            fault.arm(at)
            send("PATCH", "/v1/studies/quiet", {"tags": {"at": str(at)}})
            [trial] = send("POST", "/v1/studies/s/suggest", {})["trials"]
            assert trial["number"] == len(reached) + 1, fault.where
            path = f"/v1/studies/s/trials/{trial['number']}"
            send("POST", f"{path}/heartbeat", {})
            send("POST", "/v1/studies/s/predict", {"points": [trial["parameters"]]})
            send("POST", "/v1/studies/s/observe", {"trial": trial["number"], "value": float(at)})
            assert send("GET", path)["value"] == at
            if fault.at:  # there are fewer calls
                break
            reached.append(fault.where)
        fault.arm(0)
        assert api.get("/v1/studies/s").json()["counts"]["observations"] == len(reached) + 1
        assert api.get("/v1/studies/quiet").json()["tags"] == {"at": str(at)}
    assert fault.threads == set(AT_WORK)
    database = Database(other_sqlite)
    assert list(examine(database)) == []
    database.close()
