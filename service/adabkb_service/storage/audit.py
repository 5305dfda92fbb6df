"""Queries of ``audit``: administrative actions and refused requests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from adabkb_service.storage.rows import as_values
from adabkb_service.storage.tables import audit


@dataclass(frozen=True, slots=True)
class AuditRow:
    """An action or a refused request."""

    at: datetime
    action: str
    subject: str
    user: str | None
    token: str | None
    address: str
    detail: dict[str, Any] = field(default_factory=dict)
    count: int = 1


def add(connection: Connection, rows: Iterable[AuditRow]) -> None:
    """Insert entries."""
    connection.execute(insert(audit), [as_values(row) for row in rows])


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entries to list: those that have all values that are not None."""

    user: str | None = None
    token: str | None = None
    subject: str | None = None
    action: str | None = None
    since: datetime | None = None


EVERYTHING = Filter()


def page(connection: Connection, before: int, limit: int, only: Filter = EVERYTHING) -> list[tuple[int, AuditRow]]:
    """At most ``limit`` entries with their numbers, newest first. If ``before`` is not 0, only entries with numbers
    below it."""
    query = select(audit).order_by(audit.c.id.desc()).limit(limit)
    if before:
        query = query.where(audit.c.id < before)
    for name, value in as_values(only).items():
        if value is not None:
            query = query.where(audit.c.at >= value if name == "since" else audit.c[name] == value)
    return [(row.id, AuditRow(*row[1:])) for row in connection.execute(query)]


def of_study(connection: Connection, study_id: str, since: datetime, limit: int) -> list[tuple[int, AuditRow]]:
    """The last ``limit`` entries about a study since a given time, with their numbers, oldest first."""
    theirs = audit.c.subject == study_id, audit.c.action.like("study %"), audit.c.at >= since
    found = connection.execute(select(audit).where(*theirs).order_by(audit.c.id.desc()).limit(limit))
    return [(row.id, AuditRow(*row[1:])) for row in found][::-1]


def forget(connection: Connection, before: datetime, limit: int) -> int:
    """Delete at most ``limit`` entries from before a time, oldest first. Return how many were deleted."""
    oldest = select(audit.c.id).where(audit.c.at < before).order_by(audit.c.at).limit(limit)
    return connection.execute(delete(audit).where(audit.c.id.in_(oldest))).rowcount
