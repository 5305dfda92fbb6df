"""One tree of migrations for both kinds of database, with any number of servers starting at once.

Tests of upgrades use the next version, whose migration is in ``newer``.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from adabkb_service.errors import Contention, SchemaMismatch
from adabkb_service.storage import migration
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import metadata
from tests.integration.storage.keep import KEPT, place_of, revision_of, unpacked
from tests.integration.storage.newer import BREAKS_A_REFERENCE, newer_version


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A database without tables."""
    opened = Database(database_url)
    yield opened
    opened.close()


@pytest.fixture
def migrated(migrated_url: str) -> Iterator[Database]:
    opened = Database(migrated_url)
    yield opened
    opened.close()


def reflected(connection: sa.Connection) -> dict[str, object]:
    """The schema according to the database, with columns by name, since a column that is added again comes last."""
    inspector = sa.inspect(connection)
    return {
        table: (
            sorted(({**column, "type": str(column["type"])} for column in inspector.get_columns(table)), key=_name),
            inspector.get_pk_constraint(table),
            sorted(inspector.get_foreign_keys(table), key=str),
            sorted(map(_compared, inspector.get_indexes(table)), key=str),
            sorted(inspector.get_unique_constraints(table), key=str),
        )
        for table in sorted(inspector.get_table_names())
        if table != "alembic_version"
    }


def _compared(index: Any) -> dict[str, Any]:
    """An index in comparable form, with the condition of a partial one as text."""
    options = {name: str(value) for name, value in index.get("dialect_options", {}).items()}
    return {**index, "dialect_options": options}


def _name(column: dict[str, Any]) -> str:
    return str(column["name"])


def go_to(database: Database, revision: str) -> None:
    """Upgrade or downgrade a database to a schema version."""
    config, script = migration.config(), ScriptDirectory.from_config(migration.config())
    with database.migrating() as connection:
        config.attributes["connection"] = connection
        past = {each.revision for each in script.iterate_revisions(migration.current(connection), "base")}
        (command.downgrade if revision in {*past, "base"} else command.upgrade)(config, revision)


def content(database: Database) -> dict[str, list[dict[str, Any]]]:
    """Table -> its rows in order of their keys, for any schema."""
    found = sa.MetaData()
    with database.reading() as connection:
        found.reflect(connection)
        return {
            table.name: [
                dict(row) for row in connection.execute(sa.select(table).order_by(*table.primary_key)).mappings()
            ]
            for table in found.sorted_tables
            if table.name != "alembic_version"
        }


def put(database: Database, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Write rows to a database with the schema of their source."""
    found = sa.MetaData()
    with database.writing() as connection:
        found.reflect(connection)
        for name, some in rows.items():
            for row in some:
                connection.execute(sa.insert(found.tables[name]), _as_stored(row))


def _as_stored(row: dict[str, Any]) -> dict[str, Any]:
    """Convert a row for storage: SQLite times have no zone, and absent JSON columns are NULL."""
    return {
        name: value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
        for name, value in row.items()
        if value is not None
    }


def test_migrated_schema_matches_the_tables(migrated: Database) -> None:
    with migrated.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_new_and_migrated_schemas_are_equal(migrated: Database) -> None:
    with migrated.writing() as connection:
        found = reflected(connection)
        metadata.drop_all(connection)
        metadata.create_all(connection)
        assert reflected(connection) == found


def test_downgrade_removes_everything(migrated: Database) -> None:
    go_to(migrated, "base")
    engine = sa.create_engine(migrated.url)  # a ``Database`` would refuse a SQLite file without the service's tables
    with engine.connect() as connection:
        assert reflected(connection) == {}
    engine.dispose()


def test_code_needs_the_newest_version_and_every_version_has_a_kept_database() -> None:
    script = ScriptDirectory.from_config(migration.config())
    assert script.get_current_head() == migration.HEAD
    revisions = sorted((each.revision for each in script.walk_revisions()), key=place_of)
    assert list(map(revision_of, KEPT)) == revisions, "run python -m tests.integration.storage.keep"


def test_schemas_are_in_the_order_of_their_numbers() -> None:
    """Otherwise the last kept database would not have the present schema."""
    revisions = ["0001", "0001.1", "0001.2", "0001.10", "0002"]
    assert sorted(set(revisions), key=place_of) == revisions


@pytest.fixture(params=KEPT, ids=revision_of)
def filled(request: pytest.FixtureRequest, database: Database, tmp_path: Path) -> Database:
    """A database with the schema and the rows of a kept one: a study with trials, results, reports, events and
    cells."""
    kept = Database(f"sqlite:///{unpacked(request.param, tmp_path)}")
    rows = content(kept)
    kept.close()
    assert all(rows[table] for table in CHILDREN), "otherwise the tests would prove nothing"
    go_to(database, revision_of(request.param))
    put(database, rows)
    return database


CHILDREN = ("trials", "observations", "reports", "events", "cells", "dictionary")


def test_migration_of_studies_keeps_their_rows_and_can_be_undone(filled: Database, tmp_path: Path) -> None:
    before, schema, revision = content(filled), described(filled), version(filled)
    with newer_version(tmp_path):
        migration.upgrade(filled)
        after = content(filled)
        assert [study["mood"] for study in after["studies"]] == ["good"]
        assert of_older_schema(after, before) == before
        with filled.writing() as connection:
            connection.exec_driver_sql("UPDATE studies SET mood = 'bad'")
        go_to(filled, revision)
    assert content(filled) == before
    assert described(filled) == schema
    with filled.writing() as connection:  # references are enforced again
        connection.exec_driver_sql("DELETE FROM studies")
        connection.exec_driver_sql("DELETE FROM containers")
    assert not any(content(filled)[table] for table in CHILDREN)


def of_older_schema(
    content: dict[str, list[dict[str, Any]]], older: dict[str, list[dict[str, Any]]]
) -> dict[str, list[dict[str, Any]]]:
    """Rows without the tables and columns that migrations have added to an older schema."""
    columns = {table: {name for row in rows for name in row} for table, rows in older.items()}
    return {
        table: [{name: value for name, value in row.items() if name in columns[table]} for row in rows]
        for table, rows in content.items()
        if table in older
    }


def version(database: Database) -> str:
    with database.reading() as connection:
        found = migration.current(connection)
    assert found is not None
    return found


@pytest.mark.long
def test_migration_that_breaks_a_reference_changes_nothing(filled: Database, tmp_path: Path) -> None:
    before, schema = content(filled), described(filled)
    with newer_version(tmp_path, BREAKS_A_REFERENCE), pytest.raises((SchemaMismatch, Contention)):
        migration.upgrade(filled)
    assert (content(filled), described(filled)) == (before, schema)


@pytest.mark.long
def test_code_refuses_older_and_newer_schemas(filled: Database, tmp_path: Path) -> None:
    with newer_version(tmp_path):
        with pytest.raises(SchemaMismatch, match=r"Back the database up, then run: adabkb data migrate$"):
            migration.prepare(filled)
        migration.upgrade(filled)
        migration.prepare(filled)
    with pytest.raises(SchemaMismatch, match="newer adabkb-service"):
        migration.prepare(filled)
    with pytest.raises(SchemaMismatch, match="newer adabkb-service"):
        migration.upgrade(filled)


def described(database: Database) -> dict[str, object]:
    """Return the result of ``reflected``."""
    with database.reading() as connection:
        return reflected(connection)


def test_concurrent_servers_migrate_once(database_url: str) -> None:
    def start(_: int) -> None:
        database = Database(database_url)
        migration.prepare(database)
        database.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(start, range(4)))
    database = Database(database_url)
    with database.reading() as connection:
        assert migration.schema_status(connection) == "current"
    database.close()


@pytest.mark.parametrize(
    ("statement", "remedy"),
    [
        ("UPDATE alembic_version SET version_num = 'from_the_future'", "newer adabkb-service"),
        ("DELETE FROM alembic_version", "adabkb data migrate"),
    ],
)
def test_database_of_another_version_is_refused_with_a_remedy(migrated: Database, statement: str, remedy: str) -> None:
    migration.prepare(migrated)
    with migrated.writing() as connection:
        connection.exec_driver_sql(statement)
    with pytest.raises(SchemaMismatch, match=remedy):
        migration.prepare(migrated)


def test_database_that_lacks_a_column_is_refused(migrated: Database) -> None:
    """An unreleased version made it, whose schema has the number of the present one."""
    with migrated.writing() as connection:
        connection.exec_driver_sql("ALTER TABLE trials RENAME COLUMN plate TO former")
    with pytest.raises(SchemaMismatch, match=r"lacks trials\.plate, so an unreleased version"):
        migration.prepare(migrated)
    with migrated.writing() as connection:  # other tests use the database, too
        connection.exec_driver_sql("ALTER TABLE trials RENAME COLUMN former TO plate")
    migration.prepare(migrated)
