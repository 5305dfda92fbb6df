"""Durability: after kill -9, committed data is stored, and uncommitted data is not."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from adabkb_service.storage import events, studies
from adabkb_service.storage.database import Database

COMMIT = """
import sys, time
from adabkb_service.storage.database import Database
from tests.integration.storage.writes import change
with Database(sys.argv[1]).writing() as connection:
    change(connection, "s", budget=5)
print("committed", flush=True)
time.sleep(60)
"""

WRITE = """
import sys, time
from adabkb_service.storage.database import Database
from tests.integration.storage.writes import change
with Database(sys.argv[1]).writing() as connection:
    change(connection, "s", budget=5)
    print("written", flush=True)
    time.sleep(60)
"""

APPEND = """
import sys
from datetime import UTC, datetime
from adabkb_service.storage import events, studies
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import event_row
from tests.integration.storage.writes import write_when_current
database = Database(sys.argv[1])
def append(connection, before):
    global following
    following = before.study_seq + 1
    if not studies.commit_if_unchanged(connection, before, study_seq=following):
        return False
    events.add(connection, [event_row("s", following, "updated", None, {}, datetime.now(UTC))])
    return True
for _ in range(int(sys.argv[2])):
    write_when_current(database, append)
    print(following, flush=True)
"""


def process(program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True)


def killed_after_line(program: str, lines: int, *arguments: str) -> list[str]:
    """Kill a process once it has printed a number of lines. Return all complete lines that it printed."""
    with process(program, *arguments) as running:
        assert running.stdout is not None
        printed = [running.stdout.readline() for _ in range(lines)]
        running.send_signal(signal.SIGKILL)
        printed += running.stdout.readlines()
        running.wait(60)
    return [line.strip() for line in printed if line.endswith("\n")]


def log(database: Database) -> list[int]:
    with database.reading() as connection:
        return [event.seq for event in events.page(connection, "s", 0)]


@pytest.mark.long
def test_commit_survives_its_process(migrated_url: str, database: Database) -> None:
    assert killed_after_line(COMMIT, 1, migrated_url) == ["committed"]
    with database.reading() as connection:
        assert studies.get(connection, "s").budget == 5


@pytest.mark.long
def test_uncommitted_data_of_a_killed_process_is_lost(migrated_url: str, database: Database) -> None:
    assert killed_after_line(WRITE, 1, migrated_url) == ["written"]
    with database.reading() as connection:
        assert studies.get(connection, "s").budget is None


def test_every_commit_of_a_killed_process_is_complete(migrated_url: str, database: Database) -> None:
    printed = killed_after_line(APPEND, 20, migrated_url, "100000")
    found = log(database)
    assert len(found) - len(printed) in {0, 1}, "the process may be killed before it prints its last commit"
    assert found == list(range(1, len(found) + 1))
    with database.reading() as connection:
        assert studies.get(connection, "s").study_seq == len(found)


@pytest.mark.long
def test_processes_append_to_one_log_without_gaps(migrated_url: str, database: Database) -> None:
    running = [process(APPEND, migrated_url, "20") for _ in range(2)]
    printed = [int(line) for each in running for line in each.communicate(timeout=60)[0].split()]
    assert [each.returncode for each in running] == [0, 0]
    assert sorted(printed) == log(database) == list(range(1, 41))


def test_reopened_database_is_unchanged(migrated_url: str, database: Database) -> None:
    with database.reading() as connection:
        before = studies.get(connection, "s")
    database.close()
    again = Database(migrated_url)
    with again.reading() as connection:
        assert studies.get(connection, "s") == before
    again.close()


def test_commits_wait_for_the_disk(database: Database) -> None:
    """SQLite: WAL with synchronous=FULL (2); PostgreSQL: synchronous_commit=on."""
    with database.reading() as connection:
        if database.is_sqlite:
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2
        else:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar_one() == "on"
