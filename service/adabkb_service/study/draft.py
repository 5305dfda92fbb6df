"""A draft: the changes that a batch of requests makes to one study, and the transaction that writes them.

A draft starts from the study as last read. Requests read it and record events, which the transition function applies to
it. Nothing is written before ``commit``, which succeeds only if the stored study still has the same version and the
same incarnation (a random id from its creation).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, overload

from sqlalchemy import Connection

from adabkb_service.contract.stored import StoredDefinition
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from adabkb_service.errors import Contention
from adabkb_service.storage import catalogues, events, idempotency, observations, reports, studies, trials
from adabkb_service.storage import event_payloads as payloads
from adabkb_service.storage.columns import ModelStats
from adabkb_service.storage.rows import (
    EventKind,
    EventRow,
    KeyRow,
    ObservationRow,
    ReportRow,
    StudyState,
    TrialRow,
    as_values,
    event_row,
)
from adabkb_service.storage.trials import Reached
from adabkb_service.study import best, transitions
from adabkb_service.study.cached_study import CachedStudy

if TYPE_CHECKING:
    from adabkb_service.storage.database import Database

MAX_CACHED_TRIALS = 1000
"""The maximum number of a study's trials in memory between two batches. Beyond it, only the trials of the last batch
are kept; others are read again."""

OF_USERS = (
    "annotated",
    "corrected",
    "edited",
    "failed",
    "measured",
    "observed",
    "paused",
    "queued",
    "released",
    "resumed",
    "retried",
    "updated",
    "withdrawn",
)
"""Kinds of events that name the user whose request added them, as ``created`` does. The row of a result or of a failed
trial also has this name (``reported_by``); nothing else is computed from it."""


class Draft:
    """A study with uncommitted changes."""

    def __init__(self, database: Database, before: CachedStudy, now: datetime) -> None:
        self.study = before.study
        self.now = now
        self.log: list[EventRow] = []
        """Added events."""
        self.model_event_seq: int | None = None
        """Seq of the last added event that affects the model; None if there is none."""
        self.next_expiry = before.next_expiry
        self.reports: dict[tuple[int, int, int], ReportRow] = {}
        """Added reports, by trial, attempt and step."""
        self.changes = 0
        """Number of changes so far. A request that does not increase it had no effect."""
        self._database = database
        self._user: str | None = None
        self._finds_best = True
        self._before = before
        self._trials: dict[int, TrialRow] = {}
        self._observations: dict[int, ObservationRow] = {}
        self._keys: list[KeyRow] = []
        self._definition = before.definition
        self._space: tuple[StoredDefinition, Space] | None = None
        """A definition and its space."""
        self._open = ExitStack()
        self._connection: Connection | None = None
        if not catalogues.are_kept(self.study.definition):
            catalogues.read(self.connection, self.study.id, self.study.definition)

    @property
    def connection(self) -> Connection:
        """A snapshot of the database, opened on first use."""
        if self._connection is None:
            self._connection = self._open.enter_context(self._database.reading())
        return self._connection

    def close(self) -> None:
        """End the snapshot."""
        self._connection = None
        self._open.close()

    @property
    def definition(self) -> StoredDefinition:
        """The study's current definition; an edit changes it."""
        return self._definition.of(self.study.definition)

    @property
    def space(self) -> Space:
        """The study's current search space; an edit changes it."""
        definition = self.definition
        if self._space is None or self._space[0] is not definition:
            self._space = definition, definition.space()
        return self._space[1]

    @property
    def has_effects(self) -> bool:
        """Whether the draft holds changes that must be committed before the answers are sent."""
        return self.changes > 0

    @property
    def has_new_model_stats(self) -> bool:
        """Whether the model's statistics are newer than the stored ones. New statistics alone need no immediate
        commit."""
        return self.study.model != self._before.study.model

    @contextmanager
    def undone_on_error(self) -> Iterator[None]:
        """Undo the block's changes if it raises an exception."""
        undo = self._savepoint()
        try:
            yield
        except BaseException:
            undo()
            raise

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Undo the block's changes."""
        undo = self._savepoint()
        try:
            yield
        finally:
            undo()

    def _savepoint(self) -> Callable[[], None]:
        """Return a function that undoes all later changes."""
        single = (self.study, self.model_event_seq, self.next_expiry, self.changes)
        several = (list(self.log), dict(self._trials), dict(self._observations), list(self._keys))
        reported = dict(self.reports)

        def undo() -> None:
            self.study, self.model_event_seq, self.next_expiry, self.changes = single
            self.log, self._trials, self._observations, self._keys = several
            self.reports = reported

        return undo

    @overload
    def record(self, kind: Literal["suggested"], payload: payloads.Suggested, trial: int) -> None: ...
    @overload
    def record(self, kind: Literal["queued"], payload: payloads.Queued, trial: int) -> None: ...
    @overload
    def record(self, kind: Literal["leased"], payload: payloads.Leased, trial: int) -> None: ...
    @overload
    def record(self, kind: Literal["expired"], payload: payloads.Expired, trial: int) -> None: ...
    @overload
    def record(self, kind: Literal["released"], payload: payloads.Released, trial: int) -> None: ...
    @overload
    def record(self, kind: Literal["observed"], payload: payloads.Observed, trial: int | None) -> None: ...
    @overload
    def record(self, kind: Literal["corrected", "measured"], payload: payloads.Changed, trial: int | None) -> None: ...
    @overload
    def record(self, kind: Literal["failed"], payload: payloads.Failed, trial: int) -> None: ...
    @overload
    def record(self, kind: Literal["withdrawn"], payload: payloads.Withdrawn, trial: int) -> None: ...
    @overload
    def record(self, kind: Literal["retried"], payload: payloads.Retried, trial: int) -> None: ...
    @overload
    def record(self, kind: Literal["reported"], payload: payloads.Reported, trial: int) -> None: ...
    @overload
    def record(self, kind: Literal["stopped"], payload: payloads.Stopped, trial: int) -> None: ...
    @overload
    def record(self, kind: Literal["annotated"], payload: payloads.Annotated, trial: int | None = None) -> None: ...
    @overload
    def record(self, kind: Literal["plate_closed"], payload: payloads.PlateClosed) -> None: ...
    @overload
    def record(self, kind: Literal["paused"], payload: payloads.Paused) -> None: ...
    @overload
    def record(self, kind: Literal["resumed"], payload: payloads.Resumed) -> None: ...
    @overload
    def record(self, kind: Literal["updated"], payload: payloads.Updated) -> None: ...
    @overload
    def record(self, kind: Literal["edited"], payload: payloads.Edited) -> None: ...
    @overload
    def record(self, kind: Literal["completed"], payload: payloads.Completed) -> None: ...
    @overload
    def record(self, kind: Literal["model_failed"], payload: payloads.ModelFailed) -> None: ...
    @overload
    def record(self, kind: Literal["model_recovered"], payload: payloads.ModelRecovered) -> None: ...

    def record(self, kind: EventKind, payload: Mapping[str, Any], trial: int | None = None) -> None:
        """Add an event to the log and apply it."""
        if self._user is not None and kind in OF_USERS:
            payload = {**payload, "user": self._user}
        event = event_row(self.study.id, self.study.study_seq + 1, kind, trial, payload, self.now)
        transitions.apply(self, event, finds_best=self._finds_best)
        self.log.append(event)
        self.changes += 1
        if event.affects_model:
            self.model_event_seq = event.seq

    @contextmanager
    def by(self, user: str | None) -> Iterator[None]:
        """Within the block, add the name of a user to each event whose kind is in ``OF_USERS``; None adds no name, as
        to the events that the server adds by itself."""
        before, self._user = self._user, user
        try:
            yield
        finally:
            self._user = before

    @contextmanager
    def best_found_once(self) -> Iterator[None]:
        """Find the best result once, at the end of the block, and not after each result that the block changes. The
        block adds no results."""
        self._finds_best = False
        try:
            yield
            transitions.find_best(self)
        finally:
            self._finds_best = True

    def set_model_stats(self, model_stats: ModelStats | None) -> None:
        """Replace the model's statistics, without an event in the log."""
        if model_stats is not None and model_stats != self.study.model:
            self.study = replace(self.study, model=model_stats)

    def set_state(self, state: StudyState) -> None:
        """Store the state derived by ``lifecycle.update_state``."""
        self.study = replace(self.study, state=state)

    def lease(self, trial: int, seconds: float, until: datetime) -> TrialRow:
        """Set the length and the end of a trial's lease, without an event in the log."""
        row = replace(self.trial(trial), lease_seconds=seconds, leased_until=until)
        self._trials[trial] = row
        self.changes += 1
        self.next_expiry = until if self.next_expiry is None else min(until, self.next_expiry)
        return row

    def set_lease_length(self, trial: int, seconds: float) -> TrialRow:
        """Set the displayed lease length of a queued trial."""
        row = replace(self.trial(trial), lease_seconds=seconds)
        self._trials[trial] = row
        return row

    def store_answer(self, row: KeyRow) -> None:
        """Store an answer under its idempotency key, in the transaction of this draft."""
        self._keys.append(row)
        self.changes += 1

    def overdue(self) -> list[TrialRow]:
        """Return the active trials whose lease has expired, ordered by number."""
        if not self.study.active or self.next_expiry is None or self.now <= self.next_expiry:
            return []
        stored = {row.number: row for row in trials.overdue(self.connection, self.study.id, self.now)}
        ends = [row.leased_until for row in self._trials.values() if row.state == "active" and row.leased_until]
        stored_end = trials.next_expiry(self.connection, self.study.id)
        self.next_expiry = min([*ends, *([] if stored_end is None else [stored_end])], default=None)
        return [row for row in _merge(stored, self._trials) if _is_overdue(row, self.now)]

    def waiting(self, limit: int, within: Slice | None = None) -> list[TrialRow]:
        """Return the first ``limit`` waiting trials, ordered by number. If ``within`` is given, only trials in this
        slice of the space."""
        if not self.study.waiting:
            return []
        most = limit if within is None else self._before.study.waiting
        found = trials.waiting(self.connection, self.study.id, most + len(self._trials))
        rows = _merge({row.number: row for row in found}, self._trials)
        wanted = (row for row in rows if within is None or within.agrees(self.space.present(row.parameters) or {}))
        return [row for row in wanted if row.state in trials.WAITING][:limit]

    def trial(self, number: int) -> TrialRow:
        """As in ``transitions.Rows``."""
        known = self._trials.get(number) or self._before.trials.get(number)
        return known or trials.get(self.connection, self.study.id, number)

    def reached(self, mark: int) -> dict[int, Reached]:
        """Return number -> trial, for all trials that have reached a mark of the early-stopping rule (a rung or a
        step), and all that the draft has changed."""
        stored = {each.number: each for each in trials.reached(self.connection, self.study.id, mark)}
        changed = {
            number: Reached(*(getattr(row, name) for name in Reached._fields)) for number, row in self._trials.items()
        }
        return stored | changed

    def put_trial(self, row: TrialRow) -> None:
        """As in ``transitions.Rows``."""
        self._trials[row.number] = row

    def observation(self, seq: int) -> ObservationRow:
        """As in ``transitions.Rows``."""
        return self._observations.get(seq) or observations.get(self.connection, self.study.id, seq)

    def put_observation(self, row: ObservationRow) -> None:
        """As in ``transitions.Rows``."""
        self._observations[row.seq] = row

    def observations_of(self, trial: int) -> list[ObservationRow]:
        """As in ``transitions.Rows``."""
        stored = {row.seq: row for row in observations.of_trial(self.connection, self.study.id, trial)}
        changed = {seq: row for seq, row in self._observations.items() if row.trial == trial}
        return [row for _, row in sorted((stored | changed).items())]

    def latest_observations(self, limit: int) -> list[ObservationRow]:
        """Return the last ``limit`` results that are not excluded, latest first."""
        stored = observations.latest(self.connection, self.study.id, limit, without=self._observations)
        changed = [row for row in self._observations.values() if not row.excluded]
        return sorted([*changed, *stored], key=lambda row: row.seq, reverse=True)[:limit]

    def trials_on_plate(self, plate: int) -> int:
        """Return the number of trials on a plate that are not withdrawn."""
        changed = [row for row in self._trials.values() if row.plate == plate and row.state != "withdrawn"]
        stored = trials.numbers_on_plate(self.connection, self.study.id, plate)
        return len(changed) + len(stored - self._trials.keys())

    def point_on_plate(self, plate: int) -> dict[str, Any] | None:
        """Return the parameters of a trial on a plate or, without a trial, of a result that names the plate and is not
        excluded; None if there is neither. All trials and results of a plate agree in the shared parameters."""
        counting = (row for row in self._observations.values() if not row.excluded)
        changed: list[TrialRow | ObservationRow] = [*self._trials.values(), *counting]
        for row in changed:
            if row.plate == plate:
                return row.parameters
        trial = trials.on_plate(self.connection, self.study.id, plate)
        if trial is not None:
            return trial.parameters
        stored = self._observations.keys() & range(1, self._before.study.observations + 1)
        result = observations.on_plate(self.connection, self.study.id, plate, without=stored)
        return None if result is None else result.parameters

    def put_report(self, row: ReportRow) -> None:
        """As in ``transitions.Rows``."""
        self.reports[row.trial, row.attempt, row.step] = row

    def best_observation(self) -> ObservationRow | None:
        """As in ``transitions.Rows``."""
        return best.stored_best(self.connection, self.study, self.definition, self._observations)

    def counting_after(self, seq: int) -> int:
        """As in ``transitions.Rows``."""
        return best.stored_counting_after(self.connection, self.study, self.definition, self._observations, seq)

    def changed_points(self) -> list[dict[str, Any]]:
        """Return the parameters of the trials and results that the draft adds or changes."""
        of_trials = [row.parameters for row in self._trials.values()]
        return of_trials + [row.parameters for row in self._observations.values()]

    def commit(self) -> CachedStudy:
        """Write everything in one transaction and return the study as written.

        Raises:
            Contention: the stored study has changed, or an answer is already stored for a key; nothing was written.
            Busy, Unavailable: nothing was written, unless the connection broke during the commit.
        """
        before = self._before.study
        self.close()
        self._database.write(self._write)
        study = replace(self.study, version=before.version + 1)
        cached_trials = {**self._before.trials, **self._trials}
        if len(cached_trials) > MAX_CACHED_TRIALS:
            cached_trials = self._trials
        unfinished = {number: row for number, row in cached_trials.items() if row.finished_at is None}
        return CachedStudy(study, self.next_expiry, unfinished, self._definition)

    def _changed_columns(self) -> dict[str, Any]:
        before, after = as_values(self._before.study), as_values(self.study)
        return {name: value for name, value in after.items() if value is not before[name] and value != before[name]}

    def _write(self, connection: Connection) -> None:
        before = self._before.study
        if not studies.commit_if_unchanged(connection, before, **self._changed_columns()):
            raise Contention(f"Study {before.id!r} changed meanwhile; try again.")
        added, changed = _split(self._trials, before.trials)
        _write_rows(connection, trials.add, added)
        _write_rows(connection, trials.change, changed)
        new, corrected = _split(self._observations, before.observations)
        _write_rows(connection, observations.add, new)
        _write_rows(connection, observations.change, corrected)
        _write_rows(connection, reports.add, list(self.reports.values()))
        _write_rows(connection, events.add, self.log)
        _write_rows(connection, idempotency.add, self._keys)


def _split(rows: dict[int, Any], known: int) -> tuple[list[Any], list[Any]]:
    """Return the new rows, whose numbers are larger than ``known``, and the changed rows."""
    ordered = [row for _, row in sorted(rows.items())]
    count = sum(number <= known for number in rows)
    return ordered[count:], ordered[:count]


def _write_rows(connection: Connection, write: Callable[[Connection, list[Any]], None], rows: list[Any]) -> None:
    if rows:
        write(connection, rows)


def _merge(stored: dict[int, TrialRow], changed: dict[int, TrialRow]) -> list[TrialRow]:
    """Return the stored and the changed trials, ordered by number; changed trials replace stored ones."""
    return [row for _, row in sorted((stored | changed).items())]


def _is_overdue(row: TrialRow, now: datetime) -> bool:
    return row.state == "active" and row.leased_until is not None and row.leased_until < now
