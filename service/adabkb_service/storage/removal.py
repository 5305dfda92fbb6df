"""Delete the content of containers in short transactions."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Column, Connection, Table, delete, select, tuple_

from adabkb_service.storage import containers
from adabkb_service.storage.database import Database
from adabkb_service.storage.pace import Pace
from adabkb_service.storage.tables import (
    cells,
    dictionary,
    events,
    files,
    grants,
    idempotency_keys,
    observations,
    parts,
    reports,
    trials,
    webhooks,
)
from adabkb_service.storage.tables import containers as containers_table


class Place(NamedTuple):
    """The progress of the removal of a container's content."""

    table: int
    """Index in ``CONTENT``."""
    last: tuple[Any, ...] | None
    """Primary key of the last deleted row, without the container's id. A deletion that continues from this key need not
    read the deleted rows that PostgreSQL has not vacuumed yet."""


START = Place(0, None)


def _content(table: Table) -> tuple[Table, Column[Any], tuple[Column[Any], ...]]:
    """A table, its column that refers to the container, and the columns that order the deletion of its rows. One index
    covers them all."""
    (reference,) = (key.parent for key in table.foreign_keys if key.column.table is containers_table)
    return table, reference, tuple(column for column in table.primary_key.columns if column is not reference)


CONTENT = list(
    map(
        _content,
        (idempotency_keys, grants, webhooks, files, observations, reports, trials, events, cells, dictionary, parts),
    )
)
"""The tables with content, in the order of deletion: rows are deleted before the rows that they refer to."""


def remove_some(connection: Connection, container: str, place: Place, limit: int) -> Place | None:
    """Delete at most ``limit`` rows of a container's content, starting at a place. Delete the container once it is
    empty.

    Returns:
        Where to continue, or None if nothing is left.
    """
    number, last = place
    while number < len(CONTENT):
        removed, last = _remove_rows(connection, *CONTENT[number], container, last, limit)
        limit -= removed
        if last is not None:
            return Place(number, last)
        number += 1
    containers.remove(connection, container)
    return None


def _remove_rows(
    connection: Connection,
    table: Table,
    reference: Column[Any],
    order: tuple[Column[Any], ...],
    container: str,
    after: tuple[Any, ...] | None,
    limit: int,
) -> tuple[int, tuple[Any, ...] | None]:
    """Delete at most ``limit`` rows of a table whose keys come after ``after``. Return how many were deleted, and the
    key of the last one, or None if no rows are left."""
    key = tuple_(*order)
    theirs = [reference == container, *([] if after is None else [key > after])]
    last = connection.execute(select(*order).where(*theirs).order_by(*order).offset(limit - 1).limit(1)).one_or_none()
    if last is not None:
        theirs.append(key <= tuple(last))
    removed = connection.execute(delete(table).where(*theirs)).rowcount
    return removed, None if last is None else tuple(last)


def remove(
    database: Database, container: str, writer: str, clock: Callable[[], datetime], seconds: float, place: Place = START
) -> bool:
    """Delete the content of a container that the writer holds, for at most ``seconds``. Others can write between the
    transactions.

    Args:
        database: the database of the container.
        container: id of the container.
        writer: the writer, which holds the container until this returns.
        clock: returns the current time.
        seconds: the time limit.
        place: where to begin.

    Returns:
        Whether the container is deleted. If not, any server may continue.

    Raises:
        Contention: another server removes the content.
        Busy, Unavailable: as for ``Database.writing``.
    """
    deadline, pace, left = time.monotonic() + seconds, Pace(), place
    while time.monotonic() < deadline:
        with pace.transaction(database) as connection:
            containers.extend(connection, container, writer, clock())
            going_on = remove_some(connection, container, left, pace.rows)
        if going_on is None:
            return True
        left = going_on
    with database.writing() as connection:
        containers.give_up(connection, container, writer)
    return False


def remove_abandoned(database: Database, container: str, clock: Callable[[], datetime], seconds: float) -> None:
    """Delete the content of a container that is neither in use nor held, for at most ``seconds``.

    Raises:
        Contention, Busy, Unavailable: as for ``remove``.
    """
    writer = containers.new_writer()
    with database.writing() as connection:
        is_ours = containers.take_over(connection, container, writer, clock())
    if is_ours:
        remove(database, container, writer, clock, seconds)
