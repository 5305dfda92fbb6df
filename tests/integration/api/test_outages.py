"""While the database is unavailable, the server runs, reports the cause and asks for retries; then it recovers by
itself.
"""

from __future__ import annotations

import os
import resource
import shutil
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from adabkb_service.api.parts import parts_of
from adabkb_service.app import create_app
from adabkb_service.operations.data.doctor import examine
from adabkb_service.settings import Settings
from adabkb_service.storage.database import Database
from tests.integration.api.conftest import DEFINITION
from tests.integration.storage.test_read_only import set_writable
from tests.processes import without_privileges
from tests.servers import ADABKB, server_on, server_process, serving
from tests.waiting import TIMEOUT_SECONDS, wait_for

KEY = {"Idempotency-Key": "k-1"}


def check_outage(api: httpx.Client, cause: str) -> None:
    """Check that every request is asked to retry, that the process runs, and that readiness reports the cause."""
    for path, body in [
        ("/v1/studies/s/observe", {"trial": 1, "value": 1.0}),
        ("/v1/studies/s/suggest", {}),
        ("/v1/studies", {**DEFINITION, "id": "t"}),
    ]:
        refused = api.post(path, json=body, headers=KEY)
        assert (refused.status_code, refused.json()["retryable"]) == (503, True), refused.text
        assert refused.headers["retry-after"] == "1"
    assert api.get("/healthz").status_code == 200
    unready = api.get("/readyz")
    assert unready.status_code == 503
    assert cause in unready.json()["detail"]
    assert "/database" in [fault["pointer"] for fault in unready.json()["errors"]]


def learn(api: httpx.Client) -> None:
    """Add results to a second study, not all of which the model has processed."""
    assert api.post("/v1/studies", json={**DEFINITION, "id": "r"}).status_code == 201
    items = [{"parameters": {"x": x / 10, "n": 1 + x % 9}, "value": float(x)} for x in range(10)]
    assert api.post("/v1/studies/r/observations", json={"items": items}).status_code == 200


def check_reading(api: httpx.Client) -> None:
    """Check that reads are answered: the study, its lists, its export and its page."""
    paths = ["", "/trials", "/observations", "/trials/1", "/trials/1/why", "/events", "/export", "/export?format=csv"]
    answers = {path: api.get(f"/v1/studies/s{path}") for path in paths}
    answers |= {f"r{path}": api.get(f"/v1/studies/r{path}") for path in ("", "/recommendation", "/export")}
    answers |= {path: api.get(path) for path in ("/v1/studies", "/metrics")}
    pages = {path: api.get(path, headers={"Accept": "text/html"}) for path in ("/", "/studies/s", "/studies/s/results")}
    refused = {path: answer.text for path, answer in (answers | pages).items() if answer.status_code != 200}
    assert not refused


def check_recovery(api: httpx.Client, url: str) -> None:
    """Check that the server is ready, and that the refused requests are performed once."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while (ready := api.get("/readyz")).status_code != 200:
        assert time.monotonic() < deadline, ready.text
        time.sleep(0.05)
    response = api.post("/v1/studies/s/observe", json={"trial": 1, "value": 1.0}, headers=KEY)
    assert (response.status_code, "idempotent-replayed" in response.headers) == (200, False)
    assert api.post("/v1/studies/s/suggest").json()["trials"][0]["number"] == 2
    assert api.get("/v1/studies/s").json()["counts"]["observations"] == 1
    database = Database(url)
    assert list(examine(database)) == []
    database.close()


@contextmanager
def client(address: str) -> Iterator[httpx.Client]:
    """A client of a server with a study that has issued one trial."""
    with httpx.Client(base_url=address, timeout=60) as api:
        assert api.post("/v1/studies", json=DEFINITION).status_code == 201
        assert api.post("/v1/studies/s/suggest").status_code == 200
        yield api


@pytest.mark.long
def test_server_survives_a_full_disk(other_sqlite: str) -> None:
    """The operating system rejects every write of the server to a file, then allows them again."""
    with server_process(other_sqlite) as server, client(server.address) as api:
        _, most = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        learn(api)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1, most))
        check_outage(api, "disk")
        check_reading(api)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, most))
        check_recovery(api, other_sqlite)


@pytest.mark.long
def test_server_survives_a_read_only_disk(other_sqlite: str, tmp_path: Path) -> None:
    """As after a disk error: writes to open files fail, and no file can be opened for writing."""
    with server_process(other_sqlite, (*without_privileges(), *ADABKB)) as server, client(server.address) as api:
        _, most = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        learn(api)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1, most))
        set_writable(tmp_path, False)
        check_outage(api, "disk")
        check_reading(api)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, most))
        set_writable(tmp_path, True)
        check_recovery(api, other_sqlite)


@pytest.mark.long
def test_server_with_a_read_only_database_does_not_start(sqlite_template: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(sqlite_template, tmp_path / "adabkb.db"))
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    command = [*without_privileges(), *ADABKB, "serve", "--port", "0", "--database", f"sqlite:///{path}"]
    environment = {**os.environ, "ADABKB_MODEL_PROCESSES": "0"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    tmp_path.chmod(0o755)
    assert ended.returncode == 1
    assert "readonly database" in ended.stderr
    assert "check --database, the file's permissions, and that the disk is not full" in ended.stderr
    assert path.read_bytes() == sqlite_template.read_bytes()


def test_server_stores_nothing_in_a_deleted_or_replaced_file(tmp_path: Path) -> None:
    """SQLite would continue with the unlinked file, whose commits would be lost when the server ends."""
    path, aside = tmp_path / "adabkb.db", tmp_path / "aside.db"
    url = f"sqlite:///{path}"
    with server_on(url) as address, client(address) as api:
        path.rename(aside)
        check_outage(api, "was deleted or replaced")
        assert str(tmp_path) not in api.get("/v1/studies").text
        shutil.copy(aside, path)
        check_outage(api, "was deleted or replaced")
        aside.replace(path)
        check_recovery(api, url)


def test_stream_ends_without_an_error_when_the_database_is_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It ends with the next check of its token. Its client connects again."""
    path = tmp_path / "adabkb.db"
    with server_on(f"sqlite:///{path}") as address, httpx.Client(base_url=address, timeout=TIMEOUT_SECONDS) as api:
        token = api.post("/v1/tokens", json={"name": "root", "scopes": ["admin"]}).json()["token"]
        api.headers["Authorization"] = f"Bearer {token}"
        assert api.post("/v1/studies", json=DEFINITION).status_code == 201
        with api.stream("GET", "/v1/studies/s/events", headers={"Accept": "text/event-stream"}) as stream:
            lines = stream.iter_lines()
            assert "event: created" in lines
            path.rename(tmp_path / "aside.db")
            assert not any("event: " in line for line in lines)
        (tmp_path / "aside.db").rename(path)
    assert [record.getMessage() for record in caplog.records if record.name.startswith("uvicorn")] == []


@pytest.mark.long
def test_server_survives_too_few_file_descriptors(other_sqlite: str) -> None:
    """If connections use all of them, new ones are refused. The server reports the cause, and recovers when connections
    are closed.
    """
    with server_process(other_sqlite) as server, client(server.address) as api:
        host, port = server.address.removeprefix("http://").split(":")
        used = max(map(int, os.listdir(f"/proc/{server.process.pid}/fd")))
        _, most = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (used + 10, most))
        idle = [socket.create_connection((host, int(port))) for _ in range(40)]
        assert api.get("/healthz").status_code == 200, "open connections continue"
        for each in idle:
            each.close()
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while (
            told := api.post("/v1/studies/s/observe", json={"trial": 1, "value": 1.0}, headers=KEY)
        ).status_code == 503:
            assert time.monotonic() < deadline, told.text
        assert told.status_code == 200
        with httpx.Client(base_url=server.address, timeout=60) as again:
            assert again.get("/v1/studies/s").json()["counts"]["observations"] == 1


def test_server_survives_an_unavailable_database(other_postgresql: str, postgresql_server: sa.Engine) -> None:
    """PostgreSQL closes all connections and accepts no new ones for a while."""
    name = sa.make_url(other_postgresql).database
    with server_on(other_postgresql) as address, client(address) as api, postgresql_server.connect() as admin:
        admin.exec_driver_sql(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")
        admin.exec_driver_sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        check_outage(api, "not currently accepting connections")
        admin.exec_driver_sql(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true")
        check_recovery(api, other_postgresql)


def test_server_survives_an_exhausted_connection_pool(database_url: str) -> None:
    app = create_app(Settings(database=database_url, database_connections=2, lock_seconds=0.2, model_processes=0))
    engine: sa.Engine = parts_of(app).service.database.engine
    with serving(app) as address, client(address) as api:
        held = [engine.connect(), engine.connect()]
        check_outage(api, "All connections to the database are in use")
        for connection in held:
            connection.close()
        check_recovery(api, database_url)


def test_a_study_is_read_while_its_writes_wait_for_a_lock(other_sqlite: str) -> None:
    """Another program holds the lock of the file, such as an editor of databases with an open transaction."""
    app = create_app(Settings(database=other_sqlite, model_processes=0, lock_seconds=60, follow_seconds=0.1))
    service = parts_of(app).service
    other = sqlite3.connect(other_sqlite.removeprefix("sqlite:///"), isolation_level=None)
    with serving(app) as address, client(address) as api, ThreadPoolExecutor(1) as threads, closing(other):
        other.execute("BEGIN IMMEDIATE")
        observing = threads.submit(api.post, "/v1/studies/s/observe", json={"trial": 1, "value": 1.0})
        wait_for(lambda: service.unfinished)
        found = api.get("/v1/studies/s")
        pages = [api.get(f"/studies/s{path}", headers={"Accept": "text/html"}) for path in ("", "/results")]
        assert [each.status_code for each in (found, *pages)] == [200] * 3
        assert found.json()["counts"]["observations"] == 0
        assert not observing.done()
        other.execute("ROLLBACK")
        assert observing.result(TIMEOUT_SECONDS).status_code == 200
        assert api.get("/v1/studies/s").json()["counts"]["observations"] == 1


def test_rolled_back_transactions_are_retried(other_postgresql: str) -> None:
    """PostgreSQL rolls back the first three attempts of each transaction; the client does not notice."""
    with server_on(other_postgresql) as address, client(address) as api:
        database = Database(other_postgresql)
        with database.writing() as connection:
            connection.exec_driver_sql("CREATE SEQUENCE tries")
            connection.exec_driver_sql(
                "CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                "IF mod(nextval('tries'), 4) <> 0 THEN RAISE EXCEPTION 'undone' USING ERRCODE = '40001'; END IF; "
                "RETURN NEW; END $$"
            )
            connection.exec_driver_sql(
                "CREATE TRIGGER undo BEFORE INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION undo()"
            )
        posts: list[Callable[[], httpx.Response]] = [
            lambda: api.post("/v1/studies/s/observe", json={"trial": 1, "value": 1.0}),
            lambda: api.post("/v1/studies/s/suggest"),
            lambda: api.post("/v1/studies/s/trials/2/release"),
            lambda: api.post("/v1/studies/s/trials", json={"parameters": {"x": 0, "n": 1}}),
            lambda: api.patch("/v1/studies/s/observations/1", json={"value": 2.0}),
            lambda: api.patch("/v1/studies/s", json={"budget": 9}),
            lambda: api.post("/v1/studies", json={**DEFINITION, "id": "t"}),
        ]
        assert [post().status_code for post in posts] == [200, 200, 200, 201, 200, 200, 201]
        with database.reading() as connection:
            tries = connection.exec_driver_sql("SELECT last_value FROM tries").scalar_one()
        assert tries >= 4 * len(posts)
        assert list(examine(database)) == []
        database.close()


def test_schema_of_another_version_is_not_ready(api: httpx.Client, migrated_url: str) -> None:
    database = Database(migrated_url)
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = 'x'")
    unready = api.get("/readyz")
    assert (unready.status_code, "newer adabkb-service" in unready.json()["detail"]) == (503, True)
    database.close()
