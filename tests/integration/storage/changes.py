"""The number of rows that transactions change, counted by the database, including cascades."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

_POSTGRESQL = "SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) FROM pg_stat_xact_user_tables"


@contextmanager
def rows_changed(engine: sa.Engine) -> Iterator[list[int]]:
    """Record within the block how many rows each committed transaction inserts, updates or deletes."""
    found: list[int] = []
    before: dict[sa.Connection, int] = {}

    def begin(connection: sa.Connection) -> None:
        before[connection] = _total(connection)

    def commit(connection: sa.Connection) -> None:
        found.append(_total(connection) - before.pop(connection))

    sa.event.listen(engine, "begin", begin)
    sa.event.listen(engine, "commit", commit)
    try:
        yield found
    finally:
        sa.event.remove(engine, "begin", begin)
        sa.event.remove(engine, "commit", commit)


def _total(connection: sa.Connection) -> int:
    if connection.dialect.name == "postgresql":
        return int(connection.exec_driver_sql(_POSTGRESQL).scalar_one())
    driver = connection.connection.driver_connection
    assert driver is not None
    total: int = driver.total_changes
    return total
