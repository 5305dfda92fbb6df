"""PATCH and DELETE of an observation: a correction is an event, and the model is rebuilt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adabkb_service.contract import answers as views
from adabkb_service.operations.absorb import absorb
from adabkb_service.operations.retry import retried
from adabkb_service.operations.service import Service
from adabkb_service.storage import observations
from adabkb_service.storage.rows import ObservationRow, StudyRow
from adabkb_service.study import lifecycle, render
from adabkb_service.study.draft import Change
from adabkb_service.study.idempotency import Key, Outcome


@retried
def correct(
    service: Service,
    study_id: str,
    seq: int,
    changes: dict[str, Any],
    reason: str | None = None,
    key: Key | None = None,
) -> Outcome[views.Corrected]:
    """Change what an observation says, or whether it counts.

    Args:
        service: the service.
        study_id: which study.
        seq: which observation.
        changes: new ``value``, ``std_error``, ``excluded``.
        reason: why, for the log.
        key: of the request.

    Raises:
        StudyNotFound, ObservationNotFound: there is no such thing.
    """

    def told(change: Change) -> ObservationRow:
        was = observations.get(change.connection, study_id, seq)
        differing = {name: value for name, value in changes.items() if getattr(was, name) != value}
        row = replace(was, **differing)
        if differing:
            change.correct(row)
            payload = {
                "observation": seq,
                "parameters": row.parameters,
                "value": row.value,
                "std_error": row.std_error,
                "excluded": row.excluded,
                "was": {name: getattr(was, name) for name in differing},
                "reason": reason,
            }
            change.note("corrected", payload, row.trial)
            if row.trial is not None:
                first = change.results_of(row.trial)[0]
                change.move(change.trial(row.trial), value=first.value)
        return row

    return absorb(service, study_id, key, views.Corrected, told, _answer)


def _answer(study: StudyRow, row: ObservationRow) -> views.Corrected:
    return views.Corrected(observation=render.observation(row), study=lifecycle.summary(study))
