"""Locks: which transactions wait, for how long, and with which outcome.

A transaction that writes a study's row, or locks it to store the model, holds the lock until its end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import sqlalchemy as sa

from adabkb_service.errors import Busy, Contention
from adabkb_service.storage import events, studies
from adabkb_service.storage.database import Database
from tests.integration.storage.rows import INCARNATION, event, study
from tests.integration.storage.writes import change, delete_study, lock
from tests.waiting import TIMEOUT_SECONDS

LOCK_SECONDS = 0.3

WAITERS: dict[str, Callable[[sa.Connection], Any]] = {
    "compare and swap": lambda connection: studies.commit_if_unchanged(connection, study("s"), budget=7),
    "store the model": lambda connection: studies.lock_model_seq(connection, "s", INCARNATION),
    "delete": lambda connection: delete_study(connection, "s"),
}
"""Operations that wait for the lock of the study "s"."""

HOLDERS: dict[str, Callable[[sa.Connection], Any]] = {
    "compare and swap": lambda connection: studies.commit_if_unchanged(connection, study("s"), budget=5),
    "store the model": lambda connection: studies.lock_model_seq(connection, "s", INCARNATION),
}
"""Operations that lock it."""


@pytest.fixture
def short_timeout(migrated_url: str, database: Database) -> Iterator[Database]:
    """The same database with a short lock timeout."""
    del database  # it already has the study
    opened = Database(migrated_url, lock_seconds=LOCK_SECONDS)
    yield opened
    opened.close()


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_waiting_for_a_lock_raises_busy_after_lock_seconds(
    database: Database, short_timeout: Database, hold: Callable[[sa.Connection], Any]
) -> None:
    with database.writing() as connection:
        hold(connection)
        for wait in WAITERS.values():
            began = time.monotonic()
            with pytest.raises(Busy), short_timeout.writing() as other:
                wait(other)
            assert time.monotonic() - began >= 0.9 * LOCK_SECONDS


def test_threads_of_one_process_wait_for_each_other(short_timeout: Database) -> None:
    def wait() -> None:
        with short_timeout.writing() as connection:
            lock(connection, "s")

    with short_timeout.writing() as connection, ThreadPoolExecutor(1) as pool:
        lock(connection, "s")
        with pytest.raises(Busy):
            pool.submit(wait).result()


def test_refused_request_gets_the_lock_once_it_is_released(database: Database, short_timeout: Database) -> None:
    with database.writing() as connection:
        lock(connection, "s")
        with pytest.raises(Busy), short_timeout.writing() as other:
            lock(other, "s")
    with short_timeout.writing() as other:
        assert change(other, "s", budget=5) == study("s", budget=5, version=2)


def test_block_that_raises_releases_its_lock(database: Database, short_timeout: Database) -> None:
    def lock_and_fail() -> None:
        with database.writing() as connection:
            lock(connection, "s")
            raise LookupError

    with pytest.raises(LookupError):
        lock_and_fail()
    with short_timeout.writing() as other:
        assert studies.commit_if_unchanged(other, study("s"), budget=5)


def outcome_after(
    database: Database, hold: Callable[[sa.Connection], Any], wait: Callable[[sa.Connection], Any], *, fails: bool
) -> Any:
    """Return the outcome of an operation that waited for a study's lock, after the holder has ended."""
    locked = threading.Event()

    def begin_to_wait() -> Any:
        locked.wait(60)
        with database.writing() as connection:
            return wait(connection)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(begin_to_wait)
        try:
            with database.writing() as connection:
                hold(connection)
                locked.set()
                time.sleep(0.1)
                assert not waiting.done()
                if fails:
                    raise LookupError
        except LookupError:
            assert fails
        return waiting.result()


def test_writer_that_waited_for_another_writer_writes_nothing(database: Database) -> None:
    """Its write would be based on an outdated study."""
    assert not outcome_after(database, HOLDERS["compare and swap"], WAITERS["compare and swap"], fails=False)
    with database.reading() as connection:
        assert studies.get(connection, "s") == study("s", budget=5, version=1)


def test_writer_that_waited_for_a_failed_one_writes(database: Database) -> None:
    assert outcome_after(database, HOLDERS["compare and swap"], WAITERS["compare and swap"], fails=True)
    with database.reading() as connection:
        assert studies.get(connection, "s") == study("s", budget=7, version=1)


def test_writer_that_waited_for_a_model_to_be_stored_writes(database: Database) -> None:
    """Storing a model does not force requests to be repeated."""

    def store(connection: sa.Connection) -> None:
        studies.lock_model_seq(connection, "s", INCARNATION)
        studies.save_model(connection, "s", INCARNATION, model_seq=3, checkpoint={})

    assert outcome_after(database, store, WAITERS["compare and swap"], fails=False)
    with database.reading() as connection:
        assert studies.get(connection, "s") == study("s", budget=7, model_seq=3, checkpoint={}, version=1)


def test_server_that_waited_to_store_a_model_sees_newer_rows(database: Database) -> None:
    def store(connection: sa.Connection) -> None:
        studies.save_model(connection, "s", INCARNATION, model_seq=3, checkpoint={})

    assert outcome_after(database, store, WAITERS["store the model"], fails=False) == 3


def test_writer_that_waited_for_a_deletion_writes_nothing(database: Database) -> None:
    assert not outcome_after(database, WAITERS["delete"], WAITERS["compare and swap"], fails=False)
    with database.reading() as connection:
        assert studies.ids(connection) == []


def test_failed_compare_and_swap_locks_nothing_on_postgresql(other_postgresql: str) -> None:
    database = prepared(other_postgresql)
    with database.writing() as connection:
        assert not studies.commit_if_unchanged(connection, study("s", version=7))
        with database.writing() as other:  # would raise Busy
            assert studies.commit_if_unchanged(other, study("s"))
    database.close()


def test_readers_do_not_wait_for_writers(database: Database, short_timeout: Database) -> None:
    with database.writing() as connection:
        change(connection, "s", budget=5)
        with short_timeout.reading() as other:
            assert studies.get(other, "s").budget is None
            assert studies.is_current(other, study("s"))


def test_writers_do_not_wait_for_readers(database: Database, short_timeout: Database) -> None:
    with database.reading() as connection:
        studies.get(connection, "s")
        with short_timeout.writing() as other:
            change(other, "s", budget=5)
        with short_timeout.reading() as other:
            assert studies.get(other, "s").budget == 5
        assert studies.get(connection, "s").budget is None, "the reader started earlier"
        assert studies.is_current(connection, study("s"))


def test_exhausted_connections_raise_busy(migrated_url: str, database: Database) -> None:
    del database  # it already has the study
    small = Database(migrated_url, lock_seconds=LOCK_SECONDS, connections=1)
    with small.reading(), pytest.raises(Busy, match="connections"), small.reading():
        pass
    with small.reading() as connection:
        assert studies.ids(connection) == ["s"]
    small.close()


def test_studies_do_not_block_each_other_on_postgresql(other_postgresql: str) -> None:
    database = prepared(other_postgresql)
    with database.writing() as connection:
        lock(connection, "s")
        events.add(connection, [event(1)])
        with database.writing() as other:  # would raise Busy
            lock(other, "t")
            events.add(other, [event(1, "t")])
        with database.reading() as other:
            assert [len(events.page(other, name, 0)) for name in ("s", "t")] == [0, 1], "the first writer continues"
    with database.reading() as connection:
        assert [len(events.page(connection, name, 0)) for name in ("s", "t")] == [1, 1]
    database.close()


def test_deadlock_ends_with_one_winner_on_postgresql(other_postgresql: str) -> None:
    database, both = prepared(other_postgresql, lock_seconds=TIMEOUT_SECONDS), threading.Barrier(2)

    def write(first: str, second: str) -> str:
        try:
            with database.writing() as connection:
                lock(connection, first)
                both.wait(60)
                studies.commit_if_unchanged(connection, study(second))
        except Contention:
            return "contention"
        return "both"

    with ThreadPoolExecutor(2) as pool:
        outcomes = [pool.submit(write, "s", "t"), pool.submit(write, "t", "s")]
        assert sorted(outcome.result() for outcome in outcomes) == ["both", "contention"]
    database.close()


def prepared(url: str, lock_seconds: float = LOCK_SECONDS) -> Database:
    """A database with the studies "s" and "t"."""
    database = Database(url, lock_seconds=lock_seconds)
    with database.writing() as connection:
        studies.create(connection, study("s"))
        studies.create(connection, study("t"))
    return database
