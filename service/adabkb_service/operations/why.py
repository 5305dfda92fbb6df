"""GET /v1/studies/{id}/trials/{n}/why: what a suggestion was decided on, and what became of it.

A decision takes in the whole log before it, so the log says what there was to know.
"""

from __future__ import annotations

from adabkb_service.contract import answers as views
from adabkb_service.contract import history
from adabkb_service.errors import TrialNotFound
from adabkb_service.operations.service import Service
from adabkb_service.storage import events, studies, trials
from adabkb_service.storage.rows import EventRow, StudyRow
from adabkb_service.study import render
from adabkb_service.study.log import as_best
from adabkb_service.study.logged import LoggedStudy, replayed


def why(service: Service, study_id: str, number: int) -> history.Why:
    """The decision that made a trial, and all events about it.

    Raises:
        StudyNotFound, TrialNotFound: there is no such thing.
    """
    with service.database.reading() as connection:
        study = studies.get(connection, study_id)
        trial = trials.get(connection, study_id, number)
        log = events.page(connection, study_id, 0)
    concerning = [event for event in log if event.trial == number]
    if not concerning:
        raise TrialNotFound(study_id, number)
    first = concerning[0]
    before = replayed(study_id, log[: first.seq - 1])
    return history.Why(
        trial=render.trial(trial),
        decision=_decision(study, first, before) if first.kind == "suggested" else None,
        events=[render.event(event) for event in concerning],
    )


def _decision(study: StudyRow, event: EventRow, before: LoggedStudy) -> history.Decision:
    pending, failed = before.awaited()
    results = sum(not row.excluded for row in before.observations.values())
    best = before.best_observation()
    key = None if event.payload["cell"] is None else event.payload["cell"]["key"]
    return history.Decision(
        revision=before.study.head,
        origin=event.payload["origin"],
        results=results,
        pending=pending,
        failed=failed,
        best=None if best is None else views.Best.model_validate(as_best(best)),
        random=history.RandomKey(seed=study.seed, step=results + len(pending) + len(failed)),
        path=[] if key is None else _path(key),
        capped=event.payload["capped"],
    )


def _path(key: str) -> list[views.CellRef]:
    """From the root to a cell."""
    steps = key.split(".")
    return [views.CellRef(key=".".join(steps[: depth + 1]), depth=depth) for depth in range(len(steps))]
