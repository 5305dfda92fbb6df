"""POST /v1/studies/{id}/observe, and the batch of it.

1. One transaction: the result, the trial's completion, the events and the idempotency key. It is durable now,
   whatever else goes on in the study: this waits for no decision.
2. The model follows the log (and writes its rows). Should the engine fail, the result stays.
3. The answer shows the study after that, and replaces the one kept under the key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress

from sqlalchemy import Connection

from adabkb_service.errors import AdaBKBError, Busy, StudyNotFound, Unavailable
from adabkb_service.operations import idempotency, lifecycle, render
from adabkb_service.operations.idempotency import Key, Outcome
from adabkb_service.operations.record import Recorded, Result, record
from adabkb_service.operations.service import Service
from adabkb_service.operations.views import BatchItem, Observed, ObservedBatch
from adabkb_service.storage import studies
from adabkb_service.storage.rows import StudyRow

AFTERWARDS = (Busy, Unavailable, StudyNotFound)
"""What may go wrong once the result is durable: the answer of step 1 then stands, the next request does the rest."""


def observe(service: Service, study_id: str, result: Result, key: Key | None = None) -> Outcome[Observed]:
    """Store a result durably, then update the model.

    Raises:
        StudyNotFound, TrialNotFound, Invalid, ResultConflict, TrialFinished, LeaseLost: see ``record``; nothing
            is written.
        Unavailable, Busy: nothing is acknowledged.
    """
    with service.metrics.observe_seconds.time():
        now = service.clock()
        with service.database.writing() as connection:
            study = studies.get(connection, study_id, lock=True)
            if known := idempotency.recall(connection, key, Observed):
                return known
            recorded = record(connection, study, lifecycle.definition_of(study).space(), result, now)
            study = lifecycle.settle(connection, study_id, now)
            outcome = Outcome(_answer(connection, study, recorded))
            idempotency.store(connection, study_id, key, outcome, now)
        _count(service, [recorded])
        with suppress(*AFTERWARDS), service.models.lock(study_id):
            service.models.follow(study_id)
            with _finishing(service, key) as connection:
                outcome = Outcome(_answer(connection, studies.get(connection, study_id), recorded))
                idempotency.update(connection, key, outcome)
    return outcome


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
    with service.metrics.observe_seconds.time():
        now = service.clock()
        with service.database.writing() as connection:
            study = studies.get(connection, study_id, lock=True)
            if known := idempotency.recall(connection, key, ObservedBatch):
                return known
            space = lifecycle.definition_of(study).space()
            savepoint = connection.begin_nested()
            recorded: list[Recorded] = []
            items: list[BatchItem] = []
            for result in results:
                try:
                    recorded.append(record(connection, study, space, result, now))
                    items.append(_item(recorded[-1]))
                except AdaBKBError as refusal:
                    items.append(describe(refusal))
            study = lifecycle.settle(connection, study_id, now)
            if dry_run:
                savepoint.rollback()
                study = studies.get(connection, study_id)
            outcome = Outcome(_batch_answer(connection, study, items, dry_run=dry_run))
            if dry_run:
                return outcome
            savepoint.commit()
            idempotency.store(connection, study_id, key, outcome, now)
        _count(service, recorded)
        with suppress(*AFTERWARDS), service.models.lock(study_id):
            service.models.follow(study_id)
            with _finishing(service, key) as connection:
                outcome = Outcome(_batch_answer(connection, studies.get(connection, study_id), items, dry_run=False))
                idempotency.update(connection, key, outcome)
    return outcome


def _finishing(service: Service, key: Key | None) -> AbstractContextManager[Connection]:
    """The transaction that reads the final answer, and writes only where a key keeps it."""
    return service.database.reading() if key is None else service.database.writing()


def _answer(connection: Connection, study: StudyRow, recorded: Recorded) -> Observed:
    item = _item(recorded)
    return Observed(trial=item.trial, observation=item.observation, study=lifecycle.summary(connection, study))


def _batch_answer(
    connection: Connection, study: StudyRow, items: Sequence[BatchItem], *, dry_run: bool
) -> ObservedBatch:
    summary = lifecycle.summary(connection, study)
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
