"""Leases: who holds a trial, for how long. Each lease of a trial is an attempt."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from sqlalchemy import Connection

from adabkb_service.errors import Busy, LeaseLost, StudyNotFound, TrialFinished
from adabkb_service.operations import idempotency, lifecycle, render
from adabkb_service.operations.idempotency import Key, Outcome
from adabkb_service.operations.service import Service
from adabkb_service.operations.views import Held
from adabkb_service.storage import events, studies, trials
from adabkb_service.storage.rows import StudyRow, TrialRow


def take(
    connection: Connection,
    study: StudyRow,
    trial: TrialRow,
    worker: str | None,
    lease_seconds: float | None,
    now: datetime,
) -> TrialRow:
    """Lease a waiting trial to a worker, as its next attempt."""
    seconds = lease_seconds or study.lease_seconds
    attempt = trial.attempt + 1
    payload = {"attempt": attempt, "worker": worker, "renewed": False}
    events.append(connection, study.id, "leased", payload, now=now, trial=trial.number)
    return trials.change(
        connection,
        trial,
        state="active",
        worker=worker,
        attempt=attempt,
        lease_seconds=seconds,
        leased_until=now + timedelta(seconds=seconds),
    )


def expire_overdue(service: Service, study_id: str) -> None:
    """Expire the leases of a study that have run out; the last of ``max_attempts`` fails its trial."""
    now = service.clock()
    with service.database.reading() as connection:
        if not trials.overdue(connection, study_id, now):
            return
    with service.database.writing() as connection:
        study = studies.get(connection, study_id, lock=True)
        overdue = trials.overdue(connection, study_id, now)
        for trial in overdue:
            _expire(connection, study, trial, now)
        lifecycle.settle(connection, study_id, now)
    service.metrics.leases_expired.inc(len(overdue))


def sweep(service: Service) -> None:
    """Expire the leases of all studies that have run out."""
    with service.database.reading() as connection:
        study_ids = trials.studies_with_overdue(connection, service.clock())
    for study_id in study_ids:
        with suppress(StudyNotFound, Busy):  # deleted meanwhile, or the next sweep's turn; the others are not concerned
            expire_overdue(service, study_id)


def _expire(connection: Connection, study: StudyRow, trial: TrialRow, now: datetime) -> None:
    expirations = trial.expirations + 1
    payload = {"attempt": trial.attempt, "worker": trial.worker}
    events.append(connection, study.id, "expired", payload, now=now, trial=trial.number)
    if expirations < study.max_attempts:
        trials.change(connection, trial, state="expired", expirations=expirations)
        return
    reason = "max_attempts"
    trials.change(connection, trial, state="failed", expirations=expirations, reason=reason, finished_at=now)
    events.append(connection, study.id, "failed", {"attempt": None, "reason": reason}, now=now, trial=trial.number)


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
        LeaseLost: the attempt does not hold the trial any more.
    """
    now = service.clock()
    with service.database.writing() as connection:
        study = studies.get(connection, study_id, lock=True)
        if known := idempotency.recall(connection, key, Held):
            return known
        trial = trials.get(connection, study_id, number)
        _check_current(trial, attempt)
        if trial.state not in ("active", "expired"):
            raise LeaseLost(f"Trial {number} is {trial.state}; stop working on it, or ask for another.")
        expirations = trial.expirations
        if trial.state == "expired":
            expirations -= 1
            payload = {"attempt": trial.attempt, "worker": trial.worker, "renewed": True}
            events.append(connection, study_id, "leased", payload, now=now, trial=number)
        seconds = lease_seconds or trial.lease_seconds
        until = now + timedelta(seconds=seconds)
        trial = trials.change(
            connection, trial, state="active", expirations=expirations, lease_seconds=seconds, leased_until=until
        )
        return _held(connection, study, trial, key, now)


def release(
    service: Service, study_id: str, number: int, *, attempt: int | None = None, key: Key | None = None
) -> Outcome[Held]:
    """Give a trial back unfinished: it is handed out again before any new point.

    Raises:
        StudyNotFound, TrialNotFound: there is no such thing.
        LeaseLost: the attempt does not hold the trial any more.
        TrialFinished: there is nothing to give back.
    """
    now = service.clock()
    with service.models.lock(study_id), service.database.writing() as connection:
        study = studies.get(connection, study_id, lock=True)
        if known := idempotency.recall(connection, key, Held):
            return known
        trial = trials.get(connection, study_id, number)
        if trial.state in ("completed", "failed"):
            raise TrialFinished(f"Trial {number} is {trial.state}.")
        _check_current(trial, attempt)
        if trial.state in ("active", "expired"):
            payload = {"attempt": trial.attempt, "worker": trial.worker}
            events.append(connection, study_id, "released", payload, now=now, trial=number)
            trial = trials.change(connection, trial, state="released")
        return _held(connection, study, trial, key, now)


def _check_current(trial: TrialRow, attempt: int | None) -> None:
    if attempt is not None and attempt != trial.attempt:
        raise LeaseLost(
            f"Trial {trial.number} is at attempt {trial.attempt}; attempt {attempt} does not hold it any more."
        )


def _held(connection: Connection, study: StudyRow, trial: TrialRow, key: Key | None, now: datetime) -> Outcome[Held]:
    study = lifecycle.settle(connection, study.id, now)
    outcome = Outcome(Held(trial=render.trial(trial), study=lifecycle.summary(connection, study)))
    idempotency.store(connection, study.id, key, outcome, now)
    return outcome
