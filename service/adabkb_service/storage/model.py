"""Queries of ``cells`` and ``dictionary``, the rows of a model. Only changed rows are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from adabkb_service.storage.tables import cells, dictionary


def _upsert(insert: Any) -> Any:
    query = insert(cells)
    return query.on_conflict_do_update(index_elements=["study_id", "key"], set_={"status": query.excluded.status})


_UPSERT = {"sqlite": _upsert(sqlite_insert), "postgresql": _upsert(postgresql_insert)}


def write_cells(connection: Connection, study_id: str, statuses: Mapping[str, str]) -> None:
    """Insert new cells in the given order, and update the status of existing ones."""
    if not statuses:
        return
    rows = [
        {"study_id": study_id, "key": key, "depth": key.count("."), "status": status}
        for key, status in statuses.items()
    ]
    connection.execute(_UPSERT[connection.dialect.name], rows)


def write_dictionary(connection: Connection, study_id: str, *, added: Iterable[int], removed: Iterable[int]) -> None:
    """Add points to the dictionary and remove points from it, by their ordinals."""
    gone = list(removed)
    if gone:
        query = delete(dictionary).where(dictionary.c.study_id == study_id, dictionary.c.ordinal.in_(gone))
        connection.execute(query)
    rows = [{"study_id": study_id, "ordinal": ordinal} for ordinal in added]
    if rows:
        connection.execute(insert(dictionary), rows)


def clear(connection: Connection, study_id: str) -> None:
    """Delete the cells and the dictionary, which a replay of the log rebuilds."""
    connection.execute(delete(cells).where(cells.c.study_id == study_id))
    connection.execute(delete(dictionary).where(dictionary.c.study_id == study_id))


def read_cells(connection: Connection, study_id: str) -> dict[str, str]:
    """All cells in order of creation: key -> status."""
    query = select(cells.c.key, cells.c.status).where(cells.c.study_id == study_id).order_by(cells.c.id)
    return {row.key: row.status for row in connection.execute(query)}


def read_dictionary(connection: Connection, study_id: str) -> tuple[int, ...]:
    """Ordinals of the dictionary's points, ascending."""
    query = select(dictionary.c.ordinal).where(dictionary.c.study_id == study_id).order_by(dictionary.c.ordinal)
    return tuple(connection.execute(query).scalars())
