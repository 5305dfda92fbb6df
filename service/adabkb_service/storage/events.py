"""Queries of ``events``, the append-only log."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from sqlalchemy import Connection, Select, func, insert, select

from adabkb_service.storage import bounded_pages
from adabkb_service.storage.bounded_pages import ROWS_PER_PAGE, BoundedPage
from adabkb_service.storage.rows import EventKind, EventRow, as_values, event_row
from adabkb_service.storage.tables import events

_ADD = insert(events)


def add(connection: Connection, rows: Iterable[EventRow]) -> None:
    """Append events to the log of a study. The transaction must have locked the study."""
    connection.execute(_ADD, [as_values(row) for row in rows])


def page(connection: Connection, study_id: str, after: int, limit: int | None = None) -> list[EventRow]:
    """The first ``limit`` events with a seq above ``after``, in order; all of them if ``limit`` is None."""
    query = _after(study_id, after).order_by(events.c.seq).limit(limit)
    return [event_row(*row) for row in connection.execute(query)]


def bounded_page(
    connection: Connection, study_id: str, after: int, limit: int, kinds: Collection[EventKind] = ()
) -> BoundedPage[EventRow]:
    """The first events of ``page``, as many as fit into memory; with ``kinds``, only those of these kinds."""
    query, order, large = _after(study_id, after), (events.c.seq,), (events.c.payload,)
    if kinds:
        query = query.where(events.c.kind.in_(kinds))
    return bounded_pages.read(connection, query, event_row, order=order, large=large, limit=limit)


def all_rows(connection: Connection, study_id: str) -> Iterator[EventRow]:
    """Yield the whole log of a study, in order, with one page in memory at a time."""

    def page(last: int) -> BoundedPage[EventRow]:
        return bounded_page(connection, study_id, last, ROWS_PER_PAGE)

    return bounded_pages.rows(page, 0, lambda event: event.seq)


def _after(study_id: str, seq: int) -> Select[Any]:
    return select(events).where(events.c.study_id == study_id, events.c.seq > seq)


def of_trial(connection: Connection, study_id: str, trial: int) -> list[EventRow]:
    """The events about a trial, in order."""
    query = select(events).where(events.c.study_id == study_id, events.c.trial == trial).order_by(events.c.seq)
    return [event_row(*row) for row in connection.execute(query)]


def of_kinds(
    connection: Connection, study_id: str, kinds: Collection[EventKind], limit: int, until: int | None = None
) -> list[EventRow]:
    """The last ``limit`` events of these kinds, in order. If ``until`` is given, only events up to this seq count."""
    query = select(events).where(events.c.study_id == study_id, events.c.kind.in_(kinds))
    if until is not None:
        query = query.where(events.c.seq <= until)
    found = connection.execute(query.order_by(events.c.seq.desc()).limit(limit))
    return [event_row(*row) for row in found][::-1]


def of_kinds_after(
    connection: Connection, study_id: str, kinds: Collection[EventKind], after: int, limit: int
) -> list[EventRow]:
    """The first ``limit`` events of these kinds with a seq above ``after``, in order."""
    query = _after(study_id, after).where(events.c.kind.in_(kinds)).order_by(events.c.seq).limit(limit)
    return [event_row(*row) for row in connection.execute(query)]


def has_changed_results(connection: Connection, study_id: str, after: int) -> bool:
    """Whether an event with a seq above ``after`` may change earlier results, or which of them are used: a correction,
    a number added later, or an edit of the space."""
    query = (
        _after(study_id, after)
        .where(events.c.kind.in_(("corrected", "measured", "edited")))
        .with_only_columns(events.c.seq)
    )
    return connection.execute(query.limit(1)).first() is not None


def has_new_trials(connection: Connection, study_id: str, after: int, until: int | None = None) -> bool:
    """Whether an event with a seq above ``after``, and up to ``until`` if it is given, created a trial."""
    query = _after(study_id, after).where(events.c.kind.in_(("suggested", "queued"))).with_only_columns(events.c.seq)
    if until is not None:
        query = query.where(events.c.seq <= until)
    return connection.execute(query.limit(1)).first() is not None


def count(connection: Connection, study_id: str | None = None) -> int:
    """The number of events of a study, or of all studies if None."""
    query = select(func.count()).select_from(events)
    return connection.execute(query if study_id is None else query.where(events.c.study_id == study_id)).scalar_one()
