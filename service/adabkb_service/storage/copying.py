"""Copy a whole database to another one, on SQLite or PostgreSQL, for backup and restore."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, Table, func, insert, inspect, select, text

from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import audit, cells, metadata, servers, trash

COPIED = [table for table in metadata.sorted_tables if table is not servers]
NUMBERED = (cells, trash, audit)
"""Tables whose ids the database assigns."""
NEVER_REUSED = (trash, audit)
"""Tables of ``NUMBERED`` whose ids users see. The id of a deleted row of these tables is never used again."""
ROWS = 1000
"""The number of rows that are read and written at a time."""


def copy(source: Database, target: Database) -> dict[str, int]:
    """Copy a snapshot of all tables except ``servers`` to a database with the same schema and no rows in them.

    Other processes may use the source meanwhile.

    Returns:
        Table -> number of copied rows.

    Raises:
        Busy, Unavailable: as for ``Database.reading`` and ``Database.writing``.
    """
    copied: dict[str, int] = {}
    with source.reading() as old, target.writing() as new:
        for table in COPIED:
            copied[table.name] = 0
            with old.execute(select(table), execution_options={"yield_per": ROWS}) as found:
                for part in found.mappings().partitions():
                    new.execute(insert(table), [dict(row) for row in part])
                    copied[table.name] += len(part)
        for table in NUMBERED:
            last = max(_largest(new, table), _last(old, table) if table in NEVER_REUSED else 0)
            if last and (table in NEVER_REUSED or not target.is_sqlite):
                _continue_numbering(new, table, last)
    return copied


def duplicate(source: Database, file: Path) -> None:
    """Copy a snapshot of a SQLite database, with any schema, to a file. Other processes may use the source
    meanwhile."""
    with closing(sqlite3.connect(str(source.url.database))) as old, closing(sqlite3.connect(file)) as new:
        old.backup(new)


def row_counts(database: Database) -> dict[str, int]:
    """Table -> number of rows, for each table except ``servers`` that is not empty."""
    with database.reading() as connection:
        there = inspect(connection).get_table_names()
        tables = [table for table in COPIED if table.name in there]
        counts = {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one() for table in tables
        }
    return {name: count for name, count in counts.items() if count}


def _largest(connection: Connection, table: Table) -> int:
    """Return the largest id in a table; 0 without rows."""
    return int(connection.execute(select(func.coalesce(func.max(table.c.id), 0))).scalar_one())


def _last(connection: Connection, table: Table) -> int:
    """Return the last id that the database has assigned, even if its row is deleted; 0 if it has assigned none."""
    statement = (
        "SELECT seq FROM sqlite_sequence WHERE name = :table"
        if connection.dialect.name == "sqlite"
        else "SELECT pg_sequence_last_value(pg_get_serial_sequence(:table, 'id')::regclass)"
    )
    return connection.execute(text(statement), {"table": table.name}).scalar() or 0


def _continue_numbering(connection: Connection, table: Table, last: int) -> None:
    """Make the database assign ids larger than ``last``."""
    if connection.dialect.name != "sqlite":
        connection.execute(select(func.setval(func.pg_get_serial_sequence(table.name, "id"), last)))
        return
    values = {"table": table.name, "last": last}
    connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :table"), values)
    connection.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :last)"), values)
