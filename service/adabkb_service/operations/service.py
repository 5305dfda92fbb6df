"""The running service, which performs requests.

It performs the ``Request`` that an operation returns. Commands and tests use ``do``, which waits for the outcome. The
server uses ``do_async``, so that its event loop can wait for many outcomes. ``ask`` queries a model.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import contextmanager, suppress
from typing import Any

from cachetools import LRUCache

from adabkb_service.errors import AdaBKBError, Busy, ModelCannotFold, StudyNotFound, Unavailable
from adabkb_service.inference.messages import Answered, CannotFold, Reply
from adabkb_service.inference.pool import Inference, in_this_process
from adabkb_service.operations.collectors import ServiceCollector
from adabkb_service.operations.reader import READER
from adabkb_service.storage import studies
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import StudyRow
from adabkb_service.study.changes import Changes
from adabkb_service.study.clock import Clock, utc_now
from adabkb_service.study.dependencies import Dependencies
from adabkb_service.study.model_questions import PendingQuestion
from adabkb_service.study.owner import Owner
from adabkb_service.study.request import Answer, Outcome, Request
from adabkb_service.study.scheduler import Scheduler
from adabkb_service.telemetry.metrics import Metrics
from adabkb_service.telemetry.traces import Traces
from adabkb_service.timeouts import Timeouts


class Service:
    """The database, the owners of studies, their models, the metrics and the clock."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Clock = utc_now,
        inference: Inference | None = None,
        threads: int = 0,
        look_seconds: float = 0.5,
        owners: int = 1000,
        timeouts: Timeouts | None = None,
        traces: Traces | None = None,
    ) -> None:
        """Create the service. If it has threads, call ``open`` to start them.

        Args:
            database: the database, with its schema ready.
            clock: returns the current time.
            inference: runs the models; by default in this process.
            threads: number of threads that perform requests. With 0, the callers that wait perform them.
            look_seconds: while a request waits for a change of a study, seconds between two polls for changes by other
                servers.
            owners: maximum number of owners of studies in memory (more only while all are busy); each takes some
                kilobytes.
            timeouts: how long requests wait; by default without a limit.
            traces: receives the traces of requests; None if tracing is off.
        """
        self.database = database
        self.clock = clock
        self.timeouts = timeouts or Timeouts()
        self.metrics = Metrics()
        self.traces = traces
        self.inference = inference or in_this_process(database)
        self.servers: Callable[[], int] = lambda: 1
        """The number of servers that forward requests to each other, including this one."""
        self.model_workers: Callable[[], int] = lambda: 0
        """The number of model workers that perform forwarded requests."""
        self.follows: Callable[[str], bool] = lambda _: True
        """Whether this process follows a study, by its id. Only the follower computes its model for pages and exports,
        and stores the statistics."""
        self.stopping = threading.Event()
        """Set when the server is about to stop; long-lived responses such as event streams then end."""
        self.sweep_late_at: float | None = None
        """If ``time.monotonic`` exceeds this, the next sweep is late; None without a sweeper."""
        self.unswept: LRUCache[str, float] = LRUCache(owners)
        """Id of a study whose leases could not be expired -> ``time.monotonic`` of the next attempt."""
        self.changes = Changes(self._last_events, self.stopping, look_seconds)
        self.scheduler = Scheduler(self._serve, threads)
        self.dependencies = Dependencies(
            database=database,
            clock=clock,
            inference=self.inference,
            timeouts=self.timeouts,
            metrics=self.metrics,
            traces=traces,
            scheduler=self.scheduler,
            changes=self.changes,
        )
        """What the owners of studies use."""
        self._closed: Counter[str] = Counter()
        self._owners: OrderedDict[str, Owner] = OrderedDict()
        self._most_owners = owners
        self._guard = threading.Lock()
        self.metrics.registry.register(ServiceCollector(self))

    @property
    def unfinished(self) -> int:
        """The number of requests to studies that have no outcome yet."""
        with self._guard:
            return sum(owner.unfinished for owner in self._owners.values())

    def submit(self, request: Request[Answer]) -> Future[Outcome[Answer]]:
        """Queue a request.

        Raises:
            RequestInProgress, Busy: the request cannot be queued.
        """
        with self._guard:  # an idle owner may be dropped at any time
            if request.study_id in self._closed:
                raise Busy(f"Study {request.study_id!r} is being deleted; try again.")
            return self._owner(request.study_id).submit(request)

    def do(self, request: Request[Answer], seconds: float | None = None) -> Outcome[Answer]:
        """Perform a request, and return its outcome; ``seconds`` is the timeout, by default ``timeouts.outcome``.

        Raises:
            AdaBKBError: the request is refused.
            Unavailable: the timeout passed; the request may still be performed.
        """
        limit = self.timeouts.outcome if seconds is None else seconds
        try:
            return self.scheduler.wait_for(self.submit(request), limit)
        except TimeoutError as error:
            raise no_outcome(request.study_id, limit) from error

    async def do_async(self, request: Request[Answer], seconds: float | None = None) -> Outcome[Answer]:
        """Perform a request, and wait for its outcome on the event loop. Arguments and errors are those of ``do``."""
        limit = self.timeouts.outcome if seconds is None else seconds
        outcome = asyncio.wrap_future(self.submit(request))
        try:
            return await asyncio.wait_for(asyncio.shield(outcome), limit)
        except TimeoutError as error:
            raise no_outcome(request.study_id, limit) from error

    def ask(self, study_id: str, question: str, *arguments: Any) -> tuple[StudyRow, Any]:
        """Ask a study's model a question. Return the study's current row, and the model's reply as of that row.

        Raises:
            StudyNotFound: the study does not exist.
            Busy: too many requests wait for the model.
            Unavailable: the model cannot process the log or takes too long, or the client has disconnected.
        """
        reader, future = READER.get(), Future[tuple[StudyRow, Any]]()

        def receive(study: StudyRow | None, reply: Any) -> None:
            with suppress(InvalidStateError):  # the client has disconnected, or the timeout has passed
                if isinstance(reply, Exception):
                    future.set_exception(reply)
                elif study is not None:
                    _answer(future, study, reply)
            self.scheduler.wake_callers()

        pending = PendingQuestion(question, arguments, receive)
        with self._guard:
            self._owner(study_id).ask(pending)
        if reader is not None:
            reader.waits_for(future)
        try:
            return self.scheduler.wait_for(future, self.timeouts.request if reader is None else reader.seconds_left)
        except (TimeoutError, CancelledError) as error:
            with self._guard:
                owner = self._owner(study_id)
            owner.withdraw(pending)
            cause = "The server has started and is still loading the engine"
            if not self.is_loading:
                cause = f"The model of study {study_id!r} is slow"
            raise Unavailable(f"{cause}; try again later.") from error

    @property
    def is_loading(self) -> bool:
        """Whether the server has just started and is still loading the engine. Suggestions wait until it is loaded."""
        return self.inference.loaded_at == math.inf

    @contextmanager
    def closed(self, study_id: str) -> Iterator[None]:
        """Refuse requests to a study with ``Busy`` while the block deletes it."""
        with self._guard:
            self._closed[study_id] += 1
        try:
            yield
        finally:
            with self._guard:
                self._closed -= Counter([study_id])

    def forget(self, study_id: str) -> None:
        """Drop the cached state of a study. Call it after the study was deleted or its rows were replaced."""
        with self._guard:
            self._owner(study_id).forget()
        self.changes.notify(study_id, None, may_free=True)

    def _last_events(self, study_ids: Collection[str]) -> dict[str, int]:
        with self.database.reading() as connection:
            return studies.last_events(connection, study_ids)

    def open(self) -> None:
        """Start the threads."""
        self.scheduler.open()

    def close(self) -> None:
        """Stop the threads. Waiting requests get no answer."""
        self.scheduler.close()

    def _serve(self, study_id: str) -> None:
        with self._guard:
            owner = self._owners.get(study_id)
        if owner is not None:
            owner.process_queues()

    def _owner(self, study_id: str) -> Owner:
        """Return the owner of a study. The caller must hold the guard while it uses the owner."""
        owner = self._owners.get(study_id)
        if owner is None:
            owner = self._owners[study_id] = Owner(study_id, self.dependencies)
            self._drop_idle()
        self._owners.move_to_end(study_id)
        return owner

    def _drop_idle(self) -> None:
        for study_id, owner in list(self._owners.items())[:-1]:
            if len(self._owners) <= self._most_owners:
                return
            if owner.is_idle:
                del self._owners[study_id]


def no_outcome(study_id: str, seconds: float) -> Unavailable:
    """Return the error for a request that timed out; the request may still be performed."""
    return Unavailable(
        f"Study {study_id!r} has not answered within {seconds:g} s; send the request again with the same "
        "Idempotency-Key."
    )


def _answer(future: Future[tuple[StudyRow, Any]], study: StudyRow, reply: Reply) -> None:
    if isinstance(reply, Answered) and reply.error is None:
        future.set_result((study, reply.value))
    elif isinstance(reply, Answered):
        future.set_exception(_error_of(study, reply.error))
    else:
        future.set_exception(Unavailable(f"The model of study {study.id!r} has to be restored; try again."))


def _error_of(study: StudyRow, error: Exception | None) -> AdaBKBError:
    if isinstance(error, StudyNotFound):
        return error
    if isinstance(error, CannotFold):
        return ModelCannotFold(
            f"The model of study {study.id!r} failed to process its log ({error}); correct or exclude the result at "
            f"fault."
        )
    return Unavailable(f"The model of study {study.id!r} cannot answer: {error}")
