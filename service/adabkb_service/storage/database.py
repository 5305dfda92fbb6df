"""Transactions on SQLite and PostgreSQL, and the settings that make them durable and serialize writers.

SQLite: WAL with synchronous=FULL, foreign keys on, and BEGIN IMMEDIATE for every writing transaction. (After a plain
BEGIN, two transactions that read and then write cannot both proceed, whatever the timeout.) For this, the driver's own
transaction control is disabled. The writing threads of a process wait for a lock of the process, because threads poll
SQLite's own lock, so that one of them may wait much longer than the others.

PostgreSQL: synchronous_commit=on. A transaction that writes to a study first locks the study's row. If a client
disappears without closing its connection (its machine crashed, or the network failed), PostgreSQL aborts the
transaction after a limited idle time.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from sqlalchemy import URL, Connection, Dialect, Engine, create_engine, event, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError, InvalidatePoolError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool
from tenacity import Retrying, retry_if_exception_message, stop_after_delay, wait_random

from adabkb_service.errors import MAX_VALUE_LENGTH, Busy, DatabaseFull, DatabaseUnavailable, SchemaMismatch, shortened
from adabkb_service.storage.group_commit import WriteBatcher
from adabkb_service.storage.rows import JsonText
from adabkb_service.storage.sqlite_file import SqliteFile
from adabkb_service.storage.translation import replace_if_read_only, translated

T = TypeVar("T")

CONNECTIONS_KEPT = 10
"""The maximum number of idle connections that stay open."""
STATEMENT_SECONDS = 60.0
"""The maximum duration of a server's statement on PostgreSQL, so that even a query with a bad plan frees its
connection."""

SERVICE_TABLES = {"studies", "trials", "observations", "events"}
"""Tables of the service's database in every schema version."""

TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"

IDLE_SECONDS = 1.0
"""By default, a connection to PostgreSQL that was idle for this long is checked before its use. If each transaction
began with a check, one statement in seven would be a check."""

_WRITE, _UNREFERENCED, _USED_AT = "adabkb_write", "adabkb_unreferenced", "adabkb_used_at"


class Database:
    """Transactions on one database. Shared by all threads of a process."""

    def __init__(
        self,
        url: str | Path,
        *,
        lock_seconds: float = 10.0,
        holder_seconds: float | None = None,
        statement_seconds: float = 0.0,
        connections: int = 40,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """Check the URL. The first transaction opens a connection.

        Args:
            url: ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or ``postgresql://user@host/name``, in which
                ``%20`` is a space; or the path of a SQLite file, which is not decoded.
            lock_seconds: how long a transaction waits for a lock or a connection before it raises ``Busy``.
            holder_seconds: how long a writing transaction on PostgreSQL may be idle; None for no limit.
            statement_seconds: how long a statement may take on PostgreSQL before it raises ``Busy``; 0 for no limit.
            connections: the maximum number of open connections.
            idle_seconds: a connection to PostgreSQL that was idle for this long is checked before its use.

        Raises:
            ValueError: the URL has another form.
        """
        self.url = _checked(url) if isinstance(url, str) else URL.create("sqlite", database=str(url.absolute()))
        self._file = SqliteFile(self.url.database or "") if self.is_sqlite else None
        self.engine = _engine(self.url, lock_seconds, statement_seconds, connections, idle_seconds, self._file)
        self.last_error: str | None = None
        """Why the database was unavailable since the last successful writing transaction; None if it was not."""
        self.is_full = False
        """Whether the disk of PostgreSQL was full, and ``migration.check_writing`` has not succeeded since. Other
        writes may succeed on a full disk, in free space of existing tables."""
        self._batcher = WriteBatcher(lock_seconds) if self.is_sqlite else None
        self._first = _limit_idleness(holder_seconds) if holder_seconds and not self.is_sqlite else None

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is SQLite rather than PostgreSQL."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def connections(self) -> int:
        """Number of connections in use."""
        pool = self.engine.pool
        assert isinstance(pool, QueuePool)
        return pool.checkedout()

    @property
    def waiting_writers(self) -> int:
        """Number of threads that wait to write; always 0 on PostgreSQL, where they wait in the database."""
        return 0 if self._batcher is None else self._batcher.waiting

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that reads a consistent snapshot. It is rolled back at the end of the block.

        Raises:
            SchemaMismatch: the SQLite file belongs to another program; it is left unchanged.
            Busy: no lock or connection was free in time.
            Unavailable: the database does not respond.
        """
        options: dict[str, Any] = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        with self.translating(), self.engine.connect() as connection:
            yield connection.execution_options(**options)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is committed durably at the end of the block, or rolled back if the block raises.

        Raises:
            SchemaMismatch: the SQLite file belongs to another program; it is left unchanged.
            Contention: it conflicted with another transaction and should be repeated; nothing was written.
            Busy: no lock or connection was free in time; nothing was written.
            Unavailable: the database does not respond. Nothing was written, unless the connection broke during the
                commit.
        """
        with self.translating(), self._batcher or nullcontext(), self._transaction() as connection:
            yield connection

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """As ``writing``, for changes of the schema. On SQLite, foreign keys are not enforced within the block: to
        alter a table, SQLite copies and drops it, which would delete the rows that refer to it. References are checked
        before the commit.

        Raises:
            SchemaMismatch: a reference is broken; nothing was written.
            Contention, Busy, Unavailable: as for ``writing``.
        """
        if self._batcher is None:
            with self.writing() as connection:
                yield connection
            return
        with self.translating(), self._batcher, self.engine.connect() as connection:
            connection.execution_options(**{_WRITE: True, _UNREFERENCED: True})
            try:
                with connection.begin():
                    yield connection
                    if broken := connection.exec_driver_sql("PRAGMA foreign_key_check").first():
                        raise SchemaMismatch(
                            f"The migration breaks references of the table {broken[0]} to {broken[2]}."
                        )
            finally:
                connection.invalidate()  # the next connection enforces foreign keys again
        self.last_error = None

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a durable transaction and return its result. On SQLite the transaction may also contain the
        work of other threads (group commit). If the work raises, its writes are rolled back.

        Raises:
            Contention, Busy, Unavailable: as for ``writing``.
        """
        with self.translating():
            if self._batcher is None:
                with self._transaction() as connection:
                    return work(connection)
            result: T = self._batcher.write(work, self._transaction)
            return result

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with self.engine.connect() as connection:
            connection.execution_options(**{_WRITE: True})
            with connection.begin():
                if self._first is not None:
                    connection.exec_driver_sql(self._first)
                yield connection
        self.last_error = None

    def now(self) -> datetime:
        """Return the time in UTC, by a clock that all servers with this database share: on SQLite the clock of this
        machine, on PostgreSQL that of the database.

        Raises:
            Busy, Unavailable: as for ``reading``.
        """
        if self.is_sqlite:
            return datetime.now(UTC)
        with self.reading() as connection:
            found: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
        return found.astimezone(UTC)

    def close(self) -> None:
        """Close all pooled connections."""
        self.engine.dispose()

    @contextmanager
    def translating(self) -> Iterator[None]:
        """Within the block, translate errors of the database to errors of the service, whose classes say whether a
        retry may succeed. ``reading`` and ``writing`` do the same within their blocks.

        Raises:
            Unavailable: at the beginning, if the SQLite file was deleted or replaced.
        """
        if self._file is not None:
            self._file.check()
        try:
            yield
        except PoolTimeout as error:
            raise Busy("All connections to the database are in use; try again.") from error
        except DBAPIError as error:
            ours = translated(error)
            if isinstance(ours, DatabaseUnavailable):
                self.last_error = ours.detail
                self.is_full = self.is_full or isinstance(ours, DatabaseFull)
            if ours is None:
                raise
            raise ours from error


def _checked(text: str) -> URL:
    try:
        url = make_url(text)
    except ArgumentError as error:
        file = "adabkb.db" if not text or ":" in text else text
        raise ValueError(f"{text!r} is not a database URL; try sqlite:///{file}") from error
    backend = url.get_backend_name()
    if backend == "sqlite":
        if not url.database or url.database == ":memory:":
            raise ValueError("an in-memory database would not survive a restart; try sqlite:///adabkb.db")
        # SQLAlchemy 2.0 leaves the path as it is in the URL.
        return url.set(drivername="sqlite", database=unquote(text.partition("://")[2][1:].partition("?")[0]))
    if backend == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    raise ValueError(f"{backend} is not supported; use sqlite:///... or postgresql://...")


def _engine(
    url: URL,
    lock_seconds: float,
    statement_seconds: float,
    connections: int,
    idle_seconds: float,
    file: SqliteFile | None,
) -> Engine:
    kept = min(CONNECTIONS_KEPT, connections)
    pool: dict[str, Any] = {
        "pool_size": kept,
        "max_overflow": connections - kept,
        "pool_timeout": lock_seconds,
        "json_serializer": _json,
        "pool_use_lifo": True,  # the connection used last has warm caches
    }
    if file is None:
        limits = f"-c lock_timeout={int(lock_seconds * 1000)} -c statement_timeout={int(statement_seconds * 1000)}"
        options = f"-c synchronous_commit=on {limits}"
        engine = create_engine(url, **pool, connect_args={"options": options})
        event.listen(engine, "handle_error", replace_if_read_only)
        event.listen(engine, "checkin", _note_use)
        event.listen(engine, "checkout", _idle_check(engine.dialect, idle_seconds))
        return engine
    engine = create_engine(url, **pool, connect_args={"timeout": lock_seconds})
    event.listen(engine, "handle_error", replace_if_read_only)
    event.listen(engine, "do_connect", lambda *_: file.create())
    event.listen(engine, "connect", _sqlite_preparation(url.database or "", lock_seconds, file))
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _note_use(_: DBAPIConnection | None, entry: ConnectionPoolEntry) -> None:
    entry.info[_USED_AT] = time.monotonic()


def _idle_check(dialect: Dialect, idle_seconds: float) -> Callable[[DBAPIConnection, ConnectionPoolEntry, Any], None]:
    """Return a function that the pool calls before it reuses a connection. It checks a connection that was idle for a
    while. If the connection is broken, the pool replaces it and all older connections."""

    def check(connection: DBAPIConnection, entry: ConnectionPoolEntry, _: Any) -> None:
        if time.monotonic() - entry.info.get(_USED_AT, math.inf) < idle_seconds:
            return
        try:
            dialect.do_ping(connection)
        except dialect.loaded_dbapi.Error as error:
            raise InvalidatePoolError from error

    return check


def _json(value: Any) -> str:
    return value if isinstance(value, JsonText) else json.dumps(value)


def _limit_idleness(seconds: float) -> str:
    """Return a statement that limits the idle time of its transaction. Reading transactions hold no lock and need no
    limit."""
    return f"SET LOCAL idle_in_transaction_session_timeout = {int(seconds * 1000)}"


def _sqlite_preparation(
    path: str, lock_seconds: float, file: SqliteFile
) -> Callable[[DBAPIConnection, ConnectionPoolEntry], None]:
    # If several servers start on a new file, each of them switches it to WAL. SQLite then fails instead of waiting.
    waiting = Retrying(
        retry=retry_if_exception_message(message="database is locked"),
        stop=stop_after_delay(lock_seconds),
        wait=wait_random(0.005, 0.05),
        reraise=True,
    )

    def prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        try:
            set_up(connection)
        except BaseException:
            connection.close()  # the pool does not know it yet, and would leave it open
            raise

    def set_up(connection: DBAPIConnection) -> None:
        # disables the driver's transaction control: _begin_sqlite begins transactions
        connection.isolation_level = None
        cursor = connection.cursor()
        waiting(cursor.execute, TABLES)
        _check_tables(path, {name for (name,) in cursor.fetchall()})  # first: the next statement changes the file
        waiting(cursor.execute, "PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()
        file.opened()

    return prepare


def _check_tables(file: str, found: set[str]) -> None:
    """Refuse a SQLite file that has tables, but not those of the service."""
    if found and not found >= SERVICE_TABLES:
        names = shortened(", ".join(sorted(found)), MAX_VALUE_LENGTH)
        raise SchemaMismatch(
            f"The SQLite file {file} is not a database of adabkb-service: it has other tables ({names}). Nothing was "
            "written; name another file with --database, such as sqlite:///adabkb.db"
        )


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get(_UNREFERENCED):
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
    write = options.get(_WRITE, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
