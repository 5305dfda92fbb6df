"""Queries of ``studies``."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, tuple_, update

from adabkb_service.errors import StudyNotFound
from adabkb_service.storage.rows import StudyRow, Version, as_values
from adabkb_service.storage.tables import studies

# Built once: putting a statement together takes longer than SQLite takes to run it.
_CREATE = insert(studies)
_GET = select(studies).where(studies.c.id == bindparam("study"))
_GET_LOCKED = _GET.with_for_update()
_VERSION_LOCKED = (
    select(studies.c.updated_at, studies.c.head, studies.c.folded)
    .where(studies.c.id == bindparam("study"))
    .with_for_update()
)
_CHANGE = update(studies).where(studies.c.id == bindparam("study"))


def create(connection: Connection, row: StudyRow) -> None:
    """Insert a new study.

    A second of the same key makes the transaction end in ``Contention``.
    """
    connection.execute(_CREATE, as_values(row))


def find(connection: Connection, study_id: str) -> StudyRow | None:
    """The study, or None."""
    row = connection.execute(_GET, {"study": study_id}).one_or_none()
    return None if row is None else StudyRow(*row)


def get(connection: Connection, study_id: str, *, lock: bool = False) -> StudyRow:
    """The study; with ``lock``, nobody else writes to it until this transaction ends.

    SQLite has no row locks and needs none: its writing transactions are serial anyway.

    Raises:
        StudyNotFound: there is none.
    """
    row = connection.execute(_GET_LOCKED if lock else _GET, {"study": study_id}).one_or_none()
    if row is None:
        raise StudyNotFound(study_id)
    return StudyRow(*row)


def lock(connection: Connection, study_id: str) -> Version:
    """Lock the study, as ``get`` does; its version, for less than reading all of it.

    Raises:
        StudyNotFound: there is none.
    """
    row = connection.execute(_VERSION_LOCKED, {"study": study_id}).one_or_none()
    if row is None:
        raise StudyNotFound(study_id)
    updated_at, head, folded = row
    return updated_at, head, folded


def ids(connection: Connection) -> list[str]:
    """Of all studies."""
    return list(connection.execute(select(studies.c.id).order_by(studies.c.id)).scalars())


def page(connection: Connection, after: tuple[datetime, str] | None, limit: int) -> list[StudyRow]:
    """Studies, newest first, after the one named by (created_at, id)."""
    query = select(studies).order_by(studies.c.created_at.desc(), studies.c.id.desc()).limit(limit)
    if after is not None:
        query = query.where(tuple_(studies.c.created_at, studies.c.id) < after)
    return [StudyRow(*row) for row in connection.execute(query)]


def change(connection: Connection, study_id: str, **values: Any) -> None:
    """Set columns of a locked study."""
    connection.execute(_CHANGE, {"study": study_id, **values})


def remove(connection: Connection, study_id: str) -> None:
    """Delete the study and everything below it."""
    connection.execute(delete(studies).where(studies.c.id == study_id))
