"""A client that waits for answers of models. The wait ends at a deadline, or when the client disconnects."""

from __future__ import annotations

import time
from concurrent.futures import Future
from contextvars import ContextVar
from threading import Lock
from typing import Any


class Reader:
    """A client for which a thread waits for answers. The event loop calls ``leave`` when the client disconnects."""

    def __init__(self, seconds: float) -> None:
        """Args:
        seconds: the time until the deadline.
        """
        self._deadline = time.monotonic() + seconds
        self._guard = Lock()
        self._future: Future[Any] | None = None
        self._has_left = False

    @property
    def seconds_left(self) -> float:
        """The seconds until the deadline, at least 0."""
        return max(self._deadline - time.monotonic(), 0.0)

    def waits_for(self, future: Future[Any]) -> None:
        """Cancel a future when the client disconnects, or now if it already has."""
        with self._guard:
            self._future = future
            if self._has_left:
                future.cancel()

    def leave(self) -> None:
        """Cancel the future, since the client has disconnected."""
        with self._guard:
            self._has_left = True
            if self._future is not None:
                self._future.cancel()


READER: ContextVar[Reader | None] = ContextVar("READER", default=None)
"""The client for which the current thread queries a model; None if there is no client, as in commands of ``adabkb``."""
