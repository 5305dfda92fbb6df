"""What a server says about a study, all of it, read at rest."""

from __future__ import annotations

from dataclasses import dataclass

from adabkb_client import Event, Observation, Study, StudyInfo, Trial


@dataclass(frozen=True)
class Record:
    """A study as it is stored."""

    info: StudyInfo
    trials: list[Trial]
    observations: list[Observation]
    events: list[Event]


def read(study: Study) -> Record:
    """Read a study that nobody works on any more."""
    return Record(study.info(), list(study.trials()), list(study.observations()), list(study.events()))
