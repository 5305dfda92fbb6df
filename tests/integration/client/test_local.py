"""``Client.local``: one server per database for all scripts on the machine, which stops after the last of them."""

import asyncio
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import portalocker
import psutil
import pytest

from adabkb_client import AsyncClient, Client, ConnectionFailed, Float, ResultKept
from adabkb_client._http.local import START_SILENCE, LocalServer
from tests.integration.cli.shell import adabkb
from tests.integration.cli.test_installations import installed

EXCLUSIVE = portalocker.LockFlags.EXCLUSIVE
SPACE = {"x": Float(0, 1)}


@pytest.fixture
def database(sqlite_template: Path, tmp_path: Path) -> Path:
    """A migrated database in a folder whose name must be quoted in URLs."""
    (tmp_path / "a study?%20").mkdir()
    return Path(shutil.copy(sqlite_template, tmp_path / "a study?%20" / "study.db"))


@contextmanager
def clients(database: Path, count: int) -> Iterator[list[Client]]:
    """Clients created at the same moment."""
    with ThreadPoolExecutor(count) as pool:
        made = list(pool.map(lambda _: Client.local(database, retry_for=0), range(count)))
    yield made
    for client in made:
        client.close()


def server_process() -> psutil.Process:
    """The server that this process has started."""
    children = [each for each in psutil.Process().children() if each.status() != psutil.STATUS_ZOMBIE]
    (found,) = [each for each in children if "serve" in each.cmdline()]
    return found


def wait_for_the_end_of_the_server(database: Path) -> None:
    """Wait until no process holds the lock of a running server."""
    with open(f"{database}.running") as running:
        taken = threading.Thread(target=portalocker.lock, args=(running, EXCLUSIVE), daemon=True)
        taken.start()
        taken.join(30)
        assert not taken.is_alive(), "the server goes on"


SCRIPT = """
import os, signal, sys
from adabkb_client import Client
client = Client.local(sys.argv[1])
client.study("s").add_result({"x": 0.5}, 2.0)
print(client.url, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def said_by_the_script(database: Path) -> str:
    command = [sys.executable, "-c", SCRIPT, str(database)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


WORKER = """
import pickle, sys
for observation in pickle.load(sys.stdin.buffer).observations():
    print(observation.value)
"""


def test_clients_share_a_server_that_restarts_after_a_crash_and_ends_with_the_last_client(
    database: Path, outbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with clients(database, 3) as (one, two, three):
        assert one.url == two.url == three.url
        study = one.create_study("s", SPACE, direction="maximize", seed=1)
        study.add_result({"x": 0.25}, 1.0)

        first = server_process()
        first.kill()
        first.wait()
        monkeypatch.setenv("ADABKB_LOCK_SECONDS", "none")
        with pytest.raises(ResultKept, match=r"no server can be started for .*study\.db: the setting 'lock_seconds'"):
            study.add_result({"x": 0.5}, 2.0)
        monkeypatch.delenv("ADABKB_LOCK_SECONDS")

        worker = [sys.executable, "-c", WORKER]  # it connects by the name of the database
        told = subprocess.run(worker, input=pickle.dumps(two.study("s")), capture_output=True, check=True).stdout
        assert told.decode().split() == ["1.0", "2.0"]
        assert server_process().pid != first.pid
        assert list(outbox.rglob("*.json")) == []

        assert said_by_the_script(database) == two.url  # it is killed
        command = ("run", "s", "--n-trials", "1", "--local", str(database), "--", "echo", "3")
        assert "completed 1 trial" in adabkb(*command)
        assert adabkb("study", "export", "s", "--format", "csv", "--local", str(database)).count("\n") == 5
    wait_for_the_end_of_the_server(database)


@pytest.mark.long
def test_a_script_that_is_killed_leaves_its_results_and_no_server(database: Path) -> None:
    async def found() -> str:
        client = await AsyncClient.local(database)
        study = await client.create_study("s", SPACE, direction="maximize")
        await study.add_result({"x": 0.25}, 1.0)
        assert await asyncio.to_thread(said_by_the_script, database) == client.url
        await client.close()
        return client.outbox.folder.name if client.outbox else ""

    assert asyncio.run(found()) == f"local-study.db-{LocalServer(database).name[-16:]}"
    wait_for_the_end_of_the_server(database)
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT value FROM observations").fetchall() == [(1.0,), (2.0,)]


def test_a_file_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConnectionFailed, match=r"nowhere/s\.db\.clients cannot be written \(No such file"):
        Client.local(tmp_path / "nowhere" / "s.db")


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    (tmp_path / "s.db.server").symlink_to("/dev/full")
    with pytest.raises(ConnectionFailed, match=r"s\.db\.server cannot be written \(No space .* Free some space"):
        Client.local(tmp_path / "s.db")


def test_a_file_that_is_no_database_is_refused_and_gets_no_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database")
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.iterdir())
    for name in ("notes.txt", "folder"):
        with pytest.raises(ConnectionFailed, match=rf"{name} is not a SQLite database; give Client\.local a new file"):
            Client.local(tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.long
def test_a_slow_start_of_a_server_is_logged(database: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "adabkb_client")
    begun = time.monotonic()
    Client.local(database).close()
    said = [each.message for each in caplog.records]
    assert said == [f"starting the server of {database}"] or (not said and time.monotonic() < begun + 2 * START_SILENCE)


def test_a_database_with_a_server_on_another_machine_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "s.db.running").open("w") as running:
        portalocker.lock(running, EXCLUSIVE)  # on a shared file system, such a lock is visible on all machines
        (tmp_path / "s.db.server").write_text("elsewhere\nadabkb: listening on http://127.0.0.1:1\n")
        with pytest.raises(ConnectionFailed, match="in use by a server on the machine elsewhere"):
            Client.local(tmp_path / "s.db")


@pytest.mark.long
def test_the_client_alone_names_the_package_to_install(tmp_path: Path) -> None:
    packages = installed(tmp_path, ["adabkb-client"])
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import adabkb_client; adabkb_client.Client.local('s.db')"],
        env={**os.environ, "PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert "ImportError: " in done.stderr
    assert "pip install 'adabkb-service[server]'" in done.stderr
    assert not list(tmp_path.glob("s.db*"))
