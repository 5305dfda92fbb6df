"""What the server does by itself, over and over: expire leases, forget old idempotency keys.

Any number of servers may do so at once: whoever comes second finds nothing left to do.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from adabkb_service.errors import Busy, NotFound, StudyNotFound
from adabkb_service.operations.lease import expire_overdue
from adabkb_service.operations.service import Service
from adabkb_service.storage import idempotency, trials
from adabkb_service.study.draft import changing

KEYS_AT_ONCE = 500
"""Deleted in one transaction, so that nobody waits long for it."""


def sweep(service: Service) -> None:
    """Expire the leases of all studies that have run out."""
    with service.database.reading() as connection:
        study_ids = trials.studies_with_overdue(connection, service.clock())
    for study_id in study_ids:
        with suppress(StudyNotFound, Busy):  # deleted meanwhile, or the next sweep's turn; the others are not concerned
            expire_overdue(service, study_id)


def forget_keys(service: Service, hours: float) -> None:
    """Delete the idempotency keys that are older than this."""
    before = service.clock() - timedelta(hours=hours)
    while True:
        with service.database.reading() as connection:
            names = idempotency.outdated(connection, before, KEYS_AT_ONCE)
        if not names:
            return
        with service.database.writing() as connection:
            idempotency.forget(connection, names, before)


def cut_leases(service: Service) -> None:
    """As the server starts: no lease may have more left than its length. One has if the clock was ahead when it was
    given and is right now; nobody should wait for that hour."""
    now = service.clock()
    with service.database.reading() as connection:
        too_long = trials.leased_beyond(connection, now)
    for study_id in sorted({trial.study_id for trial in too_long}):
        with suppress(NotFound, Busy), changing(service, study_id) as change:  # no reason not to start
            for trial in (change.trial(found.number) for found in too_long if found.study_id == study_id):
                latest = now + timedelta(seconds=trial.lease_seconds)
                if trial.state == "active" and trial.leased_until is not None and trial.leased_until > latest:
                    change.move(trial, leased_until=latest)
