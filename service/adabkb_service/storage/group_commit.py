"""Group commit: what several threads want to write at one moment is one transaction, with one durable commit.

SQLite has one writer at a time, and a durable commit takes longer than the statements in it. So whoever has the turn
to write takes along what the others want to write, each part behind a savepoint of its own: a part that fails is undone
alone. PostgreSQL does the same by itself, for transactions that end at one moment.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from adabkb_service.errors import Busy

MOST_PARTS = 32
"""Of one transaction."""


@dataclass(eq=False)
class _Part:
    """What one thread wants to write, and what became of it."""

    work: Callable[[Connection], Any]
    done: threading.Event = field(default_factory=threading.Event)
    result: Any = None
    error: BaseException | None = None


class Turns:
    """A lock for writers that is ``Busy`` if it cannot be had in time, and the parts that wait for it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._parts: deque[_Part] = deque()

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
        """Do the work in a transaction, with what others want to write at the moment.

        Args:
            work: writes.
            transaction: begins one, and commits it at its end.

        Raises:
            Busy: there was no turn in time; nothing was written.
            Exception: whatever the work or the transaction raised; nothing of the work was written.
        """
        part = _Part(work)
        self._parts.append(part)
        try:
            with self:
                while not part.done.is_set():
                    self._write_some(transaction)
        except Busy:
            if self._is_withdrawn(part):
                raise
            part.done.wait()  # somebody is writing it, and nobody knows yet whether that succeeds
        if part.error is not None:
            raise part.error
        return part.result

    def _is_withdrawn(self, part: _Part) -> bool:
        """Take a part back, unless somebody has begun to write it."""
        try:
            self._parts.remove(part)
        except ValueError:
            return False
        return True

    def _write_some(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        """Write the parts that have waited for longest."""
        parts = list[_Part]()
        while self._parts and len(parts) < MOST_PARTS:
            with suppress(IndexError):  # it was withdrawn this moment
                parts.append(self._parts.popleft())
        try:
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
        savepoint.rollback()
