"""The lock of a dead or unreachable client is released soon."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from adabkb_service.errors import Contention
from adabkb_service.storage import studies
from adabkb_service.storage.database import Database
from tests.integration.storage.rows import study
from tests.integration.storage.writes import change
from tests.waiting import TIMEOUT_SECONDS

HOLD = """
import sys, time
from adabkb_service.storage.database import Database
from tests.integration.storage.writes import change
with Database(sys.argv[1], holder_seconds=1.0).writing() as connection:
    change(connection, "s", budget=1)
    print("holding", flush=True)
    time.sleep(60)
"""


def prepared(url: str) -> Database:
    """A database with one study."""
    database = Database(url, lock_seconds=TIMEOUT_SECONDS)
    with database.writing() as connection:
        studies.create(connection, study("s"))
    return database


@pytest.mark.long
def test_lock_of_a_killed_process_is_released(migrated_url: str) -> None:
    database = prepared(migrated_url)
    with subprocess.Popen([sys.executable, "-c", HOLD, migrated_url], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "holding\n"
        holder.send_signal(signal.SIGKILL)
        holder.wait(60)
        with database.writing() as connection:
            assert studies.commit_if_unchanged(connection, study("s"))
            assert studies.get(connection, "s") == study("s", version=1)
    database.close()


def test_postgresql_rolls_back_unreachable_lock_holders(other_postgresql: str) -> None:
    """The connection stays open and silent, as if the client's machine had crashed."""
    database, cut_off, over = prepared(other_postgresql), threading.Event(), threading.Event()
    holders = Database(other_postgresql, holder_seconds=1.0)

    def hold() -> bool:
        """Return whether the transaction is rolled back; on a very slow machine, that may happen before it has the
        lock."""
        while not cut_off.is_set():
            try:
                with holders.writing() as connection:
                    change(connection, "s", budget=1)
                    cut_off.set()
                    over.wait(2 * TIMEOUT_SECONDS)
            except Contention:
                continue
            return False
        return True

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(hold)
        assert cut_off.wait(TIMEOUT_SECONDS)
        with database.writing() as connection:  # otherwise, Busy after TIMEOUT_SECONDS
            assert studies.commit_if_unchanged(connection, study("s"))
            assert studies.get(connection, "s") == study("s", version=1)
        over.set()
        assert holding.result(), "it is rolled back"
    holders.close()
    database.close()


def test_readers_have_no_timeout(migrated_url: str) -> None:
    """They hold no locks that others need."""
    prepared(migrated_url).close()
    database = Database(migrated_url, holder_seconds=0.1)
    with database.reading() as connection:
        before = studies.get(connection, "s")
        time.sleep(0.3)
        assert studies.get(connection, "s") == before
    database.close()
