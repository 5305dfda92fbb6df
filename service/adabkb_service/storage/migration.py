"""Schema versions: that of the database, that of this code, and the migration from one to the other.

An additive revision has the number of the one before with a point: 0001.1 adds to 0001. Code of the older one goes
on with it, so the servers need not stop for it. It may add indexes, columns that are null or have a default in the
database, and tables whose rows go with those that they refer to.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sqlalchemy import Connection, inspect, text

from adabkb_service.errors import SchemaMismatch
from adabkb_service.storage.database import Database

if TYPE_CHECKING:
    from alembic.config import Config

PACKAGE = Path(__file__).parents[1]

HEAD = "0001"
"""The schema revision that this code needs: that of the last migration."""

# An arbitrary key of a PostgreSQL advisory lock, which lets servers migrate one after the other.
ADVISORY_LOCK = 0xADAB_4B

SchemaStatus = Literal["empty", "current", "older", "extended", "newer"]
"""Extended: an additive migration of newer code has changed it."""

USABLE: tuple[SchemaStatus, ...] = ("current", "extended")
"""What servers of this code work on."""


def config() -> Config:
    """Alembic's configuration, with the migrations in the wheel or in the source checkout."""
    from alembic.config import Config  # noqa: PLC0415 (a server whose schema is current migrates nothing)

    packaged = PACKAGE / "_migrations"
    location = packaged if packaged.is_dir() else PACKAGE.parents[1] / "migrations"
    result = Config()
    result.set_main_option("script_location", str(location).replace("%", "%%"))
    return result


def current(connection: Connection) -> str | None:
    """The schema revision of the database, or None if it has none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def schema_status(connection: Connection) -> SchemaStatus:
    """How the database's schema relates to this code."""
    revision = current(connection)
    if revision == HEAD:
        return "current"
    if revision is None:
        return "older" if inspect(connection).has_table("studies") else "empty"
    from alembic.script import ScriptDirectory  # noqa: PLC0415 (see config)

    known = {script.revision for script in ScriptDirectory.from_config(config()).walk_revisions()}
    if revision in known:
        return "older"
    return "extended" if _adds_to(revision, HEAD) else "newer"


def _adds_to(revision: str, older: str) -> bool:
    """Whether code of the older revision goes on with this one."""
    return revision.partition(".")[0] == older.partition(".")[0]


def upgrade(database: Database) -> None:
    """Migrate the database to this code's schema, in one transaction. Several servers may do so at the same time.

    Raises:
        SchemaMismatch: the database was made by newer code.
        Busy, Unavailable: as for ``Database.migrating``.
    """
    from alembic import command  # noqa: PLC0415 (see config)

    with database.migrating() as connection:
        if not database.is_sqlite:
            # A migration may be idle between statements for longer than other transactions. It locks no study.
            connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
        if schema_status(connection) in ("extended", "newer"):
            raise SchemaMismatch(_newer(connection))
        target = config()
        target.attributes["connection"] = connection
        command.upgrade(target, "head")


def prepare(database: Database) -> None:
    """Create the schema in an empty database, and refuse one of another version, unless it has only been added to.
    Servers call this when they start.

    Raises:
        SchemaMismatch: the database has another version; the message names the remedy.
    """
    with database.reading() as connection:
        found = schema_status(connection)
        if found == "newer":
            raise SchemaMismatch(_newer(connection))
        if found == "older":
            raise SchemaMismatch(_older(current(connection)))
    if found == "empty":
        upgrade(database)


def require(database: Database, *, exactly: bool = False) -> None:
    """Refuse a database of another version or without tables. Commands that need existing data call this.

    Args:
        database: what they work on.
        exactly: refuse it also if it has only been added to, since a copy would lack what was added.

    Raises:
        SchemaMismatch: the database has another version or no tables; the message names the remedy.
    """
    with database.reading() as connection:
        found = schema_status(connection)
        if found == "empty":
            raise SchemaMismatch(
                "This is not a database of adabkb-service: it has none of its tables. Name another one."
            )
        if exactly and found == "extended":
            raise SchemaMismatch(_newer(connection))
    prepare(database)


def rewrite(database: Database) -> None:
    """Check that the database can be written, by writing its version unchanged.

    Raises:
        Unavailable, Busy: it cannot; the message says why.
    """
    with database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = version_num"))


def _older(revision: str | None) -> str:
    meanwhile = "; its servers may go on meanwhile" if revision is not None and _adds_to(HEAD, revision) else ""
    return (
        f"The database's schema ({revision}) is older than this version's ({HEAD}). "
        f"Back it up, then run: adabkb data migrate{meanwhile}"
    )


def _newer(connection: Connection) -> str:
    return (
        f"The database's schema ({current(connection)}) was made by a newer adabkb-service than this one "
        f"({HEAD}). Install that version."
    )
