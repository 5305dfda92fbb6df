"""POST /v1/studies/{id}/observe and /observations: store results.

The study's owner (``study/owner.py``) performs this request in a batch with other requests. When the answer is sent,
the result is durable. The model processes it later, so the answer has the gap, and a state that depends on the gap, as
they were before this result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from adabkb_service.contract.answers import BatchItem, Observed, ObservedBatch, StudySummary
from adabkb_service.contract.requests import BatchBody, ObserveBody
from adabkb_service.errors import MAX_BATCH_ERRORS, AdaBKBError
from adabkb_service.operations.record import RecordedResult, record
from adabkb_service.study import lifecycle, render
from adabkb_service.study.draft import Draft
from adabkb_service.study.request import Disposition, Key, Outcome, Points, Request

Describe = Callable[[AdaBKBError], BatchItem]
"""Turns an error into the answer for an item."""


def observe(study_id: str, result: ObserveBody, key: Key | None = None) -> Request[Observed]:
    """Return a request to store a result durably.

    Raises:
        StudyNotFound, TrialNotFound, Invalid, ResultConflict, TrialFinished, LeaseLost: see ``record``;
            nothing is stored.
        QuotaExceeded: the user may add no more results; nothing is stored.
        Busy: this request has stored nothing; send it again with the same key.
        Unavailable: nothing is stored or, if the connection to the database broke during the commit, it is unknown
            whether the result is stored; send it again with the same key.
        RequestInProgress, IdempotencyKeyReused: see ``suggest``.
    """
    return Request(study_id, Observed, partial(_observe, result), key, invalidates_decisions=True)


def _observe(result: ObserveBody, draft: Draft, _: Points) -> Outcome[Observed]:
    recorded = record(draft, result)
    item = _item(draft, recorded)
    lifecycle.update_state(draft)
    answer = Observed(trial=item.trial, observation=item.observation, study=lifecycle.summary(draft.study))
    return Outcome(answer, dispositions=[recorded.disposition])


def observe_batch(study_id: str, body: BatchBody, describe: Describe, key: Key | None = None) -> Request[ObservedBatch]:
    """Return a request to store many results in one transaction. A refused item does not affect the others.

    Args:
        study_id: the study's id.
        body: the results in order. With ``dry_run``, nothing is stored, and the answer gives the outcome that each
            would have.
        describe: turns an error into the answer for an item.
        key: the idempotency key of the request.
    """
    return Request(
        study_id, ObservedBatch, partial(_observe_batch, body, describe), key, invalidates_decisions=not body.dry_run
    )


def _observe_batch(body: BatchBody, describe: Describe, draft: Draft, _: Points) -> Outcome[ObservedBatch]:
    if body.dry_run:
        before = lifecycle.summary(draft.study)
        with draft.undone():
            items = _items(body, describe, draft)[0]
        return Outcome(_batch_answer(items, before, body), is_stored=False)
    items, dispositions = _items(body, describe, draft)
    lifecycle.update_state(draft)
    return Outcome(_batch_answer(items, lifecycle.summary(draft.study), body), dispositions=dispositions)


def _items(body: BatchBody, describe: Describe, draft: Draft) -> tuple[list[BatchItem], list[Disposition]]:
    items, dispositions, errors_left = list[BatchItem](), list[Disposition](), MAX_BATCH_ERRORS
    for result in body.items:
        try:
            recorded = record(draft, result)
            items.append(_item(draft, recorded))
            dispositions.append(recorded.disposition)
        except AdaBKBError as refusal:
            described = describe(refusal)
            listed = described.errors[: 1 + errors_left]
            items.append(described.model_copy(update={"errors": listed}))
            errors_left -= max(len(listed) - 1, 0)
    return items, dispositions


def _batch_answer(items: list[BatchItem], summary: StudySummary, body: BatchBody) -> ObservedBatch:
    shown = [item.model_copy(update={"study": summary}) if item.status == 200 else item for item in items]
    return ObservedBatch(items=shown, dry_run=body.dry_run, study=summary)


def _item(draft: Draft, recorded: RecordedResult) -> BatchItem:
    trial, row = recorded.trial, recorded.observation
    definition = draft.definition
    return BatchItem(
        status=200,
        trial=None if trial is None else render.trial(trial, definition),
        observation=None if row is None else render.observation(row, definition, draft.space),
    )
