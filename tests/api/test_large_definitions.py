"""The largest definitions that the limits allow work on both databases."""

from __future__ import annotations

import json
from typing import Any

import httpx

from tests.servers import server_on

CHOICES = [k + 0.5 for k in range(980)]
WEIGHTS = {json.dumps(each): 2.0 for each in CHOICES}
LARGE: dict[str, Any] = {
    "id": "large",
    "direction": "minimize",
    "parameters": [{"name": f"p{k}", "kind": "categorical", "choices": CHOICES} for k in range(100)],
    "prior": {f"p{k}": {"weights": WEIGHTS} for k in range(100)},
}
"""Two megabytes, almost 200,000 values."""


def test_a_study_with_a_prior_of_two_megabytes_is_created_and_used(migrated_url: str) -> None:
    """PostgreSQL ends a transaction that is idle for long, so nothing may compute for long within one."""
    with (
        server_on(migrated_url, holder_seconds=3.0, contention_seconds=0.1) as address,
        httpx.Client(base_url=address, timeout=120) as client,
    ):
        created = client.post("/v1/studies", json=LARGE)
        assert created.status_code == 201, created.text[:300]
        assert created.json()["prior"] == LARGE["prior"]
        assert client.post("/v1/studies", json=LARGE).status_code == 200
        [trial] = client.post("/v1/studies/large/suggest").raise_for_status().json()["trials"]
        told = client.post("/v1/studies/large/observations", json={"items": [{"trial": trial["number"], "value": 1.0}]})
        assert told.status_code == 200, told.text
        assert client.get("/v1/studies/large").json()["counts"]["completed"] == 1
