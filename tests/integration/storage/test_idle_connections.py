"""Connections to PostgreSQL that break while no transaction uses them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from adabkb_service.errors import Unavailable
from adabkb_service.storage import database as databases
from adabkb_service.storage.database import Database

END_OTHERS = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""


@pytest.fixture
def database(other_postgresql: str) -> Iterator[Database]:
    """A database with two idle connections."""
    opened = Database(other_postgresql)
    with opened.reading() as one, opened.reading() as other:
        assert [each.execute(sa.text("SELECT 1")).scalar_one() for each in (one, other)] == [1, 1]
    yield opened
    opened.close()


def end_connections(url: str) -> None:
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(END_OTHERS)


def read(database: Database) -> int:
    with database.reading() as connection:
        found: int = connection.execute(sa.text("SELECT 1")).scalar_one()
    return found


def test_a_connection_that_was_idle_for_a_while_is_replaced_if_it_is_broken(
    database: Database, other_postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "IDLE_SECONDS", 0.0)
    end_connections(other_postgresql)
    assert [read(database) for _ in range(3)] == [1, 1, 1]


def test_a_connection_that_breaks_between_two_uses_fails_once_and_the_pool_is_replaced(
    database: Database, other_postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client repeats the request. The other connection is as old, so it is not tried."""
    monkeypatch.setattr(databases, "IDLE_SECONDS", 3600.0)
    end_connections(other_postgresql)
    with pytest.raises(Unavailable):
        read(database)
    assert [read(database) for _ in range(3)] == [1, 1, 1]
