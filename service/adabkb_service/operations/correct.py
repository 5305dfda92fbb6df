"""PATCH and DELETE of an observation: a correction is an event, and the model is rebuilt."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from adabkb_service.operations import lifecycle, render, views
from adabkb_service.operations.observe import AFTERWARDS
from adabkb_service.operations.service import Service
from adabkb_service.storage import events, observations, studies, trials


def correct(
    service: Service, study_id: str, seq: int, changes: dict[str, Any], reason: str | None = None
) -> views.Corrected:
    """Change what an observation says, or whether it counts.

    Args:
        service: the service.
        study_id: which study.
        seq: which observation.
        changes: new ``value``, ``std_error``, ``excluded``.
        reason: why, for the log.

    Raises:
        StudyNotFound, ObservationNotFound: there is no such thing.
    """
    with service.models.lock(study_id):
        now = service.clock()
        with service.database.writing() as connection:
            studies.get(connection, study_id, lock=True)
            was = observations.get(connection, study_id, seq)
            differing = {name: value for name, value in changes.items() if getattr(was, name) != value}
            row = was
            if differing:
                row = observations.change(connection, was, **differing)
                payload = {
                    "observation": seq,
                    "parameters": row.parameters,
                    "value": row.value,
                    "std_error": row.std_error,
                    "excluded": row.excluded,
                    "was": {name: getattr(was, name) for name in differing},
                    "reason": reason,
                }
                events.append(connection, study_id, "corrected", payload, now=now, trial=row.trial)
                if row.trial is not None:
                    trial = trials.get(connection, study_id, row.trial)
                    first = observations.of_trial(connection, study_id, row.trial)[0]
                    trials.change(connection, trial, value=first.value)
            lifecycle.settle(connection, study_id, now)
        with suppress(*AFTERWARDS):
            service.models.follow(study_id)
        with service.database.reading() as connection:
            summary = lifecycle.summary(connection, studies.get(connection, study_id))
    return views.Corrected(observation=render.observation(row), study=summary)
