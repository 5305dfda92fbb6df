"""Short forms of writes for tests of storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection

from adabkb_service.storage import containers, removal, studies, trash
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import StudyRow
from adabkb_service.storage.trash import TrashRow
from tests.integration.storage.rows import NOW


def change(connection: Connection, study_id: str, **values: Any) -> StudyRow:
    """Set columns of a study without concurrent writers, and return the study."""
    assert studies.commit_if_unchanged(connection, studies.get(connection, study_id), **values)
    return studies.get(connection, study_id)


def lock(connection: Connection, study_id: str) -> None:
    """Lock a study until the end of the transaction."""
    change(connection, study_id)


def write_when_current(database: Database, write: Callable[[Connection, StudyRow], bool]) -> None:
    """Read the study "s" and write to it, repeatedly until no other transaction has written in between.

    Args:
        database: the database of the study.
        write: called with the row that was read; returns whether it could write.
    """
    while True:
        with database.reading() as connection:
            before = studies.get(connection, "s")
        with database.writing() as connection:
            if write(connection, before):
                return


def delete_study(connection: Connection, study_id: str) -> None:
    """Delete the study and all of its rows."""
    studies.remove(connection, study_id, "w" * 32, NOW)
    place: removal.Place | None = removal.START
    while place is not None:
        place = removal.remove_some(connection, study_id, place, 2)


def add_to_trash(connection: Connection, row: TrashRow, content: bytes) -> None:
    """Add a deleted study to the trash, with its content."""
    containers.add(connection, row.container)
    trash.add_parts(connection, [(0, content)], row.container)
    trash.add(connection, row)
