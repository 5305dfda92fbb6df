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
def impatient(migrated_url: str, database: Database) -> Iterator[Database]:
    """The same database with a short lock timeout."""
    del database  # it has its study
    opened = Database(migrated_url, lock_seconds=LOCK_SECONDS)
    yield opened
    opened.close()


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_a_lock_that_is_not_obtained_is_busy_after_lock_seconds(
    database: Database, impatient: Database, hold: Callable[[sa.Connection], Any]
) -> None:
    with database.writing() as connection:
        hold(connection)
        for wait in WAITERS.values():
            began = time.monotonic()
            with pytest.raises(Busy), impatient.writing() as other:
                wait(other)
            assert time.monotonic() - began >= 0.9 * LOCK_SECONDS


def test_a_thread_of_the_same_process_is_busy_too(impatient: Database) -> None:
    def wait() -> None:
        with impatient.writing() as connection:
            lock(connection, "s")

    with impatient.writing() as connection, ThreadPoolExecutor(1) as pool:
        lock(connection, "s")
        with pytest.raises(Busy):
            pool.submit(wait).result()


def test_a_refused_request_gets_the_lock_once_it_is_free(database: Database, impatient: Database) -> None:
    with database.writing() as connection:
        lock(connection, "s")
        with pytest.raises(Busy), impatient.writing() as other:
            lock(other, "s")
    with impatient.writing() as other:
        assert change(other, "s", budget=5) == study("s", budget=5, version=2)


def test_a_lock_is_let_go_by_a_block_that_raises(database: Database, impatient: Database) -> None:
    def lock_and_fail() -> None:
        with database.writing() as connection:
            lock(connection, "s")
            raise LookupError

    with pytest.raises(LookupError):
        lock_and_fail()
    with impatient.writing() as other:
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


def test_a_waiting_writer_of_a_changed_study_writes_nothing(database: Database) -> None:
    """It would be based on an outdated study."""
    assert not outcome_after(database, HOLDERS["compare and swap"], WAITERS["compare and swap"], fails=False)
    with database.reading() as connection:
        assert studies.get(connection, "s") == study("s", budget=5, version=1)


def test_a_writer_waiting_for_one_that_fails_writes(database: Database) -> None:
    assert outcome_after(database, HOLDERS["compare and swap"], WAITERS["compare and swap"], fails=True)
    with database.reading() as connection:
        assert studies.get(connection, "s") == study("s", budget=7, version=1)


def test_a_writer_waiting_for_the_storage_of_the_model_writes(database: Database) -> None:
    """Storing a model does not force requests to be repeated."""

    def store(connection: sa.Connection) -> None:
        studies.lock_model_seq(connection, "s", INCARNATION)
        studies.save_model(connection, "s", INCARNATION, model_seq=3, checkpoint={})

    assert outcome_after(database, store, WAITERS["compare and swap"], fails=False)
    with database.reading() as connection:
        assert studies.get(connection, "s") == study("s", budget=7, model_seq=3, checkpoint={}, version=1)


def test_a_server_waiting_to_store_a_model_sees_another_servers_rows(database: Database) -> None:
    def store(connection: sa.Connection) -> None:
        studies.save_model(connection, "s", INCARNATION, model_seq=3, checkpoint={})

    assert outcome_after(database, store, WAITERS["store the model"], fails=False) == 3


def test_a_waiting_writer_of_a_deleted_study_writes_nothing(database: Database) -> None:
    assert not outcome_after(database, WAITERS["delete"], WAITERS["compare and swap"], fails=False)
    with database.reading() as connection:
        assert studies.ids(connection) == []


def test_a_lost_compare_and_swap_locks_nothing_on_postgresql(other_postgresql: str) -> None:
    database = prepared(other_postgresql)
    with database.writing() as connection:
        assert not studies.commit_if_unchanged(connection, study("s", version=7))
        with database.writing() as other:  # would be Busy
            assert studies.commit_if_unchanged(other, study("s"))
    database.close()


def test_reading_waits_for_no_writer(database: Database, impatient: Database) -> None:
    with database.writing() as connection:
        change(connection, "s", budget=5)
        with impatient.reading() as other:
            assert studies.get(other, "s").budget is None
            assert studies.is_current(other, study("s"))


def test_writing_waits_for_no_reader(database: Database, impatient: Database) -> None:
    with database.reading() as connection:
        studies.get(connection, "s")
        with impatient.writing() as other:
            change(other, "s", budget=5)
        with impatient.reading() as other:
            assert studies.get(other, "s").budget == 5
        assert studies.get(connection, "s").budget is None, "the reader was there before"
        assert studies.is_current(connection, study("s"))


def test_when_all_connections_are_in_use_it_is_busy(migrated_url: str, database: Database) -> None:
    del database  # it has its study
    small = Database(migrated_url, lock_seconds=LOCK_SECONDS, connections=1)
    with small.reading(), pytest.raises(Busy, match="connections"), small.reading():
        pass
    with small.reading() as connection:
        assert studies.ids(connection) == ["s"]
    small.close()


def test_two_studies_do_not_block_one_another_on_postgresql(other_postgresql: str) -> None:
    database = prepared(other_postgresql)
    with database.writing() as connection:
        lock(connection, "s")
        events.add(connection, [event(1)])
        with database.writing() as other:  # would be Busy
            lock(other, "t")
            events.add(other, [event(1, "t")])
        with database.reading() as other:
            assert [len(events.page(other, name, 0)) for name in ("s", "t")] == [0, 1], "the first goes on"
    with database.reading() as connection:
        assert [len(events.page(connection, name, 0)) for name in ("s", "t")] == [1, 1]
    database.close()


def test_a_deadlock_ends_with_one_winner_on_postgresql(other_postgresql: str) -> None:
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
