"""Queries of ``webhooks``: the URLs to which messages about a study are sent, and the last event that was delivered to
or skipped for each webhook."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, delete, insert, select, update

from adabkb_service.storage.rows import as_values
from adabkb_service.storage.tables import studies, webhooks


@dataclass(frozen=True, slots=True)
class WebhookRow:
    """A webhook of a study."""

    study_id: str
    id: str
    url: str
    secret: str
    notifications: list[str]
    created_at: datetime
    seen_seq: int
    is_on: bool
    due_at: datetime
    attempts: int = 0
    failing_since: datetime | None = None
    error: str | None = None
    delivered: int = 0
    delivered_at: datetime | None = None


def add(connection: Connection, row: WebhookRow) -> None:
    """Insert a webhook."""
    connection.execute(insert(webhooks), as_values(row))


def of_study(connection: Connection, study_id: str) -> list[WebhookRow]:
    """Return the webhooks of a study, oldest first."""
    query = select(webhooks).where(webhooks.c.study_id == study_id).order_by(webhooks.c.created_at, webhooks.c.id)
    return [WebhookRow(*row) for row in connection.execute(query)]


def as_json(row: WebhookRow) -> dict[str, Any]:
    """Return a webhook as the trash stores it, without its study and without its failed attempts."""
    delivered_at = row.delivered_at and row.delivered_at.isoformat()
    kept = ("id", "url", "secret", "notifications", "seen_seq", "is_on", "delivered")
    times = {"created_at": row.created_at.isoformat(), "delivered_at": delivered_at}
    return {name: getattr(row, name) for name in kept} | times


def from_json(stored: dict[str, Any], study_id: str, now: datetime) -> WebhookRow:
    """Return the webhook of a restored study. The next attempt to send missed messages is due at once."""
    delivered_at = stored["delivered_at"] and datetime.fromisoformat(stored["delivered_at"])
    times = {"created_at": datetime.fromisoformat(stored["created_at"]), "delivered_at": delivered_at, "due_at": now}
    return WebhookRow(study_id=study_id, **stored | times)


def find(connection: Connection, study_id: str, webhook_id: str) -> WebhookRow | None:
    """Return a webhook; None if it does not exist."""
    row = connection.execute(select(webhooks).where(_this(study_id, webhook_id))).one_or_none()
    return None if row is None else WebhookRow(*row)


def change(connection: Connection, row: WebhookRow, **values: Any) -> bool:
    """Change a webhook, and return True. Return False, without a change, if it was changed since ``row`` was read, or
    was deleted."""
    unchanged = and_(webhooks.c.due_at == row.due_at, webhooks.c.seen_seq == row.seen_seq)
    query = update(webhooks).where(_this(row.study_id, row.id), unchanged)
    return connection.execute(query.values(**values)).rowcount == 1


def turn_off(connection: Connection, study_id: str, now: datetime, error: str) -> tuple[str, ...]:
    """Turn off the webhooks of a study, and return the ids of those that were on. A delivery in progress does not turn
    them on again.

    Args:
        connection: a writing transaction.
        study_id: the study's id.
        now: the current time.
        error: why they are off.
    """
    found = tuple(row.id for row in of_study(connection, study_id) if row.is_on)
    values = {"is_on": False, "error": error, "due_at": now, "attempts": 0, "failing_since": None}
    connection.execute(update(webhooks).where(webhooks.c.study_id == study_id, webhooks.c.id.in_(found)).values(values))
    return found


def remove(connection: Connection, study_id: str, webhook_id: str) -> bool:
    """Delete a webhook. Return False if it did not exist."""
    return connection.execute(delete(webhooks).where(_this(study_id, webhook_id))).rowcount == 1


def due(connection: Connection, now: datetime, limit: int) -> list[WebhookRow]:
    """Return at most ``limit`` webhooks that are on, are due, and have not handled all events of their study."""
    query = (
        select(webhooks)
        .join(studies, studies.c.id == webhooks.c.study_id)
        .where(webhooks.c.is_on.is_(True), webhooks.c.due_at <= now, studies.c.study_seq > webhooks.c.seen_seq)
        .order_by(webhooks.c.due_at)
        .limit(limit)
    )
    return [WebhookRow(*row) for row in connection.execute(query)]


def _this(study_id: str, webhook_id: str) -> Any:
    return and_(webhooks.c.study_id == study_id, webhooks.c.id == webhook_id)
