"""Requests that wait for a trial. They wait on the event loop, without a thread or a connection to the database.

Whatever may free a trial wakes the first waiter of its study. A waiter that gets a trial wakes the next one. So a study
that resumes wakes all of them one after the other, and a single result wakes one. Every ``look_seconds`` the
first is woken anyway: another server may have freed a trial.
"""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Waiters:
    """Those of all studies. Only ``notify`` may be called from other threads than the event loop's.

    Args:
        stopping: is set when the server stops; then no request waits any longer.
        most: requests that wait; a further one does not.
        look_seconds: after which the first waiter of each study is woken anyway.
    """

    def __init__(self, stopping: threading.Event, most: int, look_seconds: float) -> None:
        self.most = most
        self._look_seconds = look_seconds
        self._stopping = stopping
        self._queues: defaultdict[str, list[asyncio.Event]] = defaultdict(list)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looking: asyncio.Task[None] | None = None

    @property
    def count(self) -> int:
        """Requests that wait."""
        return sum(len(queue) for queue in list(self._queues.values()))

    @property
    def is_open(self) -> bool:
        """Whether one more may wait."""
        return not self.is_closing and self.count < self.most

    @property
    def is_closing(self) -> bool:
        """Whether the server stops, so no request waits any longer."""
        return self._stopping.is_set()

    def notify(self, study_id: str) -> None:
        """There may be a trial of this study."""
        if study_id in self._queues and self._loop is not None:
            with suppress(RuntimeError):  # the server has stopped
                self._loop.call_soon_threadsafe(self._wake, study_id)

    @contextmanager
    def slot(self, study_id: str) -> Iterator[asyncio.Event]:
        """Wait in the block for the event, behind the other waiters of the study. If it was set, the next waiter is
        woken at the end of the block."""
        event, queue = asyncio.Event(), self._queues[study_id]
        queue.append(event)
        self._loop = asyncio.get_running_loop()
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        try:
            yield event
        finally:
            queue.remove(event)
            if not queue:
                self._queues.pop(study_id, None)
            if event.is_set():
                self._wake(study_id)

    def _wake(self, study_id: str) -> None:
        """Wake the first waiter that is not awake."""
        for event in self._queues.get(study_id, ()):
            if not event.is_set():
                event.set()
                return

    async def _look(self) -> None:
        """Wake the first waiter of each study at intervals, and all of them when the server stops."""
        while self._queues:
            await asyncio.sleep(self._look_seconds)
            for queue in list(self._queues.values()):
                for event in queue if self.is_closing else queue[:1]:
                    event.set()
        self._looking = None
