"""Leases: which worker has a trial, and for how long. Each lease of a trial is an attempt.

A lease ends ``lease_seconds`` after the last heartbeat, and at the latest ``max_runtime_seconds`` after its start.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from adabkb_service.storage.rows import StudyRow, TrialRow
from adabkb_service.study.draft import Draft


def lease_end(study: StudyRow, started: datetime, now: datetime, seconds: float) -> datetime:
    """Return the end of a lease of ``seconds`` that is given or renewed at ``now``, for an attempt that began at
    ``started``.

    A lease must end after it begins. The shortest lease is therefore 1 us, the resolution of a ``datetime``.
    """
    end = now + max(timedelta(seconds=seconds), timedelta.resolution)
    latest = _latest_end(study, started)
    return end if latest is None else min(end, latest)


def give(draft: Draft, trial: int, seconds: float | None) -> TrialRow:
    """Start the lease of a trial's new attempt. It lasts ``seconds``, or the study's ``lease_seconds`` for None."""
    study, now = draft.study, draft.now
    length = seconds or study.lease_seconds
    return draft.lease(trial, length, lease_end(study, now, now, length))


def lease_again(draft: Draft, trial: TrialRow, worker: str | None, seconds: float | None) -> TrialRow:
    """Lease a waiting trial to a worker as its next attempt."""
    draft.record("leased", {"attempt": trial.attempt + 1, "worker": worker, "renewed": False}, trial.number)
    return give(draft, trial.number, seconds)


def expire_overdue(draft: Draft) -> None:
    """Expire the study's overdue leases. Fail each trial whose leases have expired ``max_attempts`` times."""
    for trial in draft.overdue():
        _expire(draft, trial)


def _expire(draft: Draft, trial: TrialRow) -> None:
    latest = None if trial.started_at is None else _latest_end(draft.study, trial.started_at)
    cause: Literal["lease", "max_runtime"] = "lease" if latest is None or draft.now < latest else "max_runtime"
    draft.record("expired", {"attempt": trial.attempt, "worker": trial.worker, "cause": cause}, trial.number)
    if trial.expirations + 1 >= draft.study.max_attempts:
        with draft.by(None):
            draft.record("failed", {"attempt": None, "reason": "max_attempts"}, trial.number)


def _latest_end(study: StudyRow, started: datetime) -> datetime | None:
    if study.max_runtime_seconds is None:
        return None
    return started + timedelta(seconds=study.max_runtime_seconds)
