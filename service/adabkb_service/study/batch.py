"""A batch: requests for one study that are performed on one draft and committed in one transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy.exc import DBAPIError

from adabkb_service.errors import AdaBKBError, ModelBusy
from adabkb_service.inference.link import ModelLink, Prefetched
from adabkb_service.inference.proposals import Proposal, fallbacks
from adabkb_service.inference.restriction import UNRESTRICTED
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import EventRow
from adabkb_service.storage.usage import Usage
from adabkb_service.study import lifecycle, plates
from adabkb_service.study.cached_study import CachedStudy
from adabkb_service.study.draft import Draft
from adabkb_service.study.request import Key, Outcome, PointDemand, Request, key_row, stored_answer

logger = logging.getLogger(__name__)

UNUSABLE = -1
"""A value of ``Prefetched.rests_on`` that is not the seq of any event, so that the proposals are never used."""

EDITS = frozenset(("annotated", "corrected", "edited", "resumed", "retried", "updated"))
"""Kinds of events that a user can repeat without end, so that they are refused if the log may not grow. Other requests,
which finish the work on issued trials or stop it, are not refused."""
WORK = frozenset(("failed", "measured", "observed", "queued", "reported", "stopped", "suggested"))
"""Kinds of events of new trials and of their results, whose number limits that of the answers."""


@dataclass
class PendingRequest:
    """A request that has no outcome yet."""

    request: Request[Any]
    future: Future[Outcome[Any]]
    """Gets the outcome."""
    queued_at: float = field(default_factory=time.monotonic)
    first_batch_at: float | None = None
    """When the request first joined a batch; None before."""
    last_batch_at: float = 0.0
    """When the request last joined a batch. If this is later than ``first_batch_at``, it was parked in between."""
    committing: tuple[float, float] | None = None
    """When the commit of the request's batch began and ended; None without a commit."""
    context: Context = field(default_factory=copy_context)
    """The sender's context, for log records."""

    @property
    def was_parked(self) -> bool:
        """Whether the request was parked in an earlier batch."""
        return self.first_batch_at is not None and self.last_batch_at > self.first_batch_at

    def join_batch(self, now: float) -> None:
        """Set the times for a request that joins a batch now."""
        self.first_batch_at, self.last_batch_at = self.first_batch_at or now, now


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that was performed, or that repeats one whose answer is stored."""

    pending: PendingRequest
    outcome: Outcome[Any]


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that was refused or has failed. It leaves no changes."""

    pending: PendingRequest
    error: Exception


@dataclass(frozen=True, slots=True)
class Parked:
    """A request that waits for the model, and joins the next batch."""

    pending: PendingRequest
    demand: PointDemand
    """The points that it waits for; none if it waits for the model to process the latest results."""


Result = Answered | Refused | Parked
"""A request after a batch."""


class Batch:
    """A draft on which requests are performed."""

    def __init__(self, database: Database, before: CachedStudy, link: ModelLink, now: datetime) -> None:
        self.draft = Draft(database, before, now)
        self.prefetched = replace(link.prefetched)
        """The prefetched proposals as they will be after the commit."""
        self._link = link
        self._refunds: list[Callable[[], None]] = []
        """Functions that each return the quota that one request has spent. They are called unless the batch is
        committed."""
        self._update_from_model()

    def perform(self, pending: PendingRequest, *, checks_key_first: bool) -> Result:
        """Perform a request, refuse it, or park it.

        Raises:
            DBAPIError: the database can no longer be read; the whole batch fails.
        """
        request = pending.request
        spent, prefetched = len(self._refunds), replace(self.prefetched)
        try:
            if checks_key_first and (known := self._stored_answer(request)):
                return Answered(pending, known)
            if request.is_abandoned():
                raise ModelBusy(self.draft.study.id)
            with self.draft.undone_on_error():
                return self._answer_or_park(pending)
        except AdaBKBError as refusal:
            self._undo(spent, prefetched)
            return self._stored_answer_or(pending, refusal)
        except DBAPIError:
            raise
        except Exception as error:  # a bug; the other requests of the batch must not fail
            self._undo(spent, prefetched)
            logger.exception("study %s: a request failed", self.draft.study.id)
            return Refused(pending, error)

    def _answer_or_park(self, pending: PendingRequest) -> Answered | Parked:
        """Perform a request, or park it if it must wait for the model and has no stored answer.

        Raises:
            AdaBKBError: the request is refused.
        """
        request = pending.request
        request.prepare(self.draft)
        if request.waits_for_latest_results and self._is_almost_up_to_date(pending):
            return Parked(pending, PointDemand())
        demand = request.point_demand(self.draft)
        points = self._points(demand, pending)
        if points is not None:
            return Answered(pending, self._answer(request, points))
        known = None if pending.was_parked else self._stored_answer(request)
        return Parked(pending, demand) if known is None else Answered(pending, known)

    def update_state(self) -> None:
        """Derive the study's state from the changed draft."""
        lifecycle.update_state(self.draft)

    def commit(self) -> CachedStudy:
        """Write the draft: see ``Draft.commit``."""
        committed = self.draft.commit()
        self._refunds.clear()
        return committed

    def close(self) -> None:
        """End the snapshot and return quota that was spent but not committed."""
        self._undo(0, self.prefetched)
        self.draft.close()

    def _undo(self, spent: int, prefetched: Prefetched) -> None:
        """Restore the prefetched proposals that a failed request took, and return all quota spent after the first
        ``spent`` entries."""
        self.prefetched = prefetched
        while len(self._refunds) > spent:
            self._refunds.pop()()

    def _update_from_model(self) -> None:
        """Copy the model's latest statistics to the draft. Record an event if the model has failed or recovered."""
        link, study = self._link, self.draft.study
        shown = -1 if study.model is None else study.model["rests_on"]
        if link.model_stats is not None and link.model_stats["rests_on"] >= shown:
            self.draft.set_model_stats(link.model_stats)  # another server may have stored newer ones
        if link.error is not None and study.model_error is None:
            self.draft.record("model_failed", {"error": link.error})
        elif link.error is None and link.can_fold and link.is_up_to_date() and study.model_error is not None:
            self.draft.record("model_recovered", {})

    def _is_almost_up_to_date(self, pending: PendingRequest) -> bool:
        """Return whether the model has not folded all events yet, but may do so before the deadline of a request."""
        return not self._link.is_up_to_date() and self._may_wait(pending)

    def _may_wait(self, pending: PendingRequest) -> bool:
        """Return whether a useful reply of the model may arrive before the deadline of a request."""
        return self._link.is_worth_waiting_for() and time.monotonic() < deadline(pending, self._link)

    def _points(self, demand: PointDemand, pending: PendingRequest) -> list[Proposal] | None:
        """Return points to issue, or None if the request must wait for the model. Points that the model did not decide
        on in time are drawn quasi-randomly.

        Raises:
            ModelBusy: the model has not failed, but did not answer in time, and the request accepts no quasi-random
                points in this case.
        """
        count, within = demand.count, demand.within
        if count == 0:
            return []
        draft = self.draft
        rests_on = self._link.rests_on if draft.model_event_seq is None else draft.model_event_seq
        points = self.prefetched.take(count, rests_on, within)
        if points is None:
            if self._may_wait(pending):
                return None
            if not demand.has_fallback and draft.study.model_error is None:
                raise ModelBusy(draft.study.id)
            points = self.prefetched.valid(rests_on, within)
        elif self.prefetched.is_over(within):
            self._close_last_plate()
        if self.prefetched.is_all or len(points) == count:
            return points
        added = draft.changed_points()
        return points + fallbacks(draft.connection, draft.study, draft.definition, count, points, within, added)

    def _close_last_plate(self) -> None:
        """Close the last plate, which has places but no point left, if the budget allows no other plate. Then the
        budget is used up."""
        study = self.draft.study
        if study.plate is not None and not plates.can_begin(study):
            self.draft.record("plate_closed", {"plate": study.plate["number"]})

    def _answer(self, request: Request[Any], points: list[Proposal]) -> Outcome[Any]:
        """Perform a request, charge its quota, and store its answer if it has an idempotency key. Return the answer, or
        the one that is already stored under the key.

        Raises:
            AdaBKBError: the request is refused.
        """
        draft = self.draft
        changes, events, size = draft.changes, len(draft.log), draft.study.log_bytes
        outcome = self._performed(request, points)
        added = draft.log[events:]
        self._charge(request, added, draft.study.log_bytes - size)
        # A request may end the study although it gets no trial; then its answer is not stored.
        may_be_stored = draft.changes == changes or not outcome.is_stored
        if may_be_stored and (known := self._stored_answer(request)):
            return known
        if request.key is not None and outcome.is_stored:  # the database refuses a second answer for the key
            self._store_answer(request, request.key, outcome, added)
        return outcome

    def _performed(self, request: Request[Any], points: list[Proposal]) -> Outcome[Any]:
        """Perform a request, which issues the given points."""
        self._note_exhaustion(points)
        with self.draft.by(request.user):
            outcome = request.perform(self.draft, points)
        self._remove_issued(points)
        return outcome

    def _note_exhaustion(self, points: list[Proposal]) -> None:
        """Note in the model's statistics if a finite space has no points left besides ``points``."""
        prefetched, from_model = self.prefetched, _from_model(points)
        is_last = prefetched.is_all and from_model == len(prefetched.points)
        if from_model and is_last and prefetched.within.is_like(UNRESTRICTED):
            stats = self.draft.study.model
            if stats is not None:  # the model sends its statistics with its first points
                self.draft.set_model_stats({**stats, "exhausted": True})

    def _charge(self, request: Request[Any], added: list[EventRow], size: int) -> None:
        """Charge the quota of the request's user for added trials and results without a trial, and for the growth of
        the log. Only a request that adds some of these, or has one of the ``EDITS``, is charged.

        Raises:
            QuotaExceeded: the quota does not allow them.
        """
        new, is_edit = sum(map(_is_new, added)), any(event.kind in EDITS for event in added)
        if request.spend is not None and (new or is_edit):
            self._refunds.append(request.spend(Usage(0, new, size), 0))

    def _store_answer(self, request: Request[Any], key: Key, outcome: Outcome[Any], added: list[EventRow]) -> None:
        """Store an answer under the request's key, and charge the quota of its user for it. Requests that do some of
        the ``WORK`` are not charged.

        Raises:
            TooManyRequests: the quota does not allow it.
        """
        if request.spend is not None and not any(event.kind in WORK for event in added):
            self._refunds.append(request.spend(Usage(0, 0, 0), len(outcome.json)))
        self.draft.store_answer(key_row(key, self.draft.study.id, outcome, self.draft.now))

    def _remove_issued(self, points: list[Proposal]) -> None:
        """Remove issued points from the prefetched ones. If a fallback point was issued, too, the others become
        unusable."""
        from_model, seq = _from_model(points), self.draft.model_event_seq
        if from_model and seq is not None:
            self.prefetched.remove_issued(from_model, seq if from_model == len(points) else UNUSABLE)

    def _stored_answer(self, request: Request[Any]) -> Outcome[Any] | None:
        """Return the answer that is stored under the request's key; None without one.

        Raises:
            IdempotencyKeyReused: the key was used before, for a different request.
        """
        if request.key is None:  # no snapshot is opened for it
            return None
        return stored_answer(self.draft.connection, request.key, request.answer)

    def _stored_answer_or(self, pending: PendingRequest, refusal: AdaBKBError) -> Answered | Refused:
        """Return the stored answer if the request repeats one that succeeded, else the refusal."""
        try:
            known = self._stored_answer(pending.request)
        except AdaBKBError as error:
            return Refused(pending, error)
        return Refused(pending, refusal) if known is None else Answered(pending, known)


def total_demand(parked: Iterable[Parked]) -> PointDemand:
    """Return the points that the model must decide on next: those of all parked requests with the same restriction as
    the first one. The points of the others are decided on after these."""
    total = PointDemand()
    for demand in (each.demand for each in parked):
        if total.count == 0:
            total = demand
        elif demand.within.is_like(total.within):
            total = replace(total, count=total.count + demand.count)
    return total


def _from_model(points: list[Proposal]) -> int:
    """Return the number of points that the model decided on."""
    return sum(point.origin == "policy" for point in points)


def _is_new(event: EventRow) -> bool:
    """Return whether an event adds a trial or a result without a trial."""
    return event.kind in ("suggested", "queued") or (event.kind == "observed" and event.trial is None)


def deadline(pending: PendingRequest, link: ModelLink) -> float:
    """Return the deadline of a parked request, by ``time.monotonic``. It is infinite for a suggestion while the engine
    is loading."""
    if pending.request.waits_for_latest_results:
        return pending.queued_at + link.timeouts.follow
    return max(pending.queued_at, link.loaded_at) + link.timeouts.suggestion
