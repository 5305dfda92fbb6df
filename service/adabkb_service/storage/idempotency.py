"""Queries of ``idempotency_keys``."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from adabkb_service.storage.rows import KeyRow
from adabkb_service.storage.tables import idempotency_keys as keys


def find(connection: Connection, scope: str, key: str) -> KeyRow | None:
    """What was stored under a key, or None."""
    row = connection.execute(select(keys).where(keys.c.scope == scope, keys.c.key == key)).one_or_none()
    return None if row is None else KeyRow(**row._mapping)


def add(connection: Connection, row: KeyRow) -> None:
    """Store a key.

    A second of the same key makes the transaction end in ``Collision``.
    """
    values = {column.name: getattr(row, column.name) for column in keys.columns}
    connection.execute(insert(keys).values(values))


def change(connection: Connection, scope: str, key: str, answer: dict[str, Any]) -> None:
    """Replace the answer of a stored key."""
    connection.execute(update(keys).where(keys.c.scope == scope, keys.c.key == key).values(answer=answer))


def forget(connection: Connection, before: datetime) -> None:
    """Delete the keys older than a time."""
    connection.execute(delete(keys).where(keys.c.created_at < before))
