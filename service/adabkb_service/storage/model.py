"""Queries of ``cells`` and ``dictionary``, the rows of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Integer, String, bindparam, delete, func, insert, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from adabkb_service.storage.tables import cells, dictionary


def _upsert(insert: Any) -> Any:
    query = insert(cells)
    return query.on_conflict_do_update(index_elements=["study_id", "key"], set_={"status": query.excluded.status})


_COLUMNS = ["study_id", "key", "depth", "status"]
_TYPES: dict[str, Any] = {"keys": String, "depths": Integer, "statuses": String}
_ARRAYS = [bindparam(name, type_=ARRAY(kind)) for name, kind in _TYPES.items()]
_GIVEN = func.unnest(*_ARRAYS).table_valued(*_COLUMNS[1:], with_ordinality="number", name="given").render_derived()
_ROWS = select(bindparam("study", type_=String), *_GIVEN.c[:3]).order_by(_GIVEN.c.number)
_UPSERT_EACH = _upsert(sqlite_insert)
_UPSERT_ALL = _upsert(lambda table: postgresql_insert(table).from_select(_COLUMNS, _ROWS))


def write_cells(connection: Connection, study_id: str, statuses: Mapping[str, str]) -> None:
    """Insert new cells in the given order, and update the status of existing cells. On PostgreSQL, one statement writes
    all cells: a space with many choices has thousands of them, and requests to the study wait for the transaction."""
    if not statuses:
        return
    keys, depths = list(statuses), [key.count(".") for key in statuses]
    if connection.dialect.name == "postgresql":
        given = {"study": study_id, "keys": keys, "depths": depths, "statuses": list(statuses.values())}
        connection.execute(_UPSERT_ALL, given)
        return
    each = zip(keys, depths, statuses.values(), strict=True)
    connection.execute(_UPSERT_EACH, [dict(zip(_COLUMNS, (study_id, *values), strict=True)) for values in each])


def write_dictionary(connection: Connection, study_id: str, *, added: Iterable[int], removed: Iterable[int]) -> None:
    """Add points to the dictionary and remove points from it. Points are given by their ordinals."""
    gone = list(removed)
    if gone:
        query = delete(dictionary).where(dictionary.c.study_id == study_id, dictionary.c.ordinal.in_(gone))
        connection.execute(query)
    rows = [{"study_id": study_id, "ordinal": ordinal} for ordinal in added]
    if rows:
        connection.execute(insert(dictionary), rows)


def clear(connection: Connection, study_id: str) -> None:
    """Delete the cells and the dictionary of a study."""
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
