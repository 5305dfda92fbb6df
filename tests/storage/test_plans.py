"""The queries of the hot path use an index, however long a study grows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from adabkb_service.storage import events, migration, observations, trials
from adabkb_service.storage.database import Database

NOW = datetime(2026, 1, 1, tzinfo=UTC)

QUERIES: dict[str, Callable[[sa.Connection], object]] = {
    "claimable": lambda connection: trials.claimable(connection, "s", 1),
    "overdue": lambda connection: trials.overdue(connection, "s", NOW),
    "studies_with_overdue": lambda connection: trials.studies_with_overdue(connection, NOW),
    "last_number": lambda connection: trials.last_number(connection, "s"),
    "counts": lambda connection: trials.counts(connection, ["s"]),
    "last_seq": lambda connection: observations.last_seq(connection, "s"),
    "of_trial": lambda connection: observations.of_trial(connection, "s", 1),
    "best": lambda connection: observations.best(connection, "s", maximize=True),
    "events": lambda connection: events.page(connection, "s", 1, 1),
}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    opened = Database(f"sqlite:///{tmp_path_factory.mktemp('plans')}/plans.db")
    migration.upgrade(opened)
    return opened


@pytest.mark.parametrize("name", QUERIES)
def test_no_query_of_a_request_reads_a_whole_table(database: Database, name: str) -> None:
    statements: list[tuple[str, object]] = []

    def note(_: object, __: object, statement: str, parameters: object, *rest: object) -> None:
        del rest
        statements.append((statement, parameters))

    sa.event.listen(database.engine, "before_cursor_execute", note)
    with database.reading() as connection:
        QUERIES[name](connection)
        [(statement, parameters)] = statements[-1:]
        sa.event.remove(database.engine, "before_cursor_execute", note)
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()  # type: ignore[arg-type]
    steps = [row.detail for row in plan]
    assert not any(step.startswith("SCAN") for step in steps), steps
