"""Queries of ``idempotency_keys``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, exists, func, insert, select

from adabkb_service.storage.rows import KeyRow, as_values
from adabkb_service.storage.tables import idempotency_keys as keys
from adabkb_service.storage.tables import studies

_THIS = keys.c.scope == bindparam("its_scope"), keys.c.key == bindparam("its_key")
_FIND = select(keys).where(*_THIS, exists().where(studies.c.id == keys.c.study_id))
_ADD = insert(keys)


def find(connection: Connection, scope: str, key: str) -> KeyRow | None:
    """The row of a key, or None. Keys of a deleted study are not found."""
    row = connection.execute(_FIND, {"its_scope": scope, "its_key": key}).one_or_none()
    return None if row is None else KeyRow(*row)


def add(connection: Connection, rows: Iterable[KeyRow]) -> None:
    """Store keys. The transaction raises ``Contention`` if one of them exists."""
    connection.execute(_ADD, [as_values(row) for row in rows])


def of_study(connection: Connection, study_id: str) -> list[KeyRow]:
    """All keys of a study, oldest first."""
    query = select(keys).where(keys.c.study_id == study_id).order_by(keys.c.created_at, keys.c.key)
    return [KeyRow(*row) for row in connection.execute(query)]


def outdated(connection: Connection, before: datetime, limit: int) -> list[tuple[str, str]]:
    """Return (scope, key) of the oldest keys that were stored before a time, at most ``limit``."""
    query = select(keys.c.scope, keys.c.key).where(keys.c.created_at < before).order_by(keys.c.created_at).limit(limit)
    return [(row.scope, row.key) for row in connection.execute(query)]


def forget(connection: Connection, names: Sequence[tuple[str, str]], before: datetime) -> None:
    """Delete those of the named keys that were stored before a time."""
    rows = [{"its_scope": scope, "its_key": key, "before": before} for scope, key in names]
    connection.execute(delete(keys).where(*_THIS, keys.c.created_at < bindparam("before")), rows)


def oldest(connection: Connection) -> datetime | None:
    """When the oldest key was stored; None without keys."""
    return connection.execute(select(func.min(keys.c.created_at))).scalar_one_or_none()
