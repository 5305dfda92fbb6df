"""Queries of ``trials``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from adabkb_service.errors import TrialNotFound
from adabkb_service.storage.rows import TrialRow, TrialState
from adabkb_service.storage.tables import trials

CLAIMABLE: tuple[TrialState, ...] = ("expired", "released", "queued")


def add(connection: Connection, row: TrialRow) -> None:
    """Insert a trial."""
    values = {column.name: getattr(row, column.name) for column in trials.columns}
    connection.execute(insert(trials).values(values))


def get(connection: Connection, study_id: str, number: int) -> TrialRow:
    """The trial.

    Raises:
        TrialNotFound: there is none.
    """
    query = select(trials).where(trials.c.study_id == study_id, trials.c.number == number)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise TrialNotFound(study_id, number)
    return TrialRow(**row._mapping)


def change(connection: Connection, row: TrialRow, **values: Any) -> TrialRow:
    """Set columns; the row as it is then."""
    same = (trials.c.study_id == row.study_id, trials.c.number == row.number)
    connection.execute(update(trials).where(*same).values(**values))
    return get(connection, row.study_id, row.number)


def last_number(connection: Connection, study_id: str) -> int:
    """The highest number, 0 without trials."""
    query = select(func.max(trials.c.number)).where(trials.c.study_id == study_id)
    return connection.execute(query).scalar_one() or 0


def counts(connection: Connection, study_ids: Sequence[str]) -> dict[str, dict[TrialState, int]]:
    """Per study: state -> number of trials."""
    found: dict[str, dict[TrialState, int]] = {study_id: {} for study_id in study_ids}
    query = (
        select(trials.c.study_id, trials.c.state, func.count())
        .where(trials.c.study_id.in_(study_ids))
        .group_by(trials.c.study_id, trials.c.state)
    )
    for study_id, state, count in connection.execute(query):
        found[study_id][state] = count
    return found


def claimable(connection: Connection, study_id: str, limit: int) -> list[TrialRow]:
    """Trials that wait for a worker, by number."""
    query = (
        select(trials)
        .where(trials.c.study_id == study_id, trials.c.state.in_(CLAIMABLE))
        .order_by(trials.c.number)
        .limit(limit)
    )
    return [TrialRow(**row._mapping) for row in connection.execute(query)]


def overdue(connection: Connection, study_id: str, now: datetime) -> list[TrialRow]:
    """Trials whose lease has run out but which are still marked active, by number."""
    query = (
        select(trials)
        .where(trials.c.study_id == study_id, trials.c.state == "active", trials.c.leased_until < now)
        .order_by(trials.c.number)
    )
    return [TrialRow(**row._mapping) for row in connection.execute(query)]


def studies_with_overdue(connection: Connection, now: datetime) -> list[str]:
    """Ids of the studies that have overdue trials."""
    query = select(trials.c.study_id).where(trials.c.state == "active", trials.c.leased_until < now).distinct()
    return list(connection.execute(query).scalars())


def page(connection: Connection, study_id: str, *, state: TrialState | None, after: int, limit: int) -> list[TrialRow]:
    """Trials by number, after one number."""
    query = select(trials).where(trials.c.study_id == study_id, trials.c.number > after)
    if state is not None:
        query = query.where(trials.c.state == state)
    rows = connection.execute(query.order_by(trials.c.number).limit(limit))
    return [TrialRow(**row._mapping) for row in rows]
