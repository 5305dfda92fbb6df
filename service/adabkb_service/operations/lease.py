"""Leases: who holds a trial, for how long. Each lease of a trial is an attempt.

A lease ends after ``lease_seconds`` without a heartbeat, and after ``max_runtime_seconds`` whatever the heartbeats say.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from adabkb_service.contract.answers import Held
from adabkb_service.errors import LeaseLost, TrialFinished
from adabkb_service.operations.retry import retried
from adabkb_service.operations.service import Service
from adabkb_service.storage import trials
from adabkb_service.storage.rows import StudyRow, TrialRow
from adabkb_service.study import idempotency, lifecycle, render
from adabkb_service.study.draft import Change, changing
from adabkb_service.study.idempotency import Key, Outcome


def lease_end(study: StudyRow, started: datetime, now: datetime, seconds: float) -> datetime:
    """When a lease of so many seconds ends that is given or renewed now, for an attempt that started then.

    The shortest lease is a microsecond: a time has no smaller part, and a lease must not end when it begins.
    """
    end = now + max(timedelta(seconds=seconds), timedelta.resolution)
    latest = _latest_end(study, started)
    return end if latest is None else min(end, latest)


def _latest_end(study: StudyRow, started: datetime) -> datetime | None:
    if study.max_runtime_seconds is None:
        return None
    return started + timedelta(seconds=study.max_runtime_seconds)


def take(change: Change, trial: TrialRow, worker: str | None, lease_seconds: float | None) -> TrialRow:
    """Lease a waiting trial to a worker, as its next attempt."""
    study, now = change.study, change.now
    seconds = lease_seconds or study.lease_seconds
    attempt = trial.attempt + 1
    change.note("leased", {"attempt": attempt, "worker": worker, "renewed": False}, trial.number)
    return change.move(
        trial,
        state="active",
        worker=worker,
        attempt=attempt,
        lease_seconds=seconds,
        leased_until=lease_end(study, now, now, seconds),
        started_at=now,
    )


@retried
def expire_overdue(service: Service, study_id: str) -> None:
    """Expire the leases of a study that have run out; the last of ``max_attempts`` fails its trial."""
    with changing(service, study_id) as change:
        overdue = trials.overdue(change.connection, study_id, change.now)
        for trial in overdue:
            _expire(change, trial)
        lifecycle.settle(change)
    service.metrics.leases_expired.inc(len(overdue))


def _expire(change: Change, trial: TrialRow) -> None:
    latest = None if trial.started_at is None else _latest_end(change.study, trial.started_at)
    cause = "lease" if latest is None or change.now < latest else "max_runtime"
    change.note("expired", {"attempt": trial.attempt, "worker": trial.worker, "cause": cause}, trial.number)
    expirations = trial.expirations + 1
    if expirations < change.study.max_attempts:
        change.move(trial, state="expired", expirations=expirations)
        return
    reason = "max_attempts"
    change.move(trial, state="failed", expirations=expirations, reason=reason, finished_at=change.now)
    change.set(failures=change.study.failures + 1)
    change.note("failed", {"attempt": None, "reason": reason}, trial.number)


@retried
def heartbeat(
    service: Service,
    study_id: str,
    number: int,
    *,
    attempt: int | None = None,
    lease_seconds: float | None = None,
    key: Key | None = None,
) -> Outcome[Held]:
    """Renew the lease of the current attempt, also of one that ran out unless the trial was leased again.

    Raises:
        StudyNotFound, TrialNotFound: there is no such thing.
        LeaseLost: the attempt does not hold the trial any more, or has run for longer than it may.
    """
    with changing(service, study_id) as change:
        if known := idempotency.recall(change.connection, key, Held):
            return known
        trial = change.trial(number)
        _check_current(trial, attempt)
        if trial.state not in ("active", "expired"):
            raise LeaseLost(f"Trial {number} is {trial.state}; stop working on it, or ask for another.")
        started = trial.started_at or trial.created_at
        seconds = lease_seconds or trial.lease_seconds
        until = lease_end(change.study, started, change.now, seconds)
        if until <= change.now:
            raise LeaseLost(
                f"Trial {number} has run for longer than the study's max_runtime_seconds "
                f"({change.study.max_runtime_seconds:g}); stop working on it, or ask for another."
            )
        expirations = trial.expirations
        if trial.state == "expired":
            expirations -= 1
            change.note("leased", {"attempt": trial.attempt, "worker": trial.worker, "renewed": True}, number)
        trial = change.move(trial, state="active", expirations=expirations, lease_seconds=seconds, leased_until=until)
        return _held(change, trial, key)


@retried
def release(
    service: Service, study_id: str, number: int, *, attempt: int | None = None, key: Key | None = None
) -> Outcome[Held]:
    """Give a trial back unfinished: it is handed out again before any new point.

    Raises:
        StudyNotFound, TrialNotFound: there is no such thing.
        LeaseLost: the attempt does not hold the trial any more.
        TrialFinished: there is nothing to give back.
    """
    with changing(service, study_id) as change:
        if known := idempotency.recall(change.connection, key, Held):
            return known
        trial = change.trial(number)
        if trial.state in ("completed", "failed"):
            raise TrialFinished(f"Trial {number} is {trial.state}.")
        _check_current(trial, attempt)
        if trial.state in ("active", "expired"):
            change.note("released", {"attempt": trial.attempt, "worker": trial.worker}, number)
            trial = change.move(trial, state="released")
        return _held(change, trial, key)


def _check_current(trial: TrialRow, attempt: int | None) -> None:
    if attempt is not None and attempt != trial.attempt:
        raise LeaseLost(
            f"Trial {trial.number} is at attempt {trial.attempt}; attempt {attempt} does not hold it any more."
        )


def _held(change: Change, trial: TrialRow, key: Key | None) -> Outcome[Held]:
    lifecycle.settle(change)
    outcome = Outcome(Held(trial=render.trial(trial), study=lifecycle.summary(change.study)))
    idempotency.store(change, key, outcome)
    return outcome
