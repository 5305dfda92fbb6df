"""The one way to wait for a change of a study: of requests that wait for a trial, and of event streams.

A commit of this process wakes those who wait at once. What other servers have committed is found by looking at the last
event of every study that somebody waits for, with one query every ``look_seconds``. Whoever is woken looks for what it
waits for, sometimes in vain. All wait on the event loop, without a thread or a connection to the database.

A change wakes all streams. Of the requests that wait for a trial it wakes the first one, and each that gets a trial
wakes the next. So where a study resumes, all that can get a trial do, one after the other.
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
    """One request or stream."""

    in_turn: bool
    woken: asyncio.Event = field(default_factory=asyncio.Event)


class Changes:
    """Who waits for changes of which study. Only ``notify`` may be called from other threads than the event loop's.

    Args:
        last_events: gives the last event of each of these studies that exists.
        stopping: is set when the server stops; then nobody waits any longer.
        look_seconds: between two looks at what other servers have committed.
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
        """Study that is waited for -> its last event that the waiters were woken for; None if it is gone."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looking: asyncio.Task[None] | None = None
        self._reads = False
        """Whether it asks the database at the moment."""

    @property
    def in_turn(self) -> int:
        """Requests that wait for a trial."""
        return sum(waiter.in_turn for waiters in list(self._waiters.values()) for waiter in waiters)

    @property
    def is_closing(self) -> bool:
        """Whether the server stops, so nobody waits any longer."""
        return self._stopping.is_set()

    def notify(self, study_id: str, last_event: int | None, *, may_free: bool) -> None:
        """A study has changed.

        Args:
            study_id: which one.
            last_event: of its log; None if the study is gone or was replaced.
            may_free: whether there may be a trial now for a request that waits.
        """
        if study_id in self._waiters and self._loop is not None:
            with suppress(RuntimeError):  # the server has stopped
                self._loop.call_soon_threadsafe(self._changed, study_id, last_event, may_free)

    @contextmanager
    def waiting(self, study_id: str, *, in_turn: bool = False) -> Iterator[asyncio.Event]:
        """In the block, the event is set when the study has changed; whoever waits for it clears it.

        Args:
            study_id: which one.
            in_turn: whether only the first such waiter is woken. If its event is set at the end of the block, the next
                one is woken.
        """
        waiter, waiters = _Waiter(in_turn), self._waiters[study_id]
        waiters.append(waiter)
        self._loop = asyncio.get_running_loop()
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        try:
            yield waiter.woken
        finally:
            waiters.remove(waiter)
            if not waiters:
                self._waiters.pop(study_id, None)
                self._seen.pop(study_id, None)
            elif in_turn and waiter.woken.is_set():
                self._wake_next(study_id)

    async def close(self) -> None:
        """End the looks; one that asks the database is waited for."""
        if self._looking is not None:
            if not self._reads:
                self._looking.cancel()
            await asyncio.wait([self._looking])

    def _changed(self, study_id: str, last_event: int | None, may_free: bool) -> None:
        if study_id not in self._waiters:
            return
        self._seen[study_id] = last_event
        for waiter in self._waiters[study_id]:
            if not waiter.in_turn:
                waiter.woken.set()
        if may_free:
            self._wake_next(study_id)

    def _wake_next(self, study_id: str) -> None:
        """Wake the first request that waits in turn and is not awake."""
        for waiter in self._waiters.get(study_id, ()):
            if waiter.in_turn and not waiter.woken.is_set():
                waiter.woken.set()
                return

    async def _look(self) -> None:
        """Find what other servers have committed, as long as somebody waits."""
        try:
            while self._waiters and not self.is_closing:
                await asyncio.sleep(self._look_seconds)
                try:
                    await self._compare(list(self._waiters))
                except (Busy, Unavailable):  # the database does not answer: the next look finds what has changed
                    continue
                except Exception:
                    logger.exception("the changes of other servers could not be looked for; trying again")
            for waiters in self._waiters.values():  # the server stops
                for waiter in waiters:
                    waiter.woken.set()
        finally:
            self._looking = None

    async def _compare(self, studies: list[str]) -> None:
        self._reads = True
        try:
            found = await run_sync(self._last_events, studies)
        finally:
            self._reads = False
        for study_id in studies:
            if study_id not in self._seen or self._seen[study_id] != found.get(study_id):
                self._changed(study_id, found.get(study_id), may_free=True)
