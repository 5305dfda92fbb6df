from __future__ import annotations

from typing import Any

import httpx
import pytest

PARAMETERS = [
    {"name": "x", "kind": "float", "low": -1, "high": 2},
    {"name": "n", "kind": "int", "low": 1, "high": 9},
]
DEFINITION: dict[str, Any] = {"id": "s", "direction": "minimize", "parameters": PARAMETERS, "seed": 3}


@pytest.fixture
def study(api: httpx.Client) -> str:
    """The path of a small study."""
    assert api.post("/v1/studies", json=DEFINITION).status_code == 201
    return "/v1/studies/s"


def pointers(response: httpx.Response) -> list[str]:
    """Return the pointers of a problem, after checking that it is complete."""
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    fields = {"type", "title", "status", "detail", "instance", "code", "request_id", "retryable", "remedy", "errors"}
    assert set(problem) - {"observation"} == fields
    assert "observation" not in problem or problem["code"] == "result_conflict"
    assert problem["status"] == response.status_code
    assert problem["remedy"] or problem["status"] != 422
    assert problem["request_id"] == response.headers["x-request-id"]
    return [error["pointer"] for error in problem["errors"]]
