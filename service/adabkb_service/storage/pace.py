"""Split long work into short transactions, so that other writers never wait long.

SQLite has one writer at a time, and on PostgreSQL a large transaction keeps its locks until its end.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from adabkb_service.storage.database import Database

MOST_ROWS = 500
"""The maximum number of rows that one transaction of long work inserts or deletes."""
FIRST_ROWS = 100
"""The same for the first transaction, before the time per row is known."""
TRANSACTION_SECONDS = 0.02
"""Target duration of a transaction."""
LONGEST_PAUSE = 1.0
"""The longest pause, in seconds, which leaves the lock to other writers."""


class Pace:
    """Adapts the number of rows of the next transaction: fewer if rows are large or the disk is slow."""

    def __init__(self, first: int = FIRST_ROWS, most: int = MOST_ROWS) -> None:
        """Allow ``first`` rows in the first transaction, and at most ``most`` rows in later ones."""
        self.rows = first
        self._most = most

    @contextmanager
    def transaction(self, database: Database) -> Iterator[Connection]:
        """A writing transaction, followed by a pause of the same duration.

        Raises:
            Contention, Busy, Unavailable: as for ``Database.writing``.
        """
        with database.writing() as connection:
            started = time.monotonic()
            yield connection
        took = time.monotonic() - started
        self.rows = max(1, min(self._most, int(self.rows * TRANSACTION_SECONDS / took)))
        time.sleep(min(took, LONGEST_PAUSE))
