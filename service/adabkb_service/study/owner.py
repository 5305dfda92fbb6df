"""The owner of one study in this process: performs the requests to the study and exchanges messages with its model.

The lifecycle of a request, such as ``suggest`` or ``observe``:

1. ``submit`` queues the request and returns a future. The scheduler has one of its threads call ``process_queues``; at
   most one thread works for a study. (In a command without threads, the caller that waits for the future calls it.)
   If ``MAX_QUEUED`` requests are queued, ``submit`` raises ``Busy``; if this process has an unfinished request with the
   same key, it raises ``RequestInProgress``.
2. ``process_queues`` takes the parked requests (step 3) and then the queued ones as one batch. It refuses those that
   have waited for longer than ``timeouts.request``. While requests are parked for points and the model's reply is
   expected, requests that invalidate its decisions, such as results, stay queued until it replies, but for at most
   ``HOLD_SECONDS``. Other requests overtake them.
3. The batch performs its requests one after the other on one draft of the study in memory (``Batch.perform``). A
   refused request leaves no changes in the draft. A request is *parked* while it waits for the model: ``suggest`` for
   new points; GET and PATCH of a study for figures that include the latest results. ``observe`` is never parked: its
   answer does not depend on the model. No request is parked while no useful reply is expected. This is so in three
   cases: the model has reported an error, and no new results have been sent to it; it has not replied for
   ``timeouts.suggestion``, and its process has not been replaced; or its process has ended twice in a row, less than a
   minute ago. While the engine is loading, suggestions that need points stay parked. A parked request occupies no
   thread, and the other requests of the batch continue. If this step would refuse a request, or park it for points, it
   first looks up the idempotency key, and returns a stored answer. (For other requests, step 4 detects the stored
   answer.)
4. One transaction writes what the draft changed: the events, the rows that follow from them, and the answers under
   their idempotency keys. (On SQLite it may contain the batches of several studies.) It writes nothing if a key already
   has an answer, or if the study's version in the database is not that of the draft. Another owner, the upload of a
   file or a deletion may have changed the version. Then the study is read again and its batch is repeated, with the
   keys looked up first. The same happens if a batch changes nothing, but its study is not current any more: the
   requests may have read rows of a later state.
5. New events are sent to the model if it needs them: after results, and while requests are parked. The message says on
   how many points to decide next.
6. Each finished request gets its outcome, as the result of its future. Parked requests join the next batch (step 2).
   The next batch begins when a request arrives, when the model replies, or at the earliest deadline of a parked
   request. At its deadline, a suggestion gets quasi-random points.

Questions to the model, such as those of ``POST /predict``, are not requests: they change nothing and join no batch.
Before ``process_queues`` sends questions, it checks that the study in memory is current, and if not, reads it again.
So the answers include everything that any process had stored when the question arrived.

**Crashes.** If the process ends before the commit, nothing of the batch is stored. If it ends after the commit,
everything is stored. In both cases this process sends no answer, and the client, or a server that has forwarded the
request, repeats it. With the same key, within ``idempotency_hours``, the answer is the stored one; if there is none,
the request is performed. A client that repeats a request while the first one is being performed is refused (409), and
repeats it later. The model is not lost: it is restored from its stored rows and the log, and folds the events after
``model_seq``. (If only the server is killed, its model processes still store their models, and then end.) If the
connection to the database breaks during the commit, the request fails as ``Unavailable``, and its client does not know
whether it is stored. The client may safely repeat the request with its key. It may also repeat a result without a key
if the request names a trial, since an attempt has only one result. A failure needs a key: if somebody has retried the
trial meanwhile, a repeated failure fails it again.

**Several servers on PostgreSQL.** The processes agree on one of them for each study, its *follower*, which performs the
study's requests (steps 1 to 6). If model workers run, it is one of these, otherwise one of the servers. Only processes
of the same version of the program count, so during an upgrade a study has a follower for each version. The servers
forward to it the requests that need the queue or the model (``api/forwarding.py``), and give a change without a key one
of their own. So usually only the follower's owner has requests.

If the follower's connection to the database ends, or if it does not update its row for ``peers.SILENT_SECONDS`` (3 s),
it counts as dead, and the study has another follower within about a second. Servers that wait for a response of the
dead process forward the request to the new follower. They do the same if a follower declines the request. A follower
that shuts down declines suggestions that wait for a trial. One that was suspended and continues declines all that it
has not begun, until it has updated its row. Those it has begun continue; their keys and the version of the study
prevent a second effect. If the new follower dies or declines, too, or if either is alive but does not respond within
two minutes, the server that received the request performs it itself, with the same key. In each case the owner in the
process that performs the request reads the study from the database. If another process has stored the answer, the owner
finds it by the key.

So more than one owner may write to a study: after such a change of the follower, or while servers disagree about it.
Bodies that are too large to forward, and leases that a server's sweep expires (``operations/monitoring/sweep.py``),
also lead to writes by other owners. Then step 4 lets one of them commit, and the others repeat their batches.

**Several servers on SQLite.** Nothing is forwarded. Each server performs the requests that it receives, and step 4
alone protects the studies.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any

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
from adabkb_service.storage.rows import EventRow
from adabkb_service.study import lifecycle, plates
from adabkb_service.study.batch import Answered, Batch, Parked, PendingRequest, Refused, Result, deadline, total_demand
from adabkb_service.study.cached_study import CachedStudy, refreshed
from adabkb_service.study.contention import repeating
from adabkb_service.study.dependencies import Dependencies
from adabkb_service.study.draft import Draft
from adabkb_service.study.model_questions import ModelQuestions, PendingQuestion
from adabkb_service.study.request import Outcome, PointDemand, Request
from adabkb_service.study.request_metrics import count_request

logger = logging.getLogger(__name__)

MAX_QUEUED = 256
"""The maximum number of queued requests of a study. Parked requests are not counted."""
HOLD_SECONDS = 0.1
"""How long a result stays in the queue while a request is parked for points. The result would invalidate the decision
that the model is computing."""
STATS_SECONDS = 0.5
"""The model's statistics are committed alone if no other commit has included them within this time."""
RETRY_SECONDS = 0.5
"""Delay of the next batch after an error."""
LOADING_POLL_SECONDS = 0.5
"""Interval between two checks whether the engine has loaded."""
MAX_PREFETCHED = 8
"""The maximum number of points that the model decides on before a request asks for them."""


class Owner:
    """The queued requests of one study, and the link to its model."""

    def __init__(self, study_id: str, dependencies: Dependencies) -> None:
        self.study_id = study_id
        self._dependencies = dependencies
        self._guard = threading.Lock()  # protects the fields up to _is_forgotten
        self._queued: deque[PendingRequest] = deque()
        self._replies: deque[Reply] = deque()
        """Replies of the model that no batch has read."""
        self._keys: set[str] = set()
        """Idempotency keys of all requests without an outcome."""
        self._unfinished = 0
        """Number of requests without an outcome: queued, parked or in a batch."""
        self._is_forgotten = False
        """Whether the cached study and its model must be dropped."""
        self._questions = ModelQuestions(study_id)
        self._parked: list[Parked] = []
        self._cached: CachedStudy | None = None
        """The study as the last batch or question left it; None after an error."""
        self._link = ModelLink(study_id, dependencies.inference, self._receive, dependencies.timeouts)
        self._last_demand = PointDemand(1)
        """Demand of the last batch with parked requests; the next prefetch asks for the same."""
        self._awaits_model = False
        """Whether a request is parked. Other threads read it."""
        self._stats_since: float | None = None
        """Time of the earliest statistics that are not stored yet, by ``time.monotonic``."""

    def submit(self, request: Request[Any]) -> Future[Outcome[Any]]:
        """Queue a request.

        Raises:
            RequestInProgress: a request with the same key is in progress.
            Busy: the queue is full.
        """
        pending = PendingRequest(request, Future())
        pending.future.set_running_or_notify_cancel()  # performed even if the client disconnects now
        with self._guard:
            if len(self._queued) >= MAX_QUEUED:
                raise Busy(f"Too many requests wait for study {self.study_id!r}; try again.")
            if request.key is not None:
                if request.key.name in self._keys:
                    raise RequestInProgress(request.key.key)
                self._keys.add(request.key.name)
            self._queued.append(pending)
            self._unfinished += 1
        self._dependencies.scheduler.ready(self.study_id)
        return pending.future

    def ask(self, pending: PendingQuestion) -> None:
        """Queue a question for the model.

        Raises:
            Busy: too many questions have no answer.
        """
        self._questions.put(pending)
        self._dependencies.scheduler.ready(self.study_id)

    def withdraw(self, pending: PendingQuestion) -> None:
        """Withdraw a question whose answer is no longer needed."""
        if self._questions.withdraw(pending):
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
            return not (self._unfinished or self._replies or self._stats_since) and self._questions.is_empty

    def process_queues(self) -> None:
        """Perform the parked and the queued requests as a batch, and send the queued questions to the model. Only one
        thread may call it at a time. An error that prevents the whole batch is the outcome of each of its requests."""
        requests: list[PendingRequest] = []
        questions: list[PendingQuestion] = []
        try:
            replies = self._take_requests(requests)
            queued, withdrawn = self._questions.take()
            questions += queued
            for number in withdrawn:
                self._link.withdraw(number)
            for reply in replies:
                self._link.adopt(reply)
                if isinstance(reply, Advanced) and reply.seconds:
                    self._dependencies.metrics.phase("observe", "learn", reply.seconds)
            now = time.monotonic()
            for pending in requests:
                pending.join_batch(now)
            in_time = [pending for pending in requests if self._is_in_time(pending)]
            if in_time or replies or self._stats_are_due():
                self._perform_batch(in_time)
            if self._stats_since is not None:
                self._dependencies.scheduler.ready_at(self.study_id, self._stats_since + STATS_SECONDS)
            self._send_questions(questions)
        except Exception as error:
            logger.exception("study %s: a batch failed", self.study_id)
            self._reset()
            parked = {id(each.pending) for each in self._parked}
            for pending in requests:
                if id(pending) not in parked:
                    self._finish(pending, error)
            for question in questions:
                self._questions.answer(question, None, error)

    def _take_requests(self, requests: list[PendingRequest]) -> list[Reply]:
        """Move parked and queued requests into ``requests``, in this order. Return the model's replies. While a request
        is parked for points and the model has not replied, results stay queued for up to HOLD_SECONDS."""
        awaits_points = any(each.demand.count for each in self._parked)
        holds_results = awaits_points and self._link.is_worth_waiting_for()
        held_back: list[PendingRequest] = []
        with self._guard:
            is_forgotten, self._is_forgotten = self._is_forgotten, False
            replies = list(self._replies)
            self._replies.clear()
            latest = time.monotonic() - HOLD_SECONDS if holds_results and not replies else math.inf
            requests.extend(each.pending for each in self._parked)
            self._parked = []
            for each in self._queued:
                is_held_back = each.request.invalidates_decisions and each.queued_at > latest
                (held_back if is_held_back else requests).append(each)
            self._queued = deque(held_back)
        if held_back:
            self._dependencies.scheduler.ready_at(self.study_id, held_back[0].queued_at + HOLD_SECONDS)
        if is_forgotten:
            self._cached = None
            self._link.forget()
        return replies

    def _is_in_time(self, pending: PendingRequest) -> bool:
        """Return whether a request may still be performed. If it has waited too long, it is refused."""
        is_loading = self._link.loaded_at == math.inf
        since = pending.queued_at if is_loading else max(pending.queued_at, self._link.loaded_at)
        if time.monotonic() - since < self._dependencies.timeouts.request:
            return True
        refusal: AdaBKBError = Busy(f"Study {self.study_id!r} is busy with other requests; try again.")
        if is_loading:
            refusal = Unavailable("The server has started and is still loading the engine; try again.")
        self._finish(pending, refusal)
        return False

    def _perform_batch(self, requests: list[PendingRequest]) -> None:
        """Perform requests in one transaction, and give each one its outcome or park it. A missing study, or a database
        that is unavailable or busy, is the outcome of every request. After any other error, perform each request alone,
        so that only the requests that cause the error fail."""
        try:
            results = self._perform_with_retries(requests)
        except AdaBKBError as error:
            results = [Refused(each, error) for each in requests]
            if isinstance(error, StudyNotFound):
                self._stats_since = None
            elif self._stats_since is not None:  # the statistics could not be stored; try again later
                self._stats_since = time.monotonic()
        except Exception as error:
            logger.exception("study %s: the transaction of a batch failed", self.study_id)
            self._stats_since = None  # a later batch stores the statistics
            results = [Refused(each, error) for each in requests]
            if len(requests) > 1:
                results = self._perform_separately(requests)
        parked: list[Parked] = []
        for result in results:
            match result:
                case Answered(pending, outcome):
                    self._finish(pending, outcome)
                case Refused(pending, refusal):
                    self._finish(pending, refusal)
                case Parked():
                    parked.append(result)
        self._park(parked)

    def _perform_separately(self, requests: list[PendingRequest]) -> list[Result]:
        """Perform each request in its own transaction."""
        results: list[Result] = []
        for each in requests:
            try:
                results += self._perform_with_retries([each])
            except Exception as error:
                results.append(Refused(each, error))
        return results

    def _perform_with_retries(self, requests: list[PendingRequest]) -> list[Result]:
        """Call ``_perform_and_commit``, and repeat it if another server commits first.

        Raises:
            Unavailable: nothing was written, unless the connection broke during the commit.
            Contention: other servers committed first for ``timeouts.contention``; nothing was written.
            Exception: any other error; nothing was written.
        """
        try:
            return self._perform_and_commit(requests, checks_key_first=False)
        except Contention:
            repeat = repeating(self._dependencies.timeouts.contention)
            return repeat(self._perform_and_commit, requests, checks_key_first=True)

    def _perform_and_commit(self, requests: list[PendingRequest], *, checks_key_first: bool) -> list[Result]:
        """Perform requests on one draft and commit it. Return the results.

        Raises:
            Contention: the study has changed since it was read, or an idempotency key may be stored already;
                nothing was written.
            DBAPIError: the database rejected a row for another reason.
        """
        before = self._cached or self._current_study()
        self._cached = None  # unless the batch succeeds
        self._link.begin(before.study)
        batch = Batch(self._dependencies.database, before, self._link, self._dependencies.clock())
        try:
            with self._dependencies.database.translating():
                results = [
                    each.context.run(batch.perform, each, checks_key_first=checks_key_first) for each in requests
                ]
                batch.update_state()
                self._cached = self._committed(batch, before, results)
        except RowRefused as error:
            if checks_key_first:
                raise error.__cause__ or error from None
            raise
        finally:
            batch.close()
        try:
            self._dependencies.metrics.count(batch.draft.log)
            self._notify_waiters(batch.draft.log)
            self._advance_model(batch, [each for each in results if isinstance(each, Parked)])
        except Exception:  # the batch is committed, so its answers must be sent
            logger.exception("study %s: the last events could not be sent to its model", self.study_id)
            self._reset()
        return results

    def _current_study(self) -> CachedStudy:
        """Return the study as stored now, and keep it in memory. A batch that begins with the study in memory does
        without this: see ``_committed``.

        Raises:
            StudyNotFound: the study does not exist.
        """
        cached, self._cached = self._cached, None
        with self._dependencies.database.reading() as connection:
            self._cached = refreshed(connection, self.study_id, cached)
        return self._cached

    def _committed(self, batch: Batch, before: CachedStudy, results: list[Result]) -> CachedStudy:
        """Write the batch if it has changes, and return the study after it. New statistics of the model alone are
        written only if they are due or if a request needs them stored. A batch without writes whose study is outdated
        is not answered, since it may have read rows of another state of the study.

        Raises:
            Contention: the study has changed since it was read; nothing was written.
        """
        draft, has_new_stats = batch.draft, batch.draft.has_new_model_stats
        finished = [each.pending for each in results if not isinstance(each, Parked)]
        stores_stats = any(each.request.stores_model_stats for each in finished)
        must_write = draft.has_effects or (has_new_stats and stores_stats)
        if must_write or (has_new_stats and self._stats_are_due()):
            try:
                return self._written(batch, finished)
            except Unavailable:  # requests that only read are answered although the database accepts no writes
                if must_write:
                    raise
                self._stats_since = time.monotonic()
        if finished and not before.is_current(draft.connection):
            raise Contention(f"Study {self.study_id!r} changed meanwhile; try again.")
        if not has_new_stats:  # another server has stored newer ones
            self._stats_since = None
        elif self._stats_since is None:
            self._stats_since = time.monotonic()
        return before

    def _stats_are_due(self) -> bool:
        return self._stats_since is not None and time.monotonic() >= self._stats_since + STATS_SECONDS

    def _written(self, batch: Batch, finished: list[PendingRequest]) -> CachedStudy:
        """Write the batch, which has finished these requests, and return the study as written.

        Raises:
            Contention: the study has changed since it was read.
            Busy, Unavailable: the database accepts no writes.
        """
        began = time.monotonic()
        after = batch.commit()
        for each in finished:
            each.committing = began, time.monotonic()
        self._stats_since = None
        return after

    def _notify_waiters(self, log: list[EventRow]) -> None:
        """Wake the long polls and event streams that wait for a change of the study."""
        if log:
            may_free = any(event.kind not in ("suggested", "leased") for event in log)
            self._dependencies.changes.notify(self.study_id, log[-1].seq, may_free=may_free)

    def _advance_model(self, batch: Batch, parked: list[Parked]) -> None:
        """Send the committed events to the model if requests are parked or results are new, and ask it for points."""
        link, log = self._link, batch.draft.log
        link.note_events(log)
        link.prefetched = batch.prefetched
        if link.model_stats is not None:
            link.model_stats = batch.draft.study.model
        demand = total_demand(parked)
        if demand.count:
            self._last_demand = replace(demand, count=min(demand.count, MAX_PREFETCHED))
        has_results = any(
            event.kind in ("observed", "failed", "stopped", "edited") or event.changes_result for event in log
        )
        if has_results and not demand.count:
            demand = self._prefetch_demand(batch.draft)
        if parked or has_results:
            link.advance(demand.count, demand.within)

    def _prefetch_demand(self, draft: Draft) -> PointDemand:
        """Return the last demand, within the study's current limits. In a study with plates, the points continue the
        open plate, or begin a new one."""
        study, within = draft.study, self._last_demand.within
        count = min(self._last_demand.count, lifecycle.room_for_points(study))
        if draft.definition.plates is None:
            return PointDemand(count, within)
        plate = plates.fitting_plate(study, draft.space, within.fixed or {})
        room = plates.room_on(draft, plate) or 0
        return PointDemand(min(count, room), plates.restriction(draft, within.fixed, plate))

    def _park(self, parked: list[Parked]) -> None:
        """Keep requests for the next batch, and schedule it for the earliest of their deadlines. The model's next reply
        schedules it earlier."""
        self._parked = parked
        self._awaits_model = bool(parked)
        if not parked:
            return
        scheduler = self._dependencies.scheduler
        if self._replies:  # a reply that arrived before ``_awaits_model`` was set has not scheduled a batch
            scheduler.ready(self.study_id)
        earliest = min(deadline(each.pending, self._link) for each in parked)
        if earliest == math.inf:  # the engine is loading, and may never reply
            earliest = time.monotonic() + LOADING_POLL_SECONDS
        scheduler.ready_at(self.study_id, earliest)

    def _receive(self, reply: Reply) -> None:
        """Queue a reply of the model. Any thread may call it."""
        if isinstance(reply, Superseded):
            return
        with self._guard:
            self._replies.append(reply)
        if self._awaits_model:
            self._dependencies.scheduler.ready(self.study_id)
        else:  # no request is parked; the next batch reads the reply
            self._dependencies.scheduler.ready_at(self.study_id, time.monotonic() + STATS_SECONDS)

    def _send_questions(self, questions: list[PendingQuestion]) -> None:
        """Send questions to the model, about the study as stored now, and remove them from the list."""
        if not questions:
            return
        try:
            study = self._current_study().study
        except AdaBKBError as error:
            while questions:
                self._questions.answer(questions.pop(), None, error)
            return
        self._link.begin(study)
        while questions:
            pending = questions[0]
            answer = partial(self._questions.answer, pending, study)
            self._link.ask(pending.number, pending.question, pending.arguments, answer)
            del questions[0]

    def _finish(self, pending: PendingRequest, outcome: Outcome[Any] | Exception) -> None:
        """Give a request its outcome, an answer or an exception."""
        if pending.future.done():
            return
        with self._guard:
            self._unfinished -= 1
            if pending.request.key is not None:
                self._keys.discard(pending.request.key.name)
        if isinstance(outcome, Exception):
            pending.future.set_exception(outcome)
        else:
            pending.future.set_result(outcome)
        self._dependencies.scheduler.wake_callers()
        try:
            count_request(self._dependencies, pending, outcome)
        except Exception:
            logger.exception("study %s: a request could not be counted", self.study_id)

    def _reset(self) -> None:
        """After an error, drop the cached study, make the model read the events that it lacks from the database, and
        schedule another batch for the requests that are queued or parked."""
        self._cached = None
        self._link.reset()
        self._dependencies.scheduler.ready_at(self.study_id, time.monotonic() + RETRY_SECONDS)
