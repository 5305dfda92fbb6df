"""What the owner of a study remembers of it between two units of work."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection

from adabkb_service.storage import studies, trials
from adabkb_service.storage.rows import StudyRow, TrialRow


@dataclass
class CachedStudy:
    """A study as it was last seen: its row, and its unfinished trials among those written lately."""

    study: StudyRow
    next_expiry: datetime | None
    """No lease ends before this time, which may be earlier than the first end; None if there is no lease."""
    trials: dict[int, TrialRow] = field(default_factory=dict)


def read_study(connection: Connection, study_id: str) -> CachedStudy:
    """A study as it is now.

    Raises:
        StudyNotFound: there is none.
    """
    study = studies.get(connection, study_id)
    return CachedStudy(study, trials.next_expiry(connection, study_id) if study.active else None)
