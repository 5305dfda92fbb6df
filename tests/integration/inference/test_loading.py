"""While a server loads the engine, suggestions wait for the model, and all other requests are answered."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.api.conftest import DEFINITION
from tests.loading import loading_server

pytestmark = pytest.mark.long

SECONDS = 6
"""Seconds of loading after a suggestion was requested, more than the timeout for a busy model."""


@pytest.fixture
def may_start(tmp_path: Path) -> Path:
    """A file that loading waits for."""
    return tmp_path / "may-start"


@pytest.fixture
def loading(
    other_sqlite: str, tmp_path: Path, may_start: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[httpx.Client]:
    """A client of a server that is loading the engine."""
    with (
        loading_server(other_sqlite, tmp_path, may_start, monkeypatch) as address,
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        yield client


def suggest_trials(client: httpx.Client) -> dict[str, Any]:
    """Request two trials, again while the server answers that it is still loading."""
    while (answer := client.post("/v1/studies/s/suggest", json={"count": 2})).status_code == 503:
        assert "loading the engine" in answer.json()["detail"]
    found: dict[str, Any] = answer.json()
    return found


def test_suggestions_wait_for_the_engine_and_results_do_not(loading: httpx.Client, may_start: Path) -> None:
    assert loading.post("/v1/studies", json=DEFINITION).status_code == 201
    not_ready = loading.get("/readyz")
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(suggest_trials, loading)
        response = loading.post("/v1/studies/s/observe", json={"parameters": {"x": 0.5, "n": 3}, "value": 1.0})
        time.sleep(SECONDS)
        assert not asked.done()
        may_start.touch()
    assert response.status_code == 200, response.text
    assert not_ready.status_code == 503
    assert "loading the engine" in not_ready.json()["detail"]
    assert [trial["origin"] for trial in asked.result()["trials"]] == ["policy", "policy"]
    assert not asked.result()["degraded"]
    assert loading.get("/readyz").status_code == 200
