"""The schema's version: where the database is, where this code is, and the way from one to the other."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from adabkb_service.errors import SchemaMismatch
from adabkb_service.storage.database import Database

PACKAGE = Path(__file__).parents[1]

# Any number, the same for all servers: they take turns migrating.
ADVISORY_LOCK = 0xADAB_4B

Standing = Literal["empty", "current", "older", "newer"]


def config() -> Config:
    """Alembic's configuration for the migrations of the wheel, or of the source checkout."""
    packaged = PACKAGE / "_migrations"
    location = packaged if packaged.is_dir() else PACKAGE.parents[1] / "migrations"
    result = Config()
    result.set_main_option("script_location", str(location).replace("%", "%%"))
    return result


def head() -> str:
    """The revision that this code works with."""
    revision = ScriptDirectory.from_config(config()).get_current_head()
    assert revision is not None, "the migrations are part of the package"
    return revision


def current(connection: Connection) -> str | None:
    """The revision that the database is at, or None."""
    return MigrationContext.configure(connection).get_current_revision()


def standing(connection: Connection) -> Standing:
    """How the database's schema relates to this code."""
    revision = current(connection)
    if revision == head():
        return "current"
    if revision is None:
        return "older" if inspect(connection).has_table("studies") else "empty"
    known = {script.revision for script in ScriptDirectory.from_config(config()).walk_revisions()}
    return "older" if revision in known else "newer"


def upgrade(database: Database) -> None:
    """Bring the database to this code's schema, in one transaction; several servers may do so at once.

    Raises:
        SchemaMismatch: it was made by newer code.
    """
    with database.writing() as connection:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
        if standing(connection) == "newer":
            raise SchemaMismatch(_newer(connection))
        target = config()
        target.attributes["connection"] = connection
        command.upgrade(target, "head")


def prepare(database: Database) -> None:
    """What a server does as it starts: migrate an empty database, refuse one of another version.

    Raises:
        SchemaMismatch: with the remedy.
    """
    with database.reading() as connection:
        found = standing(connection)
        if found == "newer":
            raise SchemaMismatch(_newer(connection))
        if found == "older":
            raise SchemaMismatch(
                f"The database's schema ({current(connection)}) is older than this server's ({head()}). "
                "Back it up, then run: adabkb migrate"
            )
    if found == "empty":
        upgrade(database)


def _newer(connection: Connection) -> str:
    return (
        f"The database's schema ({current(connection)}) was made by a newer adabkb-service than this one "
        f"({head()}). Install that version."
    )
