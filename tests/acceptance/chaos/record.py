"""Everything that a server returns about a study, read while nothing changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adabkb_client import CurvePoint, Event, Observation, Study, StudyInfo, Trial


@dataclass(frozen=True)
class Record:
    """A study as it is stored."""

    info: StudyInfo
    trials: list[Trial]
    observations: list[Observation]
    events: list[Event]
    curves: Mapping[int, Sequence[CurvePoint]]
    """Trial -> reports of the current attempt."""


def read(study: Study) -> Record:
    """Read a study that no client changes any more."""
    trials = list(study.trials())
    curves = {trial.number: list(study.curve(trial)) for trial in trials if trial.curve is not None}
    return Record(study.info(), trials, list(study.observations()), list(study.events()), curves)
