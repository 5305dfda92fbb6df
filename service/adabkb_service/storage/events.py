"""Queries of ``events``, the append-only log."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from adabkb_service.storage.rows import EventKind, EventRow
from adabkb_service.storage.tables import events, studies


def append(
    connection: Connection,
    study_id: str,
    kind: EventKind,
    payload: dict[str, Any],
    *,
    now: datetime,
    trial: int | None = None,
) -> int:
    """Add an event to a locked study; its seq, which becomes the study's ``head``."""
    head = (
        update(studies)
        .where(studies.c.id == study_id)
        .values(head=studies.c.head + 1, updated_at=now)
        .returning(studies.c.head)
    )
    seq: int = connection.execute(head).scalar_one()
    connection.execute(
        insert(events).values(study_id=study_id, seq=seq, kind=kind, trial=trial, payload=payload, created_at=now)
    )
    return seq


def page(connection: Connection, study_id: str, after: int, limit: int | None = None) -> list[EventRow]:
    """Events in order, after one seq; all of them without a limit."""
    query = select(events).where(events.c.study_id == study_id, events.c.seq > after).order_by(events.c.seq)
    return [EventRow(**row._mapping) for row in connection.execute(query.limit(limit))]
