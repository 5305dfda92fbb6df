"""Findings of an attack on an early version that no other test covers."""

from __future__ import annotations

import json
import logging
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from adabkb_service.api import body
from adabkb_service.api.parts import parts_of
from adabkb_service.app import create_app
from adabkb_service.settings import Settings
from adabkb_service.storage.database import Database
from tests.calls import watching
from tests.integration.api.conftest import DEFINITION
from tests.integration.attack.wire import connection, get
from tests.servers import server_on, serving
from tests.waiting import wait_for

STREAM = {"Accept": "text/event-stream"}


@contextmanager
def held(url: str, study: str) -> Iterator[None]:
    """Hold the lock that a writer of the study needs: on SQLite the only lock, on PostgreSQL that of its row."""
    with closing(Database(url)) as other, other.writing() as holder:
        holder.execute(sa.text("UPDATE studies SET paused = paused WHERE id = :study"), {"study": study})
        yield


def test_refused_batch_waits_for_no_lock(database_url: str) -> None:
    """So invalid batches do not block writers."""
    with server_on(database_url, lock_seconds=60) as address, httpx.Client(base_url=address, timeout=50) as client:
        client.post("/v1/studies", json=DEFINITION)
        client.post("/v1/studies/s/suggest")
        result = {"trial": 1, "value": 1.0}
        assert client.post("/v1/studies/s/observe", json=result).status_code == 200
        with held(database_url, "s"):
            wrong = client.post("/v1/studies/s/observations", json={"items": [{**result, "value": 2.0}] * 100})
            assert {item["status"] for item in wrong.json()["items"]} == {409}


def test_idle_event_streams_share_their_database_reads(tmp_path: Path) -> None:
    asked: list[str] = []
    settings = Settings(
        database=f"sqlite:///{tmp_path}/adabkb.db", model_processes=0, sweep_seconds=3600, look_seconds=0.05
    )
    app = create_app(settings)
    with serving(app) as address, httpx.Client(base_url=address, timeout=60) as client, ExitStack() as stack:
        for name in "st":
            client.post("/v1/studies", json={**DEFINITION, "id": name})
        streams = []
        for name in "st" * 10:
            opened = stack.enter_context(client.stream("GET", f"/v1/studies/{name}/events", headers=STREAM))
            streams.append(opened.iter_lines())
            assert any(line == "event: created" for line in streams[-1])
        sa.event.listen(
            parts_of(app).service.database.engine, "before_cursor_execute", lambda *call: asked.append(str(call[2]))
        )
        client.patch("/v1/studies/s", json={"state": "paused"})
        assert any(line == "event: paused" for line in streams[0])
        wait_for(lambda: sum("studies.id IN" in statement for statement in asked) >= 20)
        read = [statement for statement in asked if statement.startswith("SELECT events.study_id")]
        assert 1 <= len(read) <= 2 * 10 + 20, "one or two for each of the ten streams, and one for each at its start"


def test_page_of_large_studies_ends_early_and_the_next_one_continues(tmp_path: Path) -> None:
    """A page has at most 8 MB; a larger study is a page by itself."""
    large = {"parameters": [categorical(f"p{i}", 60) for i in range(100)]}
    with server_on(f"sqlite:///{tmp_path}/adabkb.db") as address, httpx.Client(base_url=address, timeout=60) as client:
        for name in range(4):
            made = client.post("/v1/studies", json={**DEFINITION, "id": f"l{name}", **large})
            assert made.status_code == 201, made.text[:500]
        found, cursor, pages = [], None, 0
        while cursor is not None or not pages:
            page = client.get("/v1/studies", params={"limit": 100, **({"cursor": cursor} if cursor else {})}).json()
            assert 1 <= len(page["items"]) <= 3
            found += [study["id"] for study in page["items"]]
            cursor, pages = page["next_cursor"], pages + 1
        assert found == [f"l{name}" for name in reversed(range(4))]
        more = {"parameters": [categorical(f"p{i}", 180) for i in range(100)]}
        assert client.post("/v1/studies", json={**DEFINITION, "id": "more", **more}).status_code == 201
        assert [study["id"] for study in client.get("/v1/studies").json()["items"]] == ["more"]


def categorical(name: str, choices: int) -> dict[str, Any]:
    """A parameter whose choices are long strings."""
    return {"name": name, "kind": "categorical", "choices": [f"{choice} " + "x" * 480 for choice in range(choices)]}


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/v1/studies", "application/json"),
        ("/v1/studies/s/trials/1/files?name=photo.jpg", "image/jpeg"),
        ("/studies/s/sheet", "application/vnd.ms-excel"),
    ],
)
def test_client_that_disconnects_during_its_body_causes_no_server_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, path: str, kind: str
) -> None:
    with server_on(f"sqlite:///{tmp_path}/adabkb.db") as address, caplog.at_level(logging.INFO):
        head = get(path, f"Content-Type: {kind}", "Content-Length: 100").replace(b"GET", b"POST")
        with connection(address) as sock:
            sock.sendall(head + b'{"direction"')
        wait_for(lambda: 'method="POST"' in httpx.get(f"{address}/metrics").text)
        lines = httpx.get(f"{address}/metrics").text.splitlines()
    (counted,) = [each for each in lines if each.startswith('adabkb_http_requests_total{method="POST"')]
    assert 'status="400"' in counted
    assert [record for record in caplog.records if record.name.startswith(("uvicorn", "adabkb_service"))] == []


def test_errors_do_not_reveal_the_address_of_the_database(other_postgresql: str, postgresql_server: sa.Engine) -> None:
    url = sa.make_url(other_postgresql)
    with server_on(other_postgresql) as address, postgresql_server.connect() as admin:
        admin.exec_driver_sql(f"ALTER DATABASE {url.database} WITH ALLOW_CONNECTIONS false")
        admin.exec_driver_sql(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{url.database}'"
        )
        answer = httpx.get(f"{address}/readyz", timeout=60)
        admin.exec_driver_sql(f"ALTER DATABASE {url.database} WITH ALLOW_CONNECTIONS true")
    assert answer.status_code == 503
    for secret in (url.database, url.host, url.query.get("host"), url.username, url.port):
        assert secret is None or str(secret) not in answer.json()["detail"]


def test_new_databases_are_not_readable_by_other_users(tmp_path: Path) -> None:
    file = tmp_path / "adabkb.db"
    with server_on(f"sqlite:///{file}") as address:
        httpx.post(f"{address}/v1/studies", json=DEFINITION)
        for each in tmp_path.iterdir():
            assert stat.S_IMODE(each.stat().st_mode) == 0o600, each
    file.chmod(0o640)
    with server_on(f"sqlite:///{file}") as address:
        assert httpx.get(f"{address}/v1/studies/s").status_code == 200
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


LIMITED = """
import numpy
from adabkb_service.inference.worker import limit_memory
limit_memory(600)
kept = numpy.ones(20 * 2**17)
try:
    numpy.ones(2000 * 2**17)
except MemoryError:
    print("refused", kept.sum())
"""


@pytest.mark.long
def test_model_process_survives_its_memory_limit() -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["refused", str(20.0 * 2**17)]


@pytest.mark.long
def test_large_bodies_are_processed_one_at_a_time(tmp_path: Path) -> None:
    """So that small requests share the interpreter with only one of them."""
    at_work, most = Counter[str](), Counter[str]()

    def count(_: FrameType, step: str) -> None:
        at_work["bodies"] += 1 if step == "call" else -1
        most["bodies"] = max(most["bodies"], at_work["bodies"])

    large = {
        **DEFINITION,
        "comment": "a" * body.LARGE_BODY_BYTES,
        "parameters": [{"name": str(i)} for i in range(20_000)],
    }
    with (
        watching({body.parse: count}),
        server_on(f"sqlite:///{tmp_path}/adabkb.db") as address,
        ThreadPoolExecutor(4) as threads,
    ):
        refused = list(threads.map(lambda _: httpx.post(f"{address}/v1/studies", json=large, timeout=60), range(4)))
    assert [answer.status_code for answer in refused] == [422] * 4
    assert most["bodies"] == 1


def test_deep_document_and_100000_parameters_are_rejected_quickly(tmp_path: Path) -> None:
    """Each takes less time and memory than a normal request of the same size."""
    many: dict[str, Any] = {**DEFINITION, "parameters": [{"name": f"p{i}", "kind": "bool"} for i in range(100_000)]}
    with server_on(f"sqlite:///{tmp_path}/adabkb.db") as address, httpx.Client(base_url=address, timeout=60) as client:
        for body in (json.dumps(many).encode(), b'{"parameters":' * 100_000, b"[" * 5_000_000):
            refused = client.post("/v1/studies", content=body, headers={"Content-Type": "application/json"})
            assert (refused.status_code, len(refused.content) < 2000) in ((422, True), (400, True))
        assert client.get("/v1/studies").json()["items"] == []
