"""Queries of ``horizons``: the times up to which things were forgotten, by what they are."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from sqlalchemy import Connection, insert, select, update

from adabkb_service.storage.tables import horizons

Forgotten = Literal["idempotency keys", "trash"]


def find(connection: Connection, name: Forgotten) -> datetime | None:
    """The time up to which these were forgotten, or None if none ever were."""
    return connection.execute(select(horizons.c.at).where(horizons.c.name == name)).scalar_one_or_none()


def move(connection: Connection, name: Forgotten, at: datetime) -> None:
    """Store the time up to which these are about to be forgotten.

    If two servers do so for the first time, one of them ends in ``Contention``; later one waits for the other.
    """
    moved = connection.execute(update(horizons).where(horizons.c.name == name), {"at": at})
    if moved.rowcount == 0:
        connection.execute(insert(horizons), {"name": name, "at": at})
