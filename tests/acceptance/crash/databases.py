"""Databases that can be copied, so that every crash starts from the same state."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import sqlalchemy as sa


class Databases(Protocol):
    """A source of databases."""

    def copy(self, original: str | None = None) -> AbstractContextManager[str]:
        """Yield the URL of a copy of a closed database, or of an empty one."""
        ...


class SQLiteDatabases:
    """Files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def copy(self, original: str | None = None) -> Iterator[str]:
        """A closed database has no write-ahead log."""
        file = self._folder / f"{uuid.uuid4().hex}.db"
        if original is not None:
            shutil.copyfile(str(sa.make_url(original).database), file)
        yield f"sqlite:///{file}"
        for leftover in self._folder.glob(f"{file.name}*"):
            leftover.unlink(missing_ok=True)  # a model process may be ending


class PostgreSQLDatabases:
    """Databases of a PostgreSQL server."""

    def __init__(self, server: sa.Engine) -> None:
        self._server = server

    @contextmanager
    def copy(self, original: str | None = None) -> Iterator[str]:
        """The server copies a template database."""
        name = f"crash_{uuid.uuid4().hex}"
        template = "template1" if original is None else sa.make_url(original).database
        with self._server.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE {template}")
            yield self._server.url.set(drivername="postgresql", database=name).render_as_string(hide_password=False)
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
