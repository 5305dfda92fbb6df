"""POST /v1/studies/{id}/trials/{n}/heartbeat, /release, /withdraw and /retry: renew a lease, release or withdraw a
trial, and retry a failed or withdrawn one."""

from __future__ import annotations

from functools import partial

from adabkb_service.contract.answers import TrialAnswer
from adabkb_service.contract.requests import HeartbeatBody, ReleaseBody, RetryBody, WithdrawBody
from adabkb_service.errors import LeaseLost, StudyComplete, TrialFinished, shown
from adabkb_service.operations.attempts import known_attempt
from adabkb_service.storage.event_payloads import Released
from adabkb_service.storage.rows import FINISHED, TrialRow
from adabkb_service.study import leases, lifecycle, render
from adabkb_service.study.draft import Draft
from adabkb_service.study.edited_space import OUTSIDE, is_outside
from adabkb_service.study.plates import has_place_for
from adabkb_service.study.request import Key, Outcome, Points, Request


def heartbeat(study_id: str, number: int, body: HeartbeatBody, key: Key | None = None) -> Request[TrialAnswer]:
    """Return a request to renew the lease of the current attempt. An expired lease can be renewed until the trial is
    leased again.

    Raises:
        StudyNotFound, TrialNotFound: the study or the trial does not exist.
        LeaseLost: the attempt has lost its lease, or has exceeded the maximum run time.
    """
    return Request(study_id, TrialAnswer, partial(_renew, number, body), key)


def _renew(number: int, body: HeartbeatBody, draft: Draft, _: Points) -> Outcome[TrialAnswer]:
    trial = draft.trial(number)
    check_current(trial, body.attempt)
    return _answer(draft, renew(draft, trial, body.lease_seconds))


def renew(draft: Draft, trial: TrialRow, lease_seconds: float | None) -> TrialRow:
    """Renew the lease of a trial's current attempt. It then lasts ``lease_seconds`` from now; if None, as long as
    before. The maximum run time limits its end.

    Raises:
        LeaseLost: the trial has no lease to renew, or the attempt has exceeded the maximum run time.
    """
    if trial.state not in ("active", "expired"):
        raise LeaseLost(f"Trial {trial.number} is {trial.state}.")
    seconds = lease_seconds or trial.lease_seconds
    until = leases.lease_end(draft.study, trial.started_at or trial.created_at, draft.now, seconds)
    if until <= draft.now:
        raise LeaseLost(
            f"Trial {trial.number} has run for longer than the study's max_runtime_seconds "
            f"({draft.study.max_runtime_seconds:g})."
        )
    if trial.state == "expired":
        draft.record("leased", {"attempt": trial.attempt, "worker": trial.worker, "renewed": True}, trial.number)
    return draft.lease(trial.number, seconds, until)


def release(study_id: str, number: int, body: ReleaseBody, key: Key | None = None) -> Request[TrialAnswer]:
    """Return a request to release an unfinished trial, which is then issued again before any new point.

    Raises:
        StudyNotFound, TrialNotFound: the study or the trial does not exist.
        LeaseLost: the attempt has lost its lease.
        TrialFinished: the trial has already ended.
    """
    return Request(study_id, TrialAnswer, partial(_release, number, body), key)


def _release(number: int, body: ReleaseBody, draft: Draft, _: Points) -> Outcome[TrialAnswer]:
    trial = draft.trial(number)
    if trial.state in FINISHED:
        raise TrialFinished(f"Trial {number} is {trial.state}.")
    check_current(trial, body.attempt)
    if trial.state in ("active", "expired"):
        released: Released = {"attempt": trial.attempt, "worker": trial.worker}
        if body.reason is not None:
            released["reason"] = body.reason
        draft.record("released", released, number)
    return _answer(draft, draft.trial(number))


def withdraw(study_id: str, number: int, body: WithdrawBody, key: Key | None = None) -> Request[TrialAnswer]:
    """Return a request to end an unfinished trial without a result: a suggestion that somebody declines, or a queued
    point that is no longer needed. The trial is not a failure and does not count towards the budget. If it is already
    withdrawn, it stays unchanged.

    The model treats its point as pending, so that the next suggestions differ from it.

    Raises:
        StudyNotFound, TrialNotFound: the study or the trial does not exist.
        LeaseLost: the attempt has lost its lease.
        TrialFinished: the trial is completed, failed or stopped.
    """
    return Request(study_id, TrialAnswer, partial(_withdraw, number, body), key)


def _withdraw(number: int, body: WithdrawBody, draft: Draft, _: Points) -> Outcome[TrialAnswer]:
    trial = draft.trial(number)
    if trial.state != "withdrawn":
        if trial.state in FINISHED:
            raise TrialFinished(f"Trial {number} is {trial.state}; only a trial without an outcome can be withdrawn.")
        check_current(trial, body.attempt)
        draft.record("withdrawn", {"attempt": trial.attempt, "reason": body.reason}, number)
    return _answer(draft, draft.trial(number))


def retry(study_id: str, number: int, body: RetryBody, key: Key | None = None) -> Request[TrialAnswer]:
    """Return a request to queue a failed or withdrawn trial again, to be issued before any new point. A trial that
    waits or is leased stays unchanged.

    Raises:
        StudyNotFound, TrialNotFound: the study or the trial does not exist.
        TrialFinished: the trial is completed or was stopped, its point is outside the edited space or between the steps
            of a parameter, or it was withdrawn and its place on a plate is taken.
        StudyComplete: the study has converged; or its budget is used up, and the trial does not count towards it
            (a withdrawn trial, or a failure that was reported without a trial).
    """
    return Request(study_id, TrialAnswer, partial(_retry, number, body), key, invalidates_decisions=True)


def _retry(number: int, body: RetryBody, draft: Draft, _: Points) -> Outcome[TrialAnswer]:
    trial = draft.trial(number)
    if trial.state == "completed":
        outcome = f"the value {trial.value}" if trial.value is not None else f"the metrics {shown(trial.metrics)}"
        result = f"Trial {number} is completed with {outcome}"
        raise TrialFinished(f"{result}; only a failed or withdrawn trial can be retried.")
    if trial.state == "stopped":
        raise TrialFinished(f"Trial {number} was stopped; only a failed or withdrawn trial can be retried.")
    if lifecycle.status(draft.study) == ("complete", "converged"):
        raise StudyComplete(f"Study {draft.study.id!r} takes no further trials (converged).")
    is_over = trial.state in ("failed", "withdrawn")
    if is_over:
        _check_point(draft, trial)
    is_outside_budget = trial.state == "withdrawn" or (trial.state == "failed" and trial.origin == "own")
    if is_outside_budget and not _fits_budget(draft, trial):
        raise StudyComplete(f"The budget of study {draft.study.id!r} is used up; increase it to retry trial {number}.")
    if trial.state == "withdrawn" and not has_place_for(draft, trial):
        raise TrialFinished(
            f"Another trial has taken the place of trial {number} on plate {trial.plate}; queue its point for a new "
            f"plate instead."
        )
    if is_over:
        draft.record("retried", {"attempt": trial.attempt, "reason": body.reason}, number)
    return _answer(draft, draft.trial(number))


def _fits_budget(draft: Draft, trial: TrialRow) -> bool:
    """Return whether the budget allows a trial that does not count towards it. A budget of plates allows it if another
    plate may be begun, or if its plate has other trials and therefore counts already."""
    study = draft.study
    if study.plates_left is not None and trial.plate is not None:
        return study.plates_left > 0 or draft.trials_on_plate(trial.plate) > 0
    return study.budget_left is None or study.budget_left > 0


def _check_point(draft: Draft, trial: TrialRow) -> None:
    """Check that a trial's point is still in the space, and on the steps of its parameters."""
    present = draft.space.present(trial.parameters)
    between = [] if present is None else draft.space.between_steps(present)
    if between:
        raise TrialFinished(
            f"Trial {trial.number} is between the steps of {', '.join(between)}, so it cannot be issued; queue the "
            f"nearest point instead."
        )
    if is_outside(draft, trial):
        raise TrialFinished(
            f"Trial {trial.number} is {OUTSIDE}: it cannot be retried unless an edit of the space includes it again."
        )


def check_current(trial: TrialRow, attempt: int | None) -> None:
    """Check that an attempt is the current attempt of a trial; None is allowed.

    Raises:
        LeaseLost: a later attempt has begun.
        Invalid: the trial has had no such attempt.
    """
    known_attempt(trial, attempt)
    if attempt is not None and attempt != trial.attempt:
        raise LeaseLost(
            f"Trial {trial.number} has been issued again (attempt {trial.attempt}), so attempt {attempt} has lost its "
            "lease."
        )


def _answer(draft: Draft, trial: TrialRow) -> Outcome[TrialAnswer]:
    lifecycle.update_state(draft)
    return Outcome(TrialAnswer(trial=render.trial(trial, draft.definition), study=lifecycle.summary(draft.study)))
