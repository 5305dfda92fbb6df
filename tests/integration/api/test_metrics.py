"""/metrics: requests, results, queues and studies."""

from __future__ import annotations

import time
from collections.abc import Iterator
from timeit import timeit

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from adabkb_service.telemetry.metrics import Metrics
from tests.integration.api.conftest import DEFINITION
from tests.servers import server_on


@pytest.fixture
def client(other_sqlite: str) -> Iterator[httpx.Client]:
    with server_on(other_sqlite, study_metrics=True) as address, httpx.Client(base_url=address, timeout=60) as client:
        assert client.post("/v1/studies", json=DEFINITION).status_code == 201
        yield client


def figures(api: httpx.Client) -> dict[tuple[str, ...], float]:
    """Sample name and the values of its labels -> value."""
    families = text_string_to_metric_families(api.get("/metrics").text)
    return {(sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples}


def test_late_and_repeated_results_are_counted_and_dry_runs_are_not(client: httpx.Client) -> None:
    def observe(**result: float) -> None:
        assert client.post("/v1/studies/s/observe", json=result).status_code == 200

    client.post("/v1/studies/s/suggest", json={"count": 2})
    client.post("/v1/studies/s/trials/2/release", json={})
    observe(trial=1, value=1.0)
    assert figures(client)["adabkb_late_results_total",] == 0
    observe(trial=1, value=1.0)
    observe(trial=2, value=2.0)
    items = [{"trial": 1, "value": 1.0}, {"trial": 2, "value": 2.0}]
    client.post("/v1/studies/s/observations", json={"items": items, "dry_run": True})
    found = figures(client)
    assert found["adabkb_late_results_total",] == 1
    assert found["adabkb_repeated_results_total",] == 1
    client.post("/v1/studies/s/observations", json={"items": items})
    assert figures(client)["adabkb_repeated_results_total",] == 3


def test_each_phase_of_suggest_and_observe_is_timed(client: httpx.Client) -> None:
    client.post("/v1/studies/s/suggest")
    client.post("/v1/studies/s/observe", json={"trial": 1, "value": 1.0})
    client.get("/v1/studies/s")  # the request waits until the model has processed the results
    found = figures(client)
    for operation, phase in (
        ("suggest", "queue"),
        ("suggest", "decide"),
        ("suggest", "commit"),
        ("observe", "queue"),
        ("observe", "commit"),
        ("observe", "learn"),
    ):
        assert found["adabkb_phase_seconds_count", operation, phase] >= 1, (operation, phase)
    assert found["adabkb_model_cache_bytes",] > 0
    assert found["adabkb_requests_waiting",] == 0


def test_study_metrics_include_only_studies_that_the_token_may_read(client: httpx.Client) -> None:
    client.post("/v1/studies/s/suggest")
    client.post("/v1/studies/s/observe", json={"trial": 1, "value": -2.5})
    found = figures(client)
    assert found["adabkb_study_best", "s"] == -2.5
    assert found["adabkb_study_trials", "completed", "s"] == 1
    admin = client.post("/v1/tokens", json={"name": "root", "scopes": ["admin"]}).json()["token"]
    as_admin = {"Authorization": f"Bearer {admin}"}
    body = {"name": "ann", "scopes": ["read"]}
    other = client.post("/v1/tokens", json=body, headers=as_admin).json()["token"]
    seen = client.get("/metrics", headers={"Authorization": f"Bearer {other}"})
    assert seen.status_code == 200
    assert 'study="s"' not in seen.text
    assert 'study="s"' in client.get("/metrics", headers=as_admin).text


def test_study_metrics_are_disabled_by_default(other_sqlite: str) -> None:
    with server_on(other_sqlite) as address, httpx.Client(base_url=address) as client:
        client.post("/v1/studies", json={**DEFINITION, "id": "secret-compound"})
        assert "secret-compound" not in client.get("/metrics").text


def test_metrics_take_under_50_microseconds_per_request() -> None:
    """All metrics of a suggestion, measured in processor time, so that the load of the machine does not matter."""
    metrics, times = Metrics(), 2000

    def one_request() -> None:
        for phase in ("queue", "decide", "commit"):
            metrics.phase("suggest", phase, 0.002)
        metrics.answered("POST", "/v1/studies/{study_id}/suggest", 200, 0.002)

    seconds = timeit(one_request, number=times, timer=time.thread_time) / times
    assert seconds < 50e-6
