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

from adabkb_service.inference.cached_model import CachedModel
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
        self._models: LRUCache[str, CachedModel] = LRUCache(capacity, getsizeof=size_of)
        self._guard = threading.Lock()

    def get(self, study_id: str, incarnation: str) -> CachedModel | None:
        """The cached model of this incarnation of the study, or None."""
        cached = self.find(study_id)
        return cached if cached is not None and cached.model.incarnation == incarnation else None

    def find(self, study_id: str) -> CachedModel | None:
        """The cached model of any incarnation, or None."""
        with self._guard:
            return self._models.get(study_id)

    def keep(self, study_id: str, cached: CachedModel) -> None:
        """Cache a model, and evict the least recently used ones if the cache is full. A model that is larger than the
        whole cache is not cached. The size of a model is measured again every ``MEASURED_EVENTS`` events."""
        with self._guard:
            seq = cached.model.seq
            if self._models.get(study_id) is cached and seq < cached.measured_seq + MEASURED_EVENTS:
                return
            cached.measured_seq = seq
            self._models.pop(study_id, None)
            with suppress(ValueError):  # the model is too large
                self._models[study_id] = cached

    @property
    def bytes(self) -> int:
        """Size of all cached models in bytes."""
        return int(self._models.currsize)

    def drop(self, study_id: str) -> None:
        """Drop a model."""
        with self._guard:
            self._models.pop(study_id, None)

    def unsaved(self) -> list[tuple[str, CachedModel]]:
        """Studies and models with changes that are not stored."""
        with self._guard:
            return [(name, cached) for name, cached in self._models.items() if cached.is_unsaved]

    def restored(self, study_id: str, incarnation: str) -> CachedModel | None:
        """A model rebuilt from the stored rows; None if this incarnation of the study does not exist."""
        with self._database.reading() as connection:
            study = studies.find(connection, study_id)
            if study is None or study.incarnation != incarnation:
                return None
            log = events.page(connection, study_id, 0, max(study.model_seq, 1))
            dictionary = rows.read_dictionary(connection, study_id)
            model = restore(study, log, rows.read_cells(connection, study_id), dictionary)
            has_stats = study.model is not None and study.model["rests_on"] == model.rests_on
            return CachedModel(
                model,
                saved_seq=study.model_seq,
                saved_dictionary=frozenset(dictionary),
                stats_of=model.rests_on if has_stats else None,
            )

    def log_after(self, study_id: str, seq: int, until: int) -> list[EventRow]:
        """Events after ``seq``, up to ``until``."""
        with self._database.reading() as connection:
            return events.page(connection, study_id, seq, until - seq)

    def save(self, study_id: str, cached: CachedModel) -> None:
        """Store the changes of a model since it was last stored. Write nothing if it lacks results, if another
        server has stored a later state, or if the study was deleted.

        Raises:
            Contention, Busy, Unavailable: nothing was written.
        """
        model = cached.model
        if model.is_behind:
            return
        dictionary, checkpoint, before = model.dictionary, model.learned, cached.saved_dictionary
        with self._database.writing() as connection:
            stored_seq = studies.lock_model_seq(connection, study_id, model.incarnation)
            if stored_seq is None or stored_seq > model.seq:
                return
            if cached.is_new_tree:
                rows.clear(connection, study_id)
                before = frozenset()
            elif stored_seq != cached.saved_seq or before is None:
                before = frozenset(rows.read_dictionary(connection, study_id))
            write(connection, study_id, cached.unsaved_cells(), before, dictionary)
            studies.save_model(connection, study_id, model.incarnation, model_seq=model.seq, checkpoint=checkpoint)
        cached.saved_dictionary, cached.saved_seq = dictionary, model.seq


def write(
    connection: Connection, study_id: str, cells: dict[str, str], before: frozenset[int], after: frozenset[int]
) -> None:
    """Update the stored cells and the stored dictionary."""
    rows.write_cells(connection, study_id, cells)
    rows.write_dictionary(connection, study_id, added=sorted(after - before), removed=sorted(before - after))


def size_of(cached: CachedModel) -> int:
    """Approximate size of a model in bytes: the arrays of its state and of the states after its decisions, its cells,
    its dataset and its tables."""
    model = cached.model
    states = [model.state, *(decision.state for decision in cached.decisions.made)]
    arrays = sum(array.nbytes for array in _arrays(states, set()))
    results = len(model.dataset.results) + len(model.dataset.without_result)
    tables = sum(pieces.size for pieces in model.tables)
    cells = sys.getsizeof(model.cells) + sys.getsizeof(model.changed) + 100 * len(model.cells)
    return arrays + results * BYTES_PER_RESULT + cells + tables


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
