"""Prefer: wait= on suggest: a request waits for a trial up to the given time, without blocking others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from adabkb_service.api.parts import parts_of
from adabkb_service.app import create_app
from adabkb_service.settings import Settings
from tests.integration.api.conftest import DEFINITION
from tests.samples import some
from tests.servers import server_on, serving
from tests.waiting import TIMEOUT_SECONDS

Answers = Callable[[], "Future[httpx.Response]"]


@dataclass
class Lab:
    """A server with one study whose only allowed pending trial is issued."""

    app: FastAPI
    client: httpx.Client
    workers: ThreadPoolExecutor
    url: str

    def suggest_and_wait(self, seconds: int = 60, headers: dict[str, str] | None = None) -> Future[httpx.Response]:
        """Send a worker's request for a trial, and return once it waits."""
        before, asked_before = parts_of(self.app).service.changes.waiting_for_trial, self.requests_for_trials()
        given = {"Prefer": f"wait={seconds}", **(headers or {})}
        asked = self.workers.submit(self.client.post, "/v1/studies/s/suggest", json={}, headers=given)
        self.until(lambda: parts_of(self.app).service.changes.waiting_for_trial > before)
        self.until(lambda: self.requests_for_trials() >= asked_before + 2)  # on arrival, and once it waits
        return asked

    def requests_for_trials(self) -> float:
        """How often a trial of the study was requested."""
        registry = parts_of(self.app).service.metrics.registry
        return float(registry.get_sample_value("adabkb_suggest_seconds_count") or 0.0)

    def until(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not is_so():
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def tell(self, trial: int) -> None:
        assert self.client.post("/v1/studies/s/observe", json={"trial": trial, "value": 1.0}).status_code == 200


@pytest.fixture
def lab(migrated_url: str) -> Iterator[Lab]:
    """A server that does not poll, so waiters depend on notifications."""
    with lab_on(migrated_url) as lab:
        yield lab


@pytest.fixture
def looking_lab(migrated_url: str) -> Iterator[Lab]:
    """A server whose waiters poll often."""
    with lab_on(migrated_url, look_seconds=0.05) as lab:
        yield lab


@contextmanager
def lab_on(url: str, look_seconds: float = 3600.0, **others: Any) -> Iterator[Lab]:
    settings = Settings(database=url, model_processes=0, sweep_seconds=0.05, look_seconds=look_seconds, **others)
    app = create_app(settings)
    with (
        ThreadPoolExecutor(20) as workers,
        serving(app) as address,
        httpx.Client(base_url=address, timeout=120, limits=httpx.Limits(max_connections=None)) as client,
    ):
        assert client.post("/v1/studies", json={**DEFINITION, "pending_limit": 1}).status_code == 201
        assert number(client.post("/v1/studies/s/suggest")) == 1
        yield Lab(app, client, workers, url)


def number(answer: httpx.Response) -> int:
    """The number of the only trial in an answer."""
    [trial] = answer.json()["trials"]
    return int(trial["number"])


def test_result_lets_a_waiting_worker_continue_immediately(lab: Lab) -> None:
    asked = lab.suggest_and_wait()
    lab.tell(1)
    answer = asked.result(TIMEOUT_SECONDS)
    assert number(answer) == 2
    assert answer.headers["preference-applied"] == "wait=60"


def test_resuming_a_study_serves_waiting_workers_up_to_the_limit(lab: Lab) -> None:
    lab.client.patch("/v1/studies/s", json={"state": "paused", "pending_limit": 4})
    asked = [lab.suggest_and_wait() for _ in range(5)]
    lab.client.patch("/v1/studies/s", json={"state": "running"})
    lab.until(lambda: sum(each.done() for each in asked) == 3)
    assert sorted(number(each.result()) for each in asked if each.done()) == [2, 3, 4]
    for trial in (1, 2):
        lab.tell(trial)
    assert sorted(number(each.result(TIMEOUT_SECONDS)) for each in asked) == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("ends", some(["release", "expire", "fail", "queue"], ["expire", "fail"]))
def test_every_way_to_free_a_trial_serves_a_waiting_worker(lab: Lab, ends: str) -> None:
    asked = lab.suggest_and_wait()
    match ends:
        case "release":
            lab.client.post("/v1/studies/s/trials/1/release", json={})
        case "expire":
            lab.client.post("/v1/studies/s/trials/1/heartbeat", json={"lease_seconds": 0.05})
        case "fail":
            lab.client.post("/v1/studies/s/observe", json={"trial": 1, "state": "failed"})
        case "queue":
            lab.client.post("/v1/studies/s/trials", json={"parameters": {"x": 0, "n": 1}})
    assert number(asked.result(TIMEOUT_SECONDS)) == (1 if ends in ("release", "expire") else 2)


def test_end_or_deletion_of_a_study_wakes_all_waiting_requests(lab: Lab) -> None:
    lab.client.patch("/v1/studies/s", json={"budget": 1})
    asked = [lab.suggest_and_wait() for _ in range(3)]
    lab.tell(1)
    for each in asked:
        assert (each.result(TIMEOUT_SECONDS).json()["trials"], each.result().json()["study"]["state"]) == (
            [],
            "complete",
        )
    lab.client.patch("/v1/studies/s", json={"budget": 9, "state": "paused"})
    asked = [lab.suggest_and_wait() for _ in range(3)]
    lab.client.delete("/v1/studies/s")
    assert [each.result(TIMEOUT_SECONDS).status_code for each in asked] == [404] * 3


def test_client_may_retry_immediately_after_an_unsuccessful_wait(lab: Lab) -> None:
    answer = lab.client.post("/v1/studies/s/suggest", headers={"Prefer": "respond-async, wait=0001"})
    assert (answer.json()["trials"], answer.json()["reason"], answer.json()["retry_after"]) == (
        [],
        "pending_limit",
        0.0,
    )
    assert answer.headers["preference-applied"] == "wait=1"
    for unclear in ("wait=soon", "wait", "waiting=3", "wait=0", "wait=1.5"):
        at_once = lab.client.post("/v1/studies/s/suggest", headers={"Prefer": unclear})
        assert (at_once.json()["retry_after"], "preference-applied" in at_once.headers) == (1.0, False)


def test_disconnected_client_gets_no_trial(lab: Lab) -> None:
    leaving = HTTPConnection(lab.client.base_url.host, lab.client.base_url.port or 80)
    leaving.request("POST", "/v1/studies/s/suggest", headers={"Prefer": "wait=60"})
    lab.until(lambda: parts_of(lab.app).service.changes.waiting_for_trial == 1)
    leaving.close()
    lab.until(lambda: parts_of(lab.app).service.changes.waiting_for_trial == 0)
    lab.tell(1)
    assert lab.client.get("/v1/studies/s").json()["counts"]["active"] == 0


def test_repeated_waiting_request_gets_the_same_trial(lab: Lab) -> None:
    """As after a lost connection, which the server may not have noticed yet."""
    asked = [lab.suggest_and_wait(headers={"Idempotency-Key": "k"}) for _ in range(2)]
    lab.client.patch("/v1/studies/s", json={"pending_limit": 9})
    assert {number(each.result(TIMEOUT_SECONDS)) for each in asked} == {2}
    assert lab.client.get("/v1/studies/s").json()["counts"]["trials"] == 2


def test_waiting_requests_are_limited_and_hold_no_connection_or_slot(migrated_url: str) -> None:
    with lab_on(migrated_url, waits=10) as lab:
        asked = [lab.suggest_and_wait() for _ in range(10)]
        service = parts_of(lab.app).service
        lab.until(
            lambda: (service.unfinished, service.database.connections, service.scheduler.queue_length) == (0, 0, 0)
        )
        further = lab.client.post("/v1/studies/s/suggest", headers={"Prefer": "wait=60"})
        assert (further.json()["retry_after"], "preference-applied" in further.headers) == (1.0, False)
        assert "adabkb_suggestions_waiting 10.0" in lab.client.get("/metrics").text
        lab.client.patch("/v1/studies/s", json={"pending_limit": 20})
        assert sorted(number(each.result(TIMEOUT_SECONDS)) for each in asked) == list(range(2, 12))


def test_stopping_server_answers_waiting_requests_immediately(looking_lab: Lab) -> None:
    asked = [looking_lab.suggest_and_wait() for _ in range(3)]
    parts_of(looking_lab.app).service.stopping.set()
    for each in asked:
        assert (each.result(TIMEOUT_SECONDS).json()["retry_after"], each.result().status_code) == (1.0, 200)


def test_trial_freed_by_another_server_is_noticed(looking_lab: Lab) -> None:
    asked = looking_lab.suggest_and_wait()
    with server_on(looking_lab.url) as address:
        response = httpx.post(f"{address}/v1/studies/s/observe", json={"trial": 1, "value": 1.0})
        assert response.status_code == 200
        assert number(asked.result(TIMEOUT_SECONDS)) == 2


def test_stream_immediately_shows_commits_of_its_server(lab: Lab) -> None:
    with events_of(lab) as kinds:
        assert [next(kinds) for _ in range(2)] == ["created", "suggested"]
        lab.tell(1)
        assert next(kinds) == "observed"


def test_stream_shows_commits_of_another_server(looking_lab: Lab) -> None:
    with events_of(looking_lab) as kinds, server_on(looking_lab.url) as address:
        assert [next(kinds) for _ in range(2)] == ["created", "suggested"]
        response = httpx.post(f"{address}/v1/studies/s/observe", json={"trial": 1, "value": 1.0})
        assert response.status_code == 200
        assert next(kinds) == "observed"


@contextmanager
def events_of(lab: Lab) -> Iterator[Iterator[str]]:
    """The kinds of the events in a stream of the study."""
    headers = {"Accept": "text/event-stream"}
    with lab.client.stream("GET", "/v1/studies/s/events", headers=headers) as stream:
        yield (line.removeprefix("event: ") for line in stream.iter_lines() if line.startswith("event: "))


def test_token_revoked_while_waiting_gets_no_trial(lab: Lab) -> None:
    def made(name: str, scope: str) -> dict[str, Any]:
        body = {"name": name, "user": name, "scopes": [scope], "studies": ["s"] if scope == "work" else None}
        found = lab.client.post("/v1/tokens", json={key: value for key, value in body.items() if value is not None})
        answer: dict[str, Any] = found.json()
        return answer

    admin = made("root", "admin")
    lab.client.headers["Authorization"] = f"Bearer {admin['token']}"
    worker = made("ann", "work")
    lab.client.patch("/v1/studies/s/access", json={"shared_with": {"ann": "work"}})
    asked = lab.suggest_and_wait(headers={"Authorization": f"Bearer {worker['token']}"})
    assert lab.client.delete(f"/v1/tokens/{worker['id']}").status_code == 204
    lab.tell(1)
    assert asked.result(TIMEOUT_SECONDS).status_code == 401
    assert number(lab.client.post("/v1/studies/s/suggest")) == 2
