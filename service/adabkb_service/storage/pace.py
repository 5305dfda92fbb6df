"""Long work in short transactions, so that other writers wait for none of them for long.

SQLite has one writer at a time, and on PostgreSQL a large transaction keeps its locks until its end.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from adabkb_service.storage.database import Database

MOST_ROWS = 500
"""Rows that one transaction of a long work inserts or deletes."""
FIRST_ROWS = 100
"""As ``MOST_ROWS``, while it is not known yet how long they take."""
TRANSACTION_SECONDS = 0.02
"""How long a transaction should take."""
LONGEST_PAUSE = 1.0
"""Seconds, of those in which only others write."""


class Pace:
    """How many rows the next transaction may change: fewer where rows are large or the disk is slow."""

    def __init__(self, first: int = FIRST_ROWS, most: int = MOST_ROWS) -> None:
        """With so many rows in the first transaction, and at most so many in the others."""
        self.rows = first
        self._most = most

    @contextmanager
    def transaction(self, database: Database) -> Iterator[Connection]:
        """A writing transaction, and then a pause that is as long.

        Raises:
            Contention, Busy, Unavailable: as for ``Database.writing``.
        """
        with database.writing() as connection:
            started = time.monotonic()
            yield connection
        took = time.monotonic() - started
        self.rows = max(1, min(self._most, int(self.rows * TRANSACTION_SECONDS / took)))
        time.sleep(min(took, LONGEST_PAUSE))
