"""Log lines for requests that are refused because the database cannot be used."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextvars import Context

SECONDS_BETWEEN = 10.0
"""Seconds between two lines, so that an outage does not fill the disk with its log."""
MOST_NAMED = 5
"""The maximum number of different requests that a line names."""

logger = logging.getLogger(__name__)


class RefusalLog:
    """Logs a warning for the first refused request, and then one per interval with the further ones. Only the thread of
    the event loop may use it."""

    def __init__(self, seconds_between: float = SECONDS_BETWEEN) -> None:
        """Create it; ``seconds_between`` is the interval between two lines."""
        self._seconds_between = seconds_between
        self._requests: Counter[str] = Counter()
        self._cause = self._last_id = ""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_counting(self) -> bool:
        """Whether the next request is counted instead of logged."""
        return self._timer is not None

    def refused(self, request: str, request_id: str, cause: str) -> None:
        """Log or count a refused request.

        Args:
            request: method and path.
            request_id: id of the request, which clients get and which the log of requests has.
            cause: why the database cannot be used.
        """
        if not self.is_counting:
            logger.warning("%s was refused with a 503: %s", request, cause)
            self._schedule()
            return
        self._requests[request] += 1
        self._cause, self._last_id = cause, request_id

    def flush(self) -> None:
        """Log the requests counted since the last line."""
        if not self._requests:
            return
        number = self._requests.total()
        named = [f"{count} x {request}" for request, count in self._requests.most_common(MOST_NAMED)]
        unnamed = len(self._requests) - len(named)
        logger.warning(
            "%d more requests were refused with a 503 (%s%s; id of the last: %s): %s",
            number,
            ", ".join(named),
            f" and {unnamed} other paths" if unnamed else "",
            self._last_id,
            self._cause,
        )
        self._requests.clear()

    def _schedule(self) -> None:
        loop, empty = asyncio.get_running_loop(), Context()  # a later line must not have the facts of this request
        self._timer = loop.call_later(self._seconds_between, self._end_interval, context=empty)

    def _end_interval(self) -> None:
        self._timer = None
        if self._requests:
            self.flush()
            self._schedule()
