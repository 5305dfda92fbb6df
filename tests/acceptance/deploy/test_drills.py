"""Drills on both databases under load: backup and restore, a rolling update, an additive migration, a database newer
than the server, and rollback."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from typer.testing import CliRunner

from adabkb_client import Client, Float, Study, Trial
from adabkb_service.app import create_app
from adabkb_service.cli.main import app as adabkb
from adabkb_service.cli.server import GRACE_SECONDS
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.service import Service
from adabkb_service.settings import Settings
from adabkb_service.storage import migration, observations
from adabkb_service.storage.database import Database
from tests.integration.storage.newer import ADDS, newer_version
from tests.servers import serving

Results = dict[int, tuple[float, object]]


@dataclass
class Deployment:
    """Two servers on one database, each with workers that evaluate trials until the drill ends."""

    url: str
    servers: list[ExitStack]
    addresses: list[str]

    def replace(self, number: int) -> None:
        """Stop a server, and start another one instead."""
        self.servers[number].close()
        port = urlsplit(self.addresses[number]).port
        assert port is not None
        self.servers[number].enter_context(server(self.url, port))

    def stop(self) -> None:
        """Stop both servers."""
        for server in self.servers:
            server.close()

    def results(self) -> Results:
        """Number -> value and parameters."""
        return results(self.url)

    def after_some_results(self) -> Results:
        """Return the results once the workers have reported some more."""
        before = len(self.results())
        with Client(self.addresses[0]) as client, Client(self.addresses[1]) as other:
            while client.study("s").info().counts.observations < before + 4:
                assert other.study("s").info().state == "running"
        return self.results()


def server(url: str, port: int = 0) -> AbstractContextManager[str]:
    """A server that answers pending requests before it stops, as ``adabkb serve`` does."""
    return serving(create_app(Settings(database=url, model_processes=0)), port, grace_seconds=GRACE_SECONDS)


def results(url: str) -> Results:
    with closing(Database(url)) as database, database.reading() as connection:
        return {seq: (row.value or 0.0, row.parameters) for seq, row in observations.every(connection, "s").items()}


@pytest.fixture
def lab(migrated_url: str) -> Iterator[Deployment]:
    with ExitStack() as first, ExitStack() as second:
        addresses = [stack.enter_context(server(migrated_url)) for stack in (first, second)]
        yield Deployment(migrated_url, [first, second], addresses)


def slow_square(x: float) -> float:
    """Sleeps, since otherwise the workers would slow down the drills and store many results to replay."""
    time.sleep(0.1)
    return (x - 0.3) ** 2


@contextmanager
def running_workers(lab: Deployment) -> Iterator[None]:
    """Run workers at each server within the block. No worker may get an error."""
    over = threading.Event()

    def stop_when_over(study: Study, _: Trial) -> None:
        if over.is_set():
            study.stop()

    def work(address: str) -> int:
        with Client(address) as client:
            run = client.study("s").run(slow_square, workers=2, callbacks=[stop_when_over], progress=False)
            return run.completed

    with Client(lab.addresses[0]) as client:
        client.create_study("s", {"x": Float(0, 1)}, direction="minimize", seed=1)
    with ThreadPoolExecutor(2) as threads:
        done = [threads.submit(work, address) for address in lab.addresses]
        try:
            yield
        finally:
            over.set()
        reported = sum(each.result() for each in done)
    found = lab.results()
    assert len(found) == reported, "each result is stored exactly once"
    assert sorted(found) == list(range(1, reported + 1))


def check_sound(url: str) -> None:
    """Check that rows and log agree, and that a replay gives the same suggestions."""
    with closing(Database(url)) as database:
        assert list(examine(database)) == []
        done = replay(Service(database), "s")
        assert (done.changed, done.diverged) == (False, [])


def command(*arguments: str | Path) -> str:
    done = CliRunner().invoke(adabkb, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.long
def test_backup_restore_and_rolling_restart_under_load(lab: Deployment, tmp_path: Path) -> None:
    restored = f"sqlite:///{tmp_path}/restored.db"
    with running_workers(lab):
        before = lab.after_some_results()
        command("data", "backup", tmp_path / "backup.db", "--database", lab.url)
        after = lab.after_some_results()
        command("data", "restore", tmp_path / "backup.db", "--database", restored)
        for number in range(2):  # while the other one is running
            lab.replace(number)
            lab.after_some_results()
    lab.stop()
    saved = results(restored)
    assert before.items() <= saved.items() <= after.items(), "a consistent snapshot"
    check_sound(lab.url)
    check_sound(restored)


@pytest.mark.long
def test_additive_migrations_need_no_downtime(lab: Deployment, tmp_path: Path) -> None:
    def ready(address: str) -> bool:
        return httpx.get(f"{address}/readyz").status_code == 200

    with running_workers(lab):
        lab.after_some_results()
        with newer_version(tmp_path, ADDS):
            asked = CliRunner().invoke(adabkb, ["data", "doctor", "--database", lab.url])
            assert asked.exit_code == 1
            assert "Servers of the older version may keep running during the migration." in asked.output
            command("data", "migrate", "--database", lab.url)
            lab.replace(1)  # by a server of the newer version
        assert ready(lab.addresses[0]), "a server of the older version, which has not been replaced"
        lab.after_some_results()
        lab.replace(1)  # by one of the older version again
        assert ready(lab.addresses[1])
        lab.after_some_results()
    lab.stop()
    copied = f"sqlite:///{tmp_path}/copied.db"
    command("data", "backup", tmp_path / "back.db", "--database", lab.url)
    command("data", "restore", tmp_path / "back.db", "--database", f"sqlite:///{tmp_path}/restored.db")
    assert results(f"sqlite:///{tmp_path}/restored.db") == results(lab.url), "backups continue after the rollback"
    refused = CliRunner().invoke(adabkb, ["data", "copy", lab.url, copied])
    assert (refused.exit_code, "Install that version" in refused.output) == (1, True), "it would lack what was added"
    check_sound(lab.url)


def test_newer_database_is_refused_and_its_backup_can_be_restored(lab: Deployment, tmp_path: Path) -> None:
    def readiness(address: str) -> list[str]:
        return [fault["pointer"] for fault in httpx.get(f"{address}/readyz").json().get("errors", ())]

    with running_workers(lab):
        saved = lab.after_some_results()
        command("data", "backup", tmp_path / "backup.db", "--database", lab.url)
    with closing(Database(lab.url)) as database, database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = 'from_the_future'")
    assert [readiness(address) for address in lab.addresses] == [["/schema"]] * 2, "running workers notice nothing"
    refused = CliRunner().invoke(adabkb, ["data", "doctor", "--database", lab.url])
    assert (refused.exit_code, "Install that version" in refused.output) == (1, True)
    back = f"sqlite:///{tmp_path}/back.db"
    command("data", "restore", tmp_path / "backup.db", "--database", back)
    with server(back) as address, Client(address) as client:
        study = client.study("s")
        trial = study.suggest()
        study.observe(trial, 0.5)
        assert saved.items() <= results(back).items()
    with closing(Database(back)) as database, database.reading() as connection:
        assert migration.schema_status(connection) == "current"
    check_sound(back)
