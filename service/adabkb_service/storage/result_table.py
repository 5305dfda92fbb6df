"""The table of a study's results: a row for each result, and a row for each trial without a result.

To select the rows of a page, only numbers and sort keys are read. Reading whole rows would be many times slower.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Select,
    Subquery,
    Text,
    and_,
    case,
    cast,
    exists,
    false,
    func,
    literal,
    null,
    or_,
    select,
    union_all,
)

from adabkb_service.storage.rows import UNFINISHED, ObservationRow, TrialRow
from adabkb_service.storage.tables import events, observations, trials

RowKind = Literal[
    "counting", "partial", "own", "excluded", "corrected", "repeated", "open", "failed", "stopped", "withdrawn"
]
"""Kinds of rows to filter by. ``counting``: results that are not excluded. ``partial``: results that lack a number.
``own``: results without a trial. ``corrected``: see ``corrected``. ``repeated``: several results at one point.
``open``: unfinished trials. ``excluded``, ``failed``, ``stopped``, ``withdrawn``: results or trials in this state."""
WITHOUT_RESULT = (*UNFINISHED, "failed", "stopped", "withdrawn")
"""States of trials that may have no result."""
WITH_RESULTS: frozenset[RowKind] = frozenset({"counting", "partial", "own", "excluded", "corrected", "repeated"})
NESTED = {"parameter": "parameters", "metric": "metrics"}
"""``Sort.column`` -> JSON column with named values."""
MAX_CORRECTIONS = 10_000
"""The maximum number of corrections that are read, since SQLite limits the parameters of a statement."""
NOT_IN_PATHS = '"'
"""Names with this character cannot be sort keys: JSON paths on SQLite cannot express them."""


@dataclass(frozen=True, slots=True)
class Sort:
    """The sort key. ``column`` is ``when``, ``trial``, ``value``, ``state`` or ``worker``; or ``parameter`` or
    ``metric``, with the ``name`` of the parameter or metric."""

    column: str
    name: str | None = None
    is_text: bool = False
    is_descending: bool = True


@dataclass(frozen=True, slots=True)
class Repeats:
    """Results at the same point that are not excluded."""

    count: int
    mean: float | None
    """The mean of their values; None if none has a value, as with several objectives."""
    first: int
    """The number of the first result."""


@dataclass(frozen=True, slots=True)
class AtPoint:
    """A result at a point. ``value`` is None if it is missing, as with several objectives."""

    seq: int
    trial: int | None
    value: float | None
    excluded: bool


@dataclass(frozen=True, slots=True)
class TableRow:
    """A result with its trial, a result without a trial, or a trial without a result."""

    trial: TrialRow | None
    result: ObservationRow | None


def page(
    connection: Connection,
    study_id: str,
    *,
    kind: RowKind | None,
    worker: str,
    sort: Sort,
    offset: int,
    limit: int,
    measured: Sequence[str | None] = (),
) -> tuple[list[TableRow], int]:
    """A page of rows in order, and the total number of rows. Rows without a sort value come last. In an order by value
    or metric, excluded results follow the others.

    Args:
        connection: the connection to the database.
        study_id: id of the study.
        kind: the kind of the rows; None for all.
        worker: a text that the name of the trial's worker contains; empty for all rows.
        sort: the order of the rows.
        offset: number of rows to skip.
        limit: the maximum number of rows to return.
        measured: the numbers that each result should have: names of metrics, and None for the single objective.
    """
    if connection.dialect.name == "sqlite":  # SQLite compares names as they are stored in JSON
        sort = sort if sort.name is None else replace(sort, name=_stored(sort.name))
        measured = [name if name is None else _stored(name) for name in measured if NOT_IN_PATHS not in (name or "")]
    parts = [
        _results(connection, study_id, kind, worker, sort, measured),
        _trials_without_result(connection, study_id, kind, worker, sort),
    ]
    count = sum(
        connection.execute(select(func.count()).select_from(part.subquery())).scalar_one() for part in _some(parts)
    )
    first = [_first(part, sort, offset + limit) for part in _some(parts)]
    rows = union_all(*(select(part) for part in first)).subquery()
    query = select(rows.c.trial, rows.c.seq).order_by(*_order(rows.c, sort)).offset(offset).limit(limit)
    return _in_full(connection, study_id, [(trial, seq) for trial, seq in connection.execute(query)]), count


def _stored(name: str) -> str:
    return json.dumps(name)[1:-1]


def _some(parts: Sequence[Select[Any] | None]) -> list[Select[Any]]:
    return [part for part in parts if part is not None]


def _first(part: Select[Any], sort: Sort, count: int) -> Subquery:
    """The first ``count`` rows of a query. In an order by time, results are sorted by number, since they are numbered
    by arrival, and the numbers have an index."""
    rows = part.subquery()
    order = _order(rows.c, sort)
    if sort.column == "when" and "observed" in rows.c:
        order = [rows.c.seq.desc() if sort.is_descending else rows.c.seq]
    names = (rows.c.trial, rows.c.seq, rows.c.excluded, rows.c.key)
    return select(*names).order_by(*order).limit(count).subquery()


def _order(rows: Any, sort: Sort) -> list[Any]:
    last = [rows.excluded] if sort.column in ("value", "metric") else []
    by = rows.key.desc() if sort.is_descending else rows.key.asc()
    ties = [rows.trial.desc(), rows.seq.desc()] if sort.is_descending else [rows.trial, rows.seq]
    return [*last, rows.key.is_(None), by, *ties]


def _in_full(connection: Connection, study_id: str, found: Sequence[tuple[int | None, int | None]]) -> list[TableRow]:
    numbers = [trial for trial, _ in found if trial is not None]
    seqs = [seq for _, seq in found if seq is not None]
    of_trials = select(trials).where(trials.c.study_id == study_id, trials.c.number.in_(numbers))
    of_results = select(observations).where(observations.c.study_id == study_id, observations.c.seq.in_(seqs))
    by_number = {row.number: TrialRow(*row) for row in connection.execute(of_trials)}
    results = {row.seq: ObservationRow(*row) for row in connection.execute(of_results)}
    return [TableRow(by_number.get(trial or 0), results.get(seq or 0)) for trial, seq in found]


def _results(
    connection: Connection,
    study_id: str,
    kind: RowKind | None,
    worker: str,
    sort: Sort,
    measured: Sequence[str | None],
) -> Select[Any] | None:
    """The query for rows with a result; None if the kind has none."""
    if kind is not None and kind not in WITH_RESULTS:
        return None
    columns = observations.c
    conditions = [columns.study_id == study_id]
    match kind:
        case "counting":
            conditions.append(columns.excluded.is_(False))
        case "partial":
            each = (columns.value if name is None else columns.metrics[name].as_string() for name in measured)
            conditions.append(or_(false(), *(number.is_(None) for number in each)))
        case "own":
            conditions.append(columns.trial.is_(None))
        case "excluded":
            conditions.append(columns.excluded.is_(True))
        case "corrected":
            conditions.append(columns.seq.in_(sorted(corrected(connection, study_id))))
        case "repeated":
            points = cast(columns.parameters, Text)
            several = select(points).where(columns.study_id == study_id).group_by(points).having(func.count() > 1)
            conditions.append(points.in_(several))
    needs_trial = worker or sort.column in ("state", "worker")
    origin = observations
    if needs_trial:
        theirs = and_(trials.c.study_id == columns.study_id, trials.c.number == columns.trial)
        origin = observations.outerjoin(trials, theirs)  # type: ignore[assignment]
    if worker:
        conditions.append(trials.c.worker.icontains(worker, autoescape=True))
    keys: dict[str, ColumnElement[Any]] = {
        "when": columns.observed_at,
        "trial": columns.trial,
        "value": columns.value,
        "state": func.coalesce(trials.c.state, "completed"),
        "worker": trials.c.worker,
    }
    key = _nested(connection, observations, sort) if sort.name is not None else keys[sort.column]
    numbers = columns.trial.label("trial"), columns.seq.label("seq"), columns.excluded.label("excluded")
    made = select(*numbers, key.label("key"), columns.seq.label("observed"))
    return made.select_from(origin).where(*conditions)


def _trials_without_result(
    connection: Connection, study_id: str, kind: RowKind | None, worker: str, sort: Sort
) -> Select[Any] | None:
    """The query for trials without a result; None if the kind has none."""
    if kind in WITH_RESULTS:
        return None
    columns = trials.c
    theirs = observations.c.study_id == columns.study_id, observations.c.trial == columns.number
    states = WITHOUT_RESULT if kind is None else UNFINISHED if kind == "open" else (kind,)
    conditions = [columns.study_id == study_id, columns.state.in_(states), ~exists().where(*theirs)]
    if worker:
        conditions.append(columns.worker.icontains(worker, autoescape=True))
    keys: dict[str, ColumnElement[Any]] = {
        "when": func.coalesce(columns.finished_at, columns.started_at, columns.created_at),
        "trial": columns.number,
        "value": columns.value,
        "state": columns.state,
        "worker": columns.worker,
    }
    key = _nested(connection, trials, sort) if sort.name is not None else keys[sort.column]
    no_result = cast(null(), Integer).label("seq"), literal(False).label("excluded")
    return select(columns.number.label("trial"), *no_result, key.label("key")).where(*conditions)


def _nested(connection: Connection, table: Any, sort: Sort) -> ColumnElement[Any]:
    """The sort value in a JSON column. In an order of numbers, it is null for a value that is none, such as that of a
    category before the parameter became a number."""
    value = table.c[NESTED[sort.column]][sort.name]
    if sort.is_text:
        text: ColumnElement[Any] = value.as_string()
        return text
    is_sqlite = connection.dialect.name == "sqlite"
    kind = func.json_type(value) if is_sqlite else func.json_typeof(value)
    return case((kind.in_(("integer", "real", "number")), value.as_float()))


def corrected(connection: Connection, study_id: str) -> set[int]:
    """The numbers of the results whose values, metrics or standard errors differ from those before the first
    correction. So exclusions, and corrections that were undone, do not count. Only the last ``MAX_CORRECTIONS``
    corrections are read."""
    theirs = events.c.study_id == study_id, events.c.kind == "corrected"
    query = select(events.c.payload).where(*theirs).order_by(events.c.seq.desc()).limit(MAX_CORRECTIONS)
    first: dict[tuple[int, str, str], Any] = {}
    last: dict[tuple[int, str, str], Any] = {}
    for (payload,) in reversed(connection.execute(query).all()):
        seq = payload["observation"]
        for field, was in _entries(payload.get("was")).items():
            before, after = (_entries(each, {"": each}) for each in (was, payload.get(field)))
            for name in before.keys() | after.keys() if field != "excluded" else ():
                first.setdefault((seq, field, name), before.get(name))
                last[seq, field, name] = after.get(name)
    return {number[0] for number, value in last.items() if value != first[number]}


def _entries(value: Any, otherwise: Mapping[str, Any] = MappingProxyType({})) -> Mapping[str, Any]:
    """``value`` if it is an object, and ``otherwise`` if it is not. (An imported event may be invalid.)"""
    return value if isinstance(value, Mapping) else otherwise


def repeats(connection: Connection, study_id: str, seqs: Sequence[int] | None = None) -> dict[int, Repeats]:
    """Result number -> repeats at its point, for those of the given results that are not excluded and have repeats.

    Args:
        connection: the connection to the database.
        study_id: id of the study.
        seqs: the numbers of the results; None for all results of the study.
    """
    points, columns = cast(observations.c.parameters, Text), observations.c
    counting = columns.study_id == study_id, columns.excluded.is_(False)
    several = (
        select(
            points.label("point"),
            func.count().label("count"),
            func.avg(columns.value).label("mean"),
            func.min(columns.seq).label("first"),
        )
        .where(*counting)
        .group_by(points)
        .having(func.count() > 1)
    )
    if seqs is not None:
        # By the primary key alone: with ``excluded``, SQLite would read all results of the study by another index.
        rows = select(columns.seq, columns.excluded, points).where(columns.study_id == study_id, columns.seq.in_(seqs))
        point_of = {seq: point for seq, is_excluded, point in connection.execute(rows) if not is_excluded}
        theirs = connection.execute(several.where(points.in_(set(point_of.values()))))
        found = {point: Repeats(count, mean, first) for point, count, mean, first in theirs}
        return {seq: found[point] for seq, point in point_of.items() if point in found}
    of_all, mine = several.subquery(), select(columns.seq, points.label("point")).where(*counting).subquery()
    query = select(mine.c.seq, of_all.c.count, of_all.c.mean, of_all.c.first).where(mine.c.point == of_all.c.point)
    return {seq: Repeats(count, mean, first) for seq, count, mean, first in connection.execute(query)}


def at_best(connection: Connection, study_id: str, trial: int | None, value: float) -> Repeats | None:
    """The results at the point of the best result, which has this trial and value; None if there is no other result at
    its point."""
    points, columns = cast(observations.c.parameters, Text), observations.c
    counting = columns.study_id == study_id, columns.excluded.is_(False), columns.value.is_not(None)
    best = select(points).where(*counting, columns.trial.is_not_distinct_from(trial), columns.value == value)
    point = best.order_by(columns.seq).limit(1).scalar_subquery()
    query = select(columns.seq, columns.value).where(*counting, points == point).order_by(columns.seq)
    found = connection.execute(query).all()
    if len(found) < 2:
        return None
    return Repeats(len(found), _mean([row.value for row in found]), found[0].seq)


def _mean(values: Sequence[float]) -> float:
    """The mean of values. It is finite even if the sum of the values would overflow, as it does in a database."""
    return math.fsum(value / len(values) for value in values)


@dataclass(frozen=True, slots=True)
class Others:
    """A summary of all results that are not excluded, except a given one."""

    count: int
    low: float
    """The smallest value; NaN without values."""
    high: float
    """The largest value; NaN without values."""
    there: Sequence[AtPoint]
    """The results at the point of the given one, in order of their numbers."""
    elsewhere: tuple[float, float]
    """The smallest and the largest value at other points; NaN if there are none."""

    @property
    def mean_there(self) -> float:
        """The mean of the values in ``there``; NaN if there are none."""
        return _mean([each.value for each in self.there if each.value is not None]) if self.there else math.nan


def others(connection: Connection, study_id: str, seq: int) -> Others:
    """Summarize the values of the results that are not excluded, without the result ``seq``."""
    columns = observations.c
    besides = columns.study_id == study_id, columns.seq != seq, columns.excluded.is_(False)
    query = select(func.count(columns.value), func.min(columns.value), func.max(columns.value)).where(*besides)
    points = cast(columns.parameters, Text)
    point = select(points).where(columns.study_id == study_id, columns.seq == seq).scalar_subquery()
    same = select(columns.seq, columns.trial, columns.value, columns.excluded).where(
        *besides, columns.value.is_not(None), points == point
    )
    there = [AtPoint(*row) for row in connection.execute(same.order_by(columns.seq))]
    count, *ends = connection.execute(query).one()
    _, *elsewhere = connection.execute(query.where(points != point)).one() if there else (count, *ends)
    low, high, lowest, highest = (math.nan if each is None else each for each in (*ends, *elsewhere))
    return Others(count, low, high, there, (lowest, highest))


def count_before(connection: Connection, study_id: str, moment: datetime) -> int:
    """Return the number of results that were stored up to a moment and are not excluded."""
    columns = observations.c
    counted = columns.study_id == study_id, columns.observed_at <= moment, columns.excluded.is_(False)
    return connection.scalar(select(func.count()).select_from(observations).where(*counted)) or 0


def moment_of(connection: Connection, study_id: str, count: int) -> datetime | None:
    """Return when the ``count``-th of the results that are not excluded was stored; None if there are fewer. So later
    suggestions follow at least ``count`` of these results."""
    columns = observations.c
    query = select(columns.observed_at).where(columns.study_id == study_id, columns.excluded.is_(False))
    return connection.scalar(query.order_by(columns.seq).offset(max(0, count - 1)).limit(1))


def repeating(connection: Connection, study_id: str, numbers: Sequence[int]) -> set[int]:
    """Return the numbers of the given trials that are at the point of a result."""
    mine = trials.c.study_id == study_id, trials.c.number.in_(numbers)
    theirs = select(cast(observations.c.parameters, Text)).where(observations.c.study_id == study_id)
    query = select(trials.c.number).where(*mine, cast(trials.c.parameters, Text).in_(theirs))
    return set(connection.scalars(query))


def at_point_of(connection: Connection, study_id: str, trial: int, limit: int) -> list[AtPoint]:
    """The first ``limit`` results at the point of a trial: where its first result was measured or, if it has none, its
    suggested point."""
    columns = observations.c
    evaluated = select(cast(columns.parameters, Text)).where(columns.study_id == study_id, columns.trial == trial)
    suggested = select(cast(trials.c.parameters, Text)).where(trials.c.study_id == study_id, trials.c.number == trial)
    point = func.coalesce(evaluated.order_by(columns.seq).limit(1).scalar_subquery(), suggested.scalar_subquery())
    theirs = columns.study_id == study_id, cast(columns.parameters, Text) == point
    query = select(columns.seq, columns.trial, columns.value, columns.excluded).where(*theirs)
    return [AtPoint(*row) for row in connection.execute(query.order_by(columns.seq).limit(limit))]
