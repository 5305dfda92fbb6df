"""A suggestion without fallback reserves no trial if its client disconnects while the model is choosing: a person who
has left the page would not learn of the trial."""

from __future__ import annotations

import os
import signal
from http.client import HTTPConnection

import httpx
import pytest

from adabkb_service.api.parts import parts_of
from adabkb_service.app import create_app
from adabkb_service.settings import Settings
from tests.integration.api.conftest import DEFINITION
from tests.servers import serving
from tests.waiting import wait_for

pytestmark = pytest.mark.long


def test_a_client_that_has_left_gets_no_trial(other_sqlite: str) -> None:
    app = create_app(Settings(database=other_sqlite, model_processes=1, suggestion_seconds=60, request_seconds=60))
    with serving(app) as address, httpx.Client(base_url=address, timeout=60) as api:
        assert api.post("/v1/studies", json=DEFINITION).status_code == 201
        wait_for(lambda: parts_of(app).service.inference.load.pids)
        [pid] = parts_of(app).service.inference.load.pids
        os.kill(pid, signal.SIGSTOP)
        try:
            leaving = HTTPConnection(api.base_url.host, api.base_url.port or 80)
            body = '{"fallback": false}'
            leaving.request("POST", "/v1/studies/s/suggest", body, {"Content-Type": "application/json"})
            wait_for(lambda: parts_of(app).service.unfinished == 1)
            leaving.close()
            for _ in range(3):  # the event loop has seen the end of the connection before it answers these
                assert api.get("/v1/studies/s/trials").json()["items"] == []
        finally:
            os.kill(pid, signal.SIGCONT)
        wait_for(lambda: parts_of(app).service.unfinished == 0)
        assert api.get("/v1/studies/s/trials").json()["items"] == []
