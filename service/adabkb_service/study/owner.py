"""The owner of one study in this process: performs its requests in batches and exchanges messages with its model. Other
servers may have owners of the same study.

The queued requests form a batch: they are performed in order on one draft and committed in one transaction. A refused
request does not affect the others. If another server writes to the study before the commit, the batch is repeated on
the new state. Requests that need new points wait for the model without occupying a thread, while other requests are
performed. After ``timeouts.suggestion`` they get quasi-random points.
"""

from __future__ import annotations

import itertools
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from adabkb_service.contract.stored import definition_of
from adabkb_service.errors import (
    AdaBKBError,
    Busy,
    Contention,
    RequestInProgress,
    RowRefused,
    StudyNotFound,
    Unavailable,
)
from adabkb_service.inference.link import ModelLink
from adabkb_service.inference.messages import Advanced, Reply, Superseded
from adabkb_service.storage import studies
from adabkb_service.storage.rows import StudyRow
from adabkb_service.study import lifecycle, plates
from adabkb_service.study.batch import Batch, Waiting, deadline
from adabkb_service.study.cached_study import CachedStudy, read_study
from adabkb_service.study.contention import repeating
from adabkb_service.study.dependencies import Dependencies
from adabkb_service.study.draft import Draft
from adabkb_service.study.request import Outcome, PointDemand, Request
from adabkb_service.study.request_metrics import count_request

logger = logging.getLogger(__name__)

MAX_QUESTIONS = 64
"""The maximum number of questions that wait for the model of a study."""
MAX_WAITING = 256
"""The maximum number of requests that wait for a batch of a study, in addition to those that wait for its model."""
HOLD_SECONDS = 0.1
"""How long a result stays in the queue while a request waits for the model. The result would invalidate the decision
that the model is computing."""
STATS_SECONDS = 0.5
"""The model's statistics are committed alone if no other commit has included them within this time."""
RETRY_SECONDS = 0.5
"""Delay of the next batch after an error."""
LOADING_POLL_SECONDS = 0.5
"""Interval between two checks whether the engine has loaded."""
MAX_PREFETCHED = 8
"""The maximum number of proposals computed before a request asks for them."""


@dataclass(eq=False)
class PendingQuestion:
    """A question that the model has not answered yet."""

    question: str
    arguments: tuple[Any, ...]
    receive: Callable[[StudyRow | None, Any], None]
    """Called with the study's row and the reply, or with None and the exception."""
    number: int = field(default_factory=itertools.count().__next__)
    """Unique in this process."""


class Owner:
    """The requests and the model of one study."""

    def __init__(self, study_id: str, dependencies: Dependencies) -> None:
        self.study_id = study_id
        self._dependencies = dependencies
        self._guard = threading.Lock()  # protects all fields up to _is_forgotten
        self._arrived: deque[Waiting] = deque()
        self._questions: deque[PendingQuestion] = deque()
        self._unanswered: set[int] = set()
        """Numbers of all questions without an answer, queued or sent."""
        self._withdrawn: list[int] = []
        """Numbers of questions that were withdrawn after they were sent, and that the model must still be asked to
        drop."""
        self._replies: deque[Reply] = deque()
        self._keys: set[str] = set()
        """Idempotency keys of all requests without an outcome."""
        self._unfinished = 0
        """Number of requests without an outcome, queued, parked or in a batch."""
        self._is_forgotten = False
        self._parked: list[Waiting] = []
        """Requests that wait for the model."""
        self._cached: CachedStudy | None = None
        self._link = ModelLink(study_id, dependencies.inference, self._receive, dependencies.timeouts)
        self._last_demand = PointDemand(1)
        """Demand of the last batch with parked requests; the next prefetch asks for the same."""
        self._awaits_model = False
        """Whether a request waits for a reply of the model."""
        self._stats_since: float | None = None
        """Time of the earliest statistics that are not stored yet, by ``time.monotonic``."""

    def submit(self, request: Request[Any]) -> Future[Outcome[Any]]:
        """Queue a request.

        Raises:
            RequestInProgress: a request with the same key is in progress.
            Busy: the queue is full.
        """
        waiting = Waiting(request, Future())
        waiting.future.set_running_or_notify_cancel()  # performed even if the client disconnects now
        with self._guard:
            if len(self._arrived) >= MAX_WAITING:
                raise Busy(f"Too many requests wait for study {self.study_id!r}; try again.")
            if request.key is not None:
                if request.key.name in self._keys:
                    raise RequestInProgress(request.key.key)
                self._keys.add(request.key.name)
            self._arrived.append(waiting)
            self._unfinished += 1
        self._dependencies.scheduler.ready(self.study_id)
        return waiting.future

    def ask(self, pending: PendingQuestion) -> None:
        """Queue a question for the model.

        Raises:
            Busy: the queue is full.
        """
        with self._guard:
            if len(self._unanswered) >= MAX_QUESTIONS:
                raise Busy(f"Too many questions wait for the model of study {self.study_id!r}; try again.")
            self._unanswered.add(pending.number)
            self._questions.append(pending)
        self._dependencies.scheduler.ready(self.study_id)

    def withdraw(self, pending: PendingQuestion) -> None:
        """Withdraw a question that no request waits for any more."""
        with self._guard:
            is_here = pending in self._questions
            if is_here:
                self._questions.remove(pending)
                self._unanswered.discard(pending.number)
            else:
                self._withdrawn.append(pending.number)
        if not is_here:
            self._dependencies.scheduler.ready(self.study_id)

    def forget(self) -> None:
        """Drop the cached study, since it was deleted or replaced. The next batch reads it again."""
        with self._guard:
            self._is_forgotten = True
        self._dependencies.scheduler.ready(self.study_id)

    @property
    def unfinished(self) -> int:
        """Number of requests without an outcome."""
        return self._unfinished

    @property
    def is_idle(self) -> bool:
        """Whether nothing is queued or in progress."""
        with self._guard:
            return not (self._unfinished or self._unanswered or self._replies or self._stats_since)

    def process_queues(self) -> None:
        """Process the queues. Only one thread may call it at a time. If an error prevents the whole batch, the error is
        the outcome of each of its requests."""
        waiting: list[Waiting] = []
        questions: list[PendingQuestion] = []
        try:
            replies = self._take(waiting, questions)
            for reply in replies:
                self._link.adopt(reply)
                if isinstance(reply, Advanced) and reply.seconds:
                    self._dependencies.metrics.phase("observe", "learn", reply.seconds)
            now = time.monotonic()
            for each in waiting:
                each.join_batch(now)
            in_time = [each for each in waiting if self._is_in_time(each)]
            if in_time or replies or self._stats_are_due():
                self._work(in_time)
            if self._stats_since is not None:
                self._dependencies.scheduler.ready_at(self.study_id, self._stats_since + STATS_SECONDS)
            while questions:
                self._pass_on(questions[0])
                del questions[0]
        except Exception as error:
            logger.exception("study %s: a batch failed", self.study_id)
            self._reset()
            parked = set(map(id, self._parked))
            for each in waiting:
                if id(each) not in parked:
                    self._finish(each, error)
            for pending in questions:
                self._give(pending, None, error)

    def _take(self, waiting: list[Waiting], questions: list[PendingQuestion]) -> list[Reply]:
        """Move parked and queued requests into ``waiting``, in this order, and queued questions into ``questions``.
        Return the model's replies. While a request waits for the model, results stay queued for up to HOLD_SECONDS."""
        holds_results = bool(self._parked) and self._link.is_worth_waiting_for()
        held_back: list[Waiting] = []
        with self._guard:
            is_forgotten, self._is_forgotten = self._is_forgotten, False
            replies = list(self._replies)
            questions.extend(self._questions)
            self._replies.clear()
            self._questions.clear()
            withdrawn, self._withdrawn = self._withdrawn, []
            latest = time.monotonic() - HOLD_SECONDS if holds_results and not replies else math.inf
            waiting.extend(self._parked)
            self._parked = []
            for each in self._arrived:
                (held_back if each.request.invalidates_decisions and each.since > latest else waiting).append(each)
            self._arrived = deque(held_back)
        if held_back:
            self._dependencies.scheduler.ready_at(self.study_id, held_back[0].since + HOLD_SECONDS)
        if is_forgotten:
            self._cached = None
            self._link.forget()
        for number in withdrawn:
            self._link.withdraw(number)
        return replies

    def _reset(self) -> None:
        """After an error, drop the cached study, send the whole log to the model again, and schedule another batch for
        the requests that are queued or parked."""
        self._cached = None
        self._link.reset()
        self._dependencies.scheduler.ready_at(self.study_id, time.monotonic() + RETRY_SECONDS)

    def _is_in_time(self, waiting: Waiting) -> bool:
        is_loading = self._link.loaded_at == math.inf
        since = waiting.since if is_loading else max(waiting.since, self._link.loaded_at)
        if time.monotonic() - since < self._dependencies.timeouts.request:
            return True
        refusal: AdaBKBError = Busy(f"Study {self.study_id!r} is busy with other requests; try again.")
        if is_loading:
            refusal = Unavailable("The server has started and is still loading the engine; try again.")
        self._finish(waiting, refusal)
        return False

    def _stats_are_due(self) -> bool:
        return self._stats_since is not None and time.monotonic() >= self._stats_since + STATS_SECONDS

    def _work(self, waiting: list[Waiting]) -> None:
        """Perform requests in one transaction. A missing study or an unavailable or busy database is the outcome of
        every request. After any other error, perform each request alone, so that only the requests that cause the error
        fail."""
        try:
            finished, parked = self._performed(waiting)
        except AdaBKBError as error:
            self._cached = None
            finished, parked = [(each, error) for each in waiting], []
            if isinstance(error, StudyNotFound):
                self._stats_since = None
            elif self._stats_since is not None:  # the statistics could not be stored; try again later
                self._stats_since = time.monotonic()
        except Exception as error:
            logger.exception("study %s: a unit of work failed", self.study_id)
            self._cached = self._stats_since = None  # a later batch stores the statistics
            finished, parked = [(each, error) for each in waiting], []
            if len(waiting) > 1:
                finished, parked = self._performed_alone(waiting)
        self._parked = parked
        self._awaits_model = bool(parked)
        if self._awaits_model and self._replies:  # a reply arrived before ``_awaits_model`` was set
            self._dependencies.scheduler.ready(self.study_id)
        if parked:
            soonest = min(deadline(each, self._link) for each in parked)
            if soonest == math.inf:  # the engine is loading, and may never reply
                soonest = time.monotonic() + LOADING_POLL_SECONDS
            self._dependencies.scheduler.ready_at(self.study_id, soonest)
        for each, outcome in finished:
            self._finish(each, outcome)

    def _performed_alone(self, waiting: list[Waiting]) -> tuple[list[tuple[Waiting, Any]], list[Waiting]]:
        """Perform each request in its own transaction. Return the finished requests with their outcomes, and the parked
        requests."""
        finished: list[tuple[Waiting, Any]] = []
        parked: list[Waiting] = []
        for each in waiting:
            try:
                done, left = self._performed([each])
            except Exception as error:
                self._cached = None
                done, left = [(each, error)], []
            finished += done
            parked += left
        return finished, parked

    def _performed(self, waiting: list[Waiting]) -> tuple[list[tuple[Waiting, Any]], list[Waiting]]:
        """Call ``_attempt``, and repeat it if another server commits first.

        Raises:
            Unavailable: nothing was written, unless the connection broke during the commit.
            Exception: nothing was written.
        """
        try:
            return self._attempt(waiting, checks_key_first=False)
        except Contention:
            return repeating(self._dependencies.timeouts.contention)(self._attempt, waiting, checks_key_first=True)

    def _attempt(
        self, waiting: list[Waiting], *, checks_key_first: bool
    ) -> tuple[list[tuple[Waiting, Any]], list[Waiting]]:
        """Perform requests on one draft and commit it. Return the finished requests with their outcomes, and the parked
        requests.

        Raises:
            Contention: the study has changed since it was read, or an idempotency key may be stored already;
                nothing was written.
            DBAPIError: the database rejected a row for another reason.
        """
        is_fresh = self._cached is None
        before = self._begin()
        batch = Batch(self._dependencies.database, before, self._link, self._dependencies.clock())
        try:
            with self._dependencies.database.translating():
                for each in waiting:
                    each.context.run(batch.perform, each, checks_key_first=checks_key_first)
                batch.update_state()
                has_stats = batch.draft.has_new_model_stats
                if batch.draft.has_effects or (has_stats and batch.stores_model_stats):
                    self._cached = batch.commit()
                    self._stats_since = None
                elif not (has_stats and self._stats_are_due() and self._store_stats(batch)):
                    if batch.finished and not self._is_current(batch, before, is_fresh=is_fresh):
                        raise Contention(f"Study {self.study_id!r} changed meanwhile; try again.")
                    if has_stats:
                        self._stats_since = self._stats_since or time.monotonic()
                    else:
                        self._stats_since = None  # another server has stored newer statistics
        except Contention as error:
            self._cached = None
            if checks_key_first and isinstance(error, RowRefused):
                raise error.__cause__ or error from None
            raise
        finally:
            batch.close()
        try:
            self._dependencies.metrics.count(batch.draft.log)
            self._after_commit(batch)
        except Exception:  # the batch is committed, so its answers must be sent
            logger.exception("study %s: the last events could not be sent to its model", self.study_id)
            self._reset()
        return batch.finished, batch.parked

    def _is_current(self, batch: Batch, before: CachedStudy, *, is_fresh: bool) -> bool:
        """Whether the answers of a batch without writes are consistent: the batch read nothing but the study's row,
        just now, or the study has not changed since it was read."""
        if is_fresh and not batch.draft.has_read_more:
            return True
        return studies.is_current(batch.draft.connection, before.study)

    def _store_stats(self, batch: Batch) -> bool:
        """Commit the model's statistics alone, and return whether they were stored. If the database accepts no writes,
        return False, so that reads are answered all the same.

        Raises:
            Contention: the study has changed since it was read.
        """
        try:
            with self._dependencies.database.translating():
                self._cached = batch.commit()
        except Unavailable:
            self._cached, self._stats_since = None, time.monotonic()
            return False
        self._stats_since = None
        return True

    def _begin(self) -> CachedStudy:
        """The study, from memory or the database. Also sets the incarnation of the study that the link serves."""
        if self._cached is None:
            with self._dependencies.database.reading() as connection:
                self._cached = read_study(connection, self.study_id)
        self._link.begin(self._cached.study)
        return self._cached

    def _after_commit(self, batch: Batch) -> None:
        """Send the new events to the model. If requests are parked or results are new, send the demand for points,
        too."""
        link, log = self._link, batch.draft.log
        if log:
            may_free = any(event.kind not in ("suggested", "leased") for event in log)
            self._dependencies.changes.notify(self.study_id, log[-1].seq, may_free=may_free)
        link.note_events(log)
        link.prefetched = batch.prefetched
        if link.model_stats is not None:
            link.model_stats = batch.draft.study.model
        demand = batch.point_demand
        if demand.count:
            self._last_demand = replace(demand, count=min(demand.count, MAX_PREFETCHED))
        has_results = any(
            event.kind in ("observed", "failed", "stopped", "edited") or event.changes_result for event in log
        )
        if has_results and not demand.count:
            count = min(self._last_demand.count, lifecycle.room(batch.draft.study))
            demand = self._continued(replace(self._last_demand, count=count), batch.draft)
        if batch.parked or has_results:
            link.advance(demand.count, demand.within)

    def _continued(self, demand: PointDemand, draft: Draft) -> PointDemand:
        """The demand, adapted to the study's current state. In a study with plates, the points continue the open plate,
        or begin a new one."""
        study, fixed = draft.study, demand.within.fixed
        if definition_of(study.definition).plates is None:
            return demand
        plate = plates.fitting_plate(study, draft.space, fixed or {})
        room, within = plates.room_on(study, plate) or 0, plates.restriction(study, fixed, plate)
        return PointDemand(min(demand.count, room), within)

    def _pass_on(self, pending: PendingQuestion) -> None:
        try:
            study = self._begin().study
        except Exception as error:
            self._give(pending, None, error)
            return
        self._link.ask(
            pending.number, pending.question, pending.arguments, lambda reply: self._give(pending, study, reply)
        )

    def _give(self, pending: PendingQuestion, study: StudyRow | None, reply: Any) -> None:
        with self._guard:
            self._unanswered.discard(pending.number)
        pending.receive(study, reply)

    def _receive(self, reply: Reply) -> None:
        if isinstance(reply, Superseded):
            return
        with self._guard:
            self._replies.append(reply)
        if self._awaits_model:
            self._dependencies.scheduler.ready(self.study_id)
        else:  # no request waits for the reply; the next batch reads it
            self._dependencies.scheduler.ready_at(self.study_id, time.monotonic() + STATS_SECONDS)

    def _finish(self, waiting: Waiting, outcome: Any) -> None:
        if waiting.future.done():
            return
        with self._guard:
            self._unfinished -= 1
            if waiting.request.key is not None:
                self._keys.discard(waiting.request.key.name)
        if isinstance(outcome, Exception):
            waiting.future.set_exception(outcome)
        else:
            waiting.future.set_result(outcome)
        self._dependencies.scheduler.done()
        try:
            count_request(self._dependencies, waiting, outcome)
        except Exception:
            logger.exception("study %s: a request could not be counted", self.study_id)
