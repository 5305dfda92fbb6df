"""Large studies are deleted and restored in short transactions, and readers see a whole study or none."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from adabkb_service.api.parts import parts_of
from adabkb_service.app import create_app
from adabkb_service.operations.access.audit import DAYS
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.monitoring.sweep import empty_trash
from adabkb_service.operations.service import Service
from adabkb_service.settings import Settings
from adabkb_service.storage import audit, studies
from adabkb_service.storage.audit import AuditRow
from adabkb_service.storage.database import Database
from adabkb_service.storage.pace import MAX_ROWS
from adabkb_service.storage.tables import metadata
from adabkb_service.study.clock import utc_now
from tests.integration.api.conftest import DEFINITION
from tests.integration.storage.changes import rows_changed
from tests.integration.storage.grown import copies
from tests.integration.storage.rows import event, report, study, trial
from tests.servers import server_process, serving
from tests.waiting import wait_for

OTHERS = 10
"""The maximum number of other rows that a transaction changes."""
REPORTS, MANY = 3000, 6000
ROWS = 10_000
"""Number of rows in each of three tables of a study whose removal takes seconds."""
STUDY = "/v1/studies/s"


@pytest.fixture
def database(migrated_url: str) -> Iterator[Database]:
    opened = Database(migrated_url)
    yield opened
    opened.close()


@contextmanager
def service_on(database: Database, **settings: Any) -> Iterator[tuple[httpx.Client, Service]]:
    """A server in this process, and a client of it."""
    url = database.url.render_as_string(hide_password=False)
    app = create_app(Settings(database=url, **{"model_processes": 0, **settings}))
    with serving(app) as address, httpx.Client(base_url=address, timeout=120) as client:
        yield client, parts_of(app).service


def reported_on(client: httpx.Client, count: int) -> None:
    """A study with a trial that reported thousands of values, and a result of another trial."""
    rule = {"rule": "asha", "max_steps": count}
    assert client.post("/v1/studies", json={**DEFINITION, "early_stopping": rule}).status_code == 201
    client.post(f"{STUDY}/suggest", json={"count": 2, "lease_seconds": 3600}).raise_for_status()
    for first in range(1, count, 1000):
        reports = [{"step": step, "value": 1 / step} for step in range(first, first + 1000)]
        client.post(f"{STUDY}/trials/1/reports", json={"reports": reports}).raise_for_status()
    client.post(f"{STUDY}/observe", json={"trial": 2, "value": 1.0}).raise_for_status()


def grown(database: Database) -> None:
    """The study "s", whose removal takes seconds."""
    with database.writing() as connection:
        studies.create(connection, study("s"))
        copies(connection, trial(1), ROWS, number=lambda number: number + 0)
        copies(connection, report(1, 1), ROWS, trial=lambda number: number + 0)
        copies(connection, event(1), ROWS, seq=lambda number: number + 0)


def rows_of(database: Database, name: str) -> dict[str, int]:
    """Table -> number of rows of the study "s", without zeros."""
    found = {}
    with database.reading() as connection:
        for table in metadata.sorted_tables:
            column = table.c.get("study_id", table.c.id if table.name in ("containers", "studies") else None)
            if column is not None:
                query = sa.select(sa.func.count()).select_from(table).where(column == name)
                found[table.name] = connection.execute(query).scalar_one()
    return {table: count for table, count in found.items() if count}


def count(database: Database, table: str) -> int:
    """All rows of a table."""
    with database.reading() as connection:
        return int(connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())


@pytest.mark.long
def test_deletion_transactions_change_few_rows(database: Database) -> None:
    """To the trash, from the trash, and permanently; the database counts the rows."""
    with service_on(database) as (client, service):
        reported_on(client, REPORTS)
        before = client.get(f"{STUDY}/export").text
        with rows_changed(service.database.engine) as changed:
            client.delete(STUDY).raise_for_status()
            wait_for(lambda: not rows_of(database, "s").keys() - {"trash"})
            client.post(f"{STUDY}/restore").raise_for_status()
            wait_for(lambda: not count(database, "parts"))
            assert client.get(f"{STUDY}/export").text == before
            client.delete(STUDY, params={"purge": "true"}).raise_for_status()
            wait_for(lambda: not rows_of(database, "s"))
    assert sum(changed) > 3 * REPORTS, "otherwise nothing was counted"
    assert max(changed) <= MAX_ROWS + OTHERS


def test_cleanup_transactions_delete_few_rows(database: Database) -> None:
    """Neither from the audit log nor from the trash."""
    old = utc_now() - timedelta(days=DAYS + 1)
    entries = [AuditRow(old, "refused", "unknown", None, None, "192.0.2.1")] * (3 * MAX_ROWS)
    with database.writing() as connection:
        audit.add(connection, entries)
    with service_on(database) as (client, service):
        for number in range(3):
            client.post("/v1/studies", json={**DEFINITION, "id": f"s{number}"}).raise_for_status()
            client.delete(f"/v1/studies/s{number}").raise_for_status()
        later = Service(service.database, clock=lambda: utc_now() + timedelta(days=40))
        with rows_changed(service.database.engine) as changed:
            empty_trash(later, seconds_since=1e9)
        wait_for(lambda: not count(database, "parts"))
    assert (count(database, "audit"), count(database, "trash"), count(database, "containers")) == (3, 0, 0)
    assert len(entries) < sum(changed)
    assert max(changed) <= MAX_ROWS


@pytest.mark.long
def test_another_server_completes_the_removal_of_a_killed_one(database: Database) -> None:
    """Meanwhile, the study is not visible; afterwards, no row of it is left."""
    url = database.url.render_as_string(hide_password=False)
    grown(database)
    whole = rows_of(database, "s")
    with server_process(url) as server, ThreadPoolExecutor(1) as pool:
        httpx.post(f"{server.address}/v1/studies", json={**DEFINITION, "id": "other"}).raise_for_status()
        other = rows_of(database, "other")
        deleting = pool.submit(httpx.delete, f"{server.address}{STUDY}?purge=true", timeout=60)
        wait_for(lambda: rows_of(database, "s").get("reports", 0) < whole["reports"])
        server.kill()
        assert isinstance(deleting.exception(), httpx.TransportError)
    left = rows_of(database, "s")
    assert "events" in left, "otherwise the server was killed too late"
    assert "studies" not in left
    with service_on(database, contention_seconds=0.1) as (client, _):
        assert client.get(STUDY).status_code == 404
        assert [each["id"] for each in client.get("/v1/studies").json()["items"]] == ["other"]
        refused = client.post("/v1/studies", json=DEFINITION)
        assert (refused.status_code, refused.json()["retryable"]) == (503, True)
        assert "being created, deleted or restored" in refused.json()["detail"]
        wait_for(lambda: not rows_of(database, "s"))
        assert rows_of(database, "other") == other


@pytest.mark.long
def test_study_that_a_killed_server_was_restoring_stays_in_the_trash(database: Database) -> None:
    """The rows written so far are not visible, and are removed before the study can be restored."""
    url = database.url.render_as_string(hide_password=False)
    with service_on(database) as (client, _):
        reported_on(client, MANY)
        before = client.get(f"{STUDY}/export").text
        client.delete(STUDY).raise_for_status()
        wait_for(lambda: "containers" not in rows_of(database, "s"))
    with server_process(url) as server, ThreadPoolExecutor(1) as pool:
        restoring = pool.submit(httpx.post, f"{server.address}{STUDY}/restore", timeout=60)
        wait_for(lambda: "reports" in rows_of(database, "s"))
        server.kill()
        assert isinstance(restoring.exception(), httpx.TransportError)
    assert "studies" not in rows_of(database, "s"), "otherwise the server was killed too late"
    with service_on(database) as (client, _):
        assert client.get("/v1/studies").json()["items"] == []
        assert [each["study"] for each in client.get("/v1/trash").json()["items"]] == ["s"]
        wait_for(lambda: client.post(f"{STUDY}/restore").status_code == 200)
        assert client.get(f"{STUDY}/export").text == before
        wait_for(lambda: not count(database, "parts"))
    assert list(examine(database, "s")) == []


@pytest.mark.long
def test_study_recreated_during_a_removal_has_only_its_own_rows(database: Database) -> None:
    """The removal deletes none of them."""
    grown(database)
    with service_on(database) as (client, _), ThreadPoolExecutor(1) as pool:
        deleting = pool.submit(client.delete, STUDY, params={"purge": "true"})
        wait_for(lambda: "studies" not in rows_of(database, "s"))
        assert "events" in rows_of(database, "s"), "otherwise the study was removed at once"
        created = client.post("/v1/studies", json=DEFINITION)
        assert created.status_code == 201
        assert deleting.result().status_code == 204
        client.post(f"{STUDY}/suggest").raise_for_status()
        client.post(f"{STUDY}/observe", json={"trial": 1, "value": 1.0}).raise_for_status()
        kinds = [each["kind"] for each in client.get(f"{STUDY}/events").json()["items"]]
        assert kinds == ["created", "suggested", "observed"]
    assert list(examine(database, "s")) == []
    found = rows_of(database, "s")
    assert (found["trials"], found["observations"], found["events"], found.get("reports", 0)) == (1, 1, 3, 0)
