"""Queries of the web interface: lists that can be searched and sorted, and a limited number of results for charts.

Unlike the queries for workers' requests, they read whole studies. Workers' requests do not wait for them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence, Set
from dataclasses import dataclass, fields
from datetime import datetime
from enum import Enum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Text, case, cast, exists, func, or_, select, true

from adabkb_service.storage.columns import LastPlate
from adabkb_service.storage.rows import EventRow, ObservationRow, StudyState, TrialRow, event_row, places_on
from adabkb_service.storage.tables import events, grants, observations, reports, studies, trials

UNKNOWN = (None,) * 6
"""The trial columns of a result without a trial."""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """An observation and columns of its trial, which are None for an observation without a trial."""

    observation: ObservationRow
    phase: str | None
    origin: str | None
    expected: dict[str, float] | None
    worker: str | None
    cell: str | None
    suggested_at: datetime | None
    gap: float | None
    """The gap when the trial was suggested; None if it was not known."""


@dataclass(frozen=True, slots=True)
class ListedStudy:
    """The columns of a study in a list, without its definition, which may be megabytes long."""

    id: str
    incarnation: str
    study_seq: int
    state: StudyState
    title: str | None
    tags: dict[str, str]
    budget: int | dict[str, int] | None
    plate: LastPlate | None
    active: int
    completed: int
    failed: int
    own_failures: int
    """The failures that were reported without a trial, which do not count towards the budget; part of ``failed``."""
    stopped: int
    observations: int
    updated_at: datetime
    stop: dict[str, Any] | None
    """The stopping rules."""
    results_since_best: int
    cost_spent: float
    objectives: list[Any] | None
    best: float | None
    is_feasible: bool | None
    """Whether the best result satisfies all bounds of metrics; None without metrics, and without a best result."""
    direction: str | None
    objective: dict[str, Any] | None
    """The quantity of the objective; None if it has no label, unit, digits or natural bounds."""
    max_steps: int | None
    """The number of steps of a full evaluation; None without an early-stopping rule."""
    steps_saved: int
    issued: int
    """The number of trials that count towards the budget."""
    plate_size: int | None
    """The number of trials on a plate; None in a study without plates."""
    cost_budget: float | None
    is_exhausted: bool | None
    """Whether every point of a finite space is issued; None while the model has no statistics."""
    gap_share: float | None
    """The gap as a share of the range of the results; None if it is unknown."""
    results_since_growth: int | None
    """The number of results since the last increase of the hypervolume; None with a single objective."""
    outliers: list[int] | None
    """The numbers of the results that other results contradict, as the model last reported them; None if there are
    none."""

    @property
    def plates(self) -> int:
        """The number of plates with at least one trial."""
        return 0 if self.plate is None else self.plate.get("begun", 0)

    @property
    def trial_budget(self) -> int | None:
        """The number of trials that the budget allows; None without a budget of trials."""
        return None if isinstance(self.budget, dict) else self.budget

    @property
    def has_no_budget_left(self) -> bool:
        """Whether the budget, in trials, plates or costs, is used up."""
        if isinstance(self.budget, dict):
            left = self.budget["plates"] - self.plates
            return left < 0 or (left == 0 and not places_on(self.plate, self.plate_size or 0))
        saved = 0 if self.max_steps is None else self.steps_saved // self.max_steps
        is_issued = self.budget is not None and self.issued - saved >= self.budget
        return is_issued or (self.cost_budget is not None and self.cost_spent >= self.cost_budget)


_COUNTED = ("active", "queued", "released", "expired", "completed", "failed", "stopped")
_LISTED = (
    *(
        studies.c[field.name]
        for field in fields(ListedStudy)
        if field.name in studies.c and field.name not in ("best", "steps_saved")
    ),
    studies.c.definition["objectives"],
    studies.c.best["value"].as_float(),
    studies.c.best["feasible"].as_boolean(),
    studies.c.definition["direction"].as_string(),
    studies.c.definition["quantities", "value"],
    studies.c.definition["early_stopping", "max_steps"].as_integer(),
    studies.c.steps_saved,
    sum((studies.c[name] for name in _COUNTED), -studies.c.own_failures),
    studies.c.definition["plates", "size"].as_integer(),
    studies.c.definition["budget", "cost"].as_float(),
    studies.c.model["exhausted"].as_boolean(),
    studies.c.model["gap_share"].as_float(),
    studies.c.model["results_since_gain"].as_integer(),
    studies.c.model["outliers"],
)


def _sought(text: str) -> ColumnElement[bool]:
    """The condition that the text occurs in the id, the title, the description, the owner, or the name or value of a
    tag."""
    if not text:
        return true()
    escaped = json.dumps(text)[1:-1]  # as the tags are stored
    texts = studies.c.id, studies.c.title, studies.c.description
    found = [column.icontains(text, autoescape=True) for column in texts]
    is_owner = grants.c.right == "own", grants.c.user.icontains(text, autoescape=True)
    owned = exists().where(grants.c.study_id == studies.c.id, *is_owner)
    return or_(*found, owned, cast(studies.c.tags, Text).icontains(escaped, autoescape=True))


def count_studies(connection: Connection, text: str, *conditions: ColumnElement[bool]) -> dict[StudyState, int]:
    """State -> number of studies that satisfy the conditions and contain the text (see ``_sought``)."""
    counts = select(studies.c.state, func.count().label("studies"))
    query = counts.where(_sought(text), *conditions).group_by(studies.c.state)
    return {row.state: row.studies for row in connection.execute(query)}


def page_of_studies(
    connection: Connection,
    text: str,
    state: StudyState | None,
    offset: int,
    limit: int,
    *conditions: ColumnElement[bool],
) -> list[ListedStudy]:
    """A page of the studies that satisfy the conditions and contain the text (see ``_sought``), latest change first."""
    query = select(*_LISTED).where(_sought(text), *conditions).order_by(studies.c.updated_at.desc(), studies.c.id)
    if state is not None:
        query = query.where(studies.c.state == state)
    return [ListedStudy(*row) for row in connection.execute(query.offset(offset).limit(limit))]


def events_of_result(connection: Connection, study_id: str, seq: int) -> list[EventRow]:
    """The events of a result, in order."""
    theirs = events.c.study_id == study_id, events.c.kind.in_(("observed", "measured", "corrected", "annotated"))
    query = select(events).where(*theirs, events.c.payload["observation"].as_integer() == seq).order_by(events.c.seq)
    return [event_row(*row) for row in connection.execute(query)]


def thinned(
    connection: Connection, study_id: str, count: int, most: int, sample: Set[int] = frozenset()
) -> list[ResultRow]:
    """All results if there are few. Otherwise, a sample, and the smallest and the largest result of each group of
    consecutive results, so that a chart keeps its outline.

    Args:
        connection: the connection to the database.
        study_id: id of the study.
        count: number of results of the study.
        most: the approximate number of extreme results to return.
        sample: the numbers of the results of the sample.
    """
    step = max(1, -(-2 * count // most))
    runs = (observations.c.seq - 1) // step
    ranked = (
        select(
            observations.c.seq,
            func.row_number().over(partition_by=runs, order_by=observations.c.value).label("rising"),
            func.row_number().over(partition_by=runs, order_by=observations.c.value.desc()).label("falling"),
        )
        .where(observations.c.study_id == study_id)
        .subquery()
    )
    kept = select(ranked.c.seq).where(or_(ranked.c.rising == 1, ranked.c.falling == 1))
    return _results(connection, study_id, sorted(sample | set(connection.scalars(kept))) if step > 1 else None)


def values(connection: Connection, study_id: str, metric: str | None) -> list[tuple[int, float]]:
    """(seq, value) of each result that is not excluded, ordered by seq. The value is that of a metric (of the objective
    if None). Results without it are left out."""
    column = observations.c.value if metric is None else observations.c.metrics
    query = select(observations.c.seq, column).where(
        observations.c.study_id == study_id, observations.c.excluded.is_(False)
    )
    found = connection.execute(query.order_by(observations.c.seq))
    if metric is None:
        return [(seq, value) for seq, value in found if value is not None]
    return [(seq, metrics[metric]) for seq, metrics in found if metrics and metric in metrics]


def points(connection: Connection, study_id: str, metric: str | None) -> list[tuple[dict[str, Any], float]]:
    """(parameters, value) of each result that is not excluded. The value is that of a metric (of the objective if
    None). Results without it are left out."""
    column = observations.c.value if metric is None else observations.c.metrics
    query = select(observations.c.parameters, column).where(
        observations.c.study_id == study_id, observations.c.excluded.is_(False)
    )
    found = connection.execute(query)
    if metric is None:
        return [(point, value) for point, value in found if value is not None]
    return [(point, metrics[metric]) for point, metrics in found if metrics and metric in metrics]


def failed_points(connection: Connection, study_id: str) -> list[dict[str, Any]]:
    """The parameters of each failed trial."""
    query = select(trials.c.parameters).where(trials.c.study_id == study_id, trials.c.state == "failed")
    return list(connection.scalars(query))


def _results(connection: Connection, study_id: str, kept: Sequence[int] | None) -> list[ResultRow]:
    """Results with columns of their trials. Each table is read once, by a list of numbers. There is no join, because
    PostgreSQL would plan it by its estimates of row counts, which may be outdated for a large study."""
    query = select(observations).where(observations.c.study_id == study_id).order_by(observations.c.seq)
    if kept is not None:
        query = query.where(observations.c.seq.in_(kept))
    found = [ObservationRow(*row) for row in connection.execute(query)]
    numbers = [row.trial for row in found if row.trial is not None]
    names = ("number", "phase", "origin", "expected", "worker", "cell", "created_at")
    known = select(*(trials.c[name] for name in names)).where(
        trials.c.study_id == study_id, trials.c.number.in_(numbers)
    )
    of_trials: dict[int | None, Sequence[Any]] = {number: columns for number, *columns in connection.execute(known)}
    suggested = select(events.c.trial, events.c.payload["gap"].as_float().label("gap")).where(
        events.c.study_id == study_id, events.c.trial.in_(numbers), events.c.kind == "suggested"
    )
    gaps: dict[int | None, float | None] = {row.trial: row.gap for row in connection.execute(suggested)}
    made = []
    for row in found:
        phase, origin, expected, worker, cell, suggested_at = of_trials.get(row.trial, UNKNOWN)
        made.append(ResultRow(row, phase, origin, expected, worker, cell, suggested_at, gaps.get(row.trial)))
    return made


def records(
    connection: Connection, study_id: str, *, maximize: bool, after: int, without: Set[int] = frozenset()
) -> list[tuple[int, float]]:
    """(seq, value) of each result with a seq above ``after`` that is better than all earlier ones above ``after``.
    Excluded results, those without a value and those with the numbers ``without`` do not count."""
    value = observations.c.value
    best = func.max(value) if maximize else func.min(value)
    before = best.over(order_by=observations.c.seq, rows=(None, -1)).label("before")
    counting = _counting(study_id, after, without)
    found = select(observations.c.seq, value, before).where(*counting, value.is_not(None)).subquery()
    better = found.c.value > found.c.before if maximize else found.c.value < found.c.before
    query = select(found.c.seq, found.c.value).where(or_(found.c.before.is_(None), better)).order_by(found.c.seq)
    return [(seq, value) for seq, value in connection.execute(query)]


def worst(
    connection: Connection, study_id: str, *, maximize: bool, after: int, without: Set[int] = frozenset()
) -> float | None:
    """The worst value of the results with a seq above ``after``; None without one. Excluded results and those with the
    numbers ``without`` do not count."""
    value = observations.c.value + 0.0  # for the column itself, its index would be read from its end
    query = select(func.min(value) if maximize else func.max(value)).where(*_counting(study_id, after, without))
    found: float | None = connection.execute(query).scalar_one()
    return found


def _counting(study_id: str, after: int, without: Set[int]) -> list[ColumnElement[bool]]:
    """The conditions for a result of a study that is not excluded, has a seq above ``after``, and is not one of
    ``without``."""
    counting = [observations.c.study_id == study_id, observations.c.seq > after, observations.c.excluded.is_(False)]
    return [*counting, observations.c.seq.not_in(sorted(without))] if without else counting


def recent_trials(connection: Connection, study_id: str, limit: int) -> list[TrialRow]:
    """Of the trials that have been leased, the last ``limit``, in order of their numbers."""
    query = (
        select(trials)
        .where(trials.c.study_id == study_id, trials.c.started_at.is_not(None))
        .order_by(trials.c.number.desc())
        .limit(limit)
    )
    return [TrialRow(*row) for row in connection.execute(query)][::-1]


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """Counts and times of the trials whose last attempt belonged to a worker."""

    name: str | None
    trials: int
    completed: int
    failed: int
    first: datetime
    """The earliest start of these attempts."""
    last: datetime
    """The latest end of these trials. For an unfinished trial, the start of its last attempt counts instead."""


def workers(connection: Connection, study_id: str) -> list[WorkerRow]:
    """The workers of a study, those with the most trials first."""
    count = func.count()
    in_state = {state: func.count(case((trials.c.state == state, 1))) for state in ("completed", "failed")}
    last = func.max(func.coalesce(trials.c.finished_at, trials.c.started_at))
    query = (
        select(trials.c.worker, count, in_state["completed"], in_state["failed"], func.min(trials.c.started_at), last)
        .where(trials.c.study_id == study_id, trials.c.started_at.is_not(None))
        .group_by(trials.c.worker)
        .order_by(count.desc(), trials.c.worker)
    )
    return [WorkerRow(*row) for row in connection.execute(query)]


def has_reports(connection: Connection, study_id: str) -> bool:
    """Whether any trial of a study has reported values."""
    query = select(reports.c.step).where(reports.c.study_id == study_id).limit(1)
    return connection.execute(query).first() is not None


class Order(Enum):
    """Which results are the best ones."""

    SMALLEST = "smallest"
    LARGEST = "largest"


@dataclass(frozen=True, slots=True)
class TrialSelection:
    """Selects the best or the last trials with reports, of all trials or of those with given numbers."""

    most: int
    """The maximum number of trials."""
    numbers: Sequence[int] = ()
    """Empty for all trials."""
    best: Order | None = None
    """Select the trials with the best results, which are the smallest or the largest; None selects the last trials."""


def curves(
    connection: Connection, study_id: str, selection: TrialSelection, points: int
) -> list[tuple[TrialRow, list[list[float]]]]:
    """Trials with reports, ordered by number, each with about ``points`` pairs [step, value] of its last attempt. The
    first and the last pair are among them."""
    reporting = select(trials).where(trials.c.study_id == study_id, trials.c.curve.is_not(None))
    if selection.numbers:
        reporting = reporting.where(trials.c.number.in_(selection.numbers))
    order: list[ColumnElement[Any]] = [trials.c.number.desc()]
    if selection.best is not None:
        reporting = reporting.where(trials.c.value.is_not(None))
        order.insert(0, trials.c.value.desc() if selection.best is Order.LARGEST else trials.c.value)
    rows = [TrialRow(*row) for row in connection.execute(reporting.order_by(*order).limit(selection.most))]
    rows.sort(key=lambda row: row.number)
    numbered = (
        select(
            reports.c.trial,
            reports.c.step,
            reports.c.value,
            func.row_number().over(partition_by=reports.c.trial, order_by=reports.c.step).label("place"),
            func.count().over(partition_by=reports.c.trial).label("count"),
        )
        .join(trials, (trials.c.study_id == reports.c.study_id) & (trials.c.number == reports.c.trial))
        .where(reports.c.study_id == study_id, reports.c.trial.in_([row.number for row in rows]))
        .where(reports.c.attempt == trials.c.attempt)
        .subquery()
    )
    every = numbered.c.count // points + 1
    thinned = select(numbered.c.trial, numbered.c.step, numbered.c.value).where(
        or_((numbered.c.place - 1) % every == 0, numbered.c.place == numbered.c.count)
    )
    found: dict[int, list[list[float]]] = {row.number: [] for row in rows}
    for trial, step, value in connection.execute(thinned.order_by(numbered.c.trial, numbered.c.step)):
        found[trial].append([step, value])
    return [(row, found[row.number]) for row in rows if found[row.number]]
