"""The largest allowed definitions work, and large bodies do not block other requests."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from adabkb_service.contract.prior import check_prior
from tests.calls import Gate, watching
from tests.conftest import on_either
from tests.servers import server_on
from tests.waiting import TIMEOUT_SECONDS

CHOICES = [k + 0.5 for k in range(980)]
WEIGHTS = {json.dumps(each): 2.0 for each in CHOICES}
LARGE: dict[str, Any] = {
    "id": "large",
    "direction": "minimize",
    "parameters": [{"name": f"p{k}", "kind": "categorical", "choices": CHOICES} for k in range(100)],
    "prior": {f"p{k}": {"weights": WEIGHTS} for k in range(100)},
}
"""Two megabytes, almost 200,000 values."""


@pytest.mark.long
def test_study_with_a_prior_of_two_megabytes_can_be_used(other_postgresql: str) -> None:
    """PostgreSQL aborts idle transactions, so long computations must not run within one."""
    with (
        server_on(other_postgresql, holder_seconds=3.0, contention_seconds=0.1) as address,
        httpx.Client(base_url=address, timeout=120) as client,
    ):
        created = client.post("/v1/studies", json=LARGE)
        assert created.status_code == 201, created.text[:300]
        assert created.json()["prior"] == LARGE["prior"]
        assert client.post("/v1/studies", json=LARGE).status_code == 200
        [trial] = client.post("/v1/studies/large/suggest").raise_for_status().json()["trials"]
        response = client.post(
            "/v1/studies/large/observations", json={"items": [{"trial": trial["number"], "value": 1.0}]}
        )
        assert response.status_code == 200, response.text
        assert client.get("/v1/studies/large").json()["counts"]["completed"] == 1


def test_other_requests_are_answered_while_a_large_body_is_validated(other_sqlite: str) -> None:
    gate = Gate()
    few = {**LARGE, "parameters": LARGE["parameters"][:20], "prior": {"p0": {"weights": WEIGHTS}}}
    with (
        watching({check_prior: gate}),
        server_on(other_sqlite) as server,
        ThreadPoolExecutor(1) as elsewhere,
    ):
        created = elsewhere.submit(httpx.post, f"{server}/v1/studies", json=few, timeout=TIMEOUT_SECONDS)
        try:
            assert gate.begun.wait(TIMEOUT_SECONDS)
            assert httpx.get(f"{server}/healthz", timeout=20).status_code == 200
        finally:
            gate.may_continue.set()
        assert created.result().status_code == 201


@pytest.mark.long
@on_either(
    "path,body,status",
    [
        ("/observe", {"parameters": {"x": 0.5, "n": 1}, "value": 1.0}, 200),
        ("/observe", {"parameters": {"x": 0.5, "n": 1}, "value": "one"}, 422),
        ("/observe", {"trial": 7, "state": "failed"}, 404),
        ("/observations", {"items": [{"parameters": {"x": 0.5, "n": 2}, "value": 2}]}, 200),
        ("/observations", {"items": [{"value": 2}], "much": 1}, 422),
        ("/trials", {"parameters": {"x": 0.1, "n": 2}}, 201),
        ("/trials/1/reports", {"attempt": 1, "step": 1, "value": "x"}, 422),
        ("/trials/1/reports", {"attempt": 1, "reports": [{"step": 1, "value": "x"}]}, 422),
        ("/trials/1/reports", {"attempt": 1, "reports": [{"step": 1, "value": 2}]}, 404),
        ("/suggest", {"count": 0}, 422),
        ("/suggest", [], 422),
    ],
)
def test_large_and_small_bodies_are_processed_alike(
    api: httpx.Client, study: str, path: str, body: Any, status: int
) -> None:
    """Also with an idempotency key, whose fingerprint depends on the body as sent."""
    raw = json.dumps(body)
    large = raw[:1] + " " * 2**16 + raw[1:]
    headers = {"Content-Type": "application/json"}
    answers = [api.post(study + path, content=content, headers=headers) for content in (raw, large)]
    assert [each.status_code for each in answers] == [status, status], answers[1].text
    assert answers[0].json().get("errors") == answers[1].json().get("errors")
    keyed = [
        api.post(study + path, content=content, headers={**headers, "Idempotency-Key": "k"}) for content in (large, raw)
    ]
    assert [each.status_code for each in keyed] == [status, status], keyed[1].text
    if status < 300:
        assert keyed[1].headers["Idempotent-Replayed"] == "true"
