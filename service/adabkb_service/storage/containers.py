"""Queries of ``containers``: what the rows of a study belong to, or the parts of a deletion's content.

A container is in use while a row of ``studies`` or ``trash`` refers to it. One that is not in use has content that
nobody can read: it is being written, or being removed. Its writer has to extend its hold in every transaction. A writer
that dies does not, and some time later any server may remove the content.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from adabkb_service.errors import Contention
from adabkb_service.storage.tables import containers

HOLD = timedelta(seconds=10)
"""For which a writer keeps a container without a transaction; a transaction takes a small part of it."""
AT_ONCE = datetime(1970, 1, 1, tzinfo=UTC)
"""When a container is removable that nobody holds, whatever the clock says."""

_ADD = insert(containers)
_THIS = containers.c.id == bindparam("its_id")
_FIND = select(containers.c.id).where(_THIS)
_CHANGE = update(containers).where(_THIS)
_HELD = _CHANGE.where(containers.c.writer == bindparam("its_writer"))


def new_writer() -> str:
    """The name of a writer, drawn at random."""
    return secrets.token_hex(16)


def add(connection: Connection, container: str) -> None:
    """Insert a container that is in use.

    Raises:
        Contention: there is one of this id.
    """
    _add(connection, {"id": container, "writer": None, "removable_at": None})


def begin(connection: Connection, container: str, writer: str, now: datetime) -> None:
    """Insert a container that a writer fills.

    Raises:
        Contention: there is one of this id.
    """
    _add(connection, {"id": container, "writer": writer, "removable_at": now + HOLD})


def put_into_use(connection: Connection, container: str, writer: str) -> None:
    """End the hold of a writer, in the transaction that inserts what refers to the container.

    Raises:
        Contention: the writer does not hold it any more.
    """
    _change_held(connection, container, writer, {"writer": None, "removable_at": None})


def put_out_of_use(connection: Connection, container: str, writer: str, now: datetime) -> None:
    """Let a writer remove a container, in the transaction that deletes what refers to it."""
    connection.execute(_CHANGE, {"its_id": container, "writer": writer, "removable_at": now + HOLD})


def abandon(connection: Connection, ids: Sequence[str]) -> None:
    """Let any server remove containers, in the transaction that deletes what refers to them."""
    connection.execute(update(containers).where(containers.c.id.in_(ids)), {"removable_at": AT_ONCE})


def extend(connection: Connection, container: str, writer: str, now: datetime) -> None:
    """Extend the hold of a writer.

    Raises:
        Contention: another one removes the container, as this one has let too much time pass.
    """
    _change_held(connection, container, writer, {"removable_at": now + HOLD})


def give_up(connection: Connection, container: str, writer: str) -> None:
    """End the hold of a writer who goes no further, so that any server may remove the container. No change if it is
    another writer's already."""
    connection.execute(_HELD, {"its_id": container, "its_writer": writer, "removable_at": AT_ONCE})


def removable(connection: Connection, now: datetime, limit: int) -> list[str]:
    """The containers that nobody uses and nobody holds, the oldest first."""
    query = select(containers.c.id).where(containers.c.removable_at <= now).order_by(containers.c.removable_at)
    return list(connection.execute(query.limit(limit)).scalars())


def take_over(connection: Connection, container: str, writer: str, now: datetime) -> bool:
    """Let a writer hold a container that is removable; False if it is not, any more."""
    query = _CHANGE.where(containers.c.removable_at <= bindparam("now"))
    values = {"its_id": container, "now": now, "writer": writer, "removable_at": now + HOLD}
    return connection.execute(query, values).rowcount == 1


def remove(connection: Connection, container: str) -> None:
    """Delete a container, with what still refers to it as its content."""
    connection.execute(delete(containers).where(containers.c.id == container))


def _add(connection: Connection, values: dict[str, object]) -> None:
    if connection.execute(_FIND, {"its_id": values["id"]}).first() is not None:
        raise Contention(f"Study {values['id']!r} is being created, deleted or restored; try again.")
    connection.execute(_ADD, values)


def _change_held(connection: Connection, container: str, writer: str, values: dict[str, object]) -> None:
    changed = connection.execute(_HELD, {"its_id": container, "its_writer": writer, **values})
    if changed.rowcount != 1:
        raise Contention("The transactions took too long, and another server has removed their rows; try again.")
