"""Queries of ``containers``: owners of the rows of a study or of the content of a deleted one.

A container is in use while a row of ``studies`` or ``trash`` refers to it. Otherwise its content is unreadable: it is
being written or removed. Its writer must extend its hold in every transaction. If a writer dies, its hold expires and
any server may remove the content.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from adabkb_service.errors import Contention
from adabkb_service.storage.tables import containers

HOLD = timedelta(seconds=10)
"""How long a hold lasts without a transaction; a transaction takes only a small part of this time."""
AT_ONCE = datetime(1970, 1, 1, tzinfo=UTC)
"""Expiry time of a container that is removable at once, by any clock."""

_ADD = insert(containers)
_THIS = containers.c.id == bindparam("its_id")
_FIND = select(containers.c.id).where(_THIS)
_CHANGE = update(containers).where(_THIS)
_HELD = _CHANGE.where(containers.c.writer == bindparam("its_writer"))


def new_writer() -> str:
    """A random name for a writer."""
    return secrets.token_hex(16)


def add(connection: Connection, container: str) -> None:
    """Insert a container in use.

    Raises:
        Contention: the id exists.
    """
    _add(connection, {"id": container, "writer": None, "removable_at": None})


def begin(connection: Connection, container: str, writer: str, now: datetime) -> None:
    """Insert a container held by a writer who fills it.

    Raises:
        Contention: the id exists.
    """
    _add(connection, {"id": container, "writer": writer, "removable_at": now + HOLD})


def put_into_use(connection: Connection, container: str, writer: str) -> None:
    """End a writer's hold, in the transaction that inserts the row referring to the container.

    Raises:
        Contention: the writer no longer holds it.
    """
    _change_held(connection, container, writer, {"writer": None, "removable_at": None})


def put_out_of_use(connection: Connection, container: str, writer: str, now: datetime) -> None:
    """Give a container to a writer for removal, in the transaction that deletes the row referring to it."""
    connection.execute(_CHANGE, {"its_id": container, "writer": writer, "removable_at": now + HOLD})


def abandon(connection: Connection, ids: Sequence[str]) -> None:
    """Make containers removable by any server, in the transaction that deletes the rows referring to them."""
    connection.execute(update(containers).where(containers.c.id.in_(ids)), {"removable_at": AT_ONCE})


def extend(connection: Connection, container: str, writer: str, now: datetime) -> None:
    """Extend a writer's hold.

    Raises:
        Contention: the hold expired, and another writer removes the container.
    """
    _change_held(connection, container, writer, {"removable_at": now + HOLD})


def give_up(connection: Connection, container: str, writer: str) -> None:
    """End the hold of a writer who stops early, so that any server may remove the container. Does nothing if another
    writer holds it."""
    connection.execute(_HELD, {"its_id": container, "its_writer": writer, "removable_at": AT_ONCE})


def removable(connection: Connection, now: datetime, limit: int) -> list[str]:
    """Containers that are neither in use nor held, oldest first."""
    query = select(containers.c.id).where(containers.c.removable_at <= now).order_by(containers.c.removable_at)
    return list(connection.execute(query.limit(limit)).scalars())


def take_over(connection: Connection, container: str, writer: str, now: datetime) -> bool:
    """Let a writer hold a removable container; False if it is no longer removable."""
    query = _CHANGE.where(containers.c.removable_at <= bindparam("now"))
    values = {"its_id": container, "now": now, "writer": writer, "removable_at": now + HOLD}
    return connection.execute(query, values).rowcount == 1


def remove(connection: Connection, container: str) -> None:
    """Delete a container and the rest of its content."""
    connection.execute(delete(containers).where(containers.c.id == container))


def _add(connection: Connection, values: dict[str, object]) -> None:
    if connection.execute(_FIND, {"its_id": values["id"]}).first() is not None:
        raise Contention(f"Study {values['id']!r} is being created, deleted or restored; try again.")
    connection.execute(_ADD, values)


def _change_held(connection: Connection, container: str, writer: str, values: dict[str, object]) -> None:
    changed = connection.execute(_HELD, {"its_id": container, "its_writer": writer, **values})
    if changed.rowcount != 1:
        raise Contention("The transactions took too long, and another server has removed their rows; try again.")
