"""POST /v1/studies/{id}/observe, and the batch of it.

1. One transaction: the result, the trial's completion, the events and the idempotency key. It is durable now,
   whatever else goes on in the study: this waits for a decision no longer than a moment.
2. The model follows the log. The transaction that writes its rows also replaces the answer kept under the key, by the
   one that shows the study after that. Should the engine fail, the result stays, and so does the first answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from adabkb_service.errors import AdaBKBError, Busy, StudyNotFound, Unavailable
from adabkb_service.operations import idempotency, lifecycle, render
from adabkb_service.operations.change import Change, changing, trying
from adabkb_service.operations.idempotency import Key, Outcome, View
from adabkb_service.operations.record import Recorded, Result, record
from adabkb_service.operations.retry import retried
from adabkb_service.operations.service import Service
from adabkb_service.operations.views import BatchItem, Observed, ObservedBatch
from adabkb_service.storage.rows import StudyRow

AFTERWARDS = (Busy, Unavailable, StudyNotFound)
"""What may go wrong once the result is durable: the answer of step 1 then stands, the next request does the rest."""


@retried
def observe(service: Service, study_id: str, result: Result, key: Key | None = None) -> Outcome[Observed]:
    """Store a result durably, then update the model.

    Raises:
        StudyNotFound, TrialNotFound, Invalid, ResultConflict, TrialFinished, LeaseLost: see ``record``; nothing
            is written.
        Unavailable, Busy: nothing is acknowledged.
    """
    with service.metrics.observe_seconds.time(), service.models.soon(study_id):
        with changing(service, study_id) as change:
            if known := idempotency.recall(change.connection, key, Observed):
                return known
            recorded = record(change, lifecycle.definition_of(change.study).space(), result)
            lifecycle.settle(change)
            outcome = Outcome(_answer(change.study, recorded))
            idempotency.store(change, key, outcome)
        _count(service, [recorded])
        return follow_up(service, change, key, outcome, lambda study: _answer(study, recorded))


@retried
def observe_batch(
    service: Service,
    study_id: str,
    results: Sequence[Result],
    describe: Callable[[AdaBKBError], BatchItem],
    *,
    dry_run: bool = False,
    key: Key | None = None,
) -> Outcome[ObservedBatch]:
    """Store many results in one transaction, then update the model once; an item that is refused stops no other.

    Args:
        service: the service.
        study_id: which study.
        results: in order.
        describe: how a refusal is shown.
        dry_run: only say what would become of each item; write nothing.
        key: of the request.
    """
    with service.metrics.observe_seconds.time(), service.models.soon(study_id):
        with (trying if dry_run else changing)(service, study_id) as change:
            if known := idempotency.recall(change.connection, key, ObservedBatch):
                return known
            before, space = change.study, lifecycle.definition_of(change.study).space()
            recorded: list[Recorded] = []
            items: list[BatchItem] = []
            for result in results:
                try:
                    recorded.append(record(change, space, result))
                    items.append(_item(recorded[-1]))
                except AdaBKBError as refusal:
                    items.append(describe(refusal))
            lifecycle.settle(change)
            if dry_run:
                return Outcome(_batch_answer(before, items, dry_run=True))
            outcome = Outcome(_batch_answer(change.study, items, dry_run=False))
            idempotency.store(change, key, outcome)
        _count(service, recorded)
        return follow_up(service, change, key, outcome, lambda study: _batch_answer(study, items, dry_run=False))


def follow_up(
    service: Service, change: Change, key: Key | None, outcome: Outcome[View], answer: Callable[[StudyRow], View]
) -> Outcome[View]:
    """Step 2: what the change is answered with in the end."""
    final = outcome

    def replace_answer(folding: Change) -> None:
        nonlocal final
        final = Outcome(answer(folding.study))
        idempotency.update(folding, key, final)

    with suppress(*AFTERWARDS), service.models.lock(change.study.id):
        service.models.follow(change.study.id, service.models.seen_by(change), replace_answer)
        return final
    return outcome


def _answer(study: StudyRow, recorded: Recorded) -> Observed:
    item = _item(recorded)
    return Observed(trial=item.trial, observation=item.observation, study=lifecycle.summary(study))


def _batch_answer(study: StudyRow, items: Sequence[BatchItem], *, dry_run: bool) -> ObservedBatch:
    summary = lifecycle.summary(study)
    shown = [item.model_copy(update={"study": summary}) if item.status == 200 else item for item in items]
    return ObservedBatch(items=shown, dry_run=dry_run, study=summary)


def _item(recorded: Recorded) -> BatchItem:
    return BatchItem(
        status=200,
        trial=None if recorded.trial is None else render.trial(recorded.trial),
        observation=None if recorded.observation is None else render.observation(recorded.observation),
    )


def _count(service: Service, recorded: Sequence[Recorded]) -> None:
    for result in recorded:
        if result.new:
            status = "failed" if result.observation is None else "completed"
            service.metrics.observations.labels(status).inc()
