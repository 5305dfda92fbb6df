"""Group commit on SQLite: each writer gets the outcome of its own part, and every part is written."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from adabkb_service.errors import Busy, DatabaseUnavailable
from adabkb_service.storage.database import Database
from adabkb_service.storage.group_commit import WriteBatcher
from tests.waiting import TIMEOUT_SECONDS, wait_for

Work = Callable[[sa.Connection], int]


@pytest.fixture
def database(sqlite_template: Path, tmp_path: Path) -> Iterator[Database]:
    """A database with an additional table of numbers."""
    opened = Database(
        f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'numbers.db')}", lock_seconds=TIMEOUT_SECONDS
    )
    with opened.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE numbers (number INTEGER PRIMARY KEY)")
    yield opened
    opened.close()


def insert(number: int) -> Work:
    def work(connection: sa.Connection) -> int:
        connection.exec_driver_sql("INSERT INTO numbers VALUES (?)", (number,))
        return number

    return work


def numbers(database: Database) -> list[int]:
    with database.reading() as connection:
        return list(connection.exec_driver_sql("SELECT number FROM numbers ORDER BY number").scalars())


def at_once(database: Database, works: list[Work]) -> list[Future[int]]:
    """Return the outcomes of writers that wait for the same earlier writer."""
    begun, go_on = threading.Event(), threading.Event()

    def first(_: sa.Connection) -> int:
        begun.set()
        go_on.wait(TIMEOUT_SECONDS)
        return 0

    with ThreadPoolExecutor(len(works) + 1) as pool:
        pool.submit(database.write, first)
        assert begun.wait(TIMEOUT_SECONDS)
        outcomes = [pool.submit(database.write, work) for work in works]
        wait_for(lambda: database.waiting_writers == len(works))
        go_on.set()
    return outcomes


def test_more_writers_than_fit_into_a_transaction_are_all_written(database: Database) -> None:
    """A transaction takes 32."""
    outcomes = at_once(database, [insert(number) for number in range(70)])
    assert [outcome.result() for outcome in outcomes] == list(range(70))
    assert numbers(database) == list(range(70))


class FourthFirst:
    """A lock that the fourth thread gets before the first three, which is rare with real locks."""

    def __init__(self) -> None:
        self.waiting = 0
        self._arriving, self._lock, self._is_taken = threading.Lock(), threading.Lock(), threading.Event()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        with self._arriving:
            self.waiting += 1
            is_fourth = self.waiting == 4
        if is_fourth:
            assert self._lock.acquire(blocking, timeout)
            self._is_taken.set()
            return True
        return self._is_taken.wait(timeout) and self._lock.acquire(blocking, timeout)

    def release(self) -> None:
        self._lock.release()


def test_requests_are_answered_only_after_their_part_is_written(database: Database) -> None:
    """A writer may get the lock when more parts wait before it than a transaction takes."""
    lock = FourthFirst()
    batcher = WriteBatcher(TIMEOUT_SECONDS, lock, most_parts=2)
    with ThreadPoolExecutor(4) as pool:
        before = [pool.submit(batcher.write, insert(number), database.writing) for number in range(3)]
        wait_for(lambda: lock.waiting == 3)
        assert pool.submit(batcher.write, insert(3), database.writing).result() == 3
        assert sorted(each.result() for each in before) == [0, 1, 2]
    assert numbers(database) == [0, 1, 2, 3]


def test_failed_part_is_rolled_back_alone(database: Database) -> None:
    def fail(connection: sa.Connection) -> int:
        insert(7)(connection)
        raise ZeroDivisionError

    outcomes = at_once(database, [insert(1), fail, insert(2)])
    assert [type(outcome.exception()) for outcome in outcomes] == [type(None), ZeroDivisionError, type(None)]
    assert numbers(database) == [1, 2]


def test_read_only_connection_fails_the_whole_group(database: Database) -> None:
    def find(connection: sa.Connection) -> int:
        connection.exec_driver_sql("PRAGMA query_only = ON")
        return insert(7)(connection)

    outcomes = at_once(database, [insert(1), find, insert(2)])
    assert [type(outcome.exception()) for outcome in outcomes] == [DatabaseUnavailable] * 3
    assert database.write(insert(3)) == 3, "by another connection"
    assert numbers(database) == [3]


def test_writer_that_times_out_is_busy_and_writes_nothing(database: Database) -> None:
    short_timeout = Database(f"sqlite:///{database.url.database}", lock_seconds=0.1)
    with short_timeout.writing(), ThreadPoolExecutor(1) as pool, pytest.raises(Busy):
        pool.submit(short_timeout.write, insert(1)).result()
    short_timeout.write(insert(2))
    short_timeout.close()
    assert numbers(database) == [2]


class UntilBegun:
    """A lock whose waiters time out when the writing begins."""

    def __init__(self) -> None:
        self.begun, self.is_over = threading.Event(), threading.Event()
        self._lock = threading.Lock()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        del blocking, timeout  # the event decides instead
        while not self._lock.acquire(timeout=0.01):
            if self.begun.is_set():
                self.is_over.set()
                return False
        return True

    def release(self) -> None:
        self._lock.release()


def test_writer_in_progress_gets_its_outcome(database: Database) -> None:
    """If its part is being written at the timeout, the writer must not report that nothing was written."""
    lock = UntilBegun()
    # With a short timeout, the writer might time out on a busy machine before its part is being written.
    batcher = WriteBatcher(TIMEOUT_SECONDS, lock)

    def slow(connection: sa.Connection) -> int:
        lock.begun.set()
        assert lock.is_over.wait(TIMEOUT_SECONDS)
        return insert(1)(connection)

    with ThreadPoolExecutor(2) as pool:
        with batcher:
            both = [pool.submit(batcher.write, work, database.writing) for work in (slow, insert(2))]
            wait_for(lambda: batcher.waiting == 2)
        assert [outcome.result() for outcome in both] == [1, 2]
    assert numbers(database) == [1, 2]
