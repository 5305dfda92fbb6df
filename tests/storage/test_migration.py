"""One tree of migrations, both databases, any number of servers starting at once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from adabkb_service.errors import SchemaMismatch
from adabkb_service.storage import migration
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import metadata


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    opened = Database(database_url)
    yield opened
    opened.close()


def reflected(connection: sa.Connection) -> dict[str, object]:
    """The schema as the database itself describes it."""
    inspector = sa.inspect(connection)
    return {
        table: (
            [{**column, "type": str(column["type"])} for column in inspector.get_columns(table)],
            inspector.get_pk_constraint(table),
            sorted(inspector.get_foreign_keys(table), key=str),
            sorted(inspector.get_indexes(table), key=str),
            sorted(inspector.get_unique_constraints(table), key=str),
        )
        for table in sorted(inspector.get_table_names())
        if table != "alembic_version"
    }


def test_a_migrated_database_is_the_one_the_tables_describe(database: Database) -> None:
    migration.upgrade(database)
    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_a_fresh_schema_and_a_migrated_one_are_the_same(database: Database) -> None:
    migration.upgrade(database)
    with database.writing() as connection:
        migrated = reflected(connection)
        metadata.drop_all(connection)
        metadata.create_all(connection)
        assert reflected(connection) == migrated


def test_downgrading_leaves_nothing_behind(database: Database) -> None:
    migration.upgrade(database)
    config = migration.config()
    with database.writing() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
        assert reflected(connection) == {}


def test_servers_that_start_at_once_migrate_once(database_url: str) -> None:
    def start(_: int) -> None:
        database = Database(database_url)
        migration.prepare(database)
        database.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(start, range(4)))
    database = Database(database_url)
    with database.reading() as connection:
        assert migration.standing(connection) == "current"
    database.close()


@pytest.mark.parametrize(
    ("statement", "remedy"),
    [
        ("UPDATE alembic_version SET version_num = 'from_the_future'", "newer adabkb-service"),
        ("DELETE FROM alembic_version", "adabkb migrate"),
    ],
)
def test_a_database_of_another_version_is_refused_with_the_remedy(
    database: Database, statement: str, remedy: str
) -> None:
    migration.prepare(database)
    with database.writing() as connection:
        connection.exec_driver_sql(statement)
    with pytest.raises(SchemaMismatch, match=remedy):
        migration.prepare(database)
