"""POST /v1/studies/{id}/suggest: issue trials, waiting ones first, then new points.

The study's owner performs this request in a batch with other requests. ``study/owner.py`` describes batches, their
transaction, crashes and several servers. In each of its batches, the request takes steps 1 to 3, and step 4 once it has
its points:

1. ``_prepare`` expires overdue leases, so that their trials wait again, or fail after the maximum number of attempts.
   It withdraws waiting trials that an edit of the space has excluded, and updates the study's state.
2. ``_demand`` computes the number of new points: the request's count less the waiting trials, within the study's budget
   and limits; 0 if the study is paused or complete. With ``skip_released``, waiting trials that the same worker
   released for a reason are left to others, unless the study issues too few new points. If the request fixes parameters
   or has a context, only waiting trials with these values are issued, and new points must have them. Context parameters
   that are measured with the result are an exception: waiting trials may have any value, and new points have the
   assumed one (``operations/assumed.py``). In a study with plates, all trials of an answer are on one plate. This is
   the plate of the first waiting trial; if none waits, it is the last plate, or a new one if the last plate is full or
   has other values. A request for a new plate gets no waiting trials, unless the study issues no new points or its
   budget allows no other plate.
3. The batch takes points that the model has decided on (``Batch._points``). They are outdated if an event that affects
   the model, such as a result or a quasi-random point, was recorded since. They are issued in order: the model chose
   each one assuming that those before it are being evaluated, so issuing the first ones leaves the others valid.
   Usually there are enough points, since the model decides on the next ones as soon as it has processed a result.
   Otherwise the request is parked until the model replies, unless its key has a stored answer. The model decides for
   one set of fixed values at a time, so of several requests that fix different values, each waits for its turn. If a
   plate has no point left, the points begin the next one. If the budget allows no other plate, such points are not
   issued. The batch then closes the last plate (``plate_closed``), unless it has points with other values than the
   request fixes.
4. ``_issue`` leases the waiting trials to the worker, and records an event for each new point. The transition function
   (``study/transitions.py``) turns the events into rows.

A request that has waited for ``timeouts.request`` while the engine is loading fails as ``Unavailable``. Otherwise, a
request waits for the model for at most ``timeouts.suggestion``. This time begins when the request is queued or, if this
is later, when the process that performs it has loaded the engine. Points that the model has not decided on by the end
of this time are drawn quasi-randomly. They are drawn at once if no useful reply is expected soon
(``ModelLink.is_worth_waiting_for``), or if the model replies with fewer points, because its time for decisions has
ended. A request without ``fallback`` is refused if the model has neither replied nor failed; its points may be ready
for the next request. With ``Prefer: wait``, ``api/long_poll.py`` repeats the request with the same key until there is a
trial. An answer with quasi-random points is marked as ``degraded``, and so is each answer while the study's model has
failed.

After a crash before the commit, there is no new trial and no answer. An earlier batch, in which the request was parked,
may have stored the changes of step 1. After a crash that follows the commit, trials and answer are stored. A client
that repeats the request with its key gets the stored answer, even if the leases in it have expired meanwhile.
Without a key, the repeated request gets other trials while the leases of the first ones last. When these have expired,
the first ones wait and may be issued again, or fail after the maximum number of attempts.

The next point of the model is a function of the events before it, so a restored model decides on the same points in the
same order. How many it decides on in time, and thus whether a point is from the model or quasi-random, depends on the
clock. Each issued point and its origin are recorded in the log.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from adabkb_service.contract.answers import NoTrialReason, Suggested
from adabkb_service.contract.context import measured_of
from adabkb_service.contract.requests import SuggestBody
from adabkb_service.engine.plates import OpenPlate
from adabkb_service.engine.slices import Slice
from adabkb_service.errors import FieldError, Invalid
from adabkb_service.inference.proposals import Proposal
from adabkb_service.inference.restriction import Restriction
from adabkb_service.operations.assumed import assumed
from adabkb_service.storage import event_payloads as payloads
from adabkb_service.storage.rows import TrialRow
from adabkb_service.study import leases, lifecycle, plates, render
from adabkb_service.study.draft import Draft
from adabkb_service.study.edited_space import as_issued, withdraw_out_of_space_trials
from adabkb_service.study.point_checks import (
    check_not_context,
    check_offered,
    check_slice,
    checked_context,
    checked_fixed,
)
from adabkb_service.study.request import Key, Outcome, PointDemand, Points, Request, never

RETRY_SECONDS = 1.0
"""The number of seconds after which the client should repeat a request that got no trial."""
RETRY_SECONDS_RARE = 5.0
"""The same while the study is paused, and if its budget is used up, so that only a trial without a result makes another
one possible."""
CANNOT_FIX = (
    "this study's algorithm cannot fix parameters per request, but the profile auto can; to fix a parameter for a "
    "whole study, declare it with kind fixed"
)

NO_PLATES = "is for studies with plates, and this one has none; give count instead"


def suggest(
    study_id: str, body: SuggestBody, key: Key | None = None, has_left: Callable[[], bool] = never
) -> Request[Suggested]:
    """Return a request to issue up to ``body.most`` trials, waiting ones before new ones.

    Args:
        study_id: the study's id.
        body: the body of the request.
        key: the idempotency key of the request.
        has_left: returns whether the client has disconnected. If it has, the request is refused. The API observes the
            client only if the request is without ``fallback``.

    Raises:
        StudyNotFound: the study does not exist.
        Invalid: a fixed or context value is not a value of its parameter, the context does not match the study, or the
            study's algorithm cannot fix parameters.
        Busy: too many requests wait for the study, this one waited for too long (``timeouts.request``), or other
            servers kept committing first (``timeouts.contention``).
        Unavailable: the server is still loading the engine, the database is unavailable, or the connection to it broke
            during the commit, and it is unknown whether there are trials.
        ModelBusy: the model has not replied in time, and ``body.fallback`` is false; or the client has disconnected.
        RequestInProgress: a request with the same key is being performed.
        IdempotencyKeyReused: the key was used with another request.
        QuotaExceeded: the user may add no more trials.
    """
    return Request(
        study_id,
        Suggested,
        partial(_issue, body),
        key,
        point_demand=partial(_demand, body),
        prepare=partial(_prepare, body),
        is_abandoned=has_left,
    )


def _prepare(body: SuggestBody, draft: Draft) -> None:
    """Expire overdue leases, and withdraw waiting trials that an edit of the space has excluded: all of them, or only
    as many as it takes to find the trials to issue, if these are the first ones. Then update the study's state, since
    expirations may cause failures that pause it."""
    leases.expire_overdue(draft)
    selects = body.fixed or body.context or body.skip_released
    withdraw_out_of_space_trials(draft, None if selects else body.most)
    lifecycle.update_state(draft)


def _demand(body: SuggestBody, draft: Draft) -> PointDemand:
    """Return how many points the model must decide on, and the restriction on them."""
    study, within = draft.study, _slice(body, draft)
    fixed = None if within is None else dict(within.fixed)
    if not _has_plates(draft):
        is_counted = within is None and not (body.skip_released and study.released)
        waiting = study.waiting if is_counted else len(_waiting(body, draft, within))
        count = max(min(body.most - waiting, lifecycle.room_for_points(study)), 0)
        return PointDemand(count, Restriction(fixed), body.fallback)
    trials, plate = _waiting(body, draft, within), _plate(body, draft, fixed)
    if trials and (plate is None or trials[0].plate != plate.number):
        return PointDemand()
    room = plates.room_on(draft, plate) or 0
    count = max(min(body.most - len(trials), lifecycle.room_for_points(study), room), 0)
    return PointDemand(count, plates.restriction(draft, fixed, plate), body.fallback)


def _has_plates(draft: Draft) -> bool:
    return draft.definition.plates is not None


def _measured_names(draft: Draft) -> list[str]:
    """Return the names of the context parameters that are measured with the result."""
    return measured_of(draft.definition.parameters)


def _without_measured(within: Slice | None, draft: Draft) -> Slice | None:
    """Return the slice without the values that are measured with the result. Waiting trials may have any of them."""
    measured = _measured_names(draft)
    if within is None or not measured:
        return within
    return Slice(within.space, {name: value for name, value in within.fixed.items() if name not in measured})


def _plate(body: SuggestBody, draft: Draft, fixed: dict[str, Any] | None) -> OpenPlate | None:
    """Return the plate for new trials; None if they need a new plate."""
    return None if body.plate == "new" else plates.fitting_plate(draft.study, draft.space, fixed or {})


def _waiting(body: SuggestBody, draft: Draft, within: Slice | None) -> list[TrialRow]:
    """Return the waiting trials to issue. In a study with plates, these are on the plate of the first one. There are
    none if the request begins a plate with new points."""
    if body.plate == "new" and plates.can_begin(draft.study) and lifecycle.room_for_points(draft.study):
        return []
    if _has_plates(draft):
        return plates.of_one_plate(draft.waiting(body.most, _without_measured(within, draft)))
    most = body.most + (draft.study.released if body.skip_released else 0)
    found = draft.waiting(most, _without_measured(within, draft))
    returned = [trial for trial in found if _has_returned(body, trial)]
    others = [trial for trial in found if not _has_returned(body, trial)]
    room = lifecycle.room_for_points(draft.study)
    return [*others, *returned[: max(body.most - len(others) - room, 0)]][: body.most]


def _has_returned(body: SuggestBody, trial: TrialRow) -> bool:
    """Return whether a waiting trial is skipped, because the worker of the request has released it for a reason, and no
    other worker has had it since."""
    is_skipped = body.skip_released and body.worker is not None and trial.worker == body.worker
    return is_skipped and trial.state == "released" and bool(trial.reason)


def _slice(body: SuggestBody, draft: Draft) -> Slice | None:
    """Return the slice of the space with the context and the values that the request fixes. None if the request fixes
    no varying parameter and the study has no context. Context values that are measured with the result, and that the
    request does not give, are assumed.

    Raises:
        Invalid: a value is not a value of its parameter, a context value is missing, no feasible point has the values,
            or the study's algorithm cannot fix parameters.
    """
    space, fixed = draft.space, body.fixed or {}
    if body.plate is not None and not _has_plates(draft):
        raise Invalid([FieldError("/plate", NO_PLATES, "no_plates")])
    measured = _measured_names(draft)
    context = checked_context(space, body.context or {}, "/context", optional=measured)
    context |= assumed(draft, [name for name in measured if name not in context])
    check_not_context(space, fixed, "/fixed")
    # Whether a parameter is active may also depend on the context.
    values = {**context, **checked_fixed(space, {**context, **fixed}, "/fixed")}
    check_offered(space, values, "/fixed")
    if not values:
        return None
    if not draft.definition.algorithm.supports_slices:
        raise Invalid([FieldError("/fixed", CANNOT_FIX, "fixed_not_supported")])
    within = Slice(space, {axis.name: values[axis.name] for axis in space.axes if axis.name in values})
    check_slice(within, "/fixed" if fixed else "/context")
    return within


def _issue(body: SuggestBody, draft: Draft, points: Points) -> Outcome[Suggested]:
    """Lease the waiting trials, add one for each point, and return the answer."""
    within = _slice(body, draft)
    is_running = draft.study.state == "running"
    waiting = _waiting(body, draft, within) if is_running else []
    if is_running and not waiting and not points and body.skip_released:  # there is no other trial after all
        waiting = _waiting(body.model_copy(update={"skip_released": False}), draft, within)
    leased = (leases.lease_again(draft, trial, body.worker, body.lease_seconds) for trial in waiting)
    rows = [as_issued(draft, trial) for trial in leased]
    begins_beyond = _begins_plate_beyond_budget(draft, points)
    points = [] if begins_beyond else points
    rows += [_add(draft, point, body, is_first=not index) for index, point in enumerate(points)]
    is_over_budget = not rows and (begins_beyond or _needs_plate_beyond_budget(body, draft, within))
    lifecycle.update_state(draft)
    is_degraded = any(point.origin == "fallback" for point in points) or draft.study.model_error is not None
    # An answer without trials is not stored under the key, so that a repeated request may get trials.
    answer = _answer(draft, rows, body, is_degraded=is_degraded, is_over_budget=is_over_budget)
    return Outcome(answer, is_stored=bool(rows))


def _begins_plate_beyond_budget(draft: Draft, points: Points) -> bool:
    """Return whether points begin a plate that the budget does not allow: the last plate has no point left, at least
    none with the values that the request fixes."""
    if not points or plates.can_begin(draft.study):
        return False
    open_plate = plates.open_plate(draft.study)
    number = plates.number_for(draft, points[0].parameters, is_new=False)
    return open_plate is None or number != open_plate.number


def _needs_plate_beyond_budget(body: SuggestBody, draft: Draft, within: Slice | None) -> bool:
    """Return whether only a new plate has room for the requested points, and the budget allows no other plate."""
    if not _has_plates(draft) or plates.can_begin(draft.study):
        return False
    return _plate(body, draft, None if within is None else dict(within.fixed)) is None


def _add(draft: Draft, point: Proposal, body: SuggestBody, *, is_first: bool) -> TrialRow:
    """Add a new trial, leased to the worker of the request, and return it."""
    number = draft.study.trials + 1
    plate = plates.number_for(draft, point.parameters, is_new=body.plate == "new" and is_first)
    suggested: payloads.Suggested = {
        "parameters": point.parameters,
        "cell": None if point.cell is None else {"key": point.cell, "depth": point.cell.count(".")},
        "origin": point.origin,
        "worker": body.worker,
        "capped": point.capped,
        "phase": point.phase,
        "expected": None if point.expected is None else point.expected.as_json(),
        "fixed": point.fixed,
    }
    if point.trust is not None:
        suggested["trust"] = point.trust
    if point.gap is not None:
        suggested["gap"] = point.gap
    if plate is not None:
        suggested["plate"] = plate
    draft.record("suggested", suggested, number)
    return leases.give(draft, number, body.lease_seconds)


def _answer(
    draft: Draft, rows: list[TrialRow], body: SuggestBody, *, is_degraded: bool, is_over_budget: bool
) -> Suggested:
    """Return the answer; if there are fewer trials than requested, with a reason if one is known."""
    summary = lifecycle.summary(draft.study)
    reason: NoTrialReason | None = None
    if len(rows) < body.most:
        is_sliced = body.fixed or body.context or _measured_names(draft)
        reason = summary.reason or ("fixed_exhausted" if is_sliced else None)
        if is_over_budget and summary.reason is None:
            reason = "no_plate_left"
        if rows and _has_plates(draft) and reason in (None, "fixed_exhausted"):
            reason = None if body.is_for_plate else "plate_full"
    is_rare = summary.state == "paused" or reason in ("budget", "no_plate_left")
    retry_seconds = RETRY_SECONDS_RARE if is_rare else RETRY_SECONDS
    return Suggested(
        trials=[render.trial(row, draft.definition) for row in rows],
        reason=reason,
        retry_after=retry_seconds if reason and not rows and summary.state != "complete" else None,
        degraded=is_degraded,
        study=summary,
    )
