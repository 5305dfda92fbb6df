"""POST /v1/studies/{id}/suggest: hand out trials.

1. Leases that have run out are expired, in a transaction of their own.
2. The model follows the log to its head.
3. For the trials that are wanted beyond those waiting for a worker, within budget and limit, the engine is asked for
   new points. No transaction is open while it computes. Where 2 or 3 take too long, the points are quasi-random.
4. One transaction, if the head is still the same: lease the waiting trials, insert the new ones, write the tree's
   changes and the idempotency key. Else start again.
"""

from __future__ import annotations

import random
import time
from contextlib import suppress
from dataclasses import dataclass

from adabkb_service.contract.answers import Reason, Suggested
from adabkb_service.errors import Busy, Contention
from adabkb_service.inference.models import Followed
from adabkb_service.inference.pool import ModelGone, ModelLate
from adabkb_service.inference.proposals import Proposal, Proposals, propose
from adabkb_service.operations.lease import expire_overdue, lease_end, take
from adabkb_service.operations.retry import retried
from adabkb_service.operations.service import Service
from adabkb_service.storage import studies, trials
from adabkb_service.storage.model import write_cells
from adabkb_service.storage.rows import StudyRow, TrialRow
from adabkb_service.study import idempotency, lifecycle, render
from adabkb_service.study.draft import Change, going_on
from adabkb_service.study.idempotency import Key, Outcome

SECONDS = 10.0
"""How long to decide again and again while results arrive, other servers are faster or the model gets lost; then
without it, ..."""
LAST_SECONDS = 5.0
"""... which takes no time, for so long."""
PAUSE_SECONDS = 0.02
"""At most, before that: whoever is faster once is not faster every time."""
RETRY_SECONDS: dict[Reason, float] = {
    "budget": 1.0,
    "exhausted": 1.0,
    "pending_limit": 1.0,
    "paused": 5.0,
    "failures": 5.0,
}


@dataclass(frozen=True, slots=True)
class SuggestRequest:
    """What a worker asks for."""

    count: int = 1
    worker: str | None = None
    lease_seconds: float | None = None
    """The study's own if None."""


@retried
def suggest(service: Service, study_id: str, request: SuggestRequest, key: Key | None = None) -> Outcome[Suggested]:
    """Hand out up to ``request.count`` trials: waiting ones first, then new ones.

    Raises:
        StudyNotFound: there is no such study.
        Busy: something else was faster every time.
        IdempotencyKeyReused: the key came before with another request.
    """
    with service.metrics.suggest_seconds.time(), service.models.lock(study_id):
        started = time.monotonic()
        while (spent := time.monotonic() - started) < SECONDS + LAST_SECONDS:
            with service.database.reading() as connection:
                if known := idempotency.recall(connection, key, Suggested):
                    return known
                study = studies.get(connection, study_id)
                overdue = trials.overdue(connection, study_id, service.clock()) if study.active else []
                seen = service.models.read(connection, study)
            if overdue:
                expire_overdue(service, study_id)
                continue
            try:
                if spent > SECONDS:
                    raise ModelLate(f"The model of study {study_id!r} cannot decide in time.")
                followed = service.models.follow(study_id, seen)
                proposals = propose(service.models, followed, _new_points_wanted(followed.study, request))
            except ModelGone:
                continue
            except ModelLate:  # nobody waits for a point
                followed, proposals = _without_model(service, study_id, request)
            with suppress(Contention):
                return _hand_out(service, followed, request, proposals, key)
            time.sleep(random.uniform(0.0, PAUSE_SECONDS))
    raise Busy(f"Study {study_id!r} changes all the time; try again.")


def _without_model(service: Service, study_id: str, request: SuggestRequest) -> tuple[Followed, Proposals]:
    with service.database.reading() as connection:
        followed = Followed(studies.get(connection, study_id), in_order=False)
    return followed, propose(service.models, followed, _new_points_wanted(followed.study, request))


def _new_points_wanted(study: StudyRow, request: SuggestRequest) -> int:
    """How many points the engine has to decide on."""
    if lifecycle.standing(study) != ("running", None):
        return 0
    room = request.count - study.waiting
    if study.budget is not None:
        room = min(room, study.budget - study.trials)
    if study.pending_limit is not None:
        room = min(room, study.pending_limit - study.unfinished)
    return max(room, 0)


def _hand_out(
    service: Service, followed: Followed, request: SuggestRequest, proposals: Proposals, key: Key | None
) -> Outcome[Suggested]:
    """The transaction.

    Raises:
        Contention: the study has changed since the decision.
    """
    seen = followed.study
    with going_on(service, seen) as change:
        waiting = []
        if seen.waiting and seen.state == "running":
            waiting = trials.claimable(change.connection, seen.id, request.count)
        rows = [take(change, trial, request.worker, request.lease_seconds) for trial in waiting]
        rows += [_add(change, proposal, request) for proposal in proposals.points]
        _keep_model(change, proposals)
        lifecycle.settle(change)
        if proposals.decided:
            change.set(folded=change.study.head)
        without_model = bool(proposals.points) and proposals.decided is None
        outcome = Outcome(_answer(change.study, rows, request, without_model))
        if rows:  # without an effect there is nothing to repeat
            idempotency.store(change, key, outcome)
    if followed.in_order and proposals.error is None and change.log:
        service.models.accept(seen, change.log, decided=proposals.decided is not None)
    return outcome


def _add(change: Change, proposal: Proposal, request: SuggestRequest) -> TrialRow:
    """A new trial, leased to whoever asked."""
    study, now = change.study, change.now
    seconds = request.lease_seconds or study.lease_seconds
    row = TrialRow.new(
        study.id,
        study.trials + 1,
        proposal.parameters,
        now,
        state="active",
        origin=proposal.origin,
        cell=proposal.cell,
        worker=request.worker,
        attempt=1,
        lease_seconds=seconds,
        leased_until=lease_end(study, now, now, seconds),
        started_at=now,
    )
    change.add_trial(row)
    cell = None if row.cell is None else {"key": row.cell, "depth": row.cell.count(".")}
    payload = {
        "parameters": row.parameters,
        "cell": cell,
        "origin": row.origin,
        "worker": row.worker,
        "capped": proposal.capped,
    }
    change.note("suggested", payload, row.number)
    return row


def _keep_model(change: Change, proposals: Proposals) -> None:
    """Write the tree's changes, or that the engine failed."""
    was_wrong = change.study.model_error
    if proposals.error is not None and was_wrong is None:
        change.set(model_error=proposals.error)
        change.note("model_failed", {"error": proposals.error})
    if proposals.decided is None:
        return
    write_cells(change.connection, change.study.id, proposals.decided.cells)
    change.set(model=proposals.decided.figures, model_error=None)
    if was_wrong is not None:
        change.note("model_recovered", {})


def _answer(study: StudyRow, rows: list[TrialRow], request: SuggestRequest, without_model: bool) -> Suggested:
    """Fewer trials than asked for always come with a reason."""
    summary = lifecycle.summary(study)
    reason = summary.reason if len(rows) < request.count else None
    waits = not rows and reason is not None and summary.state != "complete"
    return Suggested(
        trials=[render.trial(row) for row in rows],
        reason=reason,
        retry_after=RETRY_SECONDS.get(reason) if waits and reason else None,
        degraded=without_model or study.model_error is not None,
        study=summary,
    )
