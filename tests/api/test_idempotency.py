"""The same request twice: one effect, one answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.api.conftest import DEFINITION

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("/v1/studies", {**DEFINITION, "id": None}),
    ("/v1/studies/s/suggest", {"count": 2}),
    ("/v1/studies/s/observe", {"parameters": {"x": 0, "n": 1}, "value": 1}),
    ("/v1/studies/s/observations", {"items": [{"parameters": {"x": 0, "n": 1}, "value": 1}]}),
    ("/v1/studies/s/trials", {"parameters": {"x": 0, "n": 1}}),
    ("/v1/studies/s/trials/1/heartbeat", {}),
    ("/v1/studies/s/trials/1/release", {}),
]


@pytest.mark.parametrize(("path", "body"), CALLS)
@pytest.mark.usefixtures("study")
def test_a_repeated_key_repeats_the_answer_and_not_the_effect(
    api: httpx.Client, path: str, body: dict[str, Any]
) -> None:
    api.post("/v1/studies/s/suggest")
    key = {"Idempotency-Key": "k-1"}
    first = api.post(path, json=body, headers=key)
    assert first.is_success
    assert "idempotent-replayed" not in first.headers
    revision = api.get("/v1/studies/s").json()["revision"]
    again = api.post(path, json=body, headers=key)
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert again.headers["idempotent-replayed"] == "true"
    assert api.get("/v1/studies/s").json()["revision"] == revision
    assert len(api.get("/v1/studies").json()["items"]) == (2 if path == "/v1/studies" else 1)

    elsewhere, another = "/v1/studies/s/suggest", {"worker": "other"}
    if path == "/v1/studies":
        elsewhere, another = path, {**body, "id": "other"}
    other = api.post(elsewhere, json=another, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


def test_a_key_of_a_deleted_study_is_forgotten(api: httpx.Client) -> None:
    """A study created anew under the same id answers for itself, not with what the deleted one answered."""
    key = {"Idempotency-Key": "k-1"}
    answers = []
    for parameter in ("x", "y"):
        definition = {**DEFINITION, "parameters": [{"name": parameter, "kind": "float", "low": 0, "high": 1}]}
        assert api.post("/v1/studies", json=definition, headers=key).status_code == 201
        answers.append(api.post("/v1/studies/s/suggest", headers=key))
        assert api.delete("/v1/studies/s").status_code == 204
    assert [list(answer.json()["trials"][0]["parameters"]) for answer in answers] == [["x"], ["y"]]
    assert all("idempotent-replayed" not in answer.headers for answer in answers)


def test_concurrent_duplicates_have_one_effect(api: httpx.Client, study: str) -> None:
    def send(_: int) -> httpx.Response:
        key = {"Idempotency-Key": "k-1"}
        return api.post(f"{study}/observe", json={"parameters": {"x": 0, "n": 1}, "value": 1}, headers=key)

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(send, range(6)))
    assert [answer.status_code for answer in answers] == [200] * 6
    assert {answer.json()["observation"]["seq"] for answer in answers} == {1}
    assert api.get(study).json()["counts"]["observations"] == 1


def test_concurrent_creations_of_one_study_create_it_once(api: httpx.Client) -> None:
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: api.post("/v1/studies", json=DEFINITION), range(6)))
    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [201]


def test_a_refused_request_does_not_use_up_its_key(api: httpx.Client, study: str) -> None:
    key = {"Idempotency-Key": "k-1"}
    body = {"trial": 1, "value": 1.0}
    assert api.post(f"{study}/observe", json=body, headers=key).status_code == 404
    api.post(f"{study}/suggest")
    assert api.post(f"{study}/observe", json=body, headers=key).status_code == 200
