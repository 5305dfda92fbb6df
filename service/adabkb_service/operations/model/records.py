"""The records of a study. A record is a result that is better than all earlier ones, among the results that are inside
the space, not excluded, and satisfy all outcome constraints."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from cachetools import LRUCache
from sqlalchemy import Connection

from adabkb_service.contract.stored import definition_of, is_edited
from adabkb_service.storage import events, observations, overview, result_table, studies
from adabkb_service.storage.overview import ListedStudy
from adabkb_service.storage.result_table import Repeats
from adabkb_service.storage.rows import StudyRow
from adabkb_service.study.best import counting, decided, has_several_objectives, merit, rank

STUDIES = 1000
"""The maximum number of studies with cached records."""

RecordList = list[tuple[int, float]]
"""Number and value of each record."""


@dataclass(frozen=True, slots=True)
class BestSoFar:
    """The records up to an event of the log, and the worst of all results."""

    study_seq: int
    results: int
    """The number of results up to that event."""
    records: RecordList
    worst: float | None
    """The worst value of the results that are inside the space and not excluded; None without one."""


_EMPTY = BestSoFar(0, 0, [], None)


@dataclass(frozen=True, slots=True)
class _Repeated:
    """The results at the point of the best one, as of an event of the log."""

    study_seq: int
    results: int
    repeats: Repeats | None


class Records:
    """Cache of the records of studies. If the log has only added results since the last call, only the new results are
    read."""

    def __init__(self) -> None:
        self._cached: LRUCache[tuple[str, frozenset[int]], BestSoFar] = LRUCache(STUDIES)
        """Incarnation of a study and the numbers of the results that are left out -> its records."""
        self._repeated: LRUCache[str, _Repeated] = LRUCache(STUDIES)
        """Incarnation of a study -> the results at the point of its best one."""
        self._guard = threading.Lock()

    def of(self, connection: Connection, study: StudyRow | ListedStudy) -> RecordList:
        """Return the records of a study. ``connection`` must be in the transaction that read the row."""
        return self.best_so_far(connection, study).records

    def best_so_far(
        self, connection: Connection, study: StudyRow | ListedStudy, without: frozenset[int] = frozenset()
    ) -> BestSoFar:
        """Return the records of a study, and its worst result. ``connection`` must be in the transaction that read the
        row. The results with the numbers ``without`` are left out."""
        key = study.incarnation, without
        with self._guard:
            cached = self._cached.get(key, _EMPTY)
        if cached.study_seq == study.study_seq:
            return cached
        is_later = cached is not _EMPTY and cached.study_seq < study.study_seq
        if not is_later or events.has_changed_results(connection, study.id, cached.study_seq):
            cached = _EMPTY
        records, worst = cached.records, cached.worst
        if cached.results < study.observations:
            later, worst = _new_records(connection, studies.get(connection, study.id), cached, without)
            records = records + later
        best_so_far = BestSoFar(study.study_seq, study.observations, records, worst)
        with self._guard:
            self._cached[key] = best_so_far
        return best_so_far

    def repeated(self, connection: Connection, study: ListedStudy) -> Repeats | None:
        """Return the results at the point of the best one; None if it is the only one there. All results are read only
        if one was added or changed since the last call. ``connection`` must be in the transaction that read the row."""
        best_so_far = self.best_so_far(connection, study)
        if not best_so_far.records or study.best is None:
            return None
        with self._guard:
            cached = self._repeated.get(study.incarnation)
        if cached is not None and cached.study_seq == study.study_seq:
            return cached.repeats
        if (
            cached is not None
            and cached.study_seq < study.study_seq
            and cached.results == study.observations
            and not events.has_changed_results(connection, study.id, cached.study_seq)
        ):
            repeats = cached.repeats
        else:
            trial = observations.get(connection, study.id, best_so_far.records[-1][0]).trial
            repeats = result_table.at_best(connection, study.id, trial, study.best)
        with self._guard:
            self._repeated[study.incarnation] = _Repeated(study.study_seq, study.observations, repeats)
        return repeats


def _new_records(
    connection: Connection, study: StudyRow, cached: BestSoFar, without: frozenset[int]
) -> tuple[RecordList, float | None]:
    """Return the new records among the results after those that are cached, and the worst of all results."""
    if has_several_objectives(study):
        return [], None
    if is_edited(study.definition) or study.definition.get("outcome_constraints"):
        return _new_records_one_by_one(connection, study, cached, without)
    maximize = study.definition["direction"] == "maximize"
    which: dict[str, Any] = {"maximize": maximize, "after": cached.results, "without": without}
    records = overview.records(connection, study.id, **which)
    worst = overview.worst(connection, study.id, **which)
    better = [(seq, value) for seq, value in records if _is_better(study, value, cached.records)]
    return better, _worse(study, cached.worst, worst)


def _new_records_one_by_one(
    connection: Connection, study: StudyRow, cached: BestSoFar, without: frozenset[int]
) -> tuple[RecordList, float | None]:
    """As ``_new_records``, for an edited space or outcome constraints, which a query cannot check."""
    records, has_all = list(cached.records), decided(study)
    counts, worst = counting(study, definition_of(study.definition)), cached.worst
    for row in filter(has_all, filter(counts, observations.all_rows(connection, study.id, cached.results))):
        if row.seq in without:
            continue
        violation, _ = rank(study, row.value, row.metrics)
        value = row.value or 0.0  # not None here
        worst = _worse(study, worst, value)
        if violation == 0.0 and _is_better(study, value, records):
            records.append((row.seq, value))
    return records[len(cached.records) :], worst


def _worse(study: StudyRow, first: float | None, other: float | None) -> float | None:
    values = [value for value in (first, other) if value is not None]
    return min(values, key=lambda value: merit(study, value), default=None)


def _is_better(study: StudyRow, value: float, records: RecordList) -> bool:
    return not records or merit(study, value) > merit(study, records[-1][1])
