"""What the server does by itself, over and over: expire leases, forget old idempotency keys, empty the trash.

Any number of servers may do so at once: whoever comes second finds nothing left to do.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import Connection

from adabkb_service.contract.answers import StudySummary
from adabkb_service.errors import Busy, NotFound, StudyNotFound
from adabkb_service.operations import audit, trash
from adabkb_service.operations.service import Service
from adabkb_service.storage import audit as audit_rows
from adabkb_service.storage import horizons, idempotency, trials
from adabkb_service.storage import trash as trash_rows
from adabkb_service.study import leases, lifecycle
from adabkb_service.study.draft import Draft
from adabkb_service.study.request import Outcome, Points, Request

KEYS_AT_ONCE = 500
"""Deleted in one transaction, so that nobody waits long for it."""
CATCHING_UP = 2.0
"""How much faster than time the horizon of forgotten keys may move."""


def sweep(service: Service) -> None:
    """Expire the leases of all studies that have run out."""
    with service.database.reading() as connection:
        study_ids = trials.studies_with_overdue(connection, service.clock())
    for study_id in study_ids:
        with suppress(StudyNotFound, Busy):  # deleted meanwhile, or the next sweep's turn; the others are not concerned
            service.do(Request(study_id, StudySummary, _expire, first=leases.expire_overdue))


def _expire(draft: Draft, _: Points) -> Outcome[StudySummary]:
    lifecycle.settle(draft)
    return Outcome(lifecycle.summary(draft.study))


def forget_keys(service: Service, hours: float, seconds_since: float) -> None:
    """Delete the idempotency keys that are older than this.

    The clock alone does not decide: if it is a day ahead, keys must not be a day older at once. So the horizon up to
    which keys are forgotten is stored, and it moves by no more than twice the time that has really passed since it last
    moved.

    Args:
        service: the service.
        hours: how long keys are remembered.
        seconds_since: how long the server has run since it last did this, or since it started.
    """
    with service.database.writing() as connection:
        span = timedelta(hours=hours)
        before = _horizon(service, connection, "idempotency keys", span, idempotency.oldest(connection), seconds_since)
    while True:
        with service.database.reading() as connection:
            names = idempotency.outdated(connection, before, KEYS_AT_ONCE)
        if not names:
            return
        with service.database.writing() as connection:
            idempotency.forget(connection, names, before)


def empty_trash(service: Service, seconds_since: float) -> None:
    """Delete for good what has been in the trash for long enough, by the same kind of horizon; and old entries of the
    audit log."""
    with service.database.writing() as connection:
        span = timedelta(days=trash.DAYS)
        before = _horizon(service, connection, "trash", span, trash_rows.oldest(connection), seconds_since)
        trash_rows.forget(connection, before)
        audit_rows.forget(connection, before - timedelta(days=audit.DAYS - trash.DAYS))


def _horizon(
    service: Service,
    connection: Connection,
    name: horizons.Forgotten,
    span: timedelta,
    oldest: datetime | None,
    seconds_since: float,
) -> datetime:
    """The time before which things are forgotten now, which is stored.

    Args:
        service, connection: where.
        name: what they are.
        span: for which they are kept.
        oldest: of them, if there is one.
        seconds_since: for which the server has really run since it last did this.
    """
    before, known = service.clock() - span, horizons.find(connection, name)
    if known is None:
        known = before if oldest is None else oldest - span
    before = min(before, known + timedelta(seconds=CATCHING_UP * seconds_since))
    horizons.move(connection, name, before)
    return before


def cut_leases(service: Service) -> None:
    """As the server starts: no lease may have more left than its length. One has if the clock was ahead when it was
    given and is right now; nobody should wait for that hour."""
    with service.database.reading() as connection:
        too_long = trials.leased_beyond(connection, service.clock())
    for study_id in sorted({trial.study_id for trial in too_long}):
        numbers = [trial.number for trial in too_long if trial.study_id == study_id]
        with suppress(NotFound, Busy):  # no reason not to start
            service.do(Request(study_id, StudySummary, partial(_cut, numbers)))


def _cut(numbers: list[int], draft: Draft, _: Points) -> Outcome[StudySummary]:
    for trial in map(draft.trial, numbers):
        latest = draft.now + timedelta(seconds=trial.lease_seconds)
        if trial.state == "active" and trial.leased_until is not None and trial.leased_until > latest:
            draft.lease(trial.number, trial.lease_seconds, latest)
    return Outcome(lifecycle.summary(draft.study))
