"""The records of a study. Of the results that count and satisfy all outcome constraints, a record is one that is better
than all before it."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from cachetools import LRUCache
from sqlalchemy import Connection

from adabkb_service.contract.stored import is_edited
from adabkb_service.storage import events, observations, overview, studies
from adabkb_service.storage.overview import ListedStudy
from adabkb_service.storage.rows import StudyRow
from adabkb_service.study.best import counting, decided, has_several_objectives, merit, rank

STUDIES = 1000
"""The maximum number of studies with cached records."""
RESULTS_AT_ONCE = 1000
"""The number of results that are read into memory at a time."""

Found = list[tuple[int, float]]
"""Number and value of each record."""


@dataclass(frozen=True, slots=True)
class Course:
    """The records up to an event of the log, and the worst of all results."""

    study_seq: int
    results: int
    """The number of results up to that event."""
    found: Found
    worst: float | None
    """The worst value of a result that counts; None without one."""


_NOTHING = Course(0, 0, [], None)


class Records:
    """Cache of the records of studies. If the log has only added results since the last call, only the new results are
    read."""

    def __init__(self) -> None:
        self._known: LRUCache[str, Course] = LRUCache(STUDIES)
        """Incarnation of a study -> its records."""
        self._guard = threading.Lock()

    def of(self, connection: Connection, study: StudyRow | ListedStudy) -> Found:
        """Return the records of a study. ``connection`` must be in the transaction that read the row."""
        return self.course(connection, study).found

    def course(self, connection: Connection, study: StudyRow | ListedStudy) -> Course:
        """Return the records of a study, and its worst result. ``connection`` must be in the transaction that read the
        row."""
        with self._guard:
            known = self._known.get(study.incarnation, _NOTHING)
        if known.study_seq == study.study_seq:
            return known
        is_later = known is not _NOTHING and known.study_seq < study.study_seq
        if not is_later or events.has_changed_results(connection, study.id, known.study_seq):
            known = _NOTHING
        found, worst = known.found, known.worst
        if known.results < study.observations:
            later, worst = _later(connection, studies.get(connection, study.id), known)
            found = found + later
        course = Course(study.study_seq, study.observations, found, worst)
        with self._guard:
            self._known[study.incarnation] = course
        return course


def _later(connection: Connection, study: StudyRow, known: Course) -> tuple[Found, float | None]:
    """Return the new records among the results after those that are cached, and the worst of all results."""
    if has_several_objectives(study):
        return [], None
    if is_edited(study.definition) or study.definition.get("outcome_constraints"):
        return _counting(connection, study, known)
    maximize = study.definition["direction"] == "maximize"
    found = overview.records(connection, study.id, maximize=maximize, after=known.results)
    worst = overview.worst(connection, study.id, maximize=maximize, after=known.results)
    better = [(seq, value) for seq, value in found if _is_better(study, value, known.found)]
    return better, _worse(study, known.worst, worst)


def _counting(connection: Connection, study: StudyRow, known: Course) -> tuple[Found, float | None]:
    """As ``_later``, for a study where a query cannot select the results that count."""
    found, counts, has_all = list(known.found), counting(study), decided(study)
    after, is_last, worst = known.results, False, known.worst
    while not is_last:
        page = observations.bounded_page(connection, study.id, after, RESULTS_AT_ONCE)
        for row in filter(has_all, filter(counts, page.rows)):
            violation, _ = rank(study, row.value, row.metrics)
            value = row.value or 0.0  # not None here
            worst = _worse(study, worst, value)
            if violation == 0.0 and _is_better(study, value, found):
                found.append((row.seq, value))
        after, is_last = page.rows[-1].seq, page.is_last
    return found[len(known.found) :], worst


def _worse(study: StudyRow, one: float | None, other: float | None) -> float | None:
    values = [value for value in (one, other) if value is not None]
    return min(values, key=lambda value: merit(study, value), default=None)


def _is_better(study: StudyRow, value: float, records: Found) -> bool:
    return not records or merit(study, value) > merit(study, records[-1][1])
