"""Round-robin scheduling of studies. At most one thread at a time works on a study, and no study blocks the others."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

logger = logging.getLogger(__name__)

T = TypeVar("T")

RETRY_SECONDS = 1.0
"""Delay before a study is served again after an error."""
POLL_SECONDS = 0.2
"""How often a caller that does the work itself checks for studies that are due, in seconds."""


class Scheduler:
    """Calls ``serve`` with the ids of studies that have work to do.

    A study has at most one alarm: the earliest time at which it must be served. When the study is served, its alarm is
    dropped, and ``serve`` sets another one if needed.

    With threads, as in a server, the scheduler works in the background. Without threads, as in a command or a test, the
    caller of ``wait_for`` does the work.
    """

    def __init__(self, serve: Callable[[str], None], threads: int = 0) -> None:
        self._serve = serve
        guard = threading.Lock()
        self._changed = threading.Condition(guard)
        """Notified when a study is ready."""
        self._alarm_set = threading.Condition(guard)
        """Notified when an alarm is set that is earlier than ``_next_alarm``."""
        self._ready: deque[str] = deque()
        self._queued: set[str] = set()
        self._being_served: set[str] = set()
        self._alarms: dict[str, float] = {}
        self._next_alarm = math.inf
        """The time until which the alarm thread waits."""
        self._closed = False
        self._threads = [
            threading.Thread(target=self._repeat, args=[self._serve_all], name=f"studies-{number}", daemon=True)
            for number in range(threads)
        ]
        if threads:  # a separate thread, so that an alarm does not wake all idle threads
            self._threads.append(
                threading.Thread(target=self._repeat, args=[self._watch_alarms], name="studies-alarms", daemon=True)
            )

    @property
    def queue_length(self) -> int:
        """Number of studies that wait for a thread."""
        return len(self._ready)

    def open(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def ready(self, study_id: str) -> None:
        """Schedule a study now."""
        with self._changed:
            self._queue(study_id)

    def ready_at(self, study_id: str, moment: float) -> None:
        """Schedule a study at a moment of ``time.monotonic``, unless it has an earlier alarm."""
        with self._changed:
            self._alarms[study_id] = min(moment, self._alarms.get(study_id, math.inf))
            if moment < self._next_alarm:
                self._alarm_set.notify()

    def wait_for(self, future: Future[T], seconds: float = math.inf) -> T:
        """Return the result of a request's future. Without threads, perform scheduled work until the future has a
        result.

        Raises:
            TimeoutError: no result after ``seconds``.
            Exception: the exception that the future holds.
        """
        deadline = time.monotonic() + seconds
        if not self._threads:
            self.work_until(future.done, deadline)
        return future.result(None if math.isinf(seconds) else max(deadline - time.monotonic(), 0.0))

    def wake_callers(self) -> None:
        """Wake the callers of ``wait_for`` if the scheduler has no threads. Call it when a future has its result."""
        if not self._threads:
            with self._changed:
                self._changed.notify_all()

    def close(self) -> None:
        """End the threads. Scheduled work is dropped."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._alarm_set.notify_all()
        for thread in self._threads:
            thread.join()

    def work_until(self, is_done: Callable[[], bool], deadline: float = math.inf) -> None:
        """Perform scheduled work. Return when none is left and ``is_done`` returns True, or the deadline has passed.
        For use without threads."""
        while True:
            with self._changed:
                if not self._threads:
                    self._queue_overdue()
                study_id = self._next()
                if study_id is None:
                    if is_done() or time.monotonic() > deadline:
                        return
                    self._changed.wait(POLL_SECONDS)
            if study_id is not None:
                self._serve_one(study_id)

    def _repeat(self, loop: Callable[[], None]) -> None:
        while not self._closed:
            try:
                loop()
            except Exception:  # for example no memory to log an exception; the thread must not end
                time.sleep(RETRY_SECONDS)

    def _serve_all(self) -> None:
        while True:
            with self._changed:
                study_id = self._next()
                while study_id is None and not self._closed:
                    self._changed.wait()
                    study_id = self._next()
                if self._closed or study_id is None:
                    return
            self._serve_one(study_id)

    def _serve_one(self, study_id: str) -> None:
        try:
            self._serve(study_id)
        except Exception:
            self.ready_at(study_id, time.monotonic() + RETRY_SECONDS)
            logger.exception("study %s: a batch failed; trying again", study_id)
        finally:
            with self._changed:
                self._being_served.discard(study_id)
                if study_id in self._queued:
                    self._append(study_id)

    def _next(self) -> str | None:
        """Take the first scheduled study that no thread serves."""
        if not self._ready:
            return None
        study_id = self._ready.popleft()
        self._queued.discard(study_id)
        self._being_served.add(study_id)
        self._alarms.pop(study_id, None)
        return study_id

    def _watch_alarms(self) -> None:
        with self._alarm_set:
            while not self._closed:
                self._queue_overdue()
                self._next_alarm = min(self._alarms.values(), default=math.inf)
                seconds = self._next_alarm - time.monotonic()
                self._alarm_set.wait(None if math.isinf(seconds) else max(seconds, 0.0))

    def _queue_overdue(self) -> None:
        """Queue the studies whose alarms are due."""
        now = time.monotonic()
        overdue = sorted((moment, study_id) for study_id, moment in self._alarms.items() if moment <= now)
        for _, study_id in overdue:
            del self._alarms[study_id]
            self._queue(study_id)

    def _queue(self, study_id: str) -> None:
        """Queue a study unless it is queued. If a thread serves it, that thread queues it again afterwards."""
        if study_id not in self._queued:
            self._queued.add(study_id)
            if study_id not in self._being_served:
                self._append(study_id)

    def _append(self, study_id: str) -> None:
        self._ready.append(study_id)
        self._changed.notify()
