"""Where requests wait for a trial: on the event loop, with neither a thread nor a connection nor a place in a queue.

Whatever may free a trial wakes the first in the line of its study. Who gets a trial wakes the next, so a study that
resumes wakes all of them one after the other, and a single result wakes one. Once a second the first is woken anyway:
another server may have freed a trial.
"""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress

LOOK_SECONDS = 1.0


class WaitingRoom:
    """The lines of all studies. Only ``freed`` may be called from other threads than the event loop's.

    Args:
        stopping: is set when the server stops: nobody waits any longer then.
        most: requests that wait; a further one does not.
    """

    def __init__(self, stopping: threading.Event, most: int) -> None:
        self.most = most
        self._stopping = stopping
        self._lines: defaultdict[str, list[asyncio.Event]] = defaultdict(list)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looking: asyncio.Task[None] | None = None

    @property
    def count(self) -> int:
        """Requests that wait."""
        return sum(len(line) for line in list(self._lines.values()))

    @property
    def is_open(self) -> bool:
        """Whether one more may wait."""
        return not self.is_closing and self.count < self.most

    @property
    def is_closing(self) -> bool:
        """Whether nobody waits any longer, as the server stops."""
        return self._stopping.is_set()

    def freed(self, study_id: str) -> None:
        """There may be a trial of this study."""
        if study_id in self._lines and self._loop is not None:
            with suppress(RuntimeError):  # the server has stopped
                self._loop.call_soon_threadsafe(self._wake, study_id)

    @contextmanager
    def seat(self, study_id: str) -> Iterator[asyncio.Event]:
        """A place in the line of a study, which is woken by the event; the next one is woken at the end of the block
        if this one has been."""
        event, line = asyncio.Event(), self._lines[study_id]
        line.append(event)
        self._loop = asyncio.get_running_loop()
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        try:
            yield event
        finally:
            line.remove(event)
            if not line:
                self._lines.pop(study_id, None)
            if event.is_set():
                self._wake(study_id)

    def _wake(self, study_id: str) -> None:
        """The first in the line that is not awake."""
        for event in self._lines.get(study_id, ()):
            if not event.is_set():
                event.set()
                return

    async def _look(self) -> None:
        """Wake the first of each line once a second, and everybody when the server stops."""
        while self._lines:
            await asyncio.sleep(LOOK_SECONDS)
            for line in list(self._lines.values()):
                for event in line if self.is_closing else line[:1]:
                    event.set()
        self._looking = None
