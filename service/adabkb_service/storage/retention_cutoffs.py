"""Queries of ``retention_cutoffs``: the times before which idempotency keys, and studies in the trash, were deleted. A
second row for each of them has the time at which this was last changed."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from sqlalchemy import Connection, insert, select, update

from adabkb_service.storage.tables import retention_cutoffs

Forgotten = Literal["idempotency keys", "trash"]
MOVED = "{}, moved"
"""The name of the second row."""


def find(connection: Connection, name: Forgotten) -> datetime | None:
    """The time before which entries of this kind were deleted; None if it was never set."""
    return _time(connection, name)


def moved_at(connection: Connection, name: Forgotten) -> datetime | None:
    """When this time was last set, by any server; None if it was never set."""
    return _time(connection, MOVED.format(name))


def _time(connection: Connection, name: str) -> datetime | None:
    return connection.execute(
        select(retention_cutoffs.c.at).where(retention_cutoffs.c.name == name)
    ).scalar_one_or_none()


def move(connection: Connection, name: Forgotten, at: datetime, now: datetime) -> None:
    """Store the time before which entries of this kind will be deleted, and the time now.

    If two servers insert the row at the same time, the transaction of one of them raises ``Contention``. Once the row
    exists, one server waits for the other.
    """
    for row, time in ((name, at), (MOVED.format(name), now)):
        moved = connection.execute(update(retention_cutoffs).where(retention_cutoffs.c.name == row), {"at": time})
        if moved.rowcount == 0:
            connection.execute(insert(retention_cutoffs), {"name": row, "at": time})
