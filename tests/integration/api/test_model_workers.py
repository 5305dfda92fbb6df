"""Model workers (``adabkb work``): while any is alive, workers follow the studies, and servers compute no models. If
one is killed, suspended or stopped, no request fails.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families

from adabkb_service.api.parts import parts_of
from adabkb_service.app import create_app
from adabkb_service.cli.worker import Worker
from adabkb_service.settings import Settings
from adabkb_service.storage.database import Database
from tests.integration.api.conftest import DEFINITION
from tests.integration.api.test_forwarding import RunningServer, check_once, load, pairs, started
from tests.integration.cli.shell import adabkb
from tests.servers import worker_process
from tests.waiting import wait_for


def sees(server: RunningServer, count: int) -> bool:
    """Whether a server sees this number of model workers."""
    return len(server.forwarding.model_workers) == count


def studies(server: RunningServer, count: int, **definition: object) -> list[str]:
    """Create a few studies for each follower."""
    by_follower: dict[str | None, list[str]] = {}
    for name in (f"s{number}" for number in range(64)):
        by_follower.setdefault(server.forwarding.other(name), []).append(name)
    names = [name for each in by_follower.values() for name in each[:count]]
    for name in names:
        made = server.client.post("/v1/studies", json={**DEFINITION, **definition, "id": name})
        assert made.status_code == 201
    return names


def wait_for_results(server: RunningServer, name: str, count: int) -> None:
    """Wait until this number of results of a study is stored."""
    wait_for(lambda: server.client.get(f"/v1/studies/{name}").json()["counts"]["observations"] >= count)


def results_by_worker(server: RunningServer) -> dict[str | None, float]:
    """The numbers of results in a server's metrics: its own, and those of each model worker."""
    families = list(text_string_to_metric_families(server.client.get("/metrics").text))
    assert len({family.name for family in families}) == len(families), "each metric family appears once"
    [results] = [family for family in families if family.name == "adabkb_observations"]
    samples = [sample for sample in results.samples if sample.labels["status"] == "completed"]
    return {sample.labels.get("model_worker"): sample.value for sample in samples}


def stop(worker: subprocess.Popen[str]) -> None:
    """Stop a worker by a signal, and wait for its end."""
    worker.terminate()
    assert worker.wait(60) == -signal.SIGTERM


@pytest.mark.long
def test_worker_computes_models_until_it_ends_without_a_failed_request(
    other_postgresql: str, server: str, tmp_path: Path
) -> None:
    with ExitStack() as stack, ThreadPoolExecutor(2) as clients:
        asked = started(stack, other_postgresql)
        worker = stack.enter_context(worker_process(other_postgresql))
        wait_for(lambda: sees(asked, 1))
        metrics = asked.client.get("/metrics").text
        assert "\nadabkb_servers 1.0\n" in metrics
        assert "\nadabkb_model_workers 1.0\n" in metrics

        [name] = studies(asked, 1)
        alone = stack.enter_context(httpx.Client(base_url=server, timeout=60))
        assert alone.post("/v1/studies", json={**DEFINITION, "id": name}).status_code == 201
        assert pairs([asked.client], name, 8) == pairs([alone], name, 8)
        check_once(asked.client, name, 8)
        assert asked.model_bytes == 0

        assert "No problems found." in adabkb("data", "doctor", "--database", other_postgresql)
        adabkb("data", "backup", str(tmp_path / "copy.db"), "--database", other_postgresql)
        assert "No problems found." in adabkb("data", "doctor", "--database", f"sqlite:///{tmp_path}/copy.db")

        full = asked.client.post("/v1/studies", json={**DEFINITION, "id": "full", "pending_limit": 1})
        assert full.status_code == 201
        suggest = "/v1/studies/full/suggest"
        [trial] = asked.client.post(suggest, json={}).json()["trials"]
        waiting = clients.submit(asked.client.post, suggest, json={}, headers={"Prefer": "wait=60"})
        running = clients.submit(load, [asked.client], [name], 14)
        wait_for_results(asked, name, 11)
        stop(worker)
        asked.client.post("/v1/studies/full/observe", json={"trial": trial["number"], "value": 1.0})
        assert len(waiting.result().json()["trials"]) == 1, "the server is waiting for the reply"
        running.result()
        wait_for(lambda: sees(asked, 0))
        load([asked.client], [name], 1)
        check_once(asked.client, name, 23)
        assert asked.model_bytes > 0


@pytest.mark.long
def test_workers_share_studies_and_take_over_from_a_killed_one(other_postgresql: str) -> None:
    """Under load, no call fails, each result is stored once, and no suggestion is quasi-random."""
    with ExitStack() as stack, ThreadPoolExecutor(2) as clients:
        asked = started(stack, other_postgresql, suggestion_seconds=5.0)
        killed, last = clients.map(lambda _: stack.enter_context(worker_process(other_postgresql)), range(2))
        wait_for(lambda: sees(asked, 2))
        names = studies(asked, 1)
        assert {asked.forwarding.other(name) for name in names} == asked.forwarding.model_workers

        with ExitStack() as beside:
            other = started(beside, other_postgresql)
            wait_for(lambda: len(other.forwarding.servers) == 2)
            load([asked.client, other.client], names, 2)
            wait_for(lambda: len(asked.forwarding.servers) == 2)
            results = [*results_by_worker(asked).items(), *results_by_worker(other).items()]
            assert sorted(count for name, count in results if name is not None) == [2.0, 2.0], (
                "each worker is listed once"
            )
            assert sum(count for _, count in results) == 4
        wait_for(lambda: len(asked.forwarding.servers) == 1)

        for worker, left, count in ((killed, 1, 2), (last, 0, 14)):
            running = clients.submit(load, [asked.client], names, 11)
            wait_for_results(asked, names[0], count + 2)
            assert asked.model_bytes == 0
            worker.kill()
            running.result()
            wait_for(partial(sees, asked, left))
            load([asked.client], names, 1)
            assert (asked.model_bytes == 0) == bool(left)
        for name in names:
            counts = asked.client.get(f"/v1/studies/{name}").json()["counts"]
            assert counts["completed"] == counts["observations"] == 26


def test_worker_follows_studies_only_after_loading_the_engine(other_postgresql: str) -> None:
    """Before that, its suggestions would be delayed, but those of the servers would not."""
    app = create_app(Settings(database=other_postgresql, model_processes=1), is_model_worker=True)

    async def start() -> None:
        async with app.router.lifespan_context(app):
            forwarding = parts_of(app).forwarding
            assert forwarding is not None
            assert not forwarding.model_workers, "it has just started"
            assert not parts_of(app).service.is_loading

    asyncio.run(start())


@pytest.mark.long
def test_suspended_worker_repeats_no_request_and_follows_studies_again(
    other_postgresql: str,
) -> None:
    with ExitStack() as stack:
        asked = started(stack, other_postgresql)
        worker = stack.enter_context(worker_process(other_postgresql))
        wait_for(lambda: sees(asked, 1))
        names = studies(asked, 3)
        os.kill(worker.pid, signal.SIGSTOP)
        try:
            for name in names:
                assert not asked.client.post(f"/v1/studies/{name}/suggest", json={}).json()["degraded"]
        finally:
            os.kill(worker.pid, signal.SIGCONT)
        wait_for(lambda: sees(asked, 1))
        for name in names:
            assert asked.client.get(f"/v1/studies/{name}").json()["counts"]["trials"] == 1
            assert asked.forwarding.other(name) is not None
            pairs([asked.client], name, 2)


def test_status_file_reports_whether_the_worker_is_ready(other_postgresql: str, tmp_path: Path) -> None:
    output = adabkb("work", "--database", other_postgresql, "--status-file", str(tmp_path / "none" / "status"), code=1)
    assert "cannot write the status file" in output
    file, engine = tmp_path / "status", sa.create_engine(Database(other_postgresql).url, poolclass=sa.NullPool)
    worker = Worker(create_app(Settings(database=other_postgresql, model_processes=0), is_model_worker=True), file)
    thread = threading.Thread(target=worker.run, kwargs={"sockets": []})
    thread.start()
    try:
        wait_for(lambda: file.exists() and file.read_text() == "ready\n")
        with engine.begin() as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        wait_for(lambda: file.read_text().startswith("not ready: schema: "))
    finally:
        worker.should_exit = True
        thread.join(60)
    assert list(tmp_path.iterdir()) == []


def test_worker_on_sqlite_is_rejected_with_a_remedy(tmp_path: Path) -> None:
    output = adabkb("work", "--database", f"sqlite:///{tmp_path}/adabkb.db", code=1)
    assert "--database postgresql://" in output
    assert list(tmp_path.iterdir()) == []
