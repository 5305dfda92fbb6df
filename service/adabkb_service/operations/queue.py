"""POST /v1/studies/{id}/trials and /trials/repeat: queue a user's own points, which are issued before new ones.

In a study with plates, they may be on a plate, like a control reaction that each plate has.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from adabkb_service.contract.answers import Repeated, Trial
from adabkb_service.contract.requests import QueueBody, RepeatBody
from adabkb_service.engine.space import Space
from adabkb_service.errors import StudyComplete
from adabkb_service.operations.assumed import with_assumed
from adabkb_service.storage.event_payloads import Queued
from adabkb_service.storage.rows import StudyRow, TrialRow
from adabkb_service.study import lifecycle, plates, render
from adabkb_service.study.draft import Draft
from adabkb_service.study.point_checks import check_offered, feasible_point
from adabkb_service.study.request import Key, Outcome, Points, Request

OTHER_PLACES = 'give plate "open" for a place on the last plate, or increase the budget'


def queue(study_id: str, body: QueueBody, key: Key | None = None) -> Request[Trial]:
    """Return a request to queue a trial, which counts towards the budget.

    Raises:
        StudyNotFound: the study does not exist.
        Invalid: the point is not in the space, or cannot be on the plate that the request asks for.
        StudyComplete: the study is complete, its budget is used up, or the budget allows no other plate.
    """
    return Request(study_id, Trial, partial(_add, body), key, invalidates_decisions=True)


def repeat(study_id: str, body: RepeatBody, key: Key | None = None) -> Request[Repeated]:
    """Return a request to queue several trials at one point, to replicate a measurement. Either all are queued or none.

    Raises:
        StudyNotFound, TrialNotFound: the study or the trial does not exist.
        Invalid: the point is not in the space, or cannot be on the plate that the request asks for that many times.
        StudyComplete: the study is complete, the rest of its budget is too small, or it allows no other plate.
    """
    return Request(study_id, Repeated, partial(_repeat, body), key, invalidates_decisions=True)


def _add(body: QueueBody, draft: Draft, _: Points) -> Outcome[Trial]:
    (row,) = _queue(draft, body.parameters, "/parameters", body.plate)
    lifecycle.update_state(draft)
    return Outcome(render.trial(row, draft.definition), created=True)


def _repeat(body: RepeatBody, draft: Draft, _: Points) -> Outcome[Repeated]:
    left = draft.study.budget_left if isinstance(draft.study.budget, int) else None
    if left is not None and 0 < left < body.times:
        raise StudyComplete(
            f"The budget of study {draft.study.id!r} has room for {left} more trials; ask for fewer repetitions."
        )
    point, pointer = body.parameters, "/parameters"
    if body.trial is not None:
        point, pointer = _point_of(draft, body.trial), "/trial"
    rows = _queue(draft, point or {}, pointer, body.plate, body.times)
    lifecycle.update_state(draft)
    views = [render.trial(row, draft.definition) for row in rows]
    return Outcome(Repeated(trials=views, study=lifecycle.summary(draft.study)), created=True)


def _point_of(draft: Draft, number: int) -> dict[str, Any]:
    """Return the point that repeats a trial: the point of its first result or, without one, the suggested point."""
    trial = draft.trial(number)
    results = draft.observations_of(number)
    return repeated_point(draft.space, trial.parameters, results[0].parameters) if results else trial.parameters


def repeated_point(space: Space, suggested: Mapping[str, Any], measured: Mapping[str, Any]) -> dict[str, Any]:
    """Return the point to choose in order to repeat a trial that was evaluated at other values than suggested. A value
    between two steps cannot be chosen, so the suggested one takes its place."""
    between = space.between_steps(measured)
    return {**measured, **{name: value for name, value in suggested.items() if name in between}}


def _queue(
    draft: Draft, parameters: dict[str, Any], pointer: str, plate: Literal["open", "new"] | None, times: int = 1
) -> list[TrialRow]:
    study = draft.study
    point = feasible_point(draft.space, with_assumed(draft, parameters), pointer, is_measured=False)
    check_offered(draft.space, point, pointer)
    if plate is not None:
        plates.check_trials(draft, point, plate, pointer, times)
    _check_takes_trials(study)
    if plate == "new" and not plates.can_begin(study):
        raise StudyComplete(f"The budget of study {study.id!r} allows no other plate; {OTHER_PLACES}.")
    return [add_trial(draft, point, plate, is_first=not index) for index in range(times)]


def _check_takes_trials(study: StudyRow) -> None:
    """Check that a study takes a trial that a user adds.

    Raises:
        StudyComplete: the study is complete, or its budget is used up.
    """
    state, reason = lifecycle.status(study)
    # In a paused study, status() returns the reason for the pause
    if lifecycle.no_more_points_reason(study) == "budget":
        reason = "budget"
    if state == "complete" or reason == "budget":
        raise StudyComplete(f"Study {study.id!r} takes no further trials ({reason}).")


def add_trial(
    draft: Draft,
    point: dict[str, Any],
    which: Literal["open", "new"] | None = None,
    *,
    is_first: bool = True,
    is_own: bool = False,
) -> TrialRow:
    """Add a queued trial at a checked point, and return it. With ``which``, it is on the open plate or on a new one,
    which the first trial of a request (``is_first``) begins. With ``is_own``, it is a failure that was reported
    without a trial."""
    study = draft.study
    number, plate = study.trials + 1, None
    if which is not None:
        plate = plates.number_for(draft, point, is_new=which == "new" and is_first)
    queued: Queued = {"parameters": point}
    if plate is not None:
        queued["plate"] = plate
    if is_own:
        queued["origin"] = "own"
    draft.record("queued", queued, number)
    return draft.set_lease_length(number, study.lease_seconds)
