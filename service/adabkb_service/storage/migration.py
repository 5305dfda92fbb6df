"""The schema versions of a database and of this code, and migrations between them.

An additive revision has the number of its predecessor with a suffix: 0001.1 adds to 0001. Code for 0001 also runs on
0001.1, so servers need not stop for the migration. An additive revision may add indexes, columns that are nullable or
have a default in the database, and tables whose rows are deleted with the rows that they refer to.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sqlalchemy import Connection, inspect, text

from adabkb_service.errors import SchemaMismatch
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import metadata

if TYPE_CHECKING:
    from alembic.config import Config

PACKAGE = Path(__file__).parents[1]

HEAD = "0001"
"""The schema revision that this code needs: that of the latest migration."""

# An arbitrary key of a PostgreSQL advisory lock, which serializes the migrations of several servers.
ADVISORY_LOCK = 0xADAB_4B

MAY_CREATE = "SELECT has_database_privilege(current_database(), 'TEMPORARY')"
TEST_TABLE = "adabkb_space"
TEST_ROWS = "SELECT repeat('x', 1000) AS content FROM generate_series(1, 1000)"
"""A megabyte. PostgreSQL compresses no rows this short."""

SchemaStatus = Literal["empty", "current", "older", "extended", "newer"]
"""``extended``: an additive migration of newer code was applied."""


def config() -> Config:
    """Alembic's configuration, with the path of the migrations in the wheel or in the source checkout."""
    from alembic.config import Config  # noqa: PLC0415 (not needed by a server whose schema is current)

    packaged = PACKAGE / "_migrations"
    location = packaged if packaged.is_dir() else PACKAGE.parents[1] / "migrations"
    result = Config()
    result.set_main_option("script_location", str(location).replace("%", "%%"))
    return result


def current(connection: Connection) -> str | None:
    """The schema revision of the database; None without a schema."""
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
    """Whether ``revision`` differs from ``older`` only by additive migrations."""
    return revision.partition(".")[0] == older.partition(".")[0]


def upgrade(database: Database) -> None:
    """Migrate the database to this code's schema in one transaction. Several servers may call it at the same time.

    Raises:
        SchemaMismatch: the database's schema was made by newer code.
        Busy, Unavailable: as for ``Database.migrating``.
    """
    from alembic import command  # noqa: PLC0415 (see config)

    with database.migrating() as connection:
        if not database.is_sqlite:
            # A migration may idle between statements for longer than other transactions. It locks no study.
            connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
        if schema_status(connection) in ("extended", "newer"):
            raise SchemaMismatch(_newer(connection))
        target = config()
        target.attributes["connection"] = connection
        command.upgrade(target, "head")


def check_usable(connection: Connection) -> None:
    """Check that this code can use the schema of a database that has had one.

    Raises:
        SchemaMismatch: the schema has another version or is gone; the message names the remedy.
    """
    found = schema_status(connection)
    if found == "newer":
        raise SchemaMismatch(_newer(connection))
    if found == "older":
        raise SchemaMismatch(_older(current(connection)))
    if found == "empty":
        raise SchemaMismatch("The database has lost its tables. Stop the servers and restore a backup.")


def prepare(database: Database) -> None:
    """Create the schema in an empty database, and refuse a database whose schema this code cannot use. Servers call
    this at startup.

    Raises:
        SchemaMismatch: the schema has another version, or lacks columns of this one; the message names the remedy.
    """
    with database.reading() as connection:
        found = schema_status(connection)
        if found != "empty":
            check_usable(connection)
        if found == "current" and (lacking := _lacking(connection)):
            raise SchemaMismatch(
                f"The database's schema ({HEAD}) lacks {', '.join(lacking)}, so an unreleased version of this service "
                "made it. Export its studies with that version, and import them into a new database."
            )
    if found == "empty":
        upgrade(database)


def require(database: Database, *, exactly: bool = False) -> None:
    """Refuse a database without tables, or with a schema that this code cannot use. Commands that need existing data
    call it.

    Args:
        database: the database to check.
        exactly: also refuse an extended schema, since a copy would lack the additions.

    Raises:
        SchemaMismatch: there are no tables, the schema has another version, or it lacks columns of this one; the
            message names the remedy.
    """
    with database.reading() as connection:
        found = schema_status(connection)
        if found == "empty":
            raise SchemaMismatch(
                "This is not a database of adabkb-service: it has no tables of the service. Name another database."
            )
        if exactly and found == "extended":
            raise SchemaMismatch(_newer(connection))
    prepare(database)


def check_writing(database: Database) -> None:
    """Check that the database can be written: write its schema version, unchanged. On PostgreSQL, also create a table
    of a megabyte and drop it, since an update may succeed on a full disk; a role that may not create temporary tables
    only writes the version.

    Raises:
        Unavailable, Busy: the database cannot be written; the message gives the reason.
    """
    with database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = version_num"))
        if not database.is_sqlite and connection.execute(text(MAY_CREATE)).scalar_one():
            connection.execute(text("SET LOCAL temp_tablespaces = ''"))  # on the disk of the database
            connection.execute(text(f"CREATE TEMPORARY TABLE {TEST_TABLE} ON COMMIT DROP AS {TEST_ROWS}"))
    database.is_full = False


def _lacking(connection: Connection) -> list[str]:
    """The columns of this code's tables that the database does not have."""
    found = inspect(connection).get_multi_columns()
    known = {(table, column["name"]) for (_, table), columns in found.items() for column in columns}
    columns = [(table.name, column.name) for table in metadata.sorted_tables for column in table.columns]
    return [f"{table}.{column}" for table, column in columns if (table, column) not in known]


def _older(revision: str | None) -> str:
    is_additive = revision is not None and _adds_to(HEAD, revision)
    meanwhile = "Servers of the older version may keep running during the migration. " if is_additive else ""
    return (
        f"The database's schema ({revision or 'of no version'}) is older than this version's ({HEAD}). {meanwhile}"
        "Back the database up, then run: adabkb data migrate"
    )


def _newer(connection: Connection) -> str:
    return (
        f"The database's schema ({current(connection)}) was made by a newer adabkb-service than this one "
        f"({HEAD}). Install that version."
    )
