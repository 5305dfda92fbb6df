"""The main function of a model process: three threads that perform the work of a ``ModelHost``.

The first thread performs the short steps; most take a few milliseconds. The second thread, with a low priority,
performs the steps that are expected to take long, so that short steps need not wait for them. The third thread, also
with a low priority, answers long questions.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from adabkb_service.inference.host import ModelHost
from adabkb_service.inference.messages import Begun, Message, Reply, Spent
from adabkb_service.inference.process_settings import ProcessSettings
from adabkb_service.inference.reads import Read, Reads
from adabkb_service.inference.step_queue import QUICK, SLOW, StepQueue
from adabkb_service.inference.store import ModelStore
from adabkb_service.storage.database import Database

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    Pipe = Connection[Any, Any]

LANES = {QUICK: "models-quick", SLOW: "models-slow"}
READS = "models-reads"
"""Names of the threads."""
NICENESS = {LANES[QUICK]: 0, LANES[SLOW]: 10, READS: 10}
"""Niceness of the threads on Linux. On a busy core, a thread with 10 gets about a tenth of the time that a thread with
0 gets."""
WATCH_SECONDS = 0.5
SWITCH_SECONDS = 0.001
"""Seconds after which a thread must yield the interpreter lock to a waiting thread."""
HANG_SECONDS = 120.0
"""A step, or an answer to a long question, that takes longer than this counts as hung: the process ends itself, and the
server starts a new one."""
NOT_A_REPLY = -1
"""Message number of a message to the server that is not a reply."""


class Lane:
    """A thread that performs steps of studies, one after the other."""

    def __init__(self, name: str, steps: Iterator[tuple[str, Callable[[], None]]]) -> None:
        self.started: float | None = None
        """When the current step began, by ``time.monotonic``; None between steps."""
        self._steps = steps
        self._at_work: str | None = None
        self._thread = threading.Thread(target=self._work, daemon=True, name=name)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def still_at_work(self, seconds: float) -> str | None:
        """Wait up to ``seconds`` for the thread to end. Return the study of the step that is still running, or None."""
        self._thread.join(seconds)
        return self._at_work

    def _work(self) -> None:
        _lower_priority(NICENESS[self._thread.name])
        for study_id, step in self._steps:
            self._at_work, self.started = study_id, time.monotonic()
            step()
            self._at_work = self.started = None


def _lower_priority(niceness: int) -> None:
    """Lower the priority of this thread, where the system supports and allows it."""
    if niceness and sys.platform == "linux":
        thread = threading.get_native_id()
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + niceness)


class Worker:
    """The threads and the host of a process."""

    def __init__(
        self, pipe: Pipe, database: Database, capacity: int, *, decision_seconds: float, saving_seconds: float
    ) -> None:
        self.steps = StepQueue()
        self._reads = Reads(self.steps.is_long_question)
        self.host = ModelHost(ModelStore(database, capacity), self._send, decision_seconds, self._reads)
        self._saving_seconds = saving_seconds
        self._pipe = pipe
        self._sending = threading.Lock()
        self._guard = threading.Lock()
        self._scheduled: set[str] = set()
        """Studies with a queued or running step."""
        self._lanes = [Lane(name, self._steps(kind)) for kind, name in LANES.items()]
        self._answering = Lane(READS, self._answers())
        self._spent: defaultdict[str, float] = defaultdict(float)
        """Study -> processor seconds that were not reported to the server yet."""

    def start(self) -> None:
        """Start the threads."""
        for lane in (*self._lanes, self._answering):
            lane.start()

    def serve(self) -> None:
        """Process messages until the server sends None or ends."""
        self._send(NOT_A_REPLY, Begun())
        with suppress(EOFError, OSError):
            while (entry := self._pipe.recv()) is not None:
                self.take(*entry)
        self._save_all()

    def end(self) -> None:
        """Stop the threads after their current steps."""
        self.steps.end()
        self._reads.end()

    def _save_all(self) -> None:
        """Store all models except those with a running step, which may have folded an event only in part."""
        self.end()
        at_work = {study_id for lane in self._lanes if (study_id := lane.still_at_work(self._saving_seconds / 2.0))}
        saving = threading.Thread(target=self.host.save_all, args=(at_work,), daemon=True)
        saving.start()
        saving.join(self._saving_seconds)

    def take(self, number: int, message: Message) -> None:
        """Queue a message, and schedule a step for its study."""
        self.host.post(number, message)
        self._schedule(message.study_id)

    def _schedule(self, study_id: str) -> None:
        with self._guard:
            if study_id in self._scheduled:
                self.steps.hasten(study_id, self.host.kind_of_next(study_id))
            else:
                self._scheduled.add(study_id)
                self.steps.put(study_id, self.host.kind_of_next(study_id))

    def _steps(self, lane: int) -> Iterator[tuple[str, Callable[[], None]]]:
        while (study_id := self.steps.take(lane)) is not None:
            yield study_id, partial(self.step, study_id)

    def _answers(self) -> Iterator[tuple[str, Callable[[], None]]]:
        while (read := self._reads.take()) is not None:
            yield read.message.study_id, partial(self._answer, read)

    def _answer(self, read: Read) -> None:
        before = time.thread_time()
        reply = read.answered()
        seconds = time.thread_time() - before
        self.steps.record_time(read.message.study_id, read.message.question, seconds)
        with self._guard:
            self._spent[read.message.study_id] += seconds
        for number in (read.number, *self._reads.take_same(read)):
            self._send(number, reply)

    def step(self, study_id: str) -> None:
        """Perform a step of a study, and queue its next step if more work is left."""
        kind, before = self.host.kind_of_next(study_id), time.thread_time()
        has_more = self.host.step(study_id)
        # processor time is counted, since on a busy machine, each step takes long by the clock
        seconds = time.thread_time() - before
        # The last step finds no work, and a long question is only passed on, so their times are not counted.
        if has_more and not self.steps.is_long_question(study_id, kind):
            self.steps.record_time(study_id, kind, seconds)
        with self._guard:
            self._spent[study_id] += seconds
            if has_more or self.host.has_messages(study_id):
                self.steps.put(study_id, self.host.kind_of_next(study_id))
            else:
                self._scheduled.discard(study_id)

    def watch(self) -> None:
        """Store idle models, and end the process if a step hangs."""
        while True:
            time.sleep(WATCH_SECONDS)
            for study_id in self.host.idle():
                self._schedule(study_id)
            self.report_spent()
            for lane in (*self._lanes, self._answering):
                started = lane.started
                if started is not None and time.monotonic() - started > HANG_SECONDS:
                    os._exit(1)

    def report_spent(self) -> None:
        """Report to the server the processor time of each study since the last report."""
        with self._guard:
            spent, self._spent = dict(self._spent), defaultdict(float)
        if spent:
            self._send(NOT_A_REPLY, Spent(spent))

    def _send(self, number: int, reply: Reply | Begun | Spent) -> None:
        with self._sending, suppress(OSError):  # the server has ended; ``serve`` notices it
            self._pipe.send((number, reply))


def limit_memory(megabytes: int) -> None:
    """Limit the memory of this process, where the system allows it. A step that exceeds the limit raises
    ``MemoryError``. Its study then gets quasi-random points; other studies are not affected."""
    if sys.platform == "linux":
        import resource  # noqa: PLC0415 (not on Windows)

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = megabytes * 2**20
        resource.setrlimit(
            resource.RLIMIT_DATA, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
        )


def main(pipe: Pipe, settings: ProcessSettings) -> None:
    """Work until the server sends None or ends."""
    limit_memory(settings.memory_megabytes)
    for number in (signal.SIGINT, signal.SIGTERM):  # sent to all processes of a server; the server ends this one
        signal.signal(number, signal.SIG_IGN)
    sys.setswitchinterval(SWITCH_SECONDS)
    database = Database(settings.database_url, lock_seconds=settings.lock_seconds, connections=4)
    with threadpool_limits(settings.blas_threads):
        worker = Worker(
            pipe,
            database,
            settings.capacity,
            decision_seconds=settings.decision_seconds,
            saving_seconds=settings.saving_seconds,
        )
        worker.start()
        threading.Thread(target=worker.watch, daemon=True).start()
        worker.serve()
    os._exit(0)  # a lane may be busy with a long step
