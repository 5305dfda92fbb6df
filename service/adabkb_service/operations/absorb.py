"""A change of the record, and what the model makes of it, answered and kept under its idempotency key.

A small change is taken in by the model first, in memory; one transaction then writes both, if the study is still what
it was. What is large and what the model cannot take in is durable first, and the model follows. So is what comes in the
midst of a decision, or what another server is faster than: there the next request sees to the model.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from adabkb_service.errors import Busy, Contention, StudyNotFound, Unavailable
from adabkb_service.operations.service import Service
from adabkb_service.storage.rows import StudyRow
from adabkb_service.study import idempotency, lifecycle
from adabkb_service.study.draft import Change, changing, keeping, trying
from adabkb_service.study.idempotency import Key, Outcome, View

Made = TypeVar("Made")

SMALL = 10
"""Events that the model takes in before they are durable, at most."""


def absorb(
    service: Service,
    study_id: str,
    key: Key | None,
    view: type[View],
    told: Callable[[Change], Made],
    answer: Callable[[StudyRow, Made], View],
) -> Outcome[View]:
    """Change a study's record.

    Args:
        service: the service.
        study_id: which study.
        key: of the request.
        view: what a stored answer is.
        told: makes the change; it may be called again, on a study that has changed meanwhile.
        answer: what is answered, given the study then.

    Raises:
        StudyNotFound: there is no such study.
        IdempotencyKeyReused: the key came before with another request.
        Contention, Busy, Unavailable: nothing was written.
    """

    def conclude(change: Change, made: Made) -> Outcome[View]:
        lifecycle.settle(change)
        outcome = Outcome(answer(change.study, made))
        idempotency.store(change, key, outcome)
        return outcome

    with service.models.soon(study_id) as alone:
        if alone:
            with trying(service, study_id) as change:
                if known := idempotency.recall(change.connection, key, view):
                    return known
                made = told(change)
            with suppress(Contention), service.models.ahead(change, SMALL) as fold:
                with keeping(service, change):
                    if fold is not None:
                        fold.write(change)
                    outcome = conclude(change, made)
                if fold is None and change.log:
                    _follow(service, change)
                return outcome
        with changing(service, study_id) as change:
            if known := idempotency.recall(change.connection, key, view):
                return known
            return conclude(change, told(change))


def _follow(service: Service, change: Change) -> None:
    """The change is durable: whatever goes wrong now is left to the next request."""
    with suppress(Busy, Unavailable, StudyNotFound):
        service.models.follow(change.study.id, service.models.seen_by(change))
