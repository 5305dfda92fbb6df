"""Queries of ``trash``: deleted studies, each as its export, which needs no other table and leaves the id free."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select

from adabkb_service.storage.grants import Right
from adabkb_service.storage.rows import as_values
from adabkb_service.storage.tables import trash

_SHOWN = select(*(column for column in trash.c if column.name != "content"))


@dataclass(frozen=True, slots=True)
class TrashRow:
    """A deleted study, without its content."""

    id: int | None
    """None for one that is to be stored: the database numbers them."""
    study_id: str
    owner: str | None
    rights: dict[str, Right]
    results: int
    deleted_by: str | None
    deleted_at: datetime


def add(connection: Connection, row: TrashRow, content: bytes) -> None:
    """Insert a study."""
    values = {name: value for name, value in as_values(row).items() if name != "id"}
    connection.execute(insert(trash), {**values, "content": content})


def page(connection: Connection, before: int, limit: int, *conditions: ColumnElement[bool]) -> list[TrashRow]:
    """At most ``limit`` studies that meet conditions, those deleted last first; those before a number, unless it is
    0."""
    query = _SHOWN.where(*conditions).order_by(trash.c.id.desc()).limit(limit)
    if before:
        query = query.where(trash.c.id < before)
    return [TrashRow(*row) for row in connection.execute(query)]


def content(connection: Connection, number: int) -> bytes:
    """What is stored of a study that is there."""
    found: bytes = connection.execute(select(trash.c.content).where(trash.c.id == number)).scalar_one()
    return found


def remove(connection: Connection, number: int) -> bool:
    """Delete a study for good; return whether it was there."""
    return connection.execute(delete(trash).where(trash.c.id == number)).rowcount == 1


def oldest(connection: Connection) -> datetime | None:
    """When the first of them was deleted, or None if there is none."""
    return connection.execute(select(func.min(trash.c.deleted_at))).scalar_one_or_none()


def forget(connection: Connection, before: datetime) -> None:
    """Delete for good what was deleted before a time."""
    connection.execute(delete(trash).where(trash.c.deleted_at < before))
