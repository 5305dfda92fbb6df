"""Queries of ``studies``."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select, tuple_, update

from adabkb_service.errors import StudyNotFound
from adabkb_service.storage.rows import StudyRow
from adabkb_service.storage.tables import studies


def create(connection: Connection, row: StudyRow) -> None:
    """Insert a new study.

    A second of the same key makes the transaction end in ``Collision``.
    """
    values = {column.name: getattr(row, column.name) for column in studies.columns}
    connection.execute(insert(studies).values(values))


def find(connection: Connection, study_id: str) -> StudyRow | None:
    """The study, or None."""
    row = connection.execute(select(studies).where(studies.c.id == study_id)).one_or_none()
    return None if row is None else StudyRow(**row._mapping)


def get(connection: Connection, study_id: str, *, lock: bool = False) -> StudyRow:
    """The study; with ``lock``, nobody else writes to it until this transaction ends.

    SQLite has no row locks and needs none: its writing transactions are serial anyway.

    Raises:
        StudyNotFound: there is none.
    """
    query = select(studies).where(studies.c.id == study_id)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise StudyNotFound(study_id)
    return StudyRow(**row._mapping)


def page(connection: Connection, after: tuple[datetime, str] | None, limit: int) -> list[StudyRow]:
    """Studies, newest first, after the one named by (created_at, id)."""
    query = select(studies).order_by(studies.c.created_at.desc(), studies.c.id.desc()).limit(limit)
    if after is not None:
        query = query.where(tuple_(studies.c.created_at, studies.c.id) < after)
    return [StudyRow(**row._mapping) for row in connection.execute(query)]


def change(connection: Connection, study_id: str, **values: Any) -> None:
    """Set columns of a locked study."""
    connection.execute(update(studies).where(studies.c.id == study_id).values(**values))


def advance_fold(connection: Connection, study_id: str, old: int, **values: Any) -> bool:
    """Set ``folded`` and what goes with it if it is still ``old``; False if another process was faster."""
    query = update(studies).where(studies.c.id == study_id, studies.c.folded == old).values(**values)
    return connection.execute(query).rowcount == 1


def remove(connection: Connection, study_id: str) -> None:
    """Delete the study and everything below it."""
    connection.execute(delete(studies).where(studies.c.id == study_id))
