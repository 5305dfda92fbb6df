"""A repeated request has one effect and one response."""

from __future__ import annotations

import json
import os
import signal
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from adabkb_service.api.parts import parts_of
from adabkb_service.app import create_app
from adabkb_service.operations.service import Service
from adabkb_service.settings import Settings
from tests.integration.api.conftest import DEFINITION
from tests.servers import serving
from tests.waiting import wait_for

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("/v1/studies", {**DEFINITION, "id": None}),
    ("/v1/studies/s/suggest", {"count": 2}),
    ("/v1/studies/s/observe", {"parameters": {"x": 0, "n": 1}, "value": 1}),
    ("/v1/studies/s/observations", {"items": [{"parameters": {"x": 0, "n": 1}, "value": 1}]}),
    ("/v1/studies/s/trials", {"parameters": {"x": 0, "n": 1}}),
    ("/v1/studies/s/trials/1/heartbeat", {}),
    ("/v1/studies/s/trials/1/release", {}),
    ("/v1/studies/s/trials/1/withdraw", {}),
    ("/v1/studies/s/trials/1/retry", {}),
]


@pytest.mark.parametrize(("path", "body"), CALLS)
@pytest.mark.usefixtures("study")
def test_repeated_key_returns_the_same_response_without_a_second_effect(
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


def test_key_reused_with_other_fixed_values_is_rejected(api: httpx.Client, study: str) -> None:
    key = {"Idempotency-Key": "k-1"}
    first, again = (api.post(f"{study}/suggest", json={"fixed": {"n": 3}}, headers=key) for _ in range(2))
    assert first.json()["trials"][0]["parameters"]["n"] == 3
    assert again.json() == first.json()
    other = api.post(f"{study}/suggest", json={"fixed": {"n": 4}}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


def test_predictions_ignore_the_key(api: httpx.Client, study: str) -> None:
    """They change nothing, so nothing is stored: users who may only read must not fill the database."""
    key = {"Idempotency-Key": "k-1"}
    for x in (0, 1, 1):
        answer = api.post(f"{study}/predict", json={"points": [{"x": x, "n": 1}]}, headers=key)
        assert answer.status_code == 200
        assert "idempotent-replayed" not in answer.headers
    lines = [json.loads(line) for line in api.get(f"{study}/export").text.splitlines()]
    assert not [line for line in lines if line["type"] == "key"]
    assert api.post(f"{study}/suggest", headers=key).status_code == 200, "the key is not used up"


def test_query_belongs_to_the_request_of_a_key(api: httpx.Client, study: str) -> None:
    """And the order of names in the body does not."""
    key = {"Idempotency-Key": "k-1"}
    own = {"parameters": {"x": 0, "n": 1}, "value": 1}
    assert api.post(f"{study}/observe", json=own, headers=key).status_code == 200
    again = api.post(f"{study}/observe", json=dict(reversed(own.items())), headers=key)
    assert again.headers["idempotent-replayed"] == "true"
    key, path = {"Idempotency-Key": "k-2"}, f"{study}/observations/1"
    assert api.delete(path, params={"reason": "spilled"}, headers=key).status_code == 200
    assert api.delete(path, params={"reason": "spilled"}, headers=key).headers["idempotent-replayed"] == "true"
    other = api.delete(path, params={"reason": "too cold"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


def test_keys_of_a_deleted_study_are_deleted(api: httpx.Client) -> None:
    """A new study with the same id does not return responses of the deleted one."""
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
    """A request during the first one is asked to retry, and then gets the same response."""
    key = {"Idempotency-Key": "k-1"}

    def send(_: int) -> httpx.Response:
        return api.post(f"{study}/observe", json={"parameters": {"x": 0, "n": 1}, "value": 1}, headers=key)

    with ThreadPoolExecutor(6) as pool:
        answers = [*pool.map(send, range(6)), send(6)]
    early = [answer for answer in answers if answer.status_code == 409]
    assert all(answer.json()["code"] == "request_in_progress" for answer in early)
    assert all(answer.json()["retryable"] and answer.headers["retry-after"] == "1" for answer in early)
    done = [answer for answer in answers if answer not in early]
    assert [answer.status_code for answer in done] == [200] * len(done)
    assert [answer.json() for answer in done] == [done[-1].json()] * len(done)
    assert done[-1].headers["idempotent-replayed"] == "true"
    assert api.get(study).json()["counts"]["observations"] == 1


@contextmanager
def slow_model(service: Service, study_id: str) -> Iterator[None]:
    """Suspend one of two model processes, the one with the model of a study, within the block."""
    wait_for(lambda: len(service.inference.load.pids) == 2)
    pid = service.inference.load.pids[zlib.crc32(study_id.encode()) % 2]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_request_with_the_key_of_a_running_one_must_be_retried(database_url: str) -> None:
    app = create_app(Settings(database=database_url, model_processes=2))
    with serving(app) as address, httpx.Client(base_url=address, timeout=60) as api, ThreadPoolExecutor(2) as pool:
        api.post("/v1/studies", json=DEFINITION)

        def send() -> httpx.Response:
            return api.post("/v1/studies/s/suggest", headers={"Idempotency-Key": "k-1"})

        with slow_model(parts_of(app).service, "s"):
            both = [pool.submit(send), pool.submit(send)]
            early = next(as_completed(both)).result()
            assert (early.status_code, early.json()["code"]) == (409, "request_in_progress")
            assert (early.headers["retry-after"], early.json()["retryable"]) == ("1", True)
        assert sorted(answer.result().status_code for answer in both) == [200, 409]
        assert send().headers["idempotent-replayed"] == "true"
        assert api.get("/v1/studies/s").json()["counts"]["trials"] == 1


@pytest.mark.long
def test_busy_study_does_not_block_others(database_url: str) -> None:
    """More requests wait for one study than the server has threads, but requests for another study are answered."""
    app = create_app(Settings(database=database_url, model_processes=2))
    limits = httpx.Limits(max_connections=100)
    with serving(app) as address, httpx.Client(base_url=address, timeout=60, limits=limits) as api:
        for study in ("s", "t"):
            assert api.post("/v1/studies", json={**DEFINITION, "id": study}).status_code == 201
        with ThreadPoolExecutor(60) as pool:
            with slow_model(parts_of(app).service, "s"):
                waiting = [pool.submit(api.post, "/v1/studies/s/suggest") for _ in range(60)]
                wait_for(lambda: parts_of(app).service.unfinished == 60)
                for _ in range(20):
                    assert api.post("/v1/studies/t/suggest").status_code == 200
                assert not any(answer.done() for answer in waiting)
            assert [answer.result().status_code for answer in waiting] == [200] * 60


def test_concurrent_creations_of_one_study_create_it_once(api: httpx.Client) -> None:
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: api.post("/v1/studies", json=DEFINITION), range(6)))
    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [201]


def test_refused_request_does_not_use_up_its_key(api: httpx.Client, study: str) -> None:
    key = {"Idempotency-Key": "k-1"}
    body = {"trial": 1, "value": 1.0}
    assert api.post(f"{study}/observe", json=body, headers=key).status_code == 404
    api.post(f"{study}/suggest")
    assert api.post(f"{study}/observe", json=body, headers=key).status_code == 200
