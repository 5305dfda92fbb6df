"""Locks: who waits for whom, for how long, and what is said in the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from adabkb_service.errors import Busy, Contention
from adabkb_service.storage import events, migration, studies
from adabkb_service.storage.database import Database
from tests.storage.rows import event, study

LOCK_SECONDS = 0.3


@pytest.fixture
def impatient(database_url: str, database: Database) -> Iterator[Database]:
    """The same database for somebody who does not wait long."""
    del database  # it is migrated
    opened = Database(database_url, lock_seconds=LOCK_SECONDS)
    yield opened
    opened.close()


def test_a_lock_that_is_not_obtained_is_busy_after_lock_seconds(database: Database, impatient: Database) -> None:
    with database.writing() as connection:
        studies.get(connection, "s", lock=True)
        began = time.monotonic()
        with pytest.raises(Busy), impatient.writing() as other:
            studies.get(other, "s", lock=True)
        assert time.monotonic() - began >= 0.9 * LOCK_SECONDS


def test_a_thread_of_the_same_process_is_busy_too(impatient: Database) -> None:
    def lock() -> None:
        with impatient.writing() as connection:
            studies.get(connection, "s", lock=True)

    with impatient.writing() as connection, ThreadPoolExecutor(1) as pool:
        studies.get(connection, "s", lock=True)
        with pytest.raises(Busy):
            pool.submit(lock).result()


def test_who_was_busy_gets_the_lock_once_it_is_free(database: Database, impatient: Database) -> None:
    with database.writing() as connection:
        studies.get(connection, "s", lock=True)
        with pytest.raises(Busy), impatient.writing() as other:
            studies.get(other, "s", lock=True)
    with impatient.writing() as other:
        studies.change(other, "s", budget=5)
        assert studies.get(other, "s", lock=True).budget == 5


def test_a_lock_is_let_go_by_a_block_that_raises(database: Database, impatient: Database) -> None:
    def lock_and_fail() -> None:
        with database.writing() as connection:
            studies.get(connection, "s", lock=True)
            raise LookupError

    with pytest.raises(LookupError):
        lock_and_fail()
    with impatient.writing() as other:
        assert studies.get(other, "s", lock=True) == study("s")


def test_who_waits_for_a_lock_sees_what_its_holder_wrote(database: Database) -> None:
    locked, results = threading.Event(), []

    def wait() -> None:
        locked.wait(10)
        with database.writing() as connection:
            results.append(studies.get(connection, "s", lock=True).budget)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(wait)
        with database.writing() as connection:
            studies.get(connection, "s", lock=True)
            locked.set()
            time.sleep(0.1)
            studies.change(connection, "s", budget=5)
        waiting.result()
    assert results == [5]


def test_reading_waits_for_no_writer(database: Database, impatient: Database) -> None:
    with database.writing() as connection:
        studies.get(connection, "s", lock=True)
        studies.change(connection, "s", budget=5)
        with impatient.reading() as other:
            assert studies.get(other, "s").budget is None


def test_writing_waits_for_no_reader(database: Database, impatient: Database) -> None:
    with database.reading() as connection:
        studies.get(connection, "s")
        with impatient.writing() as other:
            studies.get(other, "s", lock=True)
            studies.change(other, "s", budget=5)
        with impatient.reading() as other:
            assert studies.get(other, "s").budget == 5
        assert studies.get(connection, "s").budget is None, "the reader was there before"


def test_when_all_connections_are_in_use_it_is_busy(database_url: str, database: Database) -> None:
    del database  # it is migrated
    small = Database(database_url, lock_seconds=LOCK_SECONDS, connections=1)
    with small.reading(), pytest.raises(Busy, match="connections"), small.reading():
        pass
    with small.reading() as connection:
        assert studies.ids(connection) == ["s"]
    small.close()


def test_two_studies_do_not_block_one_another_on_postgresql(other_postgresql: str) -> None:
    database = prepared(other_postgresql)
    with database.writing() as connection:
        studies.get(connection, "s", lock=True)
        events.add(connection, [event(1)])
        with database.writing() as other:  # would be Busy
            studies.get(other, "t", lock=True)
            events.add(other, [event(1, "t")])
        with database.reading() as other:
            assert [len(events.page(other, name, 0)) for name in ("s", "t")] == [0, 1], "the first goes on"
    with database.reading() as connection:
        assert [len(events.page(connection, name, 0)) for name in ("s", "t")] == [1, 1]
    database.close()


def test_a_deadlock_ends_with_one_winner_on_postgresql(other_postgresql: str) -> None:
    database, both = prepared(other_postgresql, lock_seconds=10.0), threading.Barrier(2)

    def lock(first: str, second: str) -> str:
        try:
            with database.writing() as connection:
                studies.get(connection, first, lock=True)
                both.wait(10)
                studies.get(connection, second, lock=True)
        except Contention:
            return "contention"
        return "both"

    with ThreadPoolExecutor(2) as pool:
        outcomes = [pool.submit(lock, "s", "t"), pool.submit(lock, "t", "s")]
        assert sorted(outcome.result() for outcome in outcomes) == ["both", "contention"]
    database.close()


def prepared(url: str, lock_seconds: float = LOCK_SECONDS) -> Database:
    """With the studies "s" and "t"."""
    database = Database(url, lock_seconds=lock_seconds)
    migration.upgrade(database)
    with database.writing() as connection:
        studies.create(connection, study("s"))
        studies.create(connection, study("t"))
    return database
