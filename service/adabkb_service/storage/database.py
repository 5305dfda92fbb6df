"""A database: where transactions come from, and what makes them durable and serial on each system.

SQLite: WAL with synchronous=FULL, foreign keys on, and BEGIN IMMEDIATE for every writing transaction (with a plain
BEGIN, two transactions that read and then write cannot both go on, whatever the timeout). The driver's own
transaction control is switched off for that. PostgreSQL: synchronous_commit=on; a transaction that writes to a
study locks its row first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry

from adabkb_service.errors import Busy, Collision, Unavailable

CONNECTIONS_KEPT, CONNECTIONS_MORE = 10, 30

_WRITE = "adabkb_write"


class Database:
    """Transactions on one database, for any number of threads."""

    def __init__(self, url: str, *, lock_seconds: float = 10.0) -> None:
        """Open lazily: the first transaction connects.

        Args:
            url: ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or ``postgresql://user@host/name``.
            lock_seconds: how long to wait for a lock or a connection before it is ``Busy``.

        Raises:
            ValueError: not one of these; the message names the remedy.
        """
        self.url = _checked(url)
        self.engine = _engine(self.url, lock_seconds)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is SQLite, else PostgreSQL."""
        return self.url.get_backend_name() == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A consistent snapshot; whatever is written in it is rolled back.

        Raises:
            Busy, Unavailable: the database is locked too long, or does not answer.
        """
        options: dict[str, Any] = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        with _translated(), self.engine.connect() as connection:
            yield connection.execution_options(**options)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is committed, durably, at the end of the block, or leaves nothing behind.

        Raises:
            Collision: a row of this key exists by now; nothing was written.
            Busy, Unavailable: nothing was written.
        """
        with _translated(), self.engine.connect() as connection:
            connection.execution_options(**{_WRITE: True})
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Close the pool's connections."""
        self.engine.dispose()


def _checked(text: str) -> URL:
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise ValueError(f"{text!r} is not a database URL; try sqlite:///adabkb.db") from error
    backend = url.get_backend_name()
    if backend == "sqlite":
        if not url.database or url.database == ":memory:":
            raise ValueError("an in-memory database would not survive a restart; try sqlite:///adabkb.db")
        return url.set(drivername="sqlite")
    if backend == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    raise ValueError(f"{backend} is not supported; use sqlite:///... or postgresql://...")


def _engine(url: URL, lock_seconds: float) -> Engine:
    pool: dict[str, Any] = {
        "pool_size": CONNECTIONS_KEPT,
        "max_overflow": CONNECTIONS_MORE,
        "pool_timeout": lock_seconds,
    }
    if url.get_backend_name() == "postgresql":
        options = f"-c synchronous_commit=on -c lock_timeout={int(lock_seconds * 1000)}"
        return create_engine(url, pool_pre_ping=True, **pool, connect_args={"options": options})
    engine = create_engine(url, **pool, connect_args={"timeout": lock_seconds})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # the driver no longer begins transactions: _begin_sqlite does
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    write = connection.get_execution_options().get(_WRITE, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


@contextmanager
def _translated() -> Iterator[None]:
    """Errors of the database as ours: what asking again may cure, and what it will not."""
    try:
        yield
    except IntegrityError as error:
        raise Collision("Another request wrote the same at the same moment; try again.") from error
    except PoolTimeout as error:
        raise Busy("All connections to the database are in use; try again.") from error
    except (OperationalError, InterfaceError) as error:
        if _is_contention(error):
            raise Busy("The database is busy with other writers; try again.") from error
        raise Unavailable("The database does not answer; try again later.") from error


def _is_contention(error: DBAPIError) -> bool:
    state = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return state in {"40001", "40P01", "55P03"}  # serialization failure, deadlock, lock timeout
    return "database is locked" in str(error.orig)
