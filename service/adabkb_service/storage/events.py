"""Queries of ``events``, the append-only log."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, func, insert, select

from adabkb_service.storage.rows import EventRow, as_values
from adabkb_service.storage.tables import events

_ADD = insert(events)


def add(connection: Connection, rows: Iterable[EventRow]) -> None:
    """Append to the log of a locked study."""
    connection.execute(_ADD, [as_values(row) for row in rows])


def page(connection: Connection, study_id: str, after: int, limit: int | None = None) -> list[EventRow]:
    """Events in order, after one seq; all of them without a limit."""
    query = select(events).where(events.c.study_id == study_id, events.c.seq > after).order_by(events.c.seq)
    return [EventRow(*row) for row in connection.execute(query.limit(limit))]


def of_trial(connection: Connection, study_id: str, trial: int) -> list[EventRow]:
    """The events about a trial, in order."""
    query = select(events).where(events.c.study_id == study_id, events.c.trial == trial).order_by(events.c.seq)
    return [EventRow(*row) for row in connection.execute(query)]


def count(connection: Connection, study_id: str | None = None) -> int:
    """The number of events of a study, or of all studies."""
    query = select(func.count()).select_from(events)
    return connection.execute(query if study_id is None else query.where(events.c.study_id == study_id)).scalar_one()
