"""The models in memory: a bounded cache that follows the log, and one lock per study.

A fold is a pure function of the log, so a cached model that another process's rows have overtaken folds the same
events in memory and writes nothing; one far behind is restored from the rows instead. What a request folds is bounded
in time, and written slice by slice, so that neither a large batch nor a crash in it costs the work twice.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from adabkb_service.errors import Busy
from adabkb_service.operations import lifecycle
from adabkb_service.operations.clock import Clock
from adabkb_service.operations.metrics import Metrics
from adabkb_service.operations.model import Changes, Model, restore
from adabkb_service.storage import events, studies
from adabkb_service.storage import model as rows
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import StudyRow

logger = logging.getLogger(__name__)

SLICE = 50
"""Events folded between two writes."""
FOLD_SECONDS = 5.0
"""How long a request folds before it leaves the rest to the next."""
LOCK_SECONDS = 10.0
"""How long a request waits for another one about the same study."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A study, and its model at ``study.head``; None if the engine cannot follow the log."""

    study: StudyRow
    model: Model | None


@dataclass(frozen=True, slots=True)
class _Fold:
    """An attempt to follow the log."""

    study: StudyRow
    model: Model | None
    changes: Changes
    figures: dict[str, Any]
    behind: int = 0
    """Events left to fold."""
    error: Exception | None = None


class Models:
    """Models by study id; at most ``capacity`` are kept."""

    def __init__(self, database: Database, metrics: Metrics, clock: Clock, capacity: int) -> None:
        self._database = database
        self._metrics = metrics
        self._clock = clock
        self._capacity = capacity
        self._models: OrderedDict[str, Model] = OrderedDict()
        self._locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        self._guard = threading.Lock()  # of the two dictionaries above

    @contextmanager
    def lock(self, study_id: str) -> Iterator[None]:
        """Decisions about a study are serial within this process.

        Raises:
            Busy: others hold the study for too long.
        """
        with self._guard:
            lock = self._locks.setdefault(study_id, threading.Lock())
        if not lock.acquire(timeout=LOCK_SECONDS):
            raise Busy(f"Study {study_id!r} is busy with other requests; try again.")
        try:
            yield
        finally:
            lock.release()

    def follow(self, study_id: str) -> Followed:
        """Fold what the log has beyond the model, and keep the rows up with it. The caller holds the lock.

        Raises:
            StudyNotFound: there is no such study.
            Busy: there is more to fold than one request can; what was folded is kept.
        """
        deadline = time.monotonic() + FOLD_SECONDS
        while True:
            fold = self._fold(study_id)
            if fold.error is not None and fold.study.model_error is None:
                self._record_failure(fold.study, fold.error)
            elif fold.changes.moved and fold.model is not None:
                self._persist(fold, fold.model)
            elif not fold.behind:
                return Followed(fold.study, fold.model)
            if time.monotonic() > deadline:
                raise Busy(f"The model of study {study_id!r} is {fold.behind} events behind the log; try again.")

    def drop(self, study_id: str) -> None:
        """Forget a model that no longer belongs to the rows."""
        with self._guard:
            self._models.pop(study_id, None)

    def _fold(self, study_id: str) -> _Fold:
        """The next slice, in memory only: read what is needed, then compute outside the transaction."""
        with self._database.reading() as connection:
            study = studies.get(connection, study_id)
            model = self._cached(study)
            log = events.page(connection, study_id, 0 if model is None else model.seq)
            cells = {} if model else rows.read_cells(connection, study_id)
            dictionary = () if model else rows.read_dictionary(connection, study_id)
        try:
            if model is None:
                model = restore(study, log[: study.folded], cells, dictionary)
                log = log[study.folded :]
            overtaken = max(study.folded - model.seq, 0)
            if overtaken:  # the rows have these already
                model.fold(log[:overtaken])
            log, later = log[overtaken : overtaken + SLICE], log[overtaken + SLICE :]
            with self._metrics.model_fold_seconds.time():
                changes = model.fold(log, later)
            figures = model.figures(model.state, model.history.awaited_points()) if changes.moved else {}
        except Exception as error:
            logger.exception("study %s: the model cannot follow the log", study_id)
            self.drop(study_id)
            return _Fold(study, None, Changes(), {}, error=error)
        self._keep(study_id, model)
        return _Fold(study, model, changes, figures, len(later))

    def _cached(self, study: StudyRow) -> Model | None:
        with self._guard:
            model = self._models.get(study.id)
        if model is None or model.created_at != study.created_at:
            return None
        return model if study.folded - SLICE <= model.seq <= study.head else None

    def _keep(self, study_id: str, model: Model) -> None:
        with self._guard:
            self._models[study_id] = model
            self._models.move_to_end(study_id)
            while len(self._models) > self._capacity:
                self._models.popitem(last=False)

    def _persist(self, fold: _Fold, model: Model) -> None:
        """Write what the fold changed, unless another process did so first."""
        study, now = fold.study, self._clock()
        try:
            with self._database.writing() as connection:
                values = {"folded": model.seq, "model": fold.figures, "model_error": None}
                if not studies.advance_fold(connection, study.id, study.folded, **values):
                    self.drop(study.id)
                    return
                fold.changes.write(connection, study.id)
                if study.model_error is not None:
                    events.append(connection, study.id, "model_recovered", {}, now=now)
                lifecycle.settle(connection, study.id, now)
        except BaseException:
            self.drop(study.id)  # it is ahead of the rows, whose changes it no longer knows
            raise

    def _record_failure(self, study: StudyRow, error: Exception) -> None:
        text = f"{type(error).__name__}: {error}"[:500]
        now = self._clock()
        with self._database.writing() as connection:
            current = studies.get(connection, study.id, lock=True)
            if current.model_error is None:
                studies.change(connection, study.id, model_error=text)
                events.append(connection, study.id, "model_failed", {"error": text}, now=now)
