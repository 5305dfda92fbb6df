"""The settings and the database of a command. If one cannot be used, the command ends with the cause and the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from adabkb_service.cli.output import WHICH_STUDIES, fail
from adabkb_service.errors import AdaBKBError, DatabaseForbidden, DatabaseFull, StudyNotFound, Unavailable
from adabkb_service.settings import Settings, load
from adabkb_service.storage.database import Database

DatabaseUrl = Annotated[
    str | None, typer.Option("--database", help="sqlite:///file.db or postgresql://...", show_default=False)
]


@contextmanager
def reported() -> Iterator[None]:
    """If the block raises an error of the service, or a setting is invalid, end the command with the message."""
    try:
        yield
    except StudyNotFound as error:
        fail(f"{error} {WHICH_STUDIES}")
    except (AdaBKBError, ValueError) as error:
        fail(str(error))


def settings(**flags: object) -> Settings:
    """Return the settings. The given flags take precedence."""
    with reported():
        return load(**{name: value for name, value in flags.items() if value is not None})


@contextmanager
def opened(url: str | Path, *, existing: bool = False) -> Iterator[Database]:
    """Open a database, given as for ``Database``, for the block. With ``existing`` it must exist; otherwise SQLite
    creates the file."""
    with reported(), closing(Database(url)) as database:
        if database.is_sqlite:
            _check_file(Path(database.url.database or ""), existing=existing)
        try:
            yield database
        except Unavailable as error:
            fail(_explained(database, error))


def _check_file(file: Path, *, existing: bool) -> None:
    if existing and not file.exists():
        fail(f"there is no database at {file}; give the database of the server with --database")
    if not file.parent.is_dir():
        fail(f"the folder of the database does not exist; create it: mkdir -p {file.parent}")


def _explained(database: Database, error: Unavailable) -> str:
    found = error.__cause__ or error
    cause = " ".join(str(getattr(found, "orig", found)).split())
    if database.is_sqlite:
        remedy = "check --database, the file's permissions, and that the disk is not full"
        return f"cannot use the SQLite file {database.url.database} ({cause}); {remedy}"
    place = f"{database.url.host or 'localhost'}:{database.url.port or 5432}"
    return f"cannot use PostgreSQL at {place} ({cause}); {_remedy(database, error, cause)}"


def _remedy(database: Database, error: Unavailable, cause: str) -> str:
    """Return what to do about an error of PostgreSQL. Errors of a new connection differ only in their texts."""
    if isinstance(error, DatabaseFull):
        return "free some space on its disk, and repeat the command"
    if isinstance(error, DatabaseForbidden):
        return f"let {database.url.username or 'the role'} own the database and its tables"
    if "password" in cause:
        return "put the password into PGPASSWORD or ~/.pgpass"
    if f'database "{database.url.database}" does not exist' in cause:
        return "create it with createdb, or correct --database"
    return "start it there, or correct --database"
