"""What the owner of a study keeps in memory between two batches."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection

from adabkb_service.contract.stored import LatestDefinition
from adabkb_service.storage import studies, trials
from adabkb_service.storage.rows import StudyRow, TrialRow


@dataclass
class CachedStudy:
    """A study as last read or written: its row, and those of its unfinished trials that were written recently."""

    study: StudyRow
    next_expiry: datetime | None
    """A lower bound: no lease ends before this time. None if there is no lease."""
    trials: dict[int, TrialRow] = field(default_factory=dict)
    definition: LatestDefinition = field(default_factory=LatestDefinition, compare=False)
    """Its parsed definition."""

    def is_current(self, connection: Connection) -> bool:
        """Whether the study is still stored like this: no other process has changed, deleted or replaced it."""
        return studies.is_current(connection, self.study)


def refreshed(connection: Connection, study_id: str, cached: CachedStudy | None) -> CachedStudy:
    """Return the study as stored now: ``cached`` if it is current, else the study as read.

    Raises:
        StudyNotFound: the study does not exist.
    """
    return cached if cached is not None and cached.is_current(connection) else read_study(connection, study_id)


def read_study(connection: Connection, study_id: str) -> CachedStudy:
    """Return the study as stored now.

    Raises:
        StudyNotFound: the study does not exist.
    """
    study = studies.get(connection, study_id)
    return CachedStudy(study, trials.next_expiry(connection, study_id) if study.active else None)
