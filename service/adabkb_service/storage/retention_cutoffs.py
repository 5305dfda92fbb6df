"""Queries of ``retention_cutoffs``: the times before which idempotency keys, and studies in the trash, were deleted."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from sqlalchemy import Connection, insert, select, update

from adabkb_service.storage.tables import retention_cutoffs

Forgotten = Literal["idempotency keys", "trash"]


def find(connection: Connection, name: Forgotten) -> datetime | None:
    """The time before which entries of this kind were deleted; None if it was never set."""
    return connection.execute(
        select(retention_cutoffs.c.at).where(retention_cutoffs.c.name == name)
    ).scalar_one_or_none()


def move(connection: Connection, name: Forgotten, at: datetime) -> None:
    """Store the time before which entries of this kind will be deleted.

    If two servers insert the row at the same time, the transaction of one of them raises ``Contention``. Once the row
    exists, one server waits for the other.
    """
    moved = connection.execute(update(retention_cutoffs).where(retention_cutoffs.c.name == name), {"at": at})
    if moved.rowcount == 0:
        connection.execute(insert(retention_cutoffs), {"name": name, "at": at})
