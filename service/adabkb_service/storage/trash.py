"""Queries of ``trash``: deleted studies, stored as exports. No other table refers to them, and their ids can be used
again.

An export may be gigabytes in size. It is split into rows of ``parts``, which several short transactions write and
remove.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select

from adabkb_service.storage import containers
from adabkb_service.storage.grants import Right
from adabkb_service.storage.pace import Pace
from adabkb_service.storage.rows import as_values
from adabkb_service.storage.tables import parts, trash

PART_BYTES = 2**16
"""Size of the content in one row, in bytes."""
PARTS_AT_ONCE = 16
"""The maximum number of parts that one transaction writes."""


@dataclass(frozen=True, slots=True)
class TrashRow:
    """A deleted study, without its content."""

    id: int | None
    """The number that the database assigns; None before the row is stored."""
    study_id: str
    title: str | None
    owner: str | None
    rights: dict[str, Right]
    webhooks: list[dict[str, Any]]
    """From ``webhooks.as_json``."""
    results: int
    deleted_by: str | None
    deleted_at: datetime
    container: str
    """The container with the study's export (see ``containers``)."""
    bytes: int


def new_container() -> str:
    """A new id for a container of content. It cannot be the id of a study."""
    return f"/{secrets.token_hex(16)}"


def divided(packed: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the ordinal and the bytes of each part, from the file's current position."""
    return enumerate(iter(lambda: packed.read(PART_BYTES), b""))


def pace() -> Pace:
    """Return a pace for writing parts."""
    return Pace(PARTS_AT_ONCE, PARTS_AT_ONCE)


def add_parts(connection: Connection, rows: Sequence[tuple[int, bytes]], container: str) -> None:
    """Insert parts of content."""
    values = [{"container": container, "ordinal": ordinal, "content": part} for ordinal, part in rows]
    connection.execute(insert(parts), values)


def add(connection: Connection, row: TrashRow) -> None:
    """Insert a deleted study whose container exists."""
    connection.execute(insert(trash), {name: value for name, value in as_values(row).items() if name != "id"})


def page(connection: Connection, before: int, limit: int, *conditions: ColumnElement[bool]) -> list[TrashRow]:
    """The first ``limit`` deleted studies that satisfy the conditions, latest deletion first. If ``before`` is not 0,
    only studies whose ``id`` is smaller than it."""
    query = select(trash).where(*conditions).order_by(trash.c.id.desc()).limit(limit)
    if before:
        query = query.where(trash.c.id < before)
    return [TrashRow(*row) for row in connection.execute(query)]


def content(connection: Connection, container: str) -> Iterator[bytes]:
    """The parts of a deleted study's content, in order."""
    query = select(parts.c.content).where(parts.c.container == container).order_by(parts.c.ordinal)
    for (part,) in connection.execute(query.execution_options(yield_per=PARTS_AT_ONCE)):
        yield part


def remove(connection: Connection, row: TrashRow) -> bool:
    """Delete a study permanently, and return whether it was in the trash. Any server may then remove its content."""
    removed = connection.execute(delete(trash).where(trash.c.id == row.id)).rowcount == 1
    if removed:
        containers.abandon(connection, [row.container])
    return removed


def oldest(connection: Connection) -> datetime | None:
    """Time of the oldest deletion in the trash; None if the trash is empty."""
    return connection.execute(select(func.min(trash.c.deleted_at))).scalar_one_or_none()


def forget(connection: Connection, before: datetime, limit: int) -> int:
    """Permanently delete at most ``limit`` studies that were moved to the trash before a time. Return how many were
    deleted."""
    query = select(trash.c.id, trash.c.container).where(trash.c.deleted_at < before).order_by(trash.c.deleted_at)
    found = connection.execute(query.limit(limit)).all()
    connection.execute(delete(trash).where(trash.c.id.in_([row.id for row in found])))
    containers.abandon(connection, [row.container for row in found])
    return len(found)
