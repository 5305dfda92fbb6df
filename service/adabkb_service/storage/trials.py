"""Queries of ``trials``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import (
    Connection,
    Select,
    Text,
    bindparam,
    cast,
    exists,
    func,
    insert,
    or_,
    select,
    union_all,
    update,
)

from adabkb_service.errors import TrialNotFound
from adabkb_service.storage import bounded_pages
from adabkb_service.storage.bounded_pages import ROWS_PER_PAGE, BoundedPage
from adabkb_service.storage.columns import Curve
from adabkb_service.storage.rows import TrialRow, TrialState, as_values
from adabkb_service.storage.tables import observations, reports, trials

UNCHANGING = {"study_id", "number", "parameters", "cell", "plate", "created_at"}
WAITING: tuple[TrialState, ...] = ("expired", "released", "queued")


_OF_STUDY = select(trials).where(trials.c.study_id == bindparam("study"))
_ADD = insert(trials)
_GET = _OF_STUDY.where(trials.c.number == bindparam("its_number"))
_CHANGE = update(trials).where(trials.c.study_id == bindparam("study"), trials.c.number == bindparam("its_number"))
# One query per state. With one query for several states, both databases would scan all trials by number.
_BY_STATE = (
    _OF_STUDY.where(trials.c.state == state).order_by(trials.c.number).limit(bindparam("most")).subquery()
    for state in WAITING
)
_WAITING = union_all(*map(select, _BY_STATE)).order_by("number").limit(bindparam("most"))
_IS_OVERDUE = trials.c.state == "active", trials.c.leased_until < bindparam("now")
_NEXT_EXPIRY = select(func.min(trials.c.leased_until)).where(
    trials.c.study_id == bindparam("study"), trials.c.state == "active"
)
_OVERDUE = _OF_STUDY.where(*_IS_OVERDUE)
_OVERDUE_ANYWHERE = select(trials.c.study_id).where(*_IS_OVERDUE).order_by(trials.c.leased_until)


def add(connection: Connection, rows: Iterable[TrialRow]) -> None:
    """Insert trials."""
    connection.execute(_ADD, [as_values(row) for row in rows])


def get(connection: Connection, study_id: str, number: int) -> TrialRow:
    """The trial.

    Raises:
        TrialNotFound: the trial does not exist.
    """
    row = connection.execute(_GET, {"study": study_id, "its_number": number}).one_or_none()
    if row is None:
        raise TrialNotFound(study_id, number)
    return TrialRow(*row)


def of_numbers(connection: Connection, study_id: str, numbers: Sequence[int]) -> list[TrialRow]:
    """Those of the trials with these numbers that exist, in any order."""
    query = select(trials).where(trials.c.study_id == study_id, trials.c.number.in_(numbers))
    return [TrialRow(*row) for row in connection.execute(query)]


def has_reporters(connection: Connection, study_id: str) -> bool:
    """Whether the study has a result or a failed trial whose reporter is known."""
    of_trials = exists().where(trials.c.study_id == study_id, trials.c.reported_by.is_not(None))
    of_results = exists().where(observations.c.study_id == study_id, observations.c.reported_by.is_not(None))
    return bool(connection.scalar(select(or_(of_trials, of_results))))


def on_plate(connection: Connection, study_id: str, plate: int) -> TrialRow | None:
    """The first trial on a plate; None without one."""
    query = _OF_STUDY.where(trials.c.plate == bindparam("its_plate")).order_by(trials.c.number).limit(1)
    row = connection.execute(query, {"study": study_id, "its_plate": plate}).one_or_none()
    return None if row is None else TrialRow(*row)


def numbers_on_plate(connection: Connection, study_id: str, plate: int) -> set[int]:
    """The numbers of the trials on a plate that are not withdrawn."""
    theirs = trials.c.study_id == study_id, trials.c.plate == plate, trials.c.state != "withdrawn"
    return set(connection.execute(select(trials.c.number).where(*theirs)).scalars())


def change(connection: Connection, rows: Iterable[TrialRow]) -> None:
    """Update trials."""
    changed = [
        {
            "study": row.study_id,
            "its_number": row.number,
            **{name: value for name, value in as_values(row).items() if name not in UNCHANGING},
        }
        for row in rows
    ]
    connection.execute(_CHANGE, changed)


def next_expiry(connection: Connection, study_id: str) -> datetime | None:
    """The earliest end of a lease in the study; None if no trial is leased."""
    return connection.execute(_NEXT_EXPIRY, {"study": study_id}).scalar_one_or_none()


def waiting(connection: Connection, study_id: str, limit: int) -> list[TrialRow]:
    """The first ``limit`` waiting trials, ordered by number."""
    return [TrialRow(*row) for row in connection.execute(_WAITING, {"study": study_id, "most": limit})]


def overdue(connection: Connection, study_id: str, now: datetime) -> list[TrialRow]:
    """Active trials whose lease has expired, ordered by number."""
    found = [TrialRow(*row) for row in connection.execute(_OVERDUE, {"study": study_id, "now": now})]
    return sorted(found, key=lambda row: row.number)  # with ORDER BY the database would not use the index on leases


def studies_with_overdue(connection: Connection, now: datetime) -> list[str]:
    """Ids of studies with expired leases of active trials, the longest overdue first."""
    return list(dict.fromkeys(connection.execute(_OVERDUE_ANYWHERE, {"now": now}).scalars()))


class Reached(NamedTuple):
    """A trial that has reached a mark of the early-stopping rule in one of its attempts."""

    number: int
    state: TrialState
    parameters: dict[str, Any]
    curve: Curve | None
    """The curve of the current attempt; None without reports."""
    value: float | None
    metrics: dict[str, float] | None
    plate: int | None


_AT_MARK = select(reports.c.trial).where(
    reports.c.study_id == bindparam("study"), reports.c.mark == bindparam("its_mark")
)
_REACHED = select(*(trials.c[name] for name in Reached._fields)).where(
    trials.c.study_id == bindparam("study"), trials.c.number.in_(_AT_MARK)
)


def reached(connection: Connection, study_id: str, mark: int) -> list[Reached]:
    """The trials that have reached a mark."""
    return [Reached(*row) for row in connection.execute(_REACHED, {"study": study_id, "its_mark": mark})]


def leased_beyond(connection: Connection, now: datetime) -> list[TrialRow]:
    """Return the active trials whose lease ends later than ``now`` plus the full length of the lease."""
    query = select(trials).where(trials.c.state == "active", trials.c.leased_until > now)
    rows = [TrialRow(*row) for row in connection.execute(query)]
    return [row for row in rows if row.leased_until and row.leased_until - now > timedelta(seconds=row.lease_seconds)]


def page(connection: Connection, study_id: str, *, state: TrialState | None, after: int, limit: int) -> list[TrialRow]:
    """The first ``limit`` trials in a state (None for any) with numbers above ``after``, in order."""
    query = _after(study_id, state, after).order_by(trials.c.number).limit(limit)
    return [TrialRow(*row) for row in connection.execute(query)]


def bounded_page(
    connection: Connection,
    study_id: str,
    *,
    state: TrialState | None,
    after: int,
    limit: int,
    texts: Iterable[Collection[str]] = (),
) -> BoundedPage[TrialRow]:
    """The trials of ``page``, as many as fit into memory.

    Args:
        connection: the connection to the database.
        study_id: id of the study.
        state: the state of the trials; None for any.
        after: number of the trial to start after.
        limit: the maximum number of trials.
        texts: for each collection, at least one of its texts must occur in the JSON of the trial's attributes.
    """
    query = _after(study_id, state, after)
    for some in texts:
        query = query.where(or_(*(cast(trials.c.attributes, Text).contains(text, autoescape=True) for text in some)))
    large = trials.c.parameters, trials.c.attributes
    return bounded_pages.read(connection, query, TrialRow, order=(trials.c.number,), large=large, limit=limit)


def all_pages(connection: Connection, study_id: str) -> Iterator[list[TrialRow]]:
    """Yield the trials of a study, in order, page by page."""

    def page(last: int) -> BoundedPage[TrialRow]:
        return bounded_page(connection, study_id, state=None, after=last, limit=ROWS_PER_PAGE)

    return (found.rows for found in bounded_pages.pages(page, 0, lambda row: row.number))


def _after(study_id: str, state: TrialState | None, after: int) -> Select[Any]:
    query = select(trials).where(trials.c.study_id == study_id, trials.c.number > after)
    return query if state is None else query.where(trials.c.state == state)
