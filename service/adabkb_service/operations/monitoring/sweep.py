"""Periodic work of the server.

It expires leases, deletes old idempotency keys, old sessions and old entries of the trash and of the audit log, and
removes the rows of deleted studies.

Several servers may do this at the same time: each finds only the work that is left.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import Connection

from adabkb_service.contract.answers import StudySummary
from adabkb_service.errors import Busy, Contention, StudyNotFound, Unavailable
from adabkb_service.operations.access import audit
from adabkb_service.operations.data import trash
from adabkb_service.operations.service import Service
from adabkb_service.storage import audit as audit_rows
from adabkb_service.storage import containers, idempotency, removal, retention_cutoffs, tokens, trials
from adabkb_service.storage import trash as trash_rows
from adabkb_service.storage.pace import Pace
from adabkb_service.study import leases, lifecycle
from adabkb_service.study.draft import Draft
from adabkb_service.study.request import Outcome, Points, Request

logger = logging.getLogger(__name__)

STUDIES_AT_ONCE = 100
"""The number of studies whose leases are checked at the same time."""
SWEEP_SECONDS = 10.0
"""Seconds for which a sweep waits for these studies before it continues with the next studies."""
FAILED_SECONDS = 60.0
"""Seconds until the next attempt for a study whose leases could not be expired."""
KEYS_AT_ONCE = 500
"""The number of keys that one transaction deletes. It is small, so that other transactions do not wait for long."""
CONTAINERS_AT_ONCE = 100
"""The maximum number of deleted studies whose rows one sweep removes, if the time suffices."""
REMOVAL_SECONDS = 1.0
"""Seconds for which a sweep removes rows. Meanwhile, no leases are checked."""
MAX_CUTOFF_SPEED = 2.0
"""The maximum speed, relative to real time, at which the cutoff for deletion advances."""


def sweep(service: Service) -> None:
    """Expire all overdue leases. An error of one study does not affect the others.

    Raises:
        AdaBKBError: the database does not answer.
    """
    with service.database.reading() as connection:
        study_ids = trials.studies_with_overdue(connection, service.clock())
    due = [each for each in study_ids if service.unswept.get(each, 0.0) <= time.monotonic()]
    _do_each(service, [Request(each, StudySummary, _expire, prepare=leases.expire_overdue) for each in due])


def _do_each(service: Service, requests: Sequence[Request[StudySummary]]) -> None:
    """Perform requests to different studies, several at a time. Studies that are deleted or busy are skipped. A study
    whose request fails is skipped for ``FAILED_SECONDS``.

    Raises:
        Unavailable: the database does not answer.
    """
    for start in range(0, len(requests), STUDIES_AT_ONCE):
        futures: dict[str, Future[Outcome[StudySummary]]] = {}
        for request in requests[start : start + STUDIES_AT_ONCE]:
            with suppress(Busy):
                futures[request.study_id] = service.submit(request)
        deadline = time.monotonic() + SWEEP_SECONDS
        for study_id, future in futures.items():
            try:
                service.scheduler.wait_for(future, max(deadline - time.monotonic(), 0.0))
            except (StudyNotFound, Busy, TimeoutError):
                continue
            except Unavailable:
                raise
            except Exception as error:
                logger.error("study %s: its leases could not be expired; next attempt in a minute: %s", study_id, error)
                service.unswept[study_id] = time.monotonic() + FAILED_SECONDS


def _expire(draft: Draft, _: Points) -> Outcome[StudySummary]:
    lifecycle.update_state(draft)
    return Outcome(lifecycle.summary(draft.study))


def forget_keys(service: Service, hours: float, seconds_since: float) -> None:
    """Delete the idempotency keys that are older than ``hours``.

    If the clock jumps ahead by a day, keys must not be deleted a day too early. So the cutoff is stored, and advances
    by at most twice the time since the last attempt, however many servers make attempts.

    Args:
        service: the service.
        hours: the age at which keys are deleted.
        seconds_since: seconds since the last attempt in this server, or since its start.
    """
    with service.database.writing() as connection:
        span = timedelta(hours=hours)
        before = _move_cutoff(
            service, connection, "idempotency keys", span, idempotency.oldest(connection), seconds_since
        )
    while True:
        with service.database.reading() as connection:
            names = idempotency.outdated(connection, before, KEYS_AT_ONCE)
        if not names:
            return
        with service.database.writing() as connection:
            idempotency.forget(connection, names, before)


def empty_trash(service: Service, seconds_since: float) -> None:
    """Permanently delete studies that have been in the trash for ``trash.DAYS``, sessions that ended that long ago, and
    entries of the audit log that are older than ``audit.DAYS``. The cutoff advances as in ``forget_keys``."""
    with service.database.writing() as connection:
        span = timedelta(days=trash.DAYS)
        before = _move_cutoff(service, connection, "trash", span, trash_rows.oldest(connection), seconds_since)
    _forget(service, lambda connection, limit: trash_rows.forget(connection, before, limit))
    entries_before = before - timedelta(days=audit.DAYS - trash.DAYS)
    _forget(service, lambda connection, limit: audit_rows.forget(connection, entries_before, limit))
    _forget(service, lambda connection, limit: tokens.forget_sessions(connection, before, limit))


def _forget(service: Service, forget: Callable[[Connection, int], int]) -> None:
    """Call a function that deletes up to a given number of rows, in short transactions, until none are left."""
    pace, is_over = Pace(), False
    while not is_over:
        rows = pace.rows
        with pace.transaction(service.database) as connection:
            is_over = forget(connection, rows) < rows


def remove_abandoned(service: Service) -> None:
    """Continue to remove the rows of large deleted studies, of purged studies, and of interrupted imports.

    Raises:
        AdaBKBError: the database does not answer, or is busy.
    """
    with service.database.reading() as connection:
        found = containers.removable(connection, service.clock(), CONTAINERS_AT_ONCE)
    deadline = time.monotonic() + REMOVAL_SECONDS
    for container in found:
        if (seconds := deadline - time.monotonic()) > 0:
            with suppress(Contention):
                removal.remove_abandoned(service.database, container, service.clock, seconds)


def _move_cutoff(
    service: Service,
    connection: Connection,
    name: retention_cutoffs.Forgotten,
    span: timedelta,
    oldest: datetime | None,
    seconds_since: float,
) -> datetime:
    """Advance the stored cutoff, the time before which entries of a kind are deleted, and return it.

    The time since the last attempt of any server is known only by the clock, which may have jumped; the time since the
    last attempt in this server does not depend on it. The smaller of the two counts.

    Args:
        service, connection: the service, and a connection to its database.
        name: the kind of entries.
        span: how long these entries are kept.
        oldest: the time of the oldest entry; None if there is none.
        seconds_since: seconds since the last attempt in this server, or since its start.
    """
    now, known = service.clock(), retention_cutoffs.find(connection, name)
    moved_at, before = retention_cutoffs.moved_at(connection, name), now - span
    if known is None:
        known = before if oldest is None else oldest - span
    if moved_at is not None:
        seconds_since = min(seconds_since, max((now - moved_at).total_seconds(), 0.0))
    before = min(before, known + timedelta(seconds=MAX_CUTOFF_SPEED * seconds_since))
    retention_cutoffs.move(connection, name, before, now)
    return before


def clamp_leases(service: Service) -> None:
    """Shorten leases that end later than now plus their length. Such leases exist if the clock was ahead when they were
    given. The server calls this when it starts."""
    with service.database.reading() as connection:
        too_long = trials.leased_beyond(connection, service.clock())
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    for trial in too_long:
        numbers[trial.study_id].append(trial.number)
    _do_each(service, [Request(each, StudySummary, partial(_clamp, found)) for each, found in sorted(numbers.items())])


def _clamp(numbers: list[int], draft: Draft, _: Points) -> Outcome[StudySummary]:
    for trial in map(draft.trial, numbers):
        latest = draft.now + timedelta(seconds=trial.lease_seconds)
        if trial.state == "active" and trial.leased_until is not None and trial.leased_until > latest:
            draft.lease(trial.number, trial.lease_seconds, latest)
    return Outcome(lifecycle.summary(draft.study))
