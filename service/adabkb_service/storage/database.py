"""A database: where transactions come from, and what makes them durable and serial on each system.

SQLite: WAL with synchronous=FULL, foreign keys on, and BEGIN IMMEDIATE for every writing transaction (with a plain
BEGIN, two transactions that read and then write cannot both go on, whatever the timeout). The driver's own
transaction control is switched off for that. The threads of a process take turns at writing by a lock of its own:
SQLite lets those who wait poll, and whoever polls at the right moment goes first.
PostgreSQL: synchronous_commit=on; a transaction that writes to a study locks its row first. A holder that is gone
without its connection being closed (the machine died, the network is cut) is undone after HOLDER_SECONDS.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry
from tenacity import Retrying, retry_if_exception_message, stop_after_delay, wait_random

from adabkb_service.errors import AdaBKBError, Busy, Contention, Unavailable
from adabkb_service.storage.group_commit import Turns
from adabkb_service.storage.rows import JsonText

T = TypeVar("T")

CONNECTIONS_KEPT = 10
HOLDER_SECONDS = 1.0
"""How long a writing transaction on PostgreSQL may do nothing: it holds a study's lock, and none of ours computes
meanwhile."""

MET_ANOTHER = {"40001", "40P01", "25P03"}
"""SQLSTATE of a serialization failure, a deadlock, and of a transaction that did nothing for too long."""
LOCK_TIMEOUT = "55P03"

_WRITE = "adabkb_write"


class Database:
    """Transactions on one database, for any number of threads."""

    def __init__(
        self, url: str, *, lock_seconds: float = 10.0, holder_seconds: float | None = None, connections: int = 40
    ) -> None:
        """Open lazily: the first transaction connects.

        Args:
            url: ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or ``postgresql://user@host/name``.
            lock_seconds: how long to wait for a lock or a connection before it is ``Busy``.
            holder_seconds: how long a writing transaction may do nothing, on PostgreSQL; None for any time.
            connections: open at once, at most.

        Raises:
            ValueError: not one of these; the message names the remedy.
        """
        self.url = _checked(url)
        self.engine = _engine(self.url, lock_seconds, connections)
        self.trouble: str | None = None
        """Why the last transaction that could not be done could not; None if one was written since."""
        self._turns = Turns(lock_seconds) if self.is_sqlite else None
        self._first = _limit_idleness(holder_seconds) if holder_seconds and not self.is_sqlite else None

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
        with self._translating(), self.engine.connect() as connection:
            yield connection.execution_options(**options)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is committed, durably, at the end of the block, or leaves nothing behind.

        Raises:
            Contention: it met another one, and would do better the next time; nothing was written.
            Busy: nothing was written.
            Unavailable: nothing was written, unless the connection broke while the commit was under way.
        """
        with self._translating(), self._turns or nullcontext(), self._transaction() as connection:
            yield connection

    def write(self, work: Callable[[Connection], T]) -> T:
        """Do work in a transaction that is committed durably, on SQLite together with what other threads want to write
        at the moment; it leaves nothing behind if it raises.

        Raises:
            Contention, Busy, Unavailable: as for ``writing``.
        """
        with self._translating():
            if self._turns is None:
                with self._transaction() as connection:
                    return work(connection)
            result: T = self._turns.write(work, self._transaction)
            return result

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with self.engine.connect() as connection:
            connection.execution_options(**{_WRITE: True})
            with connection.begin():
                if self._first is not None:
                    connection.exec_driver_sql(self._first)
                yield connection
        self.trouble = None

    def now(self) -> datetime:
        """The time by the database's clock, which all servers share: for SQLite, this machine's."""
        if self.is_sqlite:
            return datetime.now(UTC)
        with self.reading() as connection:
            found: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
        return found.astimezone(UTC)

    def close(self) -> None:
        """Close the pool's connections."""
        self.engine.dispose()

    @contextmanager
    def _translating(self) -> Iterator[None]:
        """Errors of the database as ours: what asking again may cure, and what it will not."""
        try:
            yield
        except PoolTimeout as error:
            raise Busy("All connections to the database are in use; try again.") from error
        except DBAPIError as error:
            ours = _translation(error)
            if isinstance(ours, Unavailable):
                self.trouble = ours.detail
            if ours is None:
                raise
            raise ours from error


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


def _engine(url: URL, lock_seconds: float, connections: int) -> Engine:
    kept = min(CONNECTIONS_KEPT, connections)
    pool: dict[str, Any] = {
        "pool_size": kept,
        "max_overflow": connections - kept,
        "pool_timeout": lock_seconds,
        "json_serializer": _json,
    }
    if url.get_backend_name() == "postgresql":
        options = f"-c synchronous_commit=on -c lock_timeout={int(lock_seconds * 1000)}"
        return create_engine(url, pool_pre_ping=True, **pool, connect_args={"options": options})
    engine = create_engine(url, **pool, connect_args={"timeout": lock_seconds})
    event.listen(engine, "connect", _sqlite_preparation(lock_seconds))
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _json(value: Any) -> str:
    return value if isinstance(value, JsonText) else json.dumps(value)


def _limit_idleness(seconds: float) -> str:
    """For the transaction only: one that reads holds no lock, and may take its time."""
    return f"SET LOCAL idle_in_transaction_session_timeout = {int(seconds * 1000)}"


def _sqlite_preparation(lock_seconds: float) -> Callable[[DBAPIConnection, ConnectionPoolEntry], None]:
    # Servers that start at once on a new file meet in the change to WAL, where SQLite fails at once instead of waiting.
    waiting = Retrying(
        retry=retry_if_exception_message(message="database is locked"),
        stop=stop_after_delay(lock_seconds),
        wait=wait_random(0.005, 0.05),
        reraise=True,
    )

    def prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # the driver no longer begins transactions: _begin_sqlite does
        cursor = connection.cursor()
        waiting(cursor.execute, "PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    return prepare


def _begin_sqlite(connection: Connection) -> None:
    write = connection.get_execution_options().get(_WRITE, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _translation(error: DBAPIError) -> AdaBKBError | None:
    """None: it is our own mistake."""
    state = getattr(error.orig, "sqlstate", None)
    if isinstance(error, IntegrityError) or state in MET_ANOTHER:
        return Contention("Another request wrote the same at the same moment; try again.")
    if state == LOCK_TIMEOUT or "database is locked" in str(error.orig):
        return Busy("The database is busy with other writers; try again.")
    # SQLite has no class of its own for a damaged file.
    if isinstance(error, OperationalError | InterfaceError | InternalError) or type(error) is DatabaseError:
        cause = (str(error.orig).splitlines() or [type(error.orig).__name__])[0]
        return Unavailable(f"The database cannot be used ({cause}); try again later.")
    return None
