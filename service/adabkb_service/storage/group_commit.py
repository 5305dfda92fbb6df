"""Group commit: the writes of several threads in one durable transaction.

SQLite allows one writer at a time, and a durable commit takes longer than the statements before it. So the thread that
holds the lock also writes for the threads that wait for the lock: each thread's write is a part of the transaction.
Each part has a savepoint, so that it can be rolled back alone. PostgreSQL groups the commits of concurrent transactions
itself.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlalchemy import Connection

from adabkb_service.errors import Busy

MAX_PARTS = 32
"""The maximum number of parts of a transaction."""


class Lock(Protocol):
    """The interface of ``threading.Lock``."""

    def acquire(self, blocking: bool = ..., timeout: float = ...) -> bool:
        """Wait for the lock. Return whether it was acquired in time."""

    def release(self) -> None:
        """Release the lock."""


@dataclass(eq=False)
class _Part:
    """The write of one thread and its result."""

    work: Callable[[Connection], Any]
    done: threading.Event = field(default_factory=threading.Event)
    result: Any = None
    error: BaseException | None = None


class WriteBatcher:
    """The write lock of a process, and the parts that wait for the lock. As a context manager, the batcher holds the
    lock, and raises ``Busy`` if the lock is not free in time."""

    def __init__(self, seconds: float, lock: Lock | None = None, most_parts: int = MAX_PARTS) -> None:
        """Create a batcher.

        Args:
            seconds: how long a writer waits for the lock.
            lock: the lock; a new one by default.
            most_parts: the maximum number of parts of a transaction.
        """
        self._most_parts = most_parts
        self._seconds = seconds
        self._lock = lock or threading.Lock()
        self._parts: deque[_Part] = deque()

    @property
    def waiting(self) -> int:
        """Number of parts that wait to be written."""
        return len(self._parts)

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=self._seconds):
            raise Busy("The database is busy with other writers; try again.")

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def write(
        self,
        work: Callable[[Connection], Any],
        transaction: Callable[[], AbstractContextManager[Connection]],
    ) -> Any:
        """Run ``work`` in a transaction that may also contain the work of other threads, and return its result.

        Args:
            work: a function that writes.
            transaction: returns a context manager that begins a transaction, and commits it at the end of its block.

        Raises:
            Busy: the lock was not free in time; nothing was written.
            Exception: raised by the work or the transaction; nothing that the work wrote was committed.
        """
        part = _Part(work)
        self._parts.append(part)
        try:
            with self:
                while not part.done.is_set():
                    self._write_some(transaction)
        except BaseException:
            if self._is_withdrawn(part):
                raise
            part.done.wait()  # another thread is writing the part; wait for the outcome
        if part.error is not None:
            raise part.error
        return part.result

    def _is_withdrawn(self, part: _Part) -> bool:
        """Remove the part from the queue. Return False if another thread has begun to write it."""
        try:
            self._parts.remove(part)
        except ValueError:
            return False
        return True

    def _write_some(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        """Write the oldest parts in one transaction."""
        parts = list[_Part]()
        try:
            while self._parts and len(parts) < self._most_parts:
                with suppress(IndexError):  # the last part was withdrawn in between
                    parts.append(self._parts.popleft())
            with transaction() as connection:
                for part in parts:
                    _do(part, connection, is_alone=len(parts) == 1)
        except BaseException as error:
            for part in parts:
                part.error = part.error or error
        for part in parts:
            part.done.set()


def _do(part: _Part, connection: Connection, *, is_alone: bool) -> None:
    if is_alone:
        part.result = part.work(connection)
        return
    savepoint = connection.begin_nested()
    try:
        part.result = part.work(connection)
        savepoint.commit()
    except Exception as error:
        part.error = error
        if connection.invalidated:
            raise  # a lost connection ends the transaction for all parts
        savepoint.rollback()
