"""Queries of ``studies``."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Text,
    bindparam,
    cast,
    delete,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)

from adabkb_service.errors import StudyNotFound
from adabkb_service.storage import bounded_pages, catalogues, containers
from adabkb_service.storage.bounded_pages import BoundedPage
from adabkb_service.storage.rows import StudyRow, as_values
from adabkb_service.storage.tables import studies

# Statements are built once, because building one takes longer than running it on SQLite.
_CREATE = insert(studies)
_GET = select(studies).where(studies.c.id == bindparam("study"))
_LOCK = _GET.with_for_update()
_IDENTITY = select(studies.c.incarnation, studies.c.version).where(studies.c.id == bindparam("study"))
_SAME = studies.c.id == bindparam("study"), studies.c.incarnation == bindparam("its_incarnation")
_CHANGE = update(studies).where(*_SAME, studies.c.version == bindparam("its_version"))
_MODEL_SEQ = select(studies.c.model_seq).where(*_SAME).with_for_update()
_SAVE = update(studies).where(*_SAME)
_NEWEST_FIRST = studies.c.created_at.desc(), studies.c.id.desc()


def create(connection: Connection, row: StudyRow) -> None:
    """Insert a new study and its container. The transaction raises ``Contention`` if the id exists."""
    containers.add(connection, row.id)
    add(connection, row)


def add(connection: Connection, row: StudyRow) -> None:
    """Insert a study whose container exists. The transaction raises ``Contention`` if the id exists."""
    connection.execute(_CREATE, as_values(row))


def find(connection: Connection, study_id: str, *, to_change: bool = False) -> StudyRow | None:
    """The study, or None. Also caches the tables of its catalogues. With ``to_change``, the row is locked to the end of
    the transaction."""
    row = connection.execute(_LOCK if to_change else _GET, {"study": study_id}).one_or_none()
    if row is None:
        return None
    found = StudyRow(*row)
    catalogues.read(connection, study_id, found.definition)
    return found


def get(connection: Connection, study_id: str) -> StudyRow:
    """The study.

    Raises:
        StudyNotFound: the study does not exist.
    """
    row = find(connection, study_id)
    if row is None:
        raise StudyNotFound(study_id)
    return row


def is_current(connection: Connection, row: StudyRow) -> bool:
    """Whether the study still has the incarnation and the version of this row."""
    found = connection.execute(_IDENTITY, {"study": row.id}).one_or_none()
    return found is not None and tuple(found) == (row.incarnation, row.version)


def ids(connection: Connection) -> list[str]:
    """The ids of all studies."""
    return list(connection.execute(select(studies.c.id).order_by(studies.c.id)).scalars())


def newest_change(connection: Connection) -> datetime | None:
    """Time of the latest change of any study; None without studies."""
    found: datetime | None = connection.execute(select(func.max(studies.c.updated_at))).scalar_one()
    return found


def last_events(connection: Connection, study_ids: Collection[str]) -> dict[str, int]:
    """Study -> seq of its last event, for those of the studies that exist."""
    found = connection.execute(select(studies.c.id, studies.c.study_seq).where(studies.c.id.in_(study_ids)))
    return {row.id: row.study_seq for row in found}


def bounded_page(
    connection: Connection, after: tuple[datetime, str] | None, limit: int, *conditions: ColumnElement[bool]
) -> BoundedPage[StudyRow]:
    """Studies that satisfy the conditions, newest first: at most ``limit``, and as many as fit into memory. If
    ``after`` is given, only studies after the one with this (created_at, id)."""
    query = select(studies).where(*conditions)
    if after is not None:
        query = query.where(tuple_(studies.c.created_at, studies.c.id) < after)
    large = (studies.c.definition,)
    return bounded_pages.read(connection, query, StudyRow, order=_NEWEST_FIRST, large=large, limit=limit)


def tagged(name: str, text: str) -> ColumnElement[bool]:
    """The condition that a study has this tag.

    It searches the stored JSON, since paths to names with quotation marks differ between databases. In a name or a
    text, a backslash precedes each quotation mark, so only a whole tag matches. (LIKE would ignore case on SQLite.)
    """
    tags, pair = cast(studies.c.tags, Text), f"{json.dumps(name)}: {json.dumps(text)}"
    return or_(*(func.replace(tags, f"{before}{pair}", "") != tags for before in ("{", ", ")))


def commit_if_unchanged(connection: Connection, before: StudyRow, **values: Any) -> bool:
    """Set columns of the study and increase its version, if its incarnation and version are still those of ``before``.

    On PostgreSQL the row stays locked to the end of the transaction.

    Returns:
        Whether the columns were set. If not, nothing was written.
    """
    same = {"study": before.id, "its_incarnation": before.incarnation, "its_version": before.version}
    result = connection.execute(_CHANGE, {**same, "version": before.version + 1, **values})
    return result.rowcount == 1


def lock_model_seq(connection: Connection, study_id: str, incarnation: str) -> int | None:
    """Lock the study, and return the seq of the last event in its stored model; None if the study does not exist, or
    has another incarnation."""
    return connection.execute(_MODEL_SEQ, {"study": study_id, "its_incarnation": incarnation}).scalar_one_or_none()


def save_model(
    connection: Connection, study_id: str, incarnation: str, *, model_seq: int, checkpoint: Mapping[str, object] | None
) -> None:
    """Store the model's checkpoint, and the seq of the last event in the stored model.

    The study's version stays the same, since no request depends on these columns.
    """
    same = {"study": study_id, "its_incarnation": incarnation}
    connection.execute(_SAVE, {**same, "model_seq": model_seq, "checkpoint": checkpoint})


def remove(connection: Connection, study_id: str, writer: str, now: datetime) -> None:
    """Delete the row of a study. Then nobody can read the rows of its container, and the writer must remove them."""
    connection.execute(delete(studies).where(studies.c.id == study_id))
    containers.put_out_of_use(connection, study_id, writer, now)
