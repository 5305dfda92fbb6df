"""A database with a large study, filled by a few statements."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from adabkb_service.storage import model, studies
from adabkb_service.storage.rows import Row, StudyRow, as_values
from adabkb_service.storage.tables import metadata
from tests.integration.storage.rows import NOW, event, key, observation, report, study, trial

TRIALS = 20_000
ACTIVE = 1_000
OVERDUE = 10
WAITING = 10
"""Number of waiting trials of each kind, among the last trials of the study "s"."""
KEYS = 20_000
CELLS = 5_000
"""Number of cells of the study "s"."""
STUDIES = 5_000
"""Number of studies without trials."""
OTHERS = 200
"""Number of other studies with ten trials each, one of them overdue."""
MOMENTS = 100
"""Number of distinct times at which studies were created and keys stored."""

COMPARED = 100
"""Number of trials of the study "s" that reported at the mark 9; all trials reported once at one of 200 other marks."""
STEPS = 5_000
"""Number of reports of attempt 2 of trial 1 of the study "s"."""

Number = sa.ColumnElement[int]
Computed = Callable[[Number], sa.ColumnElement[Any]]


def grow(connection: sa.Connection) -> None:
    """Create the study "s" and others."""
    studies.create(connection, study("s"))
    _fill(connection, "s", TRIALS, state=_state, leased_until=_leased_until)
    model.write_cells(connection, "s", {f"0.{number}": "leaf" for number in range(CELLS)})
    copies(connection, report(1, 3), TRIALS, trial=_itself, mark=lambda number: number % 200 + 10)
    copies(connection, report(1, 9, mark=9), COMPARED, trial=lambda number: number * (TRIALS // COMPARED))
    copies(connection, report(1, 1, attempt=2), STEPS, step=_itself)
    copies(connection, study("other"), OTHERS, id=_named("other"))
    for number in range(1, OTHERS + 1):
        _fill(connection, f"other{number}", 10, state=lambda number: _either(number > 9, "active", "completed"))
    for number in range(MOMENTS):
        moment, named = NOW - timedelta(minutes=number), _named(f"m{number}-")
        copies(connection, study("", created_at=moment), STUDIES // MOMENTS, id=named)
        copies(connection, key("", created_at=moment), KEYS // MOMENTS, key=named)


def copies(connection: sa.Connection, row: Row, count: int, **columns: Computed) -> None:
    """Insert copies of a row, with columns computed from 1, 2, 3, ..."""
    table = _table_of(row)
    first = sa.select(sa.literal(1).label("number")).cte("numbers", recursive=True)
    numbers = first.union_all(sa.select(first.c.number + 1).where(first.c.number < count))
    values = [
        columns[name](numbers.c.number) if name in columns else sa.literal(value, table.c[name].type)
        for name, value in as_values(row).items()
    ]
    rows = sa.select(*values)
    if isinstance(row, StudyRow):
        ids = sa.select(rows.subquery().c[0])
        connection.execute(sa.insert(metadata.tables["containers"]).from_select(["id"], ids))
    connection.execute(sa.insert(table).from_select(list(as_values(row)), rows))


def _fill(connection: sa.Connection, name: str, count: int, **columns: Computed) -> None:
    """Insert trials with an observation and two events each; all values differ, and one in 100 does not count."""
    past = trial(1, name, leased_until=NOW - timedelta(hours=1))
    copies(connection, past, count, number=_itself, plate=_plate, **columns)
    copies(
        connection,
        observation(1, study_id=name),
        count,
        seq=_itself,
        trial=_itself,
        value=lambda number: sa.cast(number * 7919 % 100_003, sa.Double),
        excluded=lambda number: number % 100 == 0,
        plate=_plate,
    )
    copies(connection, event(1, name), 2 * count, seq=_itself, trial=lambda number: (number + 1) // 2)


def _table_of(row: Row) -> sa.Table:
    names = {"StudyRow": "studies", "TrialRow": "trials", "ObservationRow": "observations", "EventOf": "events"}
    names["ReportRow"] = "reports"
    return metadata.tables[names.get(type(row).__name__, "idempotency_keys")]


def _named(prefix: str) -> Computed:
    return lambda number: prefix + sa.cast(number, sa.String)


def _itself(number: Number) -> sa.ColumnElement[Any]:
    return number + 0


def _plate(number: Number) -> sa.ColumnElement[Any]:
    return (number - 1) // 500 + 1


def _either(condition: sa.ColumnElement[bool], yes: object, no: object) -> sa.ColumnElement[Any]:
    return sa.case((condition, sa.literal(yes)), else_=sa.literal(no))


def _state(number: Number) -> sa.ColumnElement[Any]:
    """The last trials are active, those before them waiting, then some failed ones; all others have results."""
    back = TRIALS - number
    return sa.case(
        (back < ACTIVE, "active"),
        (back < ACTIVE + WAITING, "queued"),
        (back < ACTIVE + 2 * WAITING, "released"),
        (back < ACTIVE + 3 * WAITING, "expired"),
        (number % 50 == 0, "failed"),
        else_="completed",
    )


def _leased_until(number: Number) -> sa.ColumnElement[Any]:
    future = sa.literal(NOW + timedelta(seconds=60), metadata.tables["trials"].c.leased_until.type)
    past = sa.literal(NOW - timedelta(hours=1), metadata.tables["trials"].c.leased_until.type)
    return sa.case((sa.and_(number > TRIALS - ACTIVE, number <= TRIALS - OVERDUE), future), else_=past)
