"""``adabkb data doctor``: check that a database is consistent, and that its rows agree with the logs of its studies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import chain
from typing import Any, get_args

from sqlalchemy import Connection, text

from adabkb_service.contract.settings import IN_COLUMNS
from adabkb_service.contract.stored import definition_of
from adabkb_service.engine.cells import NEW_TREE, ROOT
from adabkb_service.engine.space import Space
from adabkb_service.errors import Invalid, shown
from adabkb_service.storage import events, observations, reports, studies, trials
from adabkb_service.storage import model as rows
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import (
    ENGINE_REVISION,
    EventRow,
    ObservationRow,
    Row,
    StudyRow,
    TrialRow,
    TrialState,
    as_values,
)
from adabkb_service.study import lifecycle
from adabkb_service.study.point_checks import feasible_point
from adabkb_service.study.replay_state import ReplayState, replayed

NO_LIMIT = 2**31 - 1
NOT_IN_THE_LOG = {"lease_seconds", "leased_until"}


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem found in the database."""

    study: str | None
    """None if the finding concerns the whole database."""
    what: str
    remedy: str
    subject: str = "database"
    """What the finding is about, if it does not concern a study."""


@dataclass(frozen=True, slots=True)
class Extent:
    """The amount of data to examine."""

    studies: int
    events: int


REPLAY = "adabkb data replay rebuilds it from the log"
RESTORE = "restore a backup, or export the study and inspect it; its log is the authoritative record"


def examine(database: Database, study_id: str | None = None) -> Iterator[Finding]:
    """Yield all findings of one study or of the whole database. Each study is read in its own snapshot.

    Raises:
        StudyNotFound: the study does not exist.
    """
    if study_id is not None:
        with database.reading() as connection:
            yield from examine_study(connection, studies.get(connection, study_id))
        return
    with database.reading() as connection:
        if database.is_sqlite:
            yield from _file(connection)
        study_ids = studies.ids(connection)
    for name in study_ids:
        with database.reading() as connection:
            study = studies.find(connection, name)
            if study is not None:
                yield from examine_study(connection, study)


def measure(database: Database, study_id: str | None = None) -> Extent:
    """Count the studies and events of one study or of the whole database."""
    with database.reading() as connection:
        number = len(studies.ids(connection)) if study_id is None else 1
        return Extent(number, events.count(connection, study_id))


def _file(connection: Connection) -> Iterator[Finding]:
    """Yield the findings of SQLite's own checks. For PostgreSQL, use ``pg_amcheck``."""
    for (message,) in connection.execute(text("PRAGMA integrity_check")):
        if message != "ok":
            yield Finding(None, f"SQLite reports damage in the file: {message}", "restore a backup")
    for broken in connection.execute(text("PRAGMA foreign_key_check")):
        yield Finding(
            None, f"a row of the table {broken[0]} refers to a missing row of {broken[2]}", "restore a backup"
        )


def examine_study(connection: Connection, study: StudyRow) -> Iterator[Finding]:
    """Yield all findings of one study, given its row."""
    log = events.page(connection, study.id, 0)
    try:
        logged = replayed(study.id, log)
    except ValueError as error:
        yield Finding(study.id, str(error), RESTORE)
        return
    trial_rows = trials.page(connection, study.id, state=None, after=0, limit=NO_LIMIT)
    results = observations.page(connection, study.id, 0, NO_LIMIT)
    curves = reports.page(connection, study.id, reports.FIRST, NO_LIMIT)
    misplaced = point_check(logged)
    for what in [
        *(each.sentence for each in logged.contradictions),
        *_row(study, logged),
        *_differences("trial", logged.trials, {row.number: row for row in trial_rows}),
        *chain.from_iterable(lease_problems(study, row) for row in trial_rows),
        *_differences("observation", logged.observations, {row.seq: row for row in results}),
        *_differences("report", logged.reports, {(row.trial, row.attempt, row.step): row for row in curves}),
        *chain.from_iterable(map(misplaced, logged.trials.values())),
        *chain.from_iterable(map(misplaced, logged.observations.values())),
    ]:
        yield Finding(study.id, what, RESTORE)
    cells, dictionary = rows.read_cells(connection, study.id), rows.read_dictionary(connection, study.id)
    for what in model_problems(study, log, trial_rows, count_points(trial_rows, results), cells, dictionary):
        yield Finding(study.id, what, REPLAY)


COUNTS = (*get_args(TrialState), "observations", "failures")
FOLLOWS_FROM_LOG = (
    *(
        *COUNTS,
        "study_seq",
        "definition",
        "seed",
        "paused",
        "best",
        "results_since_best",
        "steps_saved",
        "cost_spent",
        "plate",
        "log_bytes",
    ),
    *IN_COLUMNS,
)
"""Columns of a study that follow from its log."""


def _row(study: StudyRow, logged: ReplayState) -> Iterator[str]:
    """Yield the differences between the study's row and its log: counts, settings and state."""
    for name in FOLLOWS_FROM_LOG:
        found, expected = getattr(study, name), getattr(logged.study, name)
        if found != expected:
            yield f"the study's {name} is {found!r}, but should be {expected!r}"
    state, _ = lifecycle.status(study)
    if study.state != state:
        yield f"the study's state is {study.state}, but should be {state}"


def lease_problems(study: StudyRow, trial: TrialRow) -> Iterator[str]:
    """Yield the errors in the leases of a trial, which do not all follow from the log."""
    if trial.state == "active" and trial.leased_until is None:
        yield f"trial {trial.number} is active without a lease"
    if not 0 <= trial.expirations <= max(trial.attempt, study.max_attempts):
        yield f"trial {trial.number} has {trial.attempt} attempts, of which {trial.expirations} expired"


def _differences(name: str, logged: Mapping[Any, Row], found: Mapping[Any, Row]) -> Iterator[str]:
    """Yield the differences between stored rows and the log."""
    for number in sorted(logged.keys() | found.keys()):
        if number not in found:
            yield f"{name} {number} is in the log, but has no row"
        elif number not in logged:
            yield f"{name} {number} has a row, but is not in the log"
        else:
            was, now = as_values(logged[number]), as_values(found[number])
            for field in was:
                if field not in NOT_IN_THE_LOG and was[field] != now[field]:
                    yield f"{name} {number} has the {field} {now[field]!r}, but {was[field]!r} in the log"


def point_check(logged: ReplayState) -> Callable[[TrialRow | ObservationRow], Iterator[str]]:
    """Return a function that yields a sentence if the point of a row was not in the space when the row was added, or
    does not have the stored form. It accepts a result at the point of its trial, since the trial may be older than the
    last edit of the space."""
    spaces: dict[int, Space] = {}

    def problems(row: TrialRow | ObservationRow) -> Iterator[str]:
        name, number = ("trial", row.number) if isinstance(row, TrialRow) else ("observation", row.seq)
        definition = logged.first_definitions[name, number]
        if id(definition) not in spaces:
            spaces[id(definition)] = definition_of(definition).space()
        is_sound = _is_sound(row.parameters, spaces[id(definition)], is_measured=_is_measured(row))
        if not is_sound and not _is_as_issued(logged, row):
            yield f"{name} {number} is at {row.parameters}, which is not in the space"

    return problems


def _is_measured(row: TrialRow | ObservationRow) -> bool:
    """Return whether the point of a row may be between the steps of a parameter. This is allowed for results, and
    for failures that were reported without a trial."""
    return isinstance(row, ObservationRow) or (row.state == "failed" and row.attempt == 0)


def _is_sound(parameters: dict[str, Any], space: Space, *, is_measured: bool) -> bool:
    try:
        return feasible_point(space, parameters, "", is_measured=is_measured) == parameters
    except Invalid:
        return False


def _is_as_issued(logged: ReplayState, row: TrialRow | ObservationRow) -> bool:
    """Return whether a row is a result at the point of its trial."""
    return (
        isinstance(row, ObservationRow)
        and row.trial is not None
        and row.parameters == logged.trials[row.trial].parameters
    )


def broken_tree(cells: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the errors in a tree of cells, each as the key of a cell and a sentence. ``cells`` maps key -> status, in
    order of creation."""
    if next(iter(cells), None) != ROOT:
        yield next(iter(cells), ROOT), "the first cell is not the root"
    children: dict[str, list[str]] = {}
    for key in cells:
        parent, _, name = key.rpartition(".")
        if key != ROOT and (cells.get(parent) != "expanded" or (parent != ROOT and parent not in children)):
            yield key, f"cell {shown(key)} has no expanded parent before it"
        children.setdefault(key, [])
        children.setdefault(parent, []).append(name)
    for key, status in cells.items():
        if status == "expanded" and not children[key]:
            yield key, f"cell {shown(key)} is expanded, but has no children"
        elif children[key] and not _are_parts(children[key]):
            yield key, f"the children of cell {shown(key)} do not make up the whole cell"


def _are_parts(names: list[str]) -> bool:
    """Return whether the last parts of keys are those of all children of one split: 0, 1, 2, ..., or, for a split along
    axis 3, 3-0, 3-1, ..."""
    axis, _, _ = names[0].rpartition("-")
    before = f"{axis}-" if axis else ""
    return (axis.isdecimal() or not axis) and sorted(names) == sorted(f"{before}{part}" for part in range(len(names)))


def count_points(trial_rows: Iterable[TrialRow], results: Sized) -> int:
    """Return the number of results, including estimated results of stopped trials."""
    return len(results) + sum(row.estimate is not None for row in trial_rows)


def model_problems(
    study: StudyRow,
    log: Sequence[EventRow],
    trial_rows: Iterable[TrialRow],
    points: int,
    cells: Mapping[str, str],
    dictionary: Iterable[int],
) -> Iterator[str]:
    """Yield the errors of the stored model: cells that do not form a tree, and points of the dictionary that do not
    exist.

    Args:
        study: the study's row.
        log: the events of the study.
        trial_rows: the trials.
        points: from ``count_points``.
        cells: key -> status, in order of creation.
        dictionary: ordinals of points.
    """
    if study.model_seq > study.study_seq:
        yield f"the model is at event {study.model_seq}, beyond the log's end at {study.study_seq}"
    for _, what in broken_tree(cells):
        yield what
    for trial in _decided(study, log, trial_rows):
        if trial.cell is not None and trial.cell not in cells:
            yield f"trial {trial.number} belongs to cell {trial.cell}, which does not exist"
    if study.model_seq <= 1 and cells != NEW_TREE:
        yield "there are cells, but the model has processed no results"
    for ordinal in dictionary:
        if ordinal >= points:
            yield f"the dictionary contains point {ordinal}, but there are only {points} points"


def _decided(study: StudyRow, log: Sequence[EventRow], trial_rows: Iterable[TrialRow]) -> Iterator[TrialRow]:
    """Yield the trials whose cells the stored model must have: those that it decided on since the last edit of the
    space, which begins a new tree."""
    if study.engine_revision != ENGINE_REVISION:  # other revisions create other cells
        return
    folded = [event for event in log if event.seq <= study.model_seq]
    tree_since = max((event.seq for event in folded if event.kind == "edited"), default=0)
    decided = {event.trial for event in folded if event.kind == "suggested" and event.seq > tree_since}
    yield from (row for row in trial_rows if row.number in decided)
