"""Queries of ``files``: files attached to trials, and to results without a trial, such as photographs and spectra. They
are not in the log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, select

from adabkb_service.storage.rows import as_values
from adabkb_service.storage.tables import files, observations, trials

_WITHOUT_CONTENT = [column for column in files.columns if column is not files.c.content]


@dataclass(frozen=True, slots=True)
class Holder:
    """What a file is attached to: a trial by its number, or a result without a trial by its seq."""

    trial: int | None = None
    observation: int | None = None


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file, without its content."""

    study_id: str
    number: int
    trial: int | None
    observation: int | None
    name: str
    media_type: str
    size: int
    digest: str
    user: str | None
    created_at: datetime


def add(connection: Connection, row: FileRow, content: bytes) -> None:
    """Insert a file."""
    connection.execute(insert(files), {**as_values(row), "content": content})


def page(
    connection: Connection, study_id: str, after: int, limit: int | None = None, *, of: Holder | None = None
) -> list[FileRow]:
    """Return the first ``limit`` files, of a study or of one of its trials or results, with numbers above ``after``, in
    order; all of them if ``limit`` is None."""
    theirs = [files.c.study_id == study_id, files.c.number > after]
    if of is not None:
        theirs += _held_by(of)
    query = select(*_WITHOUT_CONTENT).where(*theirs).order_by(files.c.number).limit(limit)
    return [FileRow(*row) for row in connection.execute(query)]


def notes(connection: Connection, study_id: str) -> dict[int, str]:
    """Return, for the files of a study, number -> note of the trial or result; files without a note are left out."""
    of_trial = and_(trials.c.study_id == files.c.study_id, trials.c.number == files.c.trial)
    of_result = and_(observations.c.study_id == files.c.study_id, observations.c.seq == files.c.observation)
    origin = files.outerjoin(trials, of_trial).outerjoin(observations, of_result)
    query = select(files.c.number, trials.c.attributes, observations.c.attributes).select_from(origin)
    found = connection.execute(query.where(files.c.study_id == study_id))
    noted = {number: (trial or result or {}).get("note") for number, trial, result in found}
    return {number: str(note) for number, note in noted.items() if note}


def find(connection: Connection, study_id: str, holder: Holder, number: int) -> FileRow | None:
    """Return a file of a trial or result; None if it does not exist."""
    row = connection.execute(select(*_WITHOUT_CONTENT).where(_this(study_id, number), *_held_by(holder))).one_or_none()
    return None if row is None else FileRow(*row)


def content(connection: Connection, study_id: str, number: int) -> bytes:
    """Return the content of an existing file."""
    found: bytes = connection.execute(select(files.c.content).where(_this(study_id, number))).scalar_one()
    return found


def remove(connection: Connection, study_id: str, number: int) -> None:
    """Delete a file."""
    connection.execute(delete(files).where(_this(study_id, number)))


def total(connection: Connection, study_id: str) -> int:
    """Return the total size of a study's files in bytes."""
    size = func.coalesce(func.sum(files.c.size), 0)
    return int(connection.execute(select(size).where(files.c.study_id == study_id)).scalar_one())


def _held_by(holder: Holder) -> list[ColumnElement[bool]]:
    return [files.c.trial == holder.trial, files.c.observation == holder.observation]


def _this(study_id: str, number: int) -> Any:
    return and_(files.c.study_id == study_id, files.c.number == number)
