"""One study's fault stays one study's, and each request is answered, whatever fails between arrival and answer."""

from __future__ import annotations

import itertools
import logging
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

import adabkb_service
from adabkb_service.operations.doctor import examine
from adabkb_service.storage.database import Database
from tests.access.conftest import give_token
from tests.api.conftest import DEFINITION
from tests.servers import server_on
from tests.waiting import wait_for

PACKAGE = str(Path(adabkb_service.__file__).parent)
WAITING = (f"{PACKAGE}/study", f"{PACKAGE}/storage", f"{PACKAGE}/inference/link.py", f"{PACKAGE}/telemetry")
TRUSTED = (f"{PACKAGE}/study/scheduler.py",)
"""It moves names between queues, and calls nothing that could fail. Neither does what releases a lock."""
STEP = 7
"""Of so many calls in a row, one fails."""


@contextmanager
def changing(url: str) -> Iterator[Database]:
    """The database of a server, to be changed behind its back."""
    database = Database(url)
    yield database
    database.close()


def alone(address: str, method: str, path: str, **options: Any) -> httpx.Response:
    """A request over a connection of its own: the server closes it after an internal error."""
    with httpx.Client(base_url=address, timeout=30) as client:
        return client.request(method, path, **options)


def damage(database: Database, study: str) -> None:
    with database.writing() as connection:
        connection.execute(sa.text("UPDATE studies SET definition = '{}' WHERE id = :id"), {"id": study})


def test_a_study_that_cannot_be_read_affects_no_other(migrated_url: str) -> None:
    """Leases of the others expire, lists show them, and a server starts."""
    with changing(migrated_url) as database:
        with server_on(migrated_url) as address, httpx.Client(base_url=address, timeout=60) as api:
            for name in ("damaged", "sound"):
                assert api.post("/v1/studies", json={**DEFINITION, "id": name}).status_code == 201
                assert api.post(f"/v1/studies/{name}/suggest", json={"lease_seconds": 3600}).status_code == 200
            damage(database, "damaged")
        with database.writing() as connection:
            connection.execute(sa.text("UPDATE trials SET leased_until = '2030-01-01 00:00:00'"))  # beyond its length
        with server_on(migrated_url, sweep_seconds=0.05) as address, httpx.Client(base_url=address, timeout=60) as api:
            assert api.post("/v1/studies/sound/suggest", json={"lease_seconds": 0.2}).status_code == 200
            with database.writing() as connection:
                connection.execute(sa.text("UPDATE trials SET leased_until = '2020-01-01 00:00:00'"))
            wait_for(lambda: api.get("/v1/studies/sound").json()["counts"]["expired"] == 2)
            assert api.get("/readyz").status_code == 200
            assert [study["id"] for study in api.get("/v1/studies").json()["items"]] == ["sound"]
            listed = api.get("/", headers={"Accept": "text/html"})
            assert (listed.status_code, "sound" in listed.text) == (200, True)
            assert alone(address, "GET", "/v1/studies/damaged").status_code == 500
            assert alone(address, "DELETE", "/v1/studies/damaged").status_code == 500
            assert alone(address, "DELETE", "/v1/studies/damaged?purge=true").status_code == 204


class Fault(logging.Handler):
    """Raises at one call of the threads that perform requests: the first, the second, ... since it was armed."""

    def __init__(self) -> None:
        super().__init__()
        self.at = 0
        self.where = ""
        self._count = 0

    def arm(self, at: int) -> None:
        self.at, self._count, self.where = at, 0, ""

    def trace(self, frame: FrameType, _: str, __: Any) -> None:
        """As ``threading.settrace`` calls it in each new thread, with each call of a function."""
        name = frame.f_code.co_filename
        if not self.at or not name.startswith(WAITING) or name in TRUSTED or frame.f_code.co_name == "__exit__":
            return
        if not threading.current_thread().name.startswith("studies"):
            return
        self._count += 1
        if self._count == self.at:
            self.at, self.where = 0, f"{Path(name).stem}.{frame.f_code.co_name}"
            raise RuntimeError("injected")

    def emit(self, _: logging.LogRecord) -> None:
        """A thread whose trace function has raised is no longer traced. It logs the error, and is traced again."""
        if threading.current_thread().name.startswith("studies"):
            sys.settrace(self.trace)


@pytest.fixture
def fault() -> Iterator[Fault]:
    """Active in threads that start from now on."""
    made, before = Fault(), threading.gettrace()
    threading.settrace(made.trace)
    logging.getLogger("adabkb_service").addHandler(made)
    yield made
    logging.getLogger("adabkb_service").removeHandler(made)
    threading.settrace(before)


def repeated(address: str, path: str, key: str, body: dict[str, Any], fault: Fault) -> dict[str, Any]:
    """What a request is answered, if need be once it is repeated."""
    headers = {"Idempotency-Key": key}
    answer = alone(address, "POST", path, headers=headers, json=body)
    if answer.status_code != 200:
        assert not fault.at, answer.text
        answer = alone(address, "POST", path, headers=headers, json=body)
        while answer.status_code == 409 and answer.json()["code"] == "request_in_progress":  # the first one, still
            time.sleep(0.1)
            answer = alone(address, "POST", path, headers=headers, json=body)
    assert answer.status_code == 200, (fault.where, answer.text)
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # one that is raised in a generator's end
def test_whatever_fails_while_a_request_is_performed_it_is_answered(other_sqlite: str, fault: Fault) -> None:
    """At each call of a function from the arrival of a result and of a suggestion until their answers. Each is then
    repeated with its key."""
    reached: list[str] = []
    server = server_on(other_sqlite, study_threads=1, model_processes=1, request_seconds=2.0)
    with server as address, httpx.Client(base_url=address, timeout=60) as api:
        assert api.post("/v1/studies", json={**DEFINITION, "pending_limit": 1}).status_code == 201
        wait_for(lambda: api.get("/readyz").status_code == 200)  # the engine is loaded, or suggestions wait for it
        for at in itertools.count(1, STEP):
            fault.arm(at)
            suggested = repeated(address, "/v1/studies/s/suggest", f"suggest-{at}", {}, fault)
            trial = suggested["trials"][0]["number"]
            assert trial == len(reached) + 1, fault.where
            told = {"trial": trial, "value": float(at)}
            repeated(address, "/v1/studies/s/observe", f"observe-{at}", told, fault)
            if fault.at:  # there are fewer calls
                break
            reached.append(fault.where)
        fault.arm(0)
        assert api.get("/v1/studies/s").json()["counts"]["observations"] == len(reached) + 1
    assert {"owner", "batch", "draft"} <= {where.partition(".")[0] for where in reached}
    with changing(other_sqlite) as database:
        assert list(examine(database)) == []


def test_a_request_whose_study_is_put_aside_meanwhile_is_answered(other_sqlite: str) -> None:
    """The server keeps one study at a time, and many are asked for at the same moment."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with (
            server_on(other_sqlite, request_seconds=4.0, studies_in_memory=1) as address,
            ThreadPoolExecutor(6) as workers,
        ):
            limits = httpx.Limits(max_connections=6)
            with httpx.Client(base_url=address, timeout=60, limits=limits) as api:
                names = [f"study-{number}" for number in range(6)]
                for name in names:
                    assert api.post("/v1/studies", json={**DEFINITION, "id": name}).status_code == 201

                def ask(name: str) -> set[int]:
                    page = f"/studies/{name}"  # on a thread of the server, as pages are
                    return {api.get(page, headers={"Accept": "text/html"}).status_code for _ in range(40)}

                assert set().union(*workers.map(ask, names)) == {200}
    finally:
        sys.setswitchinterval(interval)


def test_what_is_not_committed_costs_no_quota(migrated_url: str) -> None:
    """The database refuses a second suggestion, again and again; once it takes one, there is room for it."""
    with changing(migrated_url) as database:
        token = give_token(database, "ann", "work", quotas={"trials": 2})
    headers = {"Authorization": f"Bearer {token}"}
    with changing(migrated_url) as database, server_on(migrated_url) as address:
        made = alone(address, "POST", "/v1/studies", headers=headers, json=DEFINITION)
        assert made.status_code == 201, made.text
        assert alone(address, "POST", "/v1/studies/s/suggest", headers=headers).status_code == 200
        with database.writing() as connection:
            connection.exec_driver_sql("CREATE UNIQUE INDEX one_trial ON trials (study_id)")
        for _ in range(3):
            assert alone(address, "POST", "/v1/studies/s/suggest", headers=headers).status_code == 500
        with database.writing() as connection:
            connection.exec_driver_sql("DROP INDEX one_trial")
        assert alone(address, "POST", "/v1/studies/s/suggest", headers=headers).status_code == 200
        assert alone(address, "POST", "/v1/studies/s/suggest", headers=headers).status_code == 403
