"""Schema versions: that of the database, that of this code, and the migration from one to the other."""

from __future__ import annotations

from functools import cache
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

# An arbitrary key of a PostgreSQL advisory lock, which lets servers migrate one after the other.
ADVISORY_LOCK = 0xADAB_4B

Standing = Literal["empty", "current", "older", "newer"]


def config() -> Config:
    """Alembic's configuration, with the migrations in the wheel or in the source checkout."""
    packaged = PACKAGE / "_migrations"
    location = packaged if packaged.is_dir() else PACKAGE.parents[1] / "migrations"
    result = Config()
    result.set_main_option("script_location", str(location).replace("%", "%%"))
    return result


@cache
def head() -> str:
    """The schema revision that this code needs."""
    revision = ScriptDirectory.from_config(config()).get_current_head()
    assert revision is not None, "the migrations are part of the package"
    return revision


def current(connection: Connection) -> str | None:
    """The schema revision of the database, or None if it has none."""
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
    """Migrate the database to this code's schema, in one transaction. Several servers may do so at the same time.

    Raises:
        SchemaMismatch: the database was made by newer code.
        Busy, Unavailable: as for ``Database.writing``.
    """
    with database.writing() as connection:
        if not database.is_sqlite:
            # A migration may be idle between statements for longer than other transactions. It locks no study.
            connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
        if standing(connection) == "newer":
            raise SchemaMismatch(_newer(connection))
        target = config()
        target.attributes["connection"] = connection
        command.upgrade(target, "head")


def prepare(database: Database) -> None:
    """Create the schema in an empty database, and refuse one of another version. Servers call this when they start.

    Raises:
        SchemaMismatch: the database has another version; the message names the remedy.
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


def require(database: Database) -> None:
    """Refuse a database of another version or without tables. Commands that need existing data call this.

    Raises:
        SchemaMismatch: the database has another version or no tables; the message names the remedy.
    """
    with database.reading() as connection:
        if standing(connection) == "empty":
            raise SchemaMismatch(
                "This is not a database of adabkb-service: it has none of its tables. Name another one."
            )
    prepare(database)


def rewrite(database: Database) -> None:
    """Check that the database can be written, by writing its version unchanged.

    Raises:
        Unavailable, Busy: it cannot; the message says why.
    """
    with database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = version_num"))


def _newer(connection: Connection) -> str:
    return (
        f"The database's schema ({current(connection)}) was made by a newer adabkb-service than this one "
        f"({head()}). Install that version."
    )
