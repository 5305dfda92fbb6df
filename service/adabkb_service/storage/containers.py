"""Queries of ``containers``. The rows of a study, or the content of a deleted study, belong to a container.

A container is in use while a row of ``studies`` or ``trash`` refers to it. Otherwise a writer is writing or removing
its content, which no query reads. The writer holds the container, and must extend the hold in every transaction. If
the writer ends early, the hold expires, and any server may remove the content.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from adabkb_service.errors import Contention
from adabkb_service.storage.tables import containers

HOLD = timedelta(seconds=10)
"""A hold expires this long after the last transaction that extended it. A transaction takes only a small part of this
time."""
AT_ONCE = datetime(1970, 1, 1, tzinfo=UTC)
"""The expiry time of a hold that has ended. It is in the past by any clock."""

_ADD = insert(containers)
_THIS = containers.c.id == bindparam("its_id")
_FIND = select(containers.c.id).where(_THIS)
_CHANGE = update(containers).where(_THIS)
_HELD = _CHANGE.where(containers.c.writer == bindparam("its_writer"))


def new_writer() -> str:
    """A random name for a writer."""
    return secrets.token_hex(16)


def add(connection: Connection, container: str) -> None:
    """Insert a container that is in use.

    Raises:
        Contention: the id exists.
    """
    _add(connection, {"id": container, "writer": None, "removable_at": None})


def begin(connection: Connection, container: str, writer: str, now: datetime) -> None:
    """Insert a container that a writer holds and fills.

    Raises:
        Contention: the id exists.
    """
    _add(connection, {"id": container, "writer": writer, "removable_at": now + HOLD})


def put_into_use(connection: Connection, container: str, writer: str) -> None:
    """End a writer's hold. Call it in the transaction that inserts the row referring to the container.

    Raises:
        Contention: the writer no longer holds the container.
    """
    _change_held(connection, container, writer, {"writer": None, "removable_at": None})


def put_out_of_use(connection: Connection, container: str, writer: str, now: datetime) -> None:
    """Give a writer the hold of a container, to remove its content. Call it in the transaction that deletes the row
    referring to the container."""
    connection.execute(_CHANGE, {"its_id": container, "writer": writer, "removable_at": now + HOLD})


def abandon(connection: Connection, ids: Sequence[str]) -> None:
    """Let any server remove the content of containers. Call it in the transaction that deletes the rows referring to
    them."""
    connection.execute(update(containers).where(containers.c.id.in_(ids)), {"removable_at": AT_ONCE})


def extend(connection: Connection, container: str, writer: str, now: datetime) -> None:
    """Extend a writer's hold.

    Raises:
        Contention: the hold expired, and another writer removes the container.
    """
    _change_held(connection, container, writer, {"removable_at": now + HOLD})


def give_up(connection: Connection, container: str, writer: str) -> None:
    """End the hold of a writer that stops early, so that any server may remove the content. Do nothing if another
    writer holds the container."""
    connection.execute(_HELD, {"its_id": container, "its_writer": writer, "removable_at": AT_ONCE})


def removable(connection: Connection, now: datetime, limit: int) -> list[str]:
    """Containers that are neither in use nor held, oldest first."""
    query = select(containers.c.id).where(containers.c.removable_at <= now).order_by(containers.c.removable_at)
    return list(connection.execute(query.limit(limit)).scalars())


def take_over(connection: Connection, container: str, writer: str, now: datetime) -> bool:
    """Give a writer the hold of a container whose hold has expired. Return False if the container is in use or held."""
    query = _CHANGE.where(containers.c.removable_at <= bindparam("now"))
    values = {"its_id": container, "now": now, "writer": writer, "removable_at": now + HOLD}
    return connection.execute(query, values).rowcount == 1


def remove(connection: Connection, container: str) -> None:
    """Delete a container. The database deletes the rest of its content."""
    connection.execute(delete(containers).where(containers.c.id == container))


def _add(connection: Connection, values: dict[str, object]) -> None:
    if connection.execute(_FIND, {"its_id": values["id"]}).first() is not None:
        raise Contention(f"Study {values['id']!r} is being created, deleted or restored; try again.")
    connection.execute(_ADD, values)


def _change_held(connection: Connection, container: str, writer: str, values: dict[str, object]) -> None:
    changed = connection.execute(_HELD, {"its_id": container, "its_writer": writer, **values})
    if changed.rowcount != 1:
        raise Contention("The request took too long, and another server has removed its rows; try again.")
