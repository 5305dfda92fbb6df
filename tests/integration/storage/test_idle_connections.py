"""Connections to PostgreSQL that break while no transaction uses them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from adabkb_service.errors import Unavailable
from adabkb_service.storage.database import Database

END_OTHERS = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""


@contextmanager
def with_broken_connections(url: str, idle_seconds: float) -> Iterator[Database]:
    """A database whose two idle connections were ended by PostgreSQL."""
    opened = Database(url, idle_seconds=idle_seconds)
    with opened.reading() as one, opened.reading() as other:
        assert [each.execute(sa.text("SELECT 1")).scalar_one() for each in (one, other)] == [1, 1]
    end_connections(url)
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


def test_broken_connection_is_replaced_after_an_idle_time(other_postgresql: str) -> None:
    with with_broken_connections(other_postgresql, idle_seconds=0.0) as database:
        assert [read(database) for _ in range(3)] == [1, 1, 1]


def test_connection_that_breaks_soon_after_its_use_fails_once(other_postgresql: str) -> None:
    """The client repeats the request. The other connection is as old, so it is not tried."""
    with with_broken_connections(other_postgresql, idle_seconds=3600.0) as database:
        with pytest.raises(Unavailable):
            read(database)
        assert [read(database) for _ in range(3)] == [1, 1, 1]
