"""A change of one study: what changes is collected and written at the end, in about one statement per table, while the
study's row is locked. Meanwhile the rows are read as they will be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import Connection

from adabkb_service.errors import Contention
from adabkb_service.storage import events, observations, studies, trials
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import EventKind, EventRow, ObservationRow, StudyRow, TrialRow, as_values
from adabkb_service.study import render
from adabkb_service.study.clock import Clock


class Store(Protocol):
    """Whatever has the database and the time."""

    @property
    def database(self) -> Database:
        """Where studies are."""

    @property
    def clock(self) -> Clock:
        """What the time is."""


@contextmanager
def changing(store: Store, study_id: str) -> Iterator[Change]:
    """A transaction on a study, for the block: committed durably at its end, or without any effect.

    Raises:
        StudyNotFound: there is no such study.
        Contention, Busy, Unavailable: nothing was written.
    """
    with store.database.writing() as connection:
        change = Change(connection, studies.get(connection, study_id, lock=True), store.clock())
        yield change
        change.write()


@contextmanager
def trying(store: Store, study_id: str) -> Iterator[Change]:
    """A change that is only thought of, to see what would become of it: ``keeping`` may write it later.

    Raises:
        StudyNotFound: there is no such study.
    """
    with store.database.reading() as connection:
        yield Change(connection, studies.get(connection, study_id), store.clock())


@contextmanager
def going_on(store: Store, seen: StudyRow) -> Iterator[Change]:
    """A transaction on a study that is still what it was when it was seen.

    Raises:
        Contention: it is not; nothing was written.
        StudyNotFound: it is gone.
        Busy, Unavailable: nothing was written.
    """
    with store.database.writing() as connection:
        change = Change(connection, seen, store.clock())
        change.rest_on(connection)
        yield change
        change.write()


@contextmanager
def keeping(store: Store, change: Change) -> Iterator[None]:
    """The transaction that writes what was thought of, with whatever the block adds.

    Raises:
        Contention: the study is not what it was then; nothing was written.
        StudyNotFound: it is gone.
        Busy, Unavailable: nothing was written.
    """
    with store.database.writing() as connection:
        change.rest_on(connection)
        yield
        change.write()


class Change:
    """What happens to a study in a transaction."""

    def __init__(self, connection: Connection, study: StudyRow, now: datetime) -> None:
        self.connection = connection
        self.study = study
        """As it will be."""
        self.now = now
        self.log: list[EventRow] = []
        """What is added to the log."""
        self.before = study
        """As it was."""
        self._trials: dict[int, TrialRow] = {}
        self._new_trials: set[int] = set()
        self._results: dict[int, ObservationRow] = {}
        self._corrected: ObservationRow | None = None

    def rest_on(self, connection: Connection) -> None:
        """Go on in a transaction that locks the study.

        Raises:
            Contention: it is not what it was.
        """
        if studies.lock(connection, self.study.id) != self.before.version:
            raise Contention(f"Study {self.study.id!r} changed meanwhile; try again.")
        self.connection = connection

    def set(self, **values: Any) -> None:
        """Columns of the study."""
        self.study = replace(self.study, **values)

    def note(self, kind: EventKind, payload: dict[str, Any], trial: int | None = None) -> None:
        """Add an event to the log."""
        seq = self.study.head + 1
        self.log.append(EventRow(self.study.id, seq, kind, trial, payload, self.now))
        self.set(head=seq, updated_at=self.now)

    def trial(self, number: int) -> TrialRow:
        """A trial.

        Raises:
            TrialNotFound: there is none.
        """
        return self._trials.get(number) or trials.get(self.connection, self.study.id, number)

    def results_of(self, trial: int) -> list[ObservationRow]:
        """The results of a trial, in order."""
        known = observations.of_trial(self.connection, self.study.id, trial)
        anew = {row.seq: row for row in (*self._results.values(), self._corrected) if row and row.trial == trial}
        return list(({row.seq: row for row in known} | anew).values())

    def add_trial(self, row: TrialRow) -> None:
        """A new trial, with the number after the last one."""
        assert row.number == self.study.trials + 1
        self._trials[row.number] = row
        self._new_trials.add(row.number)
        self._count(row.state, 1)

    def move(self, trial: TrialRow, **values: Any) -> TrialRow:
        """Change a trial; as it is then."""
        row = replace(trial, **values)
        self._trials[row.number] = row
        if row.state != trial.state:
            self._count(trial.state, -1)
            self._count(row.state, 1)
        return row

    def add_result(self, row: ObservationRow) -> None:
        """A new observation, with the seq after the last one."""
        assert row.seq == self.study.observations + 1
        self._results[row.seq] = row
        self._count("observations", 1)
        best = self.study.best
        if best is None or self._merit(row.value) > self._merit(best["value"]):
            self.set(best=render.as_best(row))

    def correct(self, row: ObservationRow) -> None:
        """Another value, error or standing for an observation that was there before; one in a change."""
        assert self._corrected is None
        self._corrected = row
        maximize = self.study.definition["direction"] == "maximize"
        other = observations.best(self.connection, self.study.id, maximize=maximize, but=row.seq)
        counting = [found for found in (other, row) if found is not None and not found.excluded]
        best = max(counting, key=lambda found: (self._merit(found.value), -found.seq), default=None)
        self.set(best=None if best is None else render.as_best(best))

    def write(self) -> None:
        """Bring the rows up to date."""
        if self._new_trials:
            trials.add(self.connection, [self._trials[number] for number in sorted(self._new_trials)])
        for number in self._trials.keys() - self._new_trials:
            trials.change(self.connection, self._trials[number])
        if self._results:
            observations.add(self.connection, self._results.values())
        if self._corrected is not None:
            observations.change(self.connection, self._corrected)
        if self.log:
            events.add(self.connection, self.log)
        before, after = as_values(self.before), as_values(self.study)
        changed = {name: value for name, value in after.items() if value != before[name]}
        if changed:
            studies.change(self.connection, self.study.id, **changed)

    def _merit(self, value: float) -> float:
        return value if self.study.definition["direction"] == "maximize" else -value

    def _count(self, name: str, by: int) -> None:
        self.set(**{name: getattr(self.study, name) + by})
