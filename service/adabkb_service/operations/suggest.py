"""POST /v1/studies/{id}/suggest: hand out trials.

1. Leases that have run out are expired, in a transaction of their own.
2. The model follows the log to its head.
3. Trials that wait for a worker are counted; for the rest of the request, within budget and limit, the engine is
   asked for new points. No transaction is open while it computes.
4. One transaction, if the head is still the same: lease the waiting trials, insert the new ones, write the tree's
   changes and the idempotency key. Else start again.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from adabkb_service.errors import Busy
from adabkb_service.operations import idempotency, lifecycle, render
from adabkb_service.operations.idempotency import Key, Outcome
from adabkb_service.operations.lease import expire_overdue, take
from adabkb_service.operations.models import Followed
from adabkb_service.operations.propose import Proposal, Proposals, propose
from adabkb_service.operations.service import Service
from adabkb_service.operations.views import Reason, Suggested
from adabkb_service.storage import events, studies, trials
from adabkb_service.storage.model import write_cells
from adabkb_service.storage.rows import StudyRow, TrialRow

ATTEMPTS = 100
"""How often to decide again after another process was faster."""
PAUSE_SECONDS = 0.02
"""At most, before that: whoever is faster once is not faster every time."""
RETRY_SECONDS: dict[Reason, float] = {"budget": 1.0, "exhausted": 1.0, "pending_limit": 1.0, "paused": 5.0}


@dataclass(frozen=True, slots=True)
class SuggestRequest:
    """What a worker asks for."""

    count: int = 1
    worker: str | None = None
    lease_seconds: float | None = None
    """The study's own if None."""


def suggest(service: Service, study_id: str, request: SuggestRequest, key: Key | None = None) -> Outcome[Suggested]:
    """Hand out up to ``request.count`` trials: waiting ones first, then new ones.

    Raises:
        StudyNotFound: there is no such study.
        Busy: other processes were faster every time.
        IdempotencyKeyReused: the key came before with another request.
    """
    with service.metrics.suggest_seconds.time(), service.models.lock(study_id):
        if key is not None:
            with service.database.reading() as connection:
                if known := idempotency.recall(connection, key, Suggested):
                    return known
        for _ in range(ATTEMPTS):
            expire_overdue(service, study_id)
            followed = service.models.follow(study_id)
            with service.database.reading() as connection:
                wanted = _new_points_wanted(connection, followed.study, request)
                first = trials.last_number(connection, study_id) + 1
            proposals = propose(followed, wanted, first)
            if outcome := _hand_out(service, followed, request, proposals, key):
                return outcome
            time.sleep(random.uniform(0.0, PAUSE_SECONDS))
    raise Busy(f"Other servers are changing study {study_id!r} all the time; try again.")


def _new_points_wanted(connection: Connection, study: StudyRow, request: SuggestRequest) -> int:
    """How many points the engine has to decide on."""
    counts = lifecycle.counts(connection, study.id)
    if lifecycle.standing(study, counts) != ("running", None):
        return 0
    room = request.count - len(trials.claimable(connection, study.id, request.count))
    if study.budget is not None:
        room = min(room, study.budget - counts.trials)
    if study.pending_limit is not None:
        room = min(room, study.pending_limit - counts.unfinished)
    return max(room, 0)


def _hand_out(
    service: Service, followed: Followed, request: SuggestRequest, proposals: Proposals, key: Key | None
) -> Outcome[Suggested] | None:
    """The transaction; None if the study has changed since the decision."""
    seen, now = followed.study, service.clock()
    with service.database.writing() as connection:
        study = studies.get(connection, seen.id, lock=True)
        if known := idempotency.recall(connection, key, Suggested):
            return known
        if (study.head, study.folded) != (seen.head, seen.folded):
            return None
        waiting = trials.claimable(connection, study.id, request.count) if study.state == "running" else []
        rows = [take(connection, study, trial, request.worker, request.lease_seconds, now) for trial in waiting]
        rows += [_insert(connection, study, proposal, request, now) for proposal in proposals.points]
        _keep_model(connection, study, proposals, now)
        study = lifecycle.settle(connection, study.id, now)
        log = events.page(connection, study.id, seen.head)
        if proposals.decided:
            studies.change(connection, study.id, folded=study.head)
        outcome = Outcome(_answer(connection, study, rows, request))
        if rows:  # without an effect there is nothing to repeat
            idempotency.store(connection, study.id, key, outcome, now)
    if followed.model is not None and proposals.error is None:
        followed.model.accept(proposals.decided, log)
    return outcome


def _insert(
    connection: Connection, study: StudyRow, proposal: Proposal, request: SuggestRequest, now: datetime
) -> TrialRow:
    """A new trial, leased to whoever asked."""
    seconds = request.lease_seconds or study.lease_seconds
    row = TrialRow(
        study_id=study.id,
        number=trials.last_number(connection, study.id) + 1,
        state="active",
        parameters=proposal.parameters,
        origin=proposal.origin,
        cell=proposal.cell,
        worker=request.worker,
        attempt=1,
        expirations=0,
        lease_seconds=seconds,
        leased_until=now + timedelta(seconds=seconds),
        value=None,
        failed_attempt=None,
        reason=None,
        created_at=now,
        finished_at=None,
    )
    trials.add(connection, row)
    cell = None if row.cell is None else {"key": row.cell, "depth": row.cell.count(".")}
    payload = {
        "parameters": row.parameters,
        "cell": cell,
        "origin": row.origin,
        "worker": row.worker,
        "capped": proposal.capped,
    }
    events.append(connection, study.id, "suggested", payload, now=now, trial=row.number)
    return row


def _keep_model(connection: Connection, study: StudyRow, proposals: Proposals, now: datetime) -> None:
    """Write the tree's changes, or that the engine failed."""
    if proposals.error is not None and study.model_error is None:
        studies.change(connection, study.id, model_error=proposals.error)
        events.append(connection, study.id, "model_failed", {"error": proposals.error}, now=now)
    if proposals.decided is None:
        return
    write_cells(connection, study.id, proposals.decided.cells)
    studies.change(connection, study.id, model=proposals.decided.figures, model_error=None)
    if study.model_error is not None:
        events.append(connection, study.id, "model_recovered", {}, now=now)


def _answer(connection: Connection, study: StudyRow, rows: list[TrialRow], request: SuggestRequest) -> Suggested:
    """Fewer trials than asked for always come with a reason."""
    summary = lifecycle.summary(connection, study)
    reason = summary.reason if len(rows) < request.count else None
    waits = not rows and reason is not None and summary.state != "complete"
    return Suggested(
        trials=[render.trial(row) for row in rows],
        reason=reason,
        retry_after=RETRY_SECONDS.get(reason) if waits and reason else None,
        degraded=study.model_error is not None,
        study=summary,
    )
