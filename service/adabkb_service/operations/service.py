"""The running service: who does what the operations ask for.

An operation is a ``Request``. ``do`` waits for its outcome, for commands and tests; ``submit`` gives a future, for the
server, which waits for many on one event loop.
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

from adabkb_service.errors import AdaBKBError, Busy, ModelCannotFollow, StudyNotFound, Unavailable
from adabkb_service.inference.messages import Answered, CannotFollow, Reply
from adabkb_service.inference.pool import Inference, in_this_process
from adabkb_service.operations.collectors import ServiceCollector
from adabkb_service.operations.reader import READER
from adabkb_service.storage import studies
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import StudyRow
from adabkb_service.study.changes import Changes
from adabkb_service.study.clock import Clock, utc_now
from adabkb_service.study.owner import Owner, PendingQuestion
from adabkb_service.study.request import Answer, Outcome, Request
from adabkb_service.study.scheduler import Scheduler
from adabkb_service.telemetry.metrics import Metrics
from adabkb_service.telemetry.traces import Traces
from adabkb_service.timeouts import Timeouts


class Service:
    """The database, the studies that are worked on, their models, the metrics and the time."""

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
    ) -> None:
        """Not running yet if it has threads: see ``open``.

        Args:
            database: whose schema is ready.
            clock: the time.
            inference: where models are; in this process by default.
            threads: that work on studies; without, the callers that wait do the work.
            look_seconds: between two looks at what other servers have committed, while somebody waits for it.
            owners: studies that are kept between two requests, at most; an owner takes some kilobytes.
            timeouts: how long requests wait; by default, as long as it takes.
        """
        self.database = database
        self.clock = clock
        self.timeouts = timeouts or Timeouts()
        self.metrics = Metrics()
        self.traces: Traces | None = None
        self.inference = inference or in_this_process(database)
        self.servers: Callable[[], int] = lambda: 1
        """How many servers forward requests to each other, this one included."""
        self.model_workers: Callable[[], int] = lambda: 0
        """How many model workers perform requests that servers forward."""
        self.stopping = threading.Event()
        """Set when the server is about to stop: what goes on without end ends then."""
        self.sweep_late_at: float | None = None
        """From when on the next round of the sweeper is late, by ``time.monotonic``; None where there is no sweeper."""
        self.unswept: LRUCache[str, float] = LRUCache(owners)
        """Studies whose leases could not expire -> when to try again, by ``time.monotonic``."""
        self.changes = Changes(self._last_events, self.stopping, look_seconds)
        self.scheduler = Scheduler(self._serve, threads)
        self._closed: Counter[str] = Counter()
        self._owners: OrderedDict[str, Owner] = OrderedDict()
        self._most_owners = owners
        self._guard = threading.Lock()
        self.metrics.registry.register(ServiceCollector(self))

    @property
    def unfinished(self) -> int:
        """Requests to studies without an outcome yet."""
        with self._guard:
            return sum(owner.unfinished for owner in self._owners.values())

    def submit(self, request: Request[Answer]) -> Future[Outcome[Answer]]:
        """Queue a request.

        Raises:
            RequestInProgress, Busy: it cannot.
        """
        with self._guard:  # as an owner that has nothing to do may be dropped
            if request.study_id in self._closed:
                raise Busy(f"Study {request.study_id!r} is being deleted; try again.")
            return self._owner(request.study_id).submit(request)

    def do(self, request: Request[Answer]) -> Outcome[Answer]:
        """The outcome of a request.

        Raises:
            AdaBKBError: it is refused.
            Unavailable: there is none in time.
        """
        try:
            return self.scheduler.wait_for(self.submit(request), self.timeouts.outcome)
        except TimeoutError as error:
            raise no_outcome(request.study_id, self.timeouts.outcome) from error

    async def done(self, request: Request[Answer]) -> Outcome[Answer]:
        """The same without a thread: the event loop waits.

        Raises:
            AdaBKBError: it is refused.
            Unavailable: there is none in time.
        """
        outcome = asyncio.wrap_future(self.submit(request))
        try:
            return await asyncio.wait_for(asyncio.shield(outcome), self.timeouts.outcome)
        except TimeoutError as error:
            raise no_outcome(request.study_id, self.timeouts.outcome) from error

    def ask(self, study_id: str, question: str, *arguments: Any) -> tuple[StudyRow, Any]:
        """The current row of a study, and its model's reply to a question at that state.

        Raises:
            StudyNotFound: there is no such study.
            Busy: too many questions wait for the model.
            Unavailable: the model cannot follow the log, or takes too long, or the reader has left.
        """
        reader, future = READER.get(), Future[tuple[StudyRow, Any]]()

        def receive(study: StudyRow | None, reply: Any) -> None:
            with suppress(InvalidStateError):  # the reader has left, or waits no longer
                if isinstance(reply, Exception):
                    future.set_exception(reply)
                elif study is not None:
                    _answer(future, study, reply)
            self.scheduler.done()

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
        """Whether the server has just started, and suggestions wait until the engine is loaded."""
        return self.inference.loaded_at == math.inf

    @contextmanager
    def closed(self, study_id: str) -> Iterator[None]:
        """Requests to the study are refused as busy meanwhile: it is about to be deleted."""
        with self._guard:
            self._closed[study_id] += 1
        try:
            yield
        finally:
            with self._guard:
                self._closed -= Counter([study_id])

    def forget(self, study_id: str) -> None:
        """The study was deleted, or its rows were replaced."""
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
        """End the threads; requests that wait get no answer."""
        self.scheduler.close()

    def _serve(self, study_id: str) -> None:
        with self._guard:
            owner = self._owners.get(study_id)
        if owner is not None:
            owner.process_queues()

    def _owner(self, study_id: str) -> Owner:
        """The owner of a study; the caller holds the guard for as long as it uses the owner."""
        owner = self._owners.get(study_id)
        if owner is None:
            owner = self._owners[study_id] = Owner(study_id, self)
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
    """For a request that may still be performed."""
    return Unavailable(
        f"Study {study_id!r} has not answered within {seconds:g} s; send the request again with the same "
        "Idempotency-Key."
    )


def _answer(future: Future[tuple[StudyRow, Any]], study: StudyRow, reply: Reply) -> None:
    if isinstance(reply, Answered) and reply.error is None:
        future.set_result((study, reply.value))
    elif isinstance(reply, Answered):
        future.set_exception(_explained(study, reply.error))
    else:
        future.set_exception(Unavailable(f"The model of study {study.id!r} has to be restored; try again."))


def _explained(study: StudyRow, error: Exception | None) -> AdaBKBError:
    if isinstance(error, StudyNotFound):
        return error
    if isinstance(error, CannotFollow):
        return ModelCannotFollow(
            f"The model of study {study.id!r} failed to process its log ({error}); correct or exclude the result at "
            f"fault."
        )
    return Unavailable(f"The model of study {study.id!r} cannot answer: {error}")
