"""Queries of ``reports``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from sqlalchemy import Connection, bindparam, insert, select, tuple_

from adabkb_service.storage import bounded_pages
from adabkb_service.storage.bounded_pages import ROWS_PER_PAGE, BoundedPage
from adabkb_service.storage.rows import ReportRow, as_values
from adabkb_service.storage.tables import reports

FIRST = (0, 0, -1)
"""A key (trial, attempt, step) before the first report of a study."""

_ADD = insert(reports)
_OF_STUDY = reports.c.study_id == bindparam("study")
_ORDER = reports.c.trial, reports.c.attempt, reports.c.step
_AT_MARK = select(reports.c.trial, reports.c.attempt, reports.c.value).where(
    _OF_STUDY, reports.c.mark == bindparam("its_mark")
)


def add(connection: Connection, rows: Iterable[ReportRow]) -> None:
    """Insert reports."""
    connection.execute(_ADD, [as_values(row) for row in rows])


def values(connection: Connection, study_id: str, trial: int, attempt: int, steps: Collection[int]) -> dict[int, float]:
    """Step -> value that an attempt reported at this step; steps without a report are left out."""
    query = select(reports.c.step, reports.c.value).where(
        reports.c.study_id == study_id,
        reports.c.trial == trial,
        reports.c.attempt == attempt,
        reports.c.step.in_(steps),
    )
    return {row.step: row.value for row in connection.execute(query)}


def at_mark(connection: Connection, study_id: str, mark: int) -> dict[int, float]:
    """Trial -> value at the mark, as reported by the last of its attempts that reached the mark."""
    found = connection.execute(_AT_MARK, {"study": study_id, "its_mark": mark}).all()
    # With ORDER BY, SQLite would read all reports of the study in key order.
    return {trial: value for trial, _, value in sorted(tuple(row) for row in found)}


def of_attempt(
    connection: Connection, study_id: str, trial: int, attempt: int, first: int, limit: int
) -> list[ReportRow]:
    """The first ``limit`` reports of an attempt with steps from ``first`` on, ordered by step."""
    query = (
        select(reports)
        .where(
            reports.c.study_id == study_id,
            reports.c.trial == trial,
            reports.c.attempt == attempt,
            reports.c.step >= first,
        )
        .order_by(reports.c.step)
        .limit(limit)
    )
    return [ReportRow(*row) for row in connection.execute(query)]


def all_rows(connection: Connection, study_id: str) -> Iterator[ReportRow]:
    """Yield the reports of a study, ordered by trial, attempt and step, with one page in memory at a time."""

    def read(after: tuple[int, int, int]) -> BoundedPage[ReportRow]:
        found = page(connection, study_id, after, ROWS_PER_PAGE)
        return BoundedPage(found, is_last=len(found) < ROWS_PER_PAGE)

    return bounded_pages.rows(read, FIRST, lambda row: (row.trial, row.attempt, row.step))


def page(connection: Connection, study_id: str, after: tuple[int, int, int], limit: int) -> list[ReportRow]:
    """The first ``limit`` reports of the study with keys (trial, attempt, step) above ``after``, in order."""
    query = select(reports).where(reports.c.study_id == study_id, tuple_(*_ORDER) > after)
    return [ReportRow(*row) for row in connection.execute(query.order_by(*_ORDER).limit(limit))]
