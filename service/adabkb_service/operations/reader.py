"""Somebody who waits for answers of models: until a deadline, and for as long as they are connected."""

from __future__ import annotations

import time
from concurrent.futures import Future
from contextvars import ContextVar
from threading import Lock
from typing import Any


class Reader:
    """One reader. The event loop says when they have left; a thread waits for their answers."""

    def __init__(self, seconds: float) -> None:
        """Args:
        seconds: how long the reader waits.
        """
        self._deadline = time.monotonic() + seconds
        self._guard = Lock()
        self._future: Future[Any] | None = None
        self._has_left = False

    @property
    def seconds_left(self) -> float:
        """Until the deadline, at least 0."""
        return max(self._deadline - time.monotonic(), 0.0)

    def waits_for(self, future: Future[Any]) -> None:
        """Cancel this future when the reader leaves, at once if they have left."""
        with self._guard:
            self._future = future
            if self._has_left:
                future.cancel()

    def leave(self) -> None:
        """The reader is gone."""
        with self._guard:
            self._has_left = True
            if self._future is not None:
                self._future.cancel()


READER: ContextVar[Reader | None] = ContextVar("READER", default=None)
"""The reader for whom the current thread asks a model; None in commands."""
