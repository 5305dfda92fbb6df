"""The models of the studies, as the server sees them: a bounded number of them follows the logs, one lock per study.

A fold is a pure function of the log, so a model that another process's rows have overtaken folds the same events in
memory and writes nothing; one far behind is restored from the rows instead. What a request folds is bounded in time,
and written slice by slice, so that neither a large batch nor a crash in it costs the work twice. The models themselves
are on the shelves of a host.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import RLock
from typing import Any
from weakref import WeakValueDictionary

from sqlalchemy import Connection

from adabkb_service.errors import Busy
from adabkb_service.inference.model import Changes, Model, restore
from adabkb_service.inference.pool import GONE, Host, Known, ModelGone, ModelLate, R, Shelf, Work
from adabkb_service.operations.metrics import Metrics
from adabkb_service.storage import events, studies
from adabkb_service.storage import model as rows
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import EventRow, StudyRow
from adabkb_service.study import lifecycle
from adabkb_service.study.clock import Clock
from adabkb_service.study.draft import Change, changing

logger = logging.getLogger(__name__)

SLICE = 50
"""Events folded between two writes, at most, ..."""
SLICE_SECONDS = 2.0
"""... and how long: far less than anyone waits for a call."""
FOLD_SECONDS = 5.0
"""How long a request folds before it leaves the rest to the next."""
LOCK_SECONDS = 10.0
"""How long a request waits for another one about the same study."""
SOON_SECONDS = 1.0
"""How long a result waits for a decision that is being made."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A study as read in one transaction, with what its model needs to catch up."""

    study: StudyRow
    model: Known | None
    """None if it is to be restored."""
    log: list[EventRow]
    """Events after the model."""
    cells: dict[str, str]
    dictionary: tuple[int, ...]
    """To restore it from."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A study whose model is at ``study.head``."""

    study: StudyRow
    in_order: bool
    """False if the engine cannot follow the log, or not in time: then there is no model."""


@dataclass(frozen=True, slots=True)
class Fold:
    """A slice of the log, folded; or why it cannot be."""

    known: Known
    """Where the model is then."""
    changes: Changes
    figures: dict[str, Any]
    behind: int
    """Events left to fold."""
    error: str | None = None

    def write(self, change: Change) -> None:
        """Bring the study's rows on with the model."""
        if not self.changes.moved:
            return
        recovered = change.study.model_error is not None
        change.set(folded=self.known.seq, model=self.figures, model_error=None)
        self.changes.write(change.connection, change.study.id)
        if recovered:
            change.note("model_recovered", {})


def fold_slice(shelf: Shelf, seen: Seen, size: int) -> Fold:
    """Bring a model on, by no more than ``size`` events beyond those that the rows have already.

    Raises:
        ModelGone: it is not on the shelf.
    """
    study, log, until = seen.study, seen.log, time.monotonic() + SLICE_SECONDS
    try:
        if seen.model is None:
            model = _late_one(shelf, seen) or restore(study, log[: study.folded], seen.cells, seen.dictionary)
            log = log[model.seq :]
        else:
            model = shelf.at(study.id, seen.model.seq)
        overtaken = max(study.folded - model.seq, 0)
        if overtaken:  # the rows have these already
            model.fold(log[:overtaken])
        log, later = log[overtaken : overtaken + size], log[overtaken + size :]
        changes = model.fold(log, later, until=until)
        figures = model.figures(model.state, model.history.awaited_points()) if changes.moved else {}
    except ModelGone:
        raise
    except Exception as error:
        logger.exception("study %s: the model cannot follow the log", study.id)
        shelf.drop(study.id)
        return Fold(Known(0, study.created_at), Changes(), {}, 0, error=f"{type(error).__name__}: {error}"[:500])
    shelf.models[study.id] = model
    behind = seen.log[-1].seq - model.seq if seen.log else 0
    return Fold(Known(model.seq, model.at), changes, figures, behind)


def _late_one(shelf: Shelf, seen: Seen) -> Model | None:
    """A model that was restored when nobody waited for it any more, if it is of this log and about where the rows
    are."""
    model, folded = shelf.models.get(seen.study.id), seen.study.folded
    if model is None or not max(folded - SLICE, 1) <= model.seq <= folded:
        return None
    return model if seen.log[model.seq - 1].created_at == model.at else None


def take_in(shelf: Shelf, study_id: str, seq: int, log: list[EventRow], decided: bool) -> None:
    """Events that came of a decision, or do not concern the engine."""
    model, undecided = shelf.at(study_id, seq), shelf.undecided.pop(study_id, None)
    if decided:
        if undecided is None:  # evicted this moment
            raise ModelGone(GONE)
        model.state, cells = undecided
        model.cells.update(cells)
    model.accept(log)


class Models:
    """Models by study id; at most ``capacity`` are kept."""

    def __init__(self, database: Database, metrics: Metrics, clock: Clock, host: Host, capacity: int) -> None:
        self.database = database
        self.clock = clock
        self._metrics = metrics
        self._host = host
        self._capacity = capacity
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._locks: WeakValueDictionary[str, RLock] = WeakValueDictionary()
        self._guard = threading.Lock()  # of the two dictionaries above

    @contextmanager
    def lock(self, study_id: str) -> Iterator[None]:
        """Decisions about a study are serial within this process; who holds the lock may take it again.

        Raises:
            Busy: others hold the study for too long.
        """
        lock = self._lock_of(study_id)
        if not lock.acquire(timeout=LOCK_SECONDS):
            raise Busy(f"Study {study_id!r} is busy with other requests; try again.")
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def soon(self, study_id: str) -> Iterator[bool]:
        """The lock if it can be had soon, else without it, and whether it is held: what arrives in the midst of a
        decision undoes it, and most decisions are made in a moment."""
        lock = self._lock_of(study_id)
        held = lock.acquire(timeout=SOON_SECONDS)
        try:
            yield held
        finally:
            if held:
                lock.release()

    def _lock_of(self, study_id: str) -> RLock:
        with self._guard:
            return self._locks.setdefault(study_id, RLock())

    def read(self, connection: Connection, study: StudyRow) -> Seen:
        """What there is to know before the model of a study follows its log."""
        if model := self._cached(study):
            if model.seq < study.head:
                last, *log = events.page(connection, study.id, model.seq - 1)
                at = last.created_at
            else:
                log, at = [], study.updated_at
            if at == model.at:
                return Seen(study, model, log, {}, ())
        log = events.page(connection, study.id, 0)
        return Seen(study, None, log, rows.read_cells(connection, study.id), rows.read_dictionary(connection, study.id))

    def seen_by(self, change: Change) -> Seen | None:
        """The same of a change, written or not, without reading it; None if that does not do."""
        before = change.before
        model = self._cached(before)
        if model is None or (model.seq, model.at) != (before.head, before.updated_at):
            return None
        return Seen(change.study, model, change.log, {}, ())

    @contextmanager
    def ahead(self, change: Change, most: int) -> Iterator[Fold | None]:
        """The model takes in a change that the block then writes; None if there is more to take in than so many
        events, or none, or if it cannot. The caller holds the lock."""
        seen = self.seen_by(change) if 0 < len(change.log) <= most else None
        fold = None
        with suppress(ModelGone, ModelLate):
            fold = None if seen is None or change.study.model_error else self._fold(seen)
        if fold is not None and fold.behind:
            self.drop(change.study.id)
            fold = None
        try:
            yield None if fold is None or fold.error else fold
        except BaseException:
            self.drop(change.study.id)  # it is ahead of the rows
            raise

    def follow(self, study_id: str, seen: Seen | None = None) -> Followed:
        """Fold what the log has beyond the model, and keep the rows up with it. The caller holds the lock.

        Args:
            study_id: which study.
            seen: it as the caller just saw it, to spare reading it.

        Raises:
            StudyNotFound: there is no such study.
            ModelLate: there is more to fold than one request can; what was folded is kept.
        """
        deadline = time.monotonic() + FOLD_SECONDS
        while True:
            now = seen or self._read(study_id)
            fold, seen = self._fold(now), None
            if fold.error is not None and now.study.model_error is None:
                self._record_failure(now.study, fold.error)
            elif fold.changes.moved:
                study = self._persist(now.study, fold)
                if study is not None and study.head == fold.known.seq:
                    return Followed(study, in_order=True)
            elif not fold.behind:
                return Followed(now.study, in_order=fold.error is None)
            if time.monotonic() > deadline:
                raise ModelLate(f"The model of study {study_id!r} is {fold.behind} events behind the log; try again.")

    def call(self, study: StudyRow, work: Work[..., R], *args: Any) -> R:
        """Do work on a model that has followed its log to ``study.head``: given the shelf, the study's id, where its
        model is, and the arguments.

        Raises:
            ModelGone: it is not there any more.
            ModelLate: it takes too long.
        """
        return self._ask(study.id, work, study.id, study.head, *args)

    def accept(self, study: StudyRow, log: list[EventRow], *, decided: bool) -> None:
        """The model takes in what a decision on ``study`` came to; if it cannot, it is restored for the next."""
        try:
            self.call(study, take_in, log, decided)
            if log:
                self._keep(study.id, Known(log[-1].seq, log[-1].created_at))
        except Exception as error:  # the decision stands, whatever became of the model
            if not isinstance(error, ModelGone | ModelLate):
                logger.exception("study %s: the model cannot take in a decision", study.id)
            self.drop(study.id)

    def drop(self, study_id: str) -> None:
        """Forget a model that no longer belongs to the rows."""
        with self._guard:
            self._known.pop(study_id, None)
        with suppress(ModelGone, ModelLate):
            self._host.call(study_id, Shelf.drop, study_id)

    def _read(self, study_id: str) -> Seen:
        with self.database.reading() as connection:
            return self.read(connection, studies.get(connection, study_id))

    def _fold(self, seen: Seen) -> Fold:
        """The next slice, in memory only."""
        study = seen.study
        with self._metrics.model_fold_seconds.time():
            fold = self._ask(study.id, fold_slice, seen, SLICE)
        if fold.error is None:
            self._keep(study.id, fold.known)
        else:
            self.drop(study.id)
        return fold

    def _ask(self, study_id: str, work: Work[..., R], *args: Any) -> R:
        try:
            return self._host.call(study_id, work, *args)
        except (ModelGone, ModelLate):
            self.drop(study_id)
            raise

    def _cached(self, study: StudyRow) -> Known | None:
        with self._guard:
            known = self._known.get(study.id)
        return known if known and study.folded - SLICE <= known.seq <= study.head else None

    def _keep(self, study_id: str, known: Known) -> None:
        with self._guard:
            self._known[study_id] = known
            self._known.move_to_end(study_id)
            oldest = next(iter(self._known)) if len(self._known) > self._capacity else None
        if oldest is not None:
            self.drop(oldest)

    def _persist(self, seen: StudyRow, fold: Fold) -> StudyRow | None:
        """Write what the fold changed; None if another process did so first."""
        try:
            with changing(self, seen.id) as change:
                overtaken = (change.study.created_at, change.study.folded) != (seen.created_at, seen.folded)
                if not overtaken:
                    fold.write(change)
                    lifecycle.settle(change)
        except BaseException:
            self.drop(seen.id)  # it is ahead of the rows, whose changes it no longer knows
            raise
        if overtaken:
            self.drop(seen.id)
            return None
        return change.study

    def _record_failure(self, seen: StudyRow, error: str) -> None:
        with changing(self, seen.id) as change:
            if change.study.created_at == seen.created_at and change.study.model_error is None:
                change.set(model_error=error)
                change.note("model_failed", {"error": error})
