"""/readyz names the parts of the server that do not work; /healthz checks none."""

from __future__ import annotations

import os
import signal
import time

import httpx
import pytest

from adabkb_service.api.parts import parts_of
from adabkb_service.app import create_app
from adabkb_service.settings import Settings
from adabkb_service.storage.database import Database
from tests.servers import server_on, serving
from tests.waiting import TIMEOUT_SECONDS


def unready(client: httpx.Client) -> list[str]:
    """The parts that are not ready."""
    answer = client.get("/readyz")
    assert client.get("/healthz").status_code == 200
    if answer.status_code == 200:
        return []
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    parts = [fault["pointer"] for fault in answer.json()["errors"]]
    assert all(f"{part[1:]}: " in answer.json()["detail"] for part in parts)
    return parts


def until_unready(client: httpx.Client, parts: list[str]) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while (found := unready(client)) != parts:
        assert time.monotonic() < deadline, found


def test_failing_sweeps_are_reported(other_sqlite: str) -> None:
    """Each sweep fails, because the table that it reads was renamed."""
    settings = {"sweep_seconds": 0.1, "sweep_late_seconds": 0.1}
    with server_on(other_sqlite, **settings) as address, httpx.Client(base_url=address) as client:
        until_unready(client, [])
        database = Database(other_sqlite)
        with database.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE trials RENAME TO elsewhere")
        until_unready(client, ["/sweeper"])
        with database.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE elsewhere RENAME TO trials")
        until_unready(client, [])
        database.close()


def test_infrequent_sweeps_are_not_reported(other_sqlite: str) -> None:
    """The next sweep is in an hour."""
    with (
        server_on(other_sqlite, sweep_seconds=3600, sweep_late_seconds=1e-6) as address,
        httpx.Client(base_url=address) as client,
    ):
        assert unready(client) == []


def test_model_process_that_is_not_replaced_is_reported(other_sqlite: str) -> None:
    app = create_app(Settings(database=other_sqlite, model_restart_seconds=3600.0, model_down_seconds=0.1))
    with serving(app) as address, httpx.Client(base_url=address) as client:
        until_unready(client, [])
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not (pids := parts_of(app).service.inference.load.pids):
            assert time.monotonic() < deadline
        os.kill(pids[0], signal.SIGKILL)
        until_unready(client, ["/models"])


@pytest.mark.parametrize(
    ("statement", "remedy"),
    [
        ("UPDATE alembic_version SET version_num = 'x'", "made by a newer adabkb-service than this one"),
        ("DELETE FROM alembic_version", "run: adabkb data migrate"),
    ],
    ids=["newer", "older"],
)
def test_schema_of_another_version_is_reported(other_sqlite: str, statement: str, remedy: str) -> None:
    """With the remedy that commands give, too: ``migrate`` would refuse a newer schema."""
    with server_on(other_sqlite) as address, httpx.Client(base_url=address) as client:
        database = Database(other_sqlite)
        with database.writing() as connection:
            connection.exec_driver_sql(statement)
        assert unready(client) == ["/schema"]
        assert remedy in client.get("/readyz").json()["detail"]
        database.close()
