"""Databases from the pool are like new, whatever earlier tests have done."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from adabkb_service.storage import migration, model, studies
from adabkb_service.storage.copying import row_counts
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import cells
from tests.database_pool import DatabasePool
from tests.integration.storage.rows import study
from tests.samples import some

DAMAGE = {
    "a trigger": "CREATE TRIGGER t BEFORE UPDATE ON studies EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "a table more": "CREATE TABLE more (id int)",
    "a column more": "ALTER TABLE events ADD COLUMN more int",
    "a column less": "ALTER TABLE events DROP COLUMN payload",
    "another type": "ALTER TABLE trials ALTER COLUMN number TYPE bigint",
    "a null allowed": "ALTER TABLE trials ALTER COLUMN state DROP NOT NULL",
    "no index": "DROP INDEX ix_events_study_id_trial",
    "no reference": "ALTER TABLE cells DROP CONSTRAINT fk_cells_study_id",
    "another version": "UPDATE alembic_version SET version_num = 'from_the_future'",
    "no version": "DELETE FROM alembic_version",
    "no versions": "DROP TABLE alembic_version",
}


@pytest.fixture(scope="module")
def own(postgresql_server: sa.Engine) -> DatabasePool:
    """A separate pool."""
    return DatabasePool(postgresql_server)


def test_returned_database_is_empty_when_borrowed_again(own: DatabasePool) -> None:
    """Its cells are numbered from 1, and earlier connections are closed."""
    with own.borrowed() as first:
        database = Database(first)
        with database.writing() as connection:
            studies.create(connection, study("s"))
            model.write_cells(connection, "s", {"0": "leaf"})
        left = database.engine.connect()
        left.execute(sa.text("LOCK TABLE studies"))
    with own.borrowed() as second:
        assert second == first
        again = Database(second, lock_seconds=1.0)
        assert row_counts(again) == {}
        with again.writing() as connection:
            studies.create(connection, study("s"))
            model.write_cells(connection, "s", {"0": "leaf"})
            assert connection.scalars(sa.select(cells.c.id)).all() == [1]
        again.close()
    left.invalidate()
    database.close()


@pytest.mark.parametrize(
    "statement", some(DAMAGE.values(), [DAMAGE["a column more"], DAMAGE["another version"]]), ids=DAMAGE
)
def test_database_with_an_altered_schema_is_not_reused(own: DatabasePool, statement: str) -> None:
    with own.borrowed() as first:
        database = Database(first)
        with database.writing() as connection:
            connection.exec_driver_sql(statement)
        database.close()
    with own.borrowed() as second:
        assert second != first
        database = Database(second)
        with database.reading() as connection:
            assert migration.schema_status(connection) == "current"
        database.close()
