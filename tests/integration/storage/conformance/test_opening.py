"""Opening a database: valid URLs, and errors for missing databases."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from adabkb_service.errors import Busy, SchemaMismatch, Unavailable
from adabkb_service.storage.database import Database


@pytest.mark.parametrize("url", ["", "adabkb.db", "sqlite://", "sqlite:///:memory:", "mysql://localhost/x"])
def test_invalid_url_is_rejected_with_a_valid_example(url: str) -> None:
    with pytest.raises(ValueError, match="sqlite:///"):
        Database(url)


@pytest.mark.parametrize("url", ["sqlite:////nowhere/x.db", "postgresql://nobody@127.0.0.1:1/nothing"])
def test_nonexistent_database_is_unavailable(url: str) -> None:
    database = Database(url)
    with pytest.raises(Unavailable), database.reading():
        pass
    assert database.last_error
    database.close()


def test_error_does_not_show_the_name_of_a_database(other_postgresql: str) -> None:
    url = sa.make_url(other_postgresql).set(database="laboratory")
    database = Database(url.render_as_string(hide_password=False))
    with pytest.raises(Unavailable, match=r'database "\.\.\." does not exist') as raised, database.reading():
        pass
    assert "laboratory" not in str(raised.value)
    database.close()


def test_clock_is_in_utc_and_never_decreases(database: Database) -> None:
    first, second = database.now(), database.now()
    assert first.utcoffset() == timedelta(0)
    assert first <= second
    assert abs(second - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[str, sqlite3.Connection]]:
    """A SQLite file that is not in WAL mode yet, and a connection that writes to it."""
    file = tmp_path / "held.db"
    with closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        yield f"sqlite:///{file}", holder


def test_opening_waits_for_a_server_that_opens_the_file(held: tuple[str, sqlite3.Connection]) -> None:
    url, holder = held
    database = Database(url)
    threading.Timer(0.3, holder.rollback).start()
    with database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
    database.close()


def test_file_locked_by_another_program_is_busy(held: tuple[str, sqlite3.Connection]) -> None:
    url, _ = held
    database = Database(url, lock_seconds=0.2)
    with pytest.raises(Busy), database.reading():
        pass
    database.close()


def test_a_connection_to_another_programs_file_is_closed(tmp_path: Path) -> None:
    """The pool never knows it, so nothing else would close it."""
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as other, other:
        other.execute("CREATE TABLE plants (name TEXT)")
    database, opened = Database(f"sqlite:///{file}"), list[Any]()
    sa.event.listen(database.engine, "connect", lambda connection, _: opened.append(connection), insert=True)
    with pytest.raises(SchemaMismatch, match="plants"), database.reading():
        pass
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].execute("SELECT 1")
    database.close()
