"""Wait for a change of a study: used by requests that wait for a trial and by event streams.

A commit of this process wakes the waiters at once. Commits of other servers are found by polling: one query
every ``look_seconds`` reads the last event of every study with waiters. A waiter that was woken checks its own
condition, since a wake-up may be spurious. Waiters use the event loop, and no thread or database connection.

A change wakes all streams, but only the first of the requests that wait for a trial. Each request that gets a trial
wakes the next one. So when a study resumes, requests get trials one after the other until no trial is free.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from anyio.to_thread import run_sync

from adabkb_service.errors import Busy, Unavailable

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class _Waiter:
    """A request or stream that waits for a change of a study."""

    for_trial: bool
    woken: asyncio.Event = field(default_factory=asyncio.Event)


class Changes:
    """The waiters of each study. Only ``notify`` is safe to call outside the event loop's thread.

    Args:
        last_events: given study ids, returns the number of the last event of each existing study.
        stopping: set when the server stops; ends all waits.
        look_seconds: interval between two polls for commits of other servers.
    """

    def __init__(
        self,
        last_events: Callable[[Collection[str]], dict[str, int]],
        stopping: threading.Event,
        look_seconds: float,
    ) -> None:
        self._last_events = last_events
        self._stopping = stopping
        self._look_seconds = look_seconds
        self._waiters: defaultdict[str, list[_Waiter]] = defaultdict(list)
        self._seen: dict[str, int | None] = {}
        """Study with waiters -> the last event that its waiters were woken for; None if the study was deleted."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._poller: asyncio.Task[None] | None = None
        self._reads = False
        """Whether a query is in progress."""

    @property
    def waiting_for_trial(self) -> int:
        """Number of requests that wait for a trial."""
        return sum(waiter.for_trial for waiters in list(self._waiters.values()) for waiter in waiters)

    @property
    def is_closing(self) -> bool:
        """Whether the server is stopping, which ends all waits."""
        return self._stopping.is_set()

    def notify(self, study_id: str, last_event: int | None, *, may_free: bool) -> None:
        """Wake the waiters of a study that has changed.

        Args:
            study_id: id of the study.
            last_event: number of its last event; None if the study was deleted or replaced.
            may_free: whether a trial may have become available for a waiting request.
        """
        if study_id in self._waiters and self._loop is not None:
            with suppress(RuntimeError):  # the server has stopped
                self._loop.call_soon_threadsafe(self._on_change, study_id, last_event, may_free)

    @contextmanager
    def waiting(self, study_id: str, *, for_trial: bool = False) -> Iterator[asyncio.Event]:
        """Yield an ``asyncio.Event`` that is set whenever the study changes within the block. The waiter clears it.

        Args:
            study_id: id of the study.
            for_trial: whether the waiter waits for a trial. Then its event is set only when a trial may be free, and
                only if it is the first such waiter. If the event is set at the end of the block, the next one is woken.
        """
        waiter, waiters = _Waiter(for_trial), self._waiters[study_id]
        waiters.append(waiter)
        self._loop = asyncio.get_running_loop()
        if self._poller is None:
            self._poller = asyncio.create_task(self._poll())
        try:
            yield waiter.woken
        finally:
            waiters.remove(waiter)
            if not waiters:
                self._waiters.pop(study_id, None)
                self._seen.pop(study_id, None)
            elif for_trial and waiter.woken.is_set():
                self._wake_next(study_id)

    async def close(self) -> None:
        """Stop polling, after the query in progress."""
        if self._poller is not None:
            if not self._reads:
                self._poller.cancel()
            await asyncio.wait([self._poller])

    def _on_change(self, study_id: str, last_event: int | None, may_free: bool) -> None:
        if study_id not in self._waiters:
            return
        self._seen[study_id] = last_event
        for waiter in self._waiters[study_id]:
            if not waiter.for_trial:
                waiter.woken.set()
        if may_free:
            self._wake_next(study_id)

    def _wake_next(self, study_id: str) -> None:
        """Wake the first request that waits for a trial and has not been woken."""
        for waiter in self._waiters.get(study_id, ()):
            if waiter.for_trial and not waiter.woken.is_set():
                waiter.woken.set()
                return

    async def _poll(self) -> None:
        """Poll for commits of other servers while there are waiters."""
        try:
            while self._waiters and not self.is_closing:
                await asyncio.sleep(self._look_seconds)
                try:
                    await self._compare(list(self._waiters))
                except (Busy, Unavailable):  # the database does not respond; the next poll finds the changes
                    continue
                except Exception:
                    logger.exception("polling for changes of other servers failed; retrying")
            for waiters in self._waiters.values():  # the server is stopping
                for waiter in waiters:
                    waiter.woken.set()
        finally:
            self._poller = None

    async def _compare(self, studies: list[str]) -> None:
        self._reads = True
        try:
            found = await run_sync(self._last_events, studies)
        finally:
            self._reads = False
        for study_id in studies:
            if study_id not in self._seen or self._seen[study_id] != found.get(study_id):
                self._on_change(study_id, found.get(study_id), may_free=True)
