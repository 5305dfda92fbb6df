"""PostgreSQL databases for tests. They are reused, since creating and dropping one takes longer than most tests."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from adabkb_service.storage import migration
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import metadata

EMPTY = "; ".join(
    [
        "SET session_replication_role = replica",  # in any order, despite foreign keys
        *(f"DELETE FROM {table}" for table in metadata.tables),
        "SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S'",
    ]
)
"""For a few rows, this takes a third of the time of TRUNCATE, which creates new files for all tables and indexes."""
OTHERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> {own}"
SCHEMA = """
    SELECT version_num, (SELECT sum(oid::bigint) FROM pg_class), (SELECT sum(oid::bigint) FROM pg_trigger),
        (SELECT sum(oid::bigint) FROM pg_constraint), (SELECT sum(oid::bigint) FROM pg_proc),
        (SELECT sum(atttypid::bigint + attnotnull::int) FROM pg_attribute)
    FROM alembic_version
"""
"""Equal for two databases only if they are copies of the same database, and no table was altered."""


class DatabasePool:
    """Databases with the present schema and no rows, as many as are used at the same time."""

    def __init__(self, server: sa.Engine) -> None:
        self._server = server
        self._template = created(server)
        database = Database(address(server, self._template))
        migration.upgrade(database)
        database.close()  # a template must have no connections
        self._unused: list[str] = []
        self._schema: sa.Row[tuple[object, ...]] | None = None

    @contextmanager
    def borrowed(self) -> Iterator[str]:
        """Yield the URL of a database, which is restored after the test."""
        name = self._unused.pop() if self._unused else created(self._server, self._template)
        yield address(self._server, name)
        if self._empty(name):
            self._unused.append(name)
        else:
            drop(self._server, name)

    def _empty(self, name: str) -> bool:
        """Delete all rows. Return whether that restored the database."""
        url = self._server.url.set(database=name)
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        try:
            with engine.connect() as connection:
                own = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
                connection.exec_driver_sql(OTHERS.format(own=own))
                schema = connection.exec_driver_sql(SCHEMA).one_or_none()
                self._schema = self._schema or self._schema_of_template()
                if schema == self._schema:
                    connection.exec_driver_sql(EMPTY)
                return schema == self._schema
        except sa.exc.DBAPIError:  # a table is missing, or connections are refused
            return False

    def _schema_of_template(self) -> sa.Row[tuple[object, ...]]:
        engine = sa.create_engine(self._server.url.set(database=self._template), poolclass=sa.NullPool)
        with engine.connect() as connection:
            return connection.exec_driver_sql(SCHEMA).one()


def created(server: sa.Engine, template: str = "template1") -> str:
    """The name of a new database: an empty one, or a copy of another one."""
    name = f"test_{uuid.uuid4().hex}"
    with server.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE {template}")
    return name


def drop(server: sa.Engine, name: str) -> None:
    """Delete a database, even if it has connections."""
    with server.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


def address(server: sa.Engine, name: str) -> str:
    """The URL of a database, as users write it."""
    return server.url.set(drivername="postgresql", database=name).render_as_string(hide_password=False)
