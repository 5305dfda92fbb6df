"""If there is no estimate, the response gives the reason."""

from __future__ import annotations

import os
import signal
from typing import Any

import httpx
import pytest

from adabkb_service.api.parts import parts_of
from adabkb_service.app import create_app
from adabkb_service.settings import Settings
from adabkb_service.storage.database import Database
from tests.integration.api.conftest import DEFINITION
from tests.integration.cli.shell import adabkb
from tests.servers import server_on, serving
from tests.waiting import wait_for

POINT = {"x": 0.5, "n": 3}


def reasons(api: httpx.Client) -> tuple[str | None, str | None]:
    """The reasons in the recommendation and for the missing gap."""
    found = api.get("/v1/studies/s/recommendation").json()
    assert (found["model"] is None) <= (found["reason"] is not None)
    info = api.get("/v1/studies/s").json()
    assert (info["gap"] is None) == (info["model"]["reason"] is not None)
    return found["reason"], info["model"]["reason"]


def observe(api: httpx.Client, value: float, **more: Any) -> None:
    result = {"parameters": {**POINT, "x": value}, "value": value, **more}
    assert api.post("/v1/studies/s/observe", json=result).status_code == 200


def test_reasons_before_and_after_the_first_results(api: httpx.Client) -> None:
    assert api.post("/v1/studies", json=DEFINITION).status_code == 201
    assert reasons(api) == ("no_results", "no_results")
    observe(api, 0.5)
    assert reasons(api) == ("too_few_results", "not_known_yet")
    for n, x in enumerate((-1.0, 2.0, 0.0, 1.0, -0.5, 1.5, -0.8, 0.8, 1.8), start=1):
        observe(api, x, parameters={"x": x, "n": n})
    assert reasons(api) == (None, None)


def test_reason_with_several_objectives(api: httpx.Client) -> None:
    objectives = [{"metric": name, "direction": "minimize"} for name in ("loss", "latency")]
    definition = {**DEFINITION, "objectives": objectives}
    definition.pop("direction")
    assert api.post("/v1/studies", json=definition).status_code == 201
    assert reasons(api) == ("no_results", "several_objectives")
    for x in (0.0, 1.0):
        point = {"parameters": {"x": x, "n": 1}, "metrics": {"loss": x, "latency": 1.0 - x}}
        assert api.post("/v1/studies/s/observe", json=point).status_code == 200
    assert reasons(api) == ("several_objectives", "several_objectives")


def test_reason_without_a_feasible_result(api: httpx.Client) -> None:
    bounds = {"outcome_constraints": [{"metric": "latency", "upper": 1.0}], "metrics": ["latency"]}
    created = api.post("/v1/studies", json={**DEFINITION, **bounds})
    assert created.status_code == 201, created.text
    observe(api, 0.5, metrics={"latency": 2.0})
    assert reasons(api) == ("nothing_feasible", "nothing_feasible")  # before too_few_results
    for x in (-1.0, 2.0, 0.0, 1.0, -0.5, 1.5, -0.8, 0.8, 1.8):
        observe(api, x, metrics={"latency": 2.0})
    assert reasons(api) == ("nothing_feasible", "nothing_feasible")


def test_reason_if_the_model_cannot_follow_the_log(other_sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The event of a result was damaged."""
    with server_on(other_sqlite) as address, httpx.Client(base_url=address) as api:
        assert api.post("/v1/studies", json=DEFINITION).status_code == 201
        observe(api, 0.5)
    database = Database(other_sqlite)
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE events SET payload = '{}' WHERE kind = 'observed'")
        connection.exec_driver_sql("UPDATE studies SET model_seq = 0")
    database.close()
    with server_on(other_sqlite) as address, httpx.Client(base_url=address) as api:
        assert reasons(api)[0] == "model_failed"
        monkeypatch.setenv("ADABKB_URL", address)
        assert "the model has failed: " in adabkb("study", "show", "s")


def test_reason_if_the_model_does_not_reply(other_sqlite: str) -> None:
    """Its process is suspended."""
    app = create_app(Settings(database=other_sqlite, model_processes=1, request_seconds=0.5, follow_seconds=0.1))
    with serving(app) as address, httpx.Client(base_url=address, timeout=60) as api:
        assert api.post("/v1/studies", json=DEFINITION).status_code == 201
        observe(api, 0.5)
        wait_for(lambda: parts_of(app).service.inference.load.pids)
        [pid] = parts_of(app).service.inference.load.pids
        os.kill(pid, signal.SIGSTOP)
        try:
            assert reasons(api)[0] == "model_busy"
            assessed = api.get("/v1/studies/s/assessment").json()
            assert [each["check"] for each in assessed["checks"]] == ["model_busy"]
            assert assessed["progress"]["text"] == "The only result is 0.5."
        finally:
            os.kill(pid, signal.SIGCONT)


def test_answer_says_which_revision_its_gap_rests_on(other_sqlite: str) -> None:
    """The model is up to date, and then its process is suspended."""
    app = create_app(Settings(database=other_sqlite, model_processes=1, request_seconds=0.5, follow_seconds=0.1))
    with serving(app) as address, httpx.Client(base_url=address, timeout=60) as api:
        assert api.post("/v1/studies", json=DEFINITION).json()["model"]["rests_on"] is None
        observe(api, 0.5)

        def shown() -> tuple[int, int]:
            study = api.get("/v1/studies/s").json()
            return study["revision"], study["model"]["rests_on"]

        wait_for(lambda: shown()[0] == shown()[1])
        [pid] = parts_of(app).service.inference.load.pids
        os.kill(pid, signal.SIGSTOP)
        try:
            before, _ = shown()
            observe(api, 0.7)
            revision, rests_on = shown()
            assert (rests_on, revision > before) == (before, True)
        finally:
            os.kill(pid, signal.SIGCONT)
        wait_for(lambda: shown()[0] == shown()[1])
