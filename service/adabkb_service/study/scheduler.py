"""Round-robin scheduling of studies. At most one thread at a time works on a study, and no study blocks the others."""

from __future__ import annotations

import heapq
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

    With threads, as in a server, it runs in the background. Without threads, as in a command or a test, the caller of
    ``wait_for`` does the work.
    """

    def __init__(self, serve: Callable[[str], None], threads: int = 0) -> None:
        self._serve = serve
        self._changed = threading.Condition()
        self._ready: deque[str] = deque()
        self._queued: set[str] = set()
        self._served: set[str] = set()
        self._alarms: list[tuple[float, str]] = []
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"studies-{number}", daemon=True) for number in range(threads)
        ]

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
        """Schedule a study at a moment of ``time.monotonic``."""
        with self._changed:
            is_next = not self._alarms or moment < self._alarms[0][0]
            heapq.heappush(self._alarms, (moment, study_id))
            if is_next:
                self._changed.notify()

    def wait_for(self, future: Future[T], seconds: float = math.inf) -> T:
        """The result of a request's future. Without threads, performs scheduled work until the result is there.

        Raises:
            TimeoutError: no result after ``seconds``.
            Exception: the exception that the future holds.
        """
        deadline = time.monotonic() + seconds
        if not self._threads:
            self.work_until(future.done, deadline)
        return future.result(None if math.isinf(seconds) else max(deadline - time.monotonic(), 0.0))

    def done(self) -> None:
        """Wake the callers of ``wait_for`` if the scheduler has no threads. Call it when a future has its result."""
        if not self._threads:
            with self._changed:
                self._changed.notify_all()

    def close(self) -> None:
        """End the threads; scheduled work is not done."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def work_until(self, is_done: Callable[[], bool], deadline: float = math.inf) -> None:
        """Perform all scheduled work until ``is_done`` or the deadline, for use without threads."""
        while True:
            with self._changed:
                study_id = self._next()
                if study_id is None:
                    if is_done() or time.monotonic() > deadline:
                        return
                    self._changed.wait(POLL_SECONDS)
            if study_id is not None:
                self._serve_one(study_id)

    def _work(self) -> None:
        while not self._closed:
            try:
                self._serve_all()
            except Exception:  # for example no memory to log an exception; the thread must not end
                time.sleep(RETRY_SECONDS)

    def _serve_all(self) -> None:
        while True:
            with self._changed:
                study_id = self._next()
                while study_id is None and not self._closed:
                    self._changed.wait(self._seconds_to_alarm())
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
                self._served.discard(study_id)
                if study_id in self._queued:
                    self._append(study_id)

    def _next(self) -> str | None:
        """Take the first scheduled study that no thread serves."""
        now = time.monotonic()
        while self._alarms and self._alarms[0][0] <= now:
            self._queue(heapq.heappop(self._alarms)[1])
        if not self._ready:
            return None
        study_id = self._ready.popleft()
        self._queued.discard(study_id)
        self._served.add(study_id)
        return study_id

    def _queue(self, study_id: str) -> None:
        """Queue a study unless it is queued. If a thread serves it, that thread queues it again afterwards."""
        if study_id not in self._queued:
            self._queued.add(study_id)
            if study_id not in self._served:
                self._append(study_id)

    def _append(self, study_id: str) -> None:
        self._ready.append(study_id)
        self._changed.notify()

    def _seconds_to_alarm(self) -> float | None:
        return max(self._alarms[0][0] - time.monotonic(), 0.0) if self._alarms else None
