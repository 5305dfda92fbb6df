"""The time, passed in so that tests can move it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Now, in UTC, by this machine's clock."""
    return datetime.now(UTC)


READINGS = 5
"""Readings of the source, of which the quickest counts. The first one may wait for a connection to the database."""


class SteadyClock:
    """A clock whose source is read when it is first asked; from then on the time passes by the processor.

    So leases last as long as they should although somebody sets the clock meanwhile. Clocks of several servers that
    read the same source differ by less than their readings took.
    """

    def __init__(self, source: Clock) -> None:
        self._source = source
        self._offset: timedelta | None = None
        """What the source showed when the processor's clock was at 0."""

    def __call__(self) -> datetime:
        """Now, in UTC."""
        if self._offset is None:
            _, self._offset = min(self._read() for _ in range(READINGS))
        return EPOCH + self._offset + _uptime()

    def _read(self) -> tuple[timedelta, timedelta]:
        """How long a reading took, and what the source showed when the processor's clock was at 0."""
        asked = _uptime()
        shown = self._source()
        answered = _uptime()
        return answered - asked, shown - EPOCH - (asked + answered) / 2


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def _uptime() -> timedelta:
    """Since the machine started, time asleep included where the system counts it."""
    return timedelta(seconds=time.clock_gettime(CLOCK))
