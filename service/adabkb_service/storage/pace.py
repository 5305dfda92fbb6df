"""Split long work into short transactions, so that other writers do not wait long.

SQLite allows one writer at a time, and on PostgreSQL, a transaction keeps its locks until its end.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from adabkb_service.storage.database import Database

MAX_ROWS = 500
"""The maximum number of rows that one transaction of long work inserts or deletes."""
FIRST_ROWS = 100
"""The number of rows of the first transaction, before the time per row is known."""
TRANSACTION_SECONDS = 0.02
"""Target duration of a transaction."""
MAX_PAUSE = 1.0
"""The maximum pause after a transaction, in seconds. In the pause, other writers can get the lock."""


class Pace:
    """Adapts the number of rows per transaction, so that each takes about ``TRANSACTION_SECONDS``."""

    def __init__(self, first: int = FIRST_ROWS, most: int = MAX_ROWS) -> None:
        """Allow ``first`` rows in the first transaction, and at most ``most`` rows in later ones."""
        self.rows = first
        self._most = most

    @contextmanager
    def transaction(self, database: Database) -> Iterator[Connection]:
        """A writing transaction, followed by a pause of the same duration, but at most ``MAX_PAUSE``.

        Raises:
            Contention, Busy, Unavailable: as for ``Database.writing``.
        """
        with database.writing() as connection:
            started = time.monotonic()
            yield connection
        took = time.monotonic() - started
        self.rows = max(1, min(self._most, int(self.rows * TRANSACTION_SECONDS / took)))
        time.sleep(min(took, MAX_PAUSE))
