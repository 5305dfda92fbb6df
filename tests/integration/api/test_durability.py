"""Acknowledged requests are durable: kill -9 between two requests changes nothing, and a failed commit is not answered
by 200.
"""

from __future__ import annotations

import math
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from adabkb_service.storage.database import Database
from tests.integration.api.conftest import DEFINITION
from tests.servers import server_on, server_process


def rounds(address: str, study: str, count: int) -> list[dict[str, Any]]:
    """Request two trials and report one result, so that there are always pending trials."""
    points = []
    with httpx.Client(base_url=f"{address}/v1/studies/{study}", timeout=60) as client:
        for _ in range(count):
            trials = client.post("/suggest", json={"count": 2}).json()["trials"]
            points += [trial["parameters"] for trial in trials]
            value = math.sin(3 * trials[0]["parameters"]["x"]) + trials[0]["parameters"]["n"]
            response = client.post("/observe", json={"trial": trials[0]["number"], "value": value})
            assert response.status_code == 200
    return points


@pytest.mark.parametrize("model_processes", [0, pytest.param(1, marks=pytest.mark.long)])
def test_killed_server_continues_identically(migrated_url: str, model_processes: int) -> None:
    with server_process(migrated_url, model_processes=model_processes) as server:
        for name in ("killed", "spared"):
            httpx.post(f"{server.address}/v1/studies", json={**DEFINITION, "id": name})
        found = rounds(server.address, "killed", 3)
        server.kill()
    with server_process(migrated_url, model_processes=model_processes) as server:
        found += rounds(server.address, "killed", 3)
        assert found == rounds(server.address, "spared", 6)


def test_failed_commit_is_not_acknowledged(migrated_url: str) -> None:
    """By a constraint that is checked only at COMMIT."""
    with server_on(migrated_url) as address, httpx.Client(base_url=address, timeout=60) as client:
        client.post("/v1/studies", json=DEFINITION)
        client.post("/v1/studies/s/suggest")
        fail_commits(migrated_url)
        response = httpx.post(f"{address}/v1/studies/s/observe", json={"trial": 1, "value": 1.0})
        assert response.status_code == 500
        assert client.get("/v1/studies/s/trials/1").json()["state"] == "active"
        assert client.get("/v1/studies/s").json()["counts"]["observations"] == 0


def fail_commits(database_url: str) -> None:
    """Make each transaction that stores an observation fail at its commit."""
    database = Database(database_url)
    insert = "INSERT INTO saboteur VALUES ('nowhere')"
    trigger = f"CREATE TRIGGER t AFTER INSERT ON observations BEGIN {insert}; END"
    if not database.is_sqlite:
        body = f"BEGIN {insert}; RETURN NULL; END"
        trigger = (
            f"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$;"
            "CREATE TRIGGER t AFTER INSERT ON observations FOR EACH ROW EXECUTE FUNCTION f()"
        )
    with database.writing() as connection:
        column = "study VARCHAR(100) REFERENCES studies (id) DEFERRABLE INITIALLY DEFERRED"
        connection.execute(sa.text(f"CREATE TABLE saboteur ({column})"))
        connection.exec_driver_sql(trigger)
    database.close()
