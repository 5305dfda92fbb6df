"""The models of one process. They are restored from the database, cached in limited memory, and stored again.

The rows of a model are its cells, its dictionary and its checkpoint. This module writes them while a server runs; the
creation of a study, an import and a replay write them, too. The rows may lack the latest events; these events are
folded after the model is restored.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from cachetools import LRUCache
from sqlalchemy import Connection

from adabkb_service.inference.model import Model
from adabkb_service.inference.restore import restore
from adabkb_service.storage import events, studies
from adabkb_service.storage import model as rows
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import EventRow

SAVE_EVENTS = 50
"""While a server runs, a model is stored when its rows lack this many events of the log."""
MEASURED_EVENTS = 20
"""Events between two measurements of a model's size."""
BYTES_PER_RESULT = 1500
"""Approximate size of a result and its trial in the dataset, in bytes."""


class ModelStore:
    """A cache of models by study, limited in bytes."""

    def __init__(self, database: Database, capacity: int) -> None:
        self._database = database
        self._models: LRUCache[str, Model] = LRUCache(capacity, getsizeof=size_of)
        self._guard = threading.Lock()

    def get(self, study_id: str, incarnation: str) -> Model | None:
        """The cached model of this incarnation of the study, or None."""
        model = self.find(study_id)
        return model if model is not None and model.incarnation == incarnation else None

    def find(self, study_id: str) -> Model | None:
        """The cached model of any incarnation, or None."""
        with self._guard:
            return self._models.get(study_id)

    def keep(self, study_id: str, model: Model) -> None:
        """Cache a model, and evict the least recently used ones if the cache is full. A model that is larger than the
        whole cache is not cached. The size of a model is measured again every ``MEASURED_EVENTS`` events."""
        with self._guard:
            if self._models.get(study_id) is model and model.seq < model.measured_seq + MEASURED_EVENTS:
                return
            model.measured_seq = model.seq
            self._models.pop(study_id, None)
            with suppress(ValueError):  # the model is too large
                self._models[study_id] = model

    @property
    def bytes(self) -> int:
        """Size of all cached models in bytes."""
        return int(self._models.currsize)

    def drop(self, study_id: str) -> None:
        """Drop a model."""
        with self._guard:
            self._models.pop(study_id, None)

    def unsaved(self) -> list[tuple[str, Model]]:
        """Studies and models with changes that are not stored."""
        with self._guard:
            return [(name, model) for name, model in self._models.items() if model.seq > model.saved_seq]

    def restored(self, study_id: str, incarnation: str) -> Model | None:
        """A model rebuilt from the stored rows; None if this incarnation of the study does not exist."""
        with self._database.reading() as connection:
            study = studies.find(connection, study_id)
            if study is None or study.incarnation != incarnation:
                return None
            log = events.page(connection, study_id, 0, max(study.model_seq, 1))
            cells = rows.read_cells(connection, study_id)
            return restore(study, log, cells, rows.read_dictionary(connection, study_id))

    def log_after(self, study_id: str, seq: int, until: int) -> list[EventRow]:
        """Events after ``seq``, up to ``until``."""
        with self._database.reading() as connection:
            return events.page(connection, study_id, seq, until - seq)

    def save(self, study_id: str, model: Model) -> None:
        """Store the changes of a model since it was last stored. Write nothing if it lacks results, if another
        server has stored a later state, or if the study was deleted.

        Raises:
            Contention, Busy, Unavailable: nothing was written.
        """
        if model.is_behind:
            return
        dictionary, checkpoint = model.dictionary, model.learned
        with self._database.writing() as connection:
            stored_seq = studies.lock_model_seq(connection, study_id, model.incarnation)
            if stored_seq is None or stored_seq > model.seq:
                return
            if model.is_new_tree:
                rows.clear(connection, study_id)
                model.saved_dictionary = frozenset()
            elif stored_seq != model.saved_seq or model.saved_dictionary is None:
                model.saved_dictionary = frozenset(rows.read_dictionary(connection, study_id))
            write(connection, study_id, model.unsaved, model.saved_dictionary, dictionary)
            studies.save_model(connection, study_id, model.incarnation, model_seq=model.seq, checkpoint=checkpoint)
        model.unsaved, model.saved_dictionary, model.saved_seq = {}, dictionary, model.seq
        model.is_new_tree = False


def write(
    connection: Connection, study_id: str, cells: dict[str, str], before: frozenset[int], after: frozenset[int]
) -> None:
    """Update the stored cells and the stored dictionary."""
    rows.write_cells(connection, study_id, cells)
    rows.write_dictionary(connection, study_id, added=sorted(after - before), removed=sorted(before - after))


def size_of(model: Model) -> int:
    """Approximate size of a model in bytes: the arrays of its state and of the states after its decisions, its cells,
    its dataset and its tables."""
    states = [model.state, *(decision.state for decision in model.decided)]
    arrays = sum(array.nbytes for array in _arrays(states, set()))
    results = len(model.dataset.results) + len(model.dataset.without_result)
    tables = sum(pieces.size for pieces in model.tables)
    return arrays + results * BYTES_PER_RESULT + sys.getsizeof(model.cells) + 100 * len(model.cells) + tables


def _arrays(value: Any, seen: set[int]) -> Iterator[np.ndarray[Any, Any]]:
    """Each array in a state, however deeply it is nested in objects of this package, but each only once."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        if isinstance(value.base, np.ndarray):
            yield from _arrays(value.base, seen)
        else:
            yield value
        return
    for part in _parts(value):
        yield from _arrays(part, seen)


def _parts(value: Any) -> Iterable[Any]:
    """The members of a collection (none if its first member is a number or a text), or of an object of this package."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return () if isinstance(next(iter(value), 0), int | float | str) else value
    if not type(value).__module__.startswith("adabkb_service."):
        return ()
    own = getattr(value, "__dict__", None)
    return [getattr(value, name) for name in type(value).__slots__] if own is None else own.values()
