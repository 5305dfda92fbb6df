"""An error in one study does not affect others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from adabkb_service.storage.database import Database
from tests.integration.access.conftest import give_token
from tests.integration.api.conftest import DEFINITION
from tests.servers import server_on
from tests.waiting import wait_for


@contextmanager
def changing(url: str) -> Iterator[Database]:
    """Open the database of a server, to change it directly."""
    database = Database(url)
    yield database
    database.close()


def alone(address: str, method: str, path: str, **options: Any) -> httpx.Response:
    """request_alone"""
    with httpx.Client(base_url=address, timeout=30) as client:
        return client.request(method, path, **options)


def damage(database: Database, study: str) -> None:
    with database.writing() as connection:
        connection.execute(sa.text("UPDATE studies SET definition = '{}' WHERE id = :id"), {"id": study})


def test_damaged_study_does_not_affect_others(migrated_url: str) -> None:
    """Leases of the other studies expire, lists show them, and a server starts."""
    with changing(migrated_url) as database:
        with server_on(migrated_url) as address, httpx.Client(base_url=address, timeout=60) as api:
            for name in ("damaged", "sound"):
                assert api.post("/v1/studies", json={**DEFINITION, "id": name}).status_code == 201
                assert api.post(f"/v1/studies/{name}/suggest", json={"lease_seconds": 3600}).status_code == 200
            damage(database, "damaged")
        with database.writing() as connection:
            # Longer than the lease allows.
            connection.execute(sa.text("UPDATE trials SET leased_until = '2030-01-01 00:00:00'"))
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


@pytest.mark.long
def test_requests_are_answered_while_studies_are_evicted(other_sqlite: str) -> None:
    """The server caches one study, and many are requested at the same time."""
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
                    page = f"/studies/{name}"  # rendered on a thread of the server, as all pages
                    return {api.get(page, headers={"Accept": "text/html"}).status_code for _ in range(20)}

                assert set().union(*workers.map(ask, names)) == {200}
    finally:
        sys.setswitchinterval(interval)


def test_failed_commits_use_no_quota(migrated_url: str) -> None:
    """The database repeatedly rejects a second suggestion. Once it accepts one, the quota still allows it."""
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
