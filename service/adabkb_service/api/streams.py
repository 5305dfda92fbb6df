"""Event streams: how many there are, and when their studies have changed. One query asks for all of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from anyio.to_thread import run_sync

from adabkb_service.access.caller import Caller
from adabkb_service.access.concurrency import STREAMS, Concurrency
from adabkb_service.errors import Busy, StudyNotFound
from adabkb_service.operations import read
from adabkb_service.operations.service import Service

POLL_SECONDS = 0.5


class Streams:
    """The event streams of a server. Used by its event loop alone.

    Args:
        service: the service.
        most: streams that may go on at a time.
        concurrency: how many each user may have.
    """

    def __init__(self, service: Service, most: int, concurrency: Concurrency) -> None:
        self._service = service
        self._most = most
        self._concurrency = concurrency
        self._count = 0
        self._watched: Counter[str] = Counter()
        self._look: asyncio.Task[dict[str, int]] | None = None
        """The next look at all studies that are watched."""
        self._reads = False
        """Whether it asks the database already."""

    def check(self, caller: Caller) -> None:
        """Refuse one more stream if there are too many.

        Raises:
            Busy: there are.
            TooManyAtOnce: of this user.
        """
        self._concurrency.check(STREAMS, caller)
        if self._count >= self._most:
            raise Busy(
                f"The server has {self._most:,} event streams, which is as many as it may have; try again later."
            )

    @contextmanager
    def one(self, study_id: str, caller: Caller) -> Iterator[None]:
        """A stream of a study, which goes on as long as the block.

        Raises:
            Busy, TooManyAtOnce: there are too many, which began since ``check``.
        """
        self.check(caller)
        self._count += 1
        self._watched[study_id] += 1
        try:
            with self._concurrency.hold(STREAMS, caller):
                yield
        finally:
            self._count -= 1
            self._watched[study_id] -= 1
            if not self._watched[study_id]:
                del self._watched[study_id]

    async def head(self, study_id: str) -> int:
        """The last event of a study, half a second from now at the latest.

        Raises:
            StudyNotFound: the study is gone.
        """
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(self._look_soon())
        heads = await asyncio.shield(self._look)
        if study_id not in heads:
            raise StudyNotFound(study_id)
        return heads[study_id]

    async def close(self) -> None:
        """Wait for the look that reads, and give up the one that has not begun to."""
        if self._look is not None:
            if not self._reads:
                self._look.cancel()
            await asyncio.wait([self._look])

    async def _look_soon(self) -> dict[str, int]:
        self._reads = False
        await asyncio.sleep(POLL_SECONDS)
        self._reads = True
        return await run_sync(read.heads, self._service, list(self._watched))
