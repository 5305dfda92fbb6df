"""The observations of a draft that count: those stored, and those that it has changed. Where the database cannot tell
which ones count, all are read."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from adabkb_service.contract.stored import is_edited
from adabkb_service.storage import observations
from adabkb_service.storage.rows import ObservationRow, StudyRow
from adabkb_service.study.ranking import best_of, counting

Changed = Mapping[int, ObservationRow]
"""Observations that are new or changed, by number."""


def best(connection: Connection, study: StudyRow, changed: Changed) -> ObservationRow | None:
    """The best one, the first if several are equal."""
    if "outcome_constraints" in study.definition or is_edited(study.definition):
        return best_of(study, _every(connection, study, changed))
    maximize = study.definition["direction"] == "maximize"
    other = observations.best(connection, study.id, maximize=maximize, but=list(changed))
    return best_of(study, [*changed.values(), *([] if other is None else [other])])


def after(connection: Connection, study: StudyRow, changed: Changed, seq: int) -> int:
    """How many have a larger number than this."""
    if is_edited(study.definition):
        return sum(row.seq > seq for row in filter(counting(study), _every(connection, study, changed)))
    others = observations.counting_after(connection, study.id, seq, but=list(changed))
    return others + sum(row.seq > seq and not row.excluded for row in changed.values())


def _every(connection: Connection, study: StudyRow, changed: Changed) -> list[ObservationRow]:
    return [row for _, row in sorted({**observations.every(connection, study.id), **changed}.items())]
