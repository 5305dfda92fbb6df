"""The main function of a model process: two threads that do the work of a ``ModelHost``.

Most steps take a few milliseconds. A study whose steps take longer goes to the second thread, the slow one, until its
steps are short again. So many heavy studies share one thread, and the others do not wait for them. The slow thread has
a low priority.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from adabkb_service.engine.warm import warm
from adabkb_service.inference.host import ModelHost
from adabkb_service.inference.messages import Message, Reply
from adabkb_service.inference.store import ModelStore
from adabkb_service.storage.database import Database

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    Pipe = Connection[Any, Any]

LONG_SECONDS = 0.008
"""Mean processor time of a study's steps from which on the slow thread does them."""
LATEST = 0.1
"""Weight of the latest step in that mean: a single long one, as when something is learned, changes little."""
SLOW_NICENESS = 10
"""Of the slow thread, on Linux: its share of a busy core is a tenth of another thread's."""
WATCH_SECONDS = 0.5
SWITCH_SECONDS = 0.001
"""How long one thread may keep the interpreter from the other."""
HANG_SECONDS = 120.0
"""A step that takes longer will never end: the process ends with it, and the server starts another."""
CLOSE_SECONDS = 2.0
"""For storing models when the server stops, and as much for ending the steps at work."""


class Lane:
    """A thread, and the studies that wait for it."""

    def __init__(self, worker: Worker, name: str, *, gives_way: bool = False) -> None:
        self.started: float | None = None
        """When the present step began."""
        self._worker = worker
        self._studies: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._at_work: str | None = None
        self._is_ending = False
        self._gives_way = gives_way
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def put(self, study_id: str) -> None:
        """Let a study wait."""
        self._studies.put(study_id)

    def end(self) -> None:
        """Begin no further step."""
        self._is_ending = True
        self._studies.put(None)

    def still_at_work(self, seconds: float) -> str | None:
        """The study whose step has not ended after so many seconds, if there is one."""
        self._thread.join(seconds)
        return self._at_work

    def _work(self) -> None:
        if self._gives_way:
            _lower_priority()
        while (study_id := self._studies.get()) is not None and not self._is_ending:
            self._at_work, self.started, before = study_id, time.monotonic(), time.thread_time()
            has_more = self._worker.host.step(study_id)
            seconds = time.thread_time() - before  # not what it waited for: on a busy machine each step would be long
            self._at_work = self.started = None
            self._worker.stepped(study_id, seconds, has_more=has_more)


def _lower_priority() -> None:
    """Of this thread, where it has a priority of its own and the system allows it."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + SLOW_NICENESS)


class Worker:
    """A process' lanes and its host."""

    def __init__(self, pipe: Pipe, database: Database, capacity: int) -> None:
        self.host = ModelHost(ModelStore(database, capacity), self._tell)
        self._pipe = pipe
        self._sending = threading.Lock()
        self._guard = threading.Lock()
        self._scheduled: set[str] = set()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        """Mean processor time of the steps of each study."""
        self._lanes = Lane(self, "quick"), Lane(self, "slow", gives_way=True)

    def serve(self) -> None:
        """Take messages until the server sends None, or is gone."""
        with suppress(EOFError, OSError):
            while (entry := self._pipe.recv()) is not None:
                self.take(*entry)
        self._save_all()

    def _save_all(self) -> None:
        """Store the models that are not in mid-step: the others are not as of any event."""
        for lane in self._lanes:
            lane.end()
        at_work = {study_id for lane in self._lanes if (study_id := lane.still_at_work(CLOSE_SECONDS / 2.0))}
        saving = threading.Thread(target=self.host.save_all, args=(at_work,), daemon=True)
        saving.start()
        saving.join(CLOSE_SECONDS)

    def take(self, number: int, message: Message) -> None:
        """A message for one of the lanes."""
        self.host.post(number, message)
        self._schedule(message.study_id)

    def _schedule(self, study_id: str) -> None:
        with self._guard:
            if study_id in self._scheduled:
                return
            self._scheduled.add(study_id)
            self._put_in_lane(study_id)

    def stepped(self, study_id: str, seconds: float, *, has_more: bool) -> None:
        """A lane has done a step."""
        with self._guard:
            if has_more:  # the last step finds nothing to do, and says nothing of the study
                self._seconds[study_id] += LATEST * (seconds - self._seconds[study_id])
            if has_more or self.host.has_messages(study_id):
                self._put_in_lane(study_id)
            else:
                self._scheduled.discard(study_id)

    def _put_in_lane(self, study_id: str) -> None:
        self._lanes[self._seconds[study_id] > LONG_SECONDS].put(study_id)

    def watch(self) -> None:
        """Let models be stored that are not in use, and end the process if a step never ends."""
        while True:
            time.sleep(WATCH_SECONDS)
            for study_id in self.host.idle():
                self._schedule(study_id)
            for lane in self._lanes:
                started = lane.started
                if started is not None and time.monotonic() - started > HANG_SECONDS:
                    os._exit(1)

    def _tell(self, number: int, reply: Reply) -> None:
        with self._sending, suppress(OSError):  # the server is gone, as the reader finds out
            self._pipe.send((number, reply))


def main(pipe: Pipe, database_url: str, lock_seconds: float, capacity: int, blas_threads: int) -> None:
    """Work until the server sends None, or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's to handle
    sys.setswitchinterval(SWITCH_SECONDS)
    database = Database(database_url, lock_seconds=lock_seconds, connections=4)
    with threadpool_limits(blas_threads):
        warm()
        worker = Worker(pipe, database, capacity)
        threading.Thread(target=worker.watch, daemon=True).start()
        worker.serve()
    os._exit(0)  # a lane may be at a step that takes long
