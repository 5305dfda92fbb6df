"""Frequent queries read about as many rows as they return, however large a study is.

The tests measure the statements that are really sent: on SQLite, the steps of its virtual machine; on PostgreSQL, the
counts of EXPLAIN ANALYZE. PostgreSQL is measured with the custom plan and the generic plan, since it may use the
generic plan for statements that psycopg prepares.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from adabkb_service.storage import events, idempotency, migration, observations, reports, studies, trials
from adabkb_service.storage.database import Database
from tests.integration.storage.grown import (
    ACTIVE,
    COMPARED,
    KEYS,
    MOMENTS,
    OTHERS,
    OVERDUE,
    STEPS,
    TRIALS,
    WAITING,
    grow,
)
from tests.integration.storage.rows import INCARNATION, NOW, study

MIDDLE = TRIALS // 2
LONG_AGO = timedelta(minutes=MOMENTS - 20)


@dataclass(frozen=True)
class Query:
    """A query, and the number of rows that it returns."""

    run: Callable[[sa.Connection], object]
    rows: int


QUERIES = {
    "study": Query(lambda connection: studies.get(connection, "s"), 1),
    "study, its version": Query(lambda connection: studies.is_current(connection, study("s")), 1),
    "study, locked": Query(lambda connection: studies.lock_model_seq(connection, "s", INCARNATION), 1),
    "study, written in vain": Query(
        lambda connection: studies.commit_if_unchanged(connection, study("s", version=7), budget=5), 0
    ),
    "studies, first page": Query(lambda connection: studies.bounded_page(connection, None, 100), 100),
    "studies, later page": Query(lambda connection: studies.bounded_page(connection, (NOW - LONG_AGO, "m"), 100), 100),
    "trial": Query(lambda connection: trials.get(connection, "s", MIDDLE), 1),
    "studies with overdue": Query(lambda connection: trials.studies_with_overdue(connection, NOW), OVERDUE + OTHERS),
    "studies with overdue, none": Query(
        lambda connection: trials.studies_with_overdue(connection, NOW - timedelta(days=1)), 0
    ),
    "leased beyond": Query(lambda connection: trials.leased_beyond(connection, NOW), ACTIVE - OVERDUE),
    "waiting, one": Query(lambda connection: trials.waiting(connection, "s", 1), 1),
    "waiting, all": Query(lambda connection: trials.waiting(connection, "s", 100), 3 * WAITING),
    "next lease to end": Query(lambda connection: trials.next_expiry(connection, "s"), 1),
    "next lease to end, none": Query(lambda connection: trials.next_expiry(connection, "m7-7"), 1),
    "overdue": Query(lambda connection: trials.overdue(connection, "s", NOW), OVERDUE),
    "overdue, none": Query(lambda connection: trials.overdue(connection, "s", NOW - timedelta(days=1)), 0),
    "trials, first page": Query(
        lambda connection: trials.bounded_page(connection, "s", state=None, after=0, limit=100), 100
    ),
    "trials, last page": Query(
        lambda connection: trials.bounded_page(connection, "s", state=None, after=TRIALS - 50, limit=100), 50
    ),
    "active trials": Query(
        lambda connection: trials.bounded_page(connection, "s", state="active", after=0, limit=100), 100
    ),
    "failed trials": Query(
        lambda connection: trials.bounded_page(connection, "s", state="failed", after=0, limit=100), 100
    ),
    "completed trials": Query(
        lambda connection: trials.bounded_page(connection, "s", state="completed", after=MIDDLE, limit=100), 100
    ),
    "a trial on a plate": Query(lambda connection: trials.on_plate(connection, "s", 7), 1),
    "a trial on a plate, none": Query(lambda connection: trials.on_plate(connection, "s", 10**6), 0),
    "a result on a plate": Query(lambda connection: observations.on_plate(connection, "s", 7, without=[]), 1),
    "a result on a plate but several": Query(
        lambda connection: observations.on_plate(connection, "s", 7, without=range(3001, 3011)), 1
    ),
    "a result on a plate, none": Query(lambda connection: observations.on_plate(connection, "s", 10**6, without=[]), 0),
    "observations of a trial": Query(lambda connection: observations.of_trial(connection, "s", MIDDLE), 1),
    "best, smallest": Query(lambda connection: observations.best(connection, "s", maximize=False, without=[]), 1),
    "best, largest": Query(lambda connection: observations.best(connection, "s", maximize=True, without=[1]), 1),
    "best but several": Query(
        lambda connection: observations.best(connection, "s", maximize=True, without=range(1, 21)), 1
    ),
    "observations": Query(lambda connection: observations.bounded_page(connection, "s", MIDDLE, 100), 100),
    "values at a mark": Query(lambda connection: reports.at_mark(connection, "s", 9), COMPARED),
    "reports at some steps": Query(lambda connection: reports.values(connection, "s", MIDDLE, 1, [3, 9, 99]), 2),
    "curve, last page": Query(lambda connection: reports.of_attempt(connection, "s", 1, 2, STEPS - 49, 100), 50),
    "curves, later page": Query(lambda connection: reports.page(connection, "s", (1, 2, STEPS - 50), 100), 100),
    "events": Query(lambda connection: events.bounded_page(connection, "s", TRIALS, 100), 100),
    "events, the last": Query(lambda connection: events.page(connection, "s", 2 * TRIALS - 3), 3),
    "events of a trial": Query(lambda connection: events.of_trial(connection, "s", MIDDLE), 2),
    "events of a trial, none": Query(lambda connection: events.of_trial(connection, "s", TRIALS + 1), 0),
    "key": Query(lambda connection: idempotency.find(connection, "s", "m7-7"), 1),
    "key, none": Query(lambda connection: idempotency.find(connection, "s", "nobody's"), 0),
    "oldest key": Query(idempotency.oldest, 1),
    "outdated keys": Query(lambda connection: idempotency.outdated(connection, NOW - LONG_AGO, 500), 500),
    "outdated keys, none": Query(lambda connection: idempotency.outdated(connection, NOW - timedelta(days=1), 500), 0),
}


@pytest.fixture(scope="module")
def database(module_database_url: str) -> Iterator[Database]:
    """A large database with current statistics.

    It is a new database, since plans would also read deleted rows of other tests.
    """
    opened = Database(module_database_url)
    migration.upgrade(opened)
    with opened.writing() as connection:
        grow(connection)
    with opened.writing() as connection:
        connection.exec_driver_sql("ANALYZE")
    yield opened
    opened.close()


@pytest.mark.parametrize("name", QUERIES)
def test_queries_read_about_as_many_rows_as_they_return(database: Database, name: str) -> None:
    """No query reads a whole table."""
    for work in done(database, QUERIES[name]):
        assert work.rows == QUERIES[name].rows
        assert work.is_bounded, work
        assert not work.scans, work


def test_database_is_large(database: Database) -> None:
    """Otherwise, the limits above would be meaningless."""
    with database.reading() as connection:
        tables = ("trials", "observations", "events", "idempotency_keys", "reports")
        counts = [connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one() for table in tables]
    assert counts == [
        TRIALS + 10 * OTHERS,
        TRIALS + 10 * OTHERS,
        2 * (TRIALS + 10 * OTHERS),
        KEYS,
        TRIALS + COMPARED + STEPS,
    ]


@dataclass(frozen=True)
class Work:
    """The work of a query."""

    rows: int
    effort: Mapping[str, float]
    allowed: Mapping[str, float]
    scans: list[str]
    """Steps that read a table completely."""
    plan: Any

    @property
    def is_bounded(self) -> bool:
        """Whether all counts are within the limits."""
        return all(self.effort[what] <= most for what, most in self.allowed.items())


def done(database: Database, query: Query) -> list[Work]:
    """Return the work of a query for each plan."""
    with database.reading() as connection:
        statement, parameters = sent(connection, query)
        if database.is_sqlite:
            return [done_by_sqlite(connection, statement, parameters)]
        modes = ("force_custom_plan", "force_generic_plan")
        return [done_by_postgresql(connection, statement, parameters, mode) for mode in modes]


def sent(connection: sa.Connection, query: Query) -> tuple[str, Any]:
    """Return the statement of a query, and its parameters."""
    statements: list[tuple[str, Any]] = []

    def note(_: object, __: object, statement: str, parameters: object, *___: object) -> None:
        statements.append((statement, parameters))

    sa.event.listen(connection, "before_cursor_execute", note)
    query.run(connection)
    sa.event.remove(connection, "before_cursor_execute", note)
    *_, last = statements  # on SQLite, BEGIN comes first
    return last


def done_by_sqlite(connection: sa.Connection, statement: str, parameters: Any) -> Work:
    """Count the steps of the virtual machine. Reading a row takes a few steps per column."""
    plan = [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
    driver = connection.connection.driver_connection
    assert driver is not None
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    driver.set_progress_handler(count, 1)
    rows = len(driver.execute(statement, parameters).fetchall())
    driver.set_progress_handler(None, 1)
    scans = [step for step in plan if re.match(r"SCAN (?!anon_|CONSTANT|\()", step) and "USING" not in step]
    return Work(rows, {"steps": steps}, {"steps": 100 * (rows + 10)}, scans, plan)


def done_by_postgresql(connection: sa.Connection, statement: str, parameters: dict[str, Any], mode: str) -> Work:
    """Count rows and pages. A row and its index entry may each need a page; the tables have hundreds of pages."""
    plan = explained(connection, statement, parameters, mode)
    steps, rows = list(steps_of(plan)), int(plan["Actual Rows"])
    looked_at = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
    read = [step for step in steps if "Relation Name" in step or "Index Name" in step]
    touched = max(step["Actual Loops"] * sum(step.get(what, 0) for what in looked_at) for step in read)
    pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    scans = [step["Relation Name"] for step in steps if step["Node Type"] == "Seq Scan"]
    allowed = {"rows": 2 * (rows + 10), "pages": 2 * (rows + 10)}
    return Work(rows, {"rows": touched, "pages": pages}, allowed, scans, (mode, steps))


def explained(connection: sa.Connection, statement: str, parameters: dict[str, Any], mode: str) -> dict[str, Any]:
    """Run a prepared statement, and return its plan with counts."""
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement)))
    numbered = re.sub(r"%\((\w+)\)s", lambda match: f"${names.index(match[1]) + 1}", statement)
    run = f"EXECUTE query ({', '.join(['%s'] * len(names))})" if names else "EXECUTE query"
    driver = connection.connection.driver_connection
    assert driver is not None
    with psycopg.ClientCursor(driver) as cursor:
        cursor.execute(f"SET LOCAL plan_cache_mode = {mode}")
        cursor.execute(f"PREPARE query AS {numbered}")
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {run}", [parameters[name] for name in names])
        row = cursor.fetchone()
        cursor.execute("DEALLOCATE query")
    assert row is not None
    plan: dict[str, Any] = row[0][0]["Plan"]
    return plan


def steps_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a step of a plan, and those below it."""
    yield plan
    for below in plan.get("Plans", []):
        yield from steps_of(below)
