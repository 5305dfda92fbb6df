"""Queries of ``observations``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from adabkb_service.errors import ObservationNotFound
from adabkb_service.storage.rows import ObservationRow
from adabkb_service.storage.tables import observations


def add(connection: Connection, row: ObservationRow) -> None:
    """Insert an observation."""
    values = {column.name: getattr(row, column.name) for column in observations.columns}
    connection.execute(insert(observations).values(values))


def get(connection: Connection, study_id: str, seq: int) -> ObservationRow:
    """The observation.

    Raises:
        ObservationNotFound: there is none.
    """
    query = select(observations).where(observations.c.study_id == study_id, observations.c.seq == seq)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise ObservationNotFound(study_id, seq)
    return ObservationRow(**row._mapping)


def change(connection: Connection, row: ObservationRow, **values: Any) -> ObservationRow:
    """Set columns; the row as it is then."""
    same = (observations.c.study_id == row.study_id, observations.c.seq == row.seq)
    connection.execute(update(observations).where(*same).values(**values))
    return get(connection, row.study_id, row.seq)


def last_seq(connection: Connection, study_id: str) -> int:
    """The highest seq, which is also the number of observations."""
    query = select(func.max(observations.c.seq)).where(observations.c.study_id == study_id)
    return connection.execute(query).scalar_one() or 0


def counts(connection: Connection, study_ids: Sequence[str]) -> dict[str, int]:
    """Per study: number of observations (seq has no gaps)."""
    query = (
        select(observations.c.study_id, func.max(observations.c.seq).label("last"))
        .where(observations.c.study_id.in_(study_ids))
        .group_by(observations.c.study_id)
    )
    found = dict.fromkeys(study_ids, 0)
    return found | {row.study_id: row.last for row in connection.execute(query)}


def of_trial(connection: Connection, study_id: str, trial: int) -> list[ObservationRow]:
    """The results of a trial, in order."""
    query = (
        select(observations)
        .where(observations.c.study_id == study_id, observations.c.trial == trial)
        .order_by(observations.c.seq)
    )
    return [ObservationRow(**row._mapping) for row in connection.execute(query)]


def best(connection: Connection, study_id: str, *, maximize: bool) -> ObservationRow | None:
    """The best result that counts, the earliest of equals."""
    value = observations.c.value
    query = (
        select(observations)
        .where(observations.c.study_id == study_id, observations.c.excluded.is_(False))
        .order_by(value.desc() if maximize else value, observations.c.seq)
        .limit(1)
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else ObservationRow(**row._mapping)


def page(connection: Connection, study_id: str, after: int, limit: int) -> list[ObservationRow]:
    """Observations by seq, after one seq."""
    query = (
        select(observations)
        .where(observations.c.study_id == study_id, observations.c.seq > after)
        .order_by(observations.c.seq)
        .limit(limit)
    )
    return [ObservationRow(**row._mapping) for row in connection.execute(query)]
