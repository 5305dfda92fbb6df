"""Charts of a large study on PostgreSQL with outdated statistics, as after an import."""

from __future__ import annotations

from contextlib import closing

import pytest
import sqlalchemy as sa

from adabkb_service.errors import Busy
from adabkb_service.storage import overview, studies
from adabkb_service.storage.database import Database
from tests.integration.storage.grown import copies
from tests.integration.storage.rows import event, observation, study, trial

RESULTS = 3000
SMALL, OF_EACH = 30, 100
READ = """SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables"""


def fill(connection: sa.Connection, name: str, count: int) -> None:
    """Fill a study with results of trials, each with two events."""
    studies.create(connection, study(name, observations=count))
    copies(connection, trial(1, name), count, number=lambda number: number + 0)
    columns = {"seq": lambda number: number + 0, "trial": lambda number: number + 0}
    copies(connection, observation(1, study_id=name), count, **columns)
    copies(connection, event(1, name), 2 * count, seq=columns["seq"], trial=lambda number: (number + 1) // 2)


@pytest.mark.parametrize("most", [1500, pytest.param(10**6, marks=pytest.mark.long)], ids=["thinned", "all"])
def test_chart_reads_each_row_a_few_times(other_postgresql: str, most: int) -> None:
    """A plan that joins the tables would read a quadratic number of rows."""
    with closing(Database(other_postgresql)) as database:
        with database.writing() as connection:
            for number in range(SMALL):
                fill(connection, f"small{number}", OF_EACH)
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for table in ("studies", "trials", "observations", "events"):
                connection.exec_driver_sql(f"ALTER TABLE {table} SET (autovacuum_enabled = false)")
            connection.exec_driver_sql("ANALYZE")
        with database.writing() as connection:
            fill(connection, "large", RESULTS)
    # A new session without cached data.
    with closing(Database(other_postgresql)) as database, database.reading() as connection:
        found = overview.thinned(connection, "large", RESULTS, most)
        read = connection.exec_driver_sql(READ).scalar_one()
    assert len(found) > 700
    assert read < 20 * RESULTS


def test_statement_timeout_raises_busy(other_postgresql: str) -> None:
    with closing(Database(other_postgresql, statement_seconds=0.2)) as database:
        with pytest.raises(Busy, match="too long"), database.reading() as connection:
            connection.exec_driver_sql("SELECT pg_sleep(60)")
        assert database.last_error is None
