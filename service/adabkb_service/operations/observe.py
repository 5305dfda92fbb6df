"""POST /v1/studies/{id}/observe, and the batch of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adabkb_service.contract.answers import BatchItem, Observed, ObservedBatch
from adabkb_service.contract.results import Result
from adabkb_service.errors import MOST_BATCH_ERRORS, AdaBKBError
from adabkb_service.operations.absorb import absorb
from adabkb_service.operations.record import Recorded, record
from adabkb_service.operations.retry import retried
from adabkb_service.operations.service import Service
from adabkb_service.storage.rows import StudyRow
from adabkb_service.study import lifecycle, render
from adabkb_service.study.draft import Change, trying
from adabkb_service.study.idempotency import Key, Outcome


@retried
def observe(service: Service, study_id: str, result: Result, key: Key | None = None) -> Outcome[Observed]:
    """Store a result durably, with what the model makes of it.

    Raises:
        StudyNotFound, TrialNotFound, Invalid, ResultConflict, TrialFinished, LeaseLost: see ``record``; nothing
            is written.
        Unavailable, Busy: nothing is acknowledged.
    """

    recorded: list[Recorded] = []

    def told(change: Change) -> Recorded:
        recorded[:] = [record(change, lifecycle.definition_of(change.study).space(), result)]
        return recorded[0]

    with service.metrics.observe_seconds.time():
        outcome = absorb(service, study_id, key, Observed, told, _answer)
    _count(service, outcome, recorded)
    return outcome


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
    recorded: list[Recorded] = []

    def told(change: Change) -> list[BatchItem]:
        recorded.clear()
        space, items, spare = lifecycle.definition_of(change.study).space(), [], MOST_BATCH_ERRORS
        for result in results:
            try:
                recorded.append(record(change, space, result))
                items.append(_item(recorded[-1]))
            except AdaBKBError as refusal:
                described = describe(refusal)
                listed = described.errors[: 1 + spare]
                items.append(described.model_copy(update={"errors": listed}))
                spare -= max(len(listed) - 1, 0)
        return items

    if dry_run:
        with trying(service, study_id) as change:
            now = change.study
            return Outcome(_batch_answer(now, told(change), dry_run=True))
    with service.metrics.observe_seconds.time():
        outcome = absorb(service, study_id, key, ObservedBatch, told, _batch_answer)
    _count(service, outcome, recorded)
    return outcome


def _answer(study: StudyRow, recorded: Recorded) -> Observed:
    item = _item(recorded)
    return Observed(trial=item.trial, observation=item.observation, study=lifecycle.summary(study))


def _batch_answer(study: StudyRow, items: Sequence[BatchItem], *, dry_run: bool = False) -> ObservedBatch:
    summary = lifecycle.summary(study)
    shown = [item.model_copy(update={"study": summary}) if item.status == 200 else item for item in items]
    return ObservedBatch(items=shown, dry_run=dry_run, study=summary)


def _item(recorded: Recorded) -> BatchItem:
    return BatchItem(
        status=200,
        trial=None if recorded.trial is None else render.trial(recorded.trial),
        observation=None if recorded.observation is None else render.observation(recorded.observation),
    )


def _count(service: Service, outcome: Outcome[Any], recorded: Sequence[Recorded]) -> None:
    for result in recorded:
        if result.new and not outcome.replayed:
            status = "failed" if result.observation is None else "completed"
            service.metrics.observations.labels(status).inc()
