"""The time, passed in so that tests can move it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def utc_now() -> datetime:
    """Now, in UTC, by this machine's clock."""
    return datetime.now(UTC)


def uptime() -> timedelta:
    """Time since the machine started, time asleep included where the system counts it."""
    return timedelta(seconds=time.clock_gettime(CLOCK))


READINGS = 5
"""Readings of the source, of which the quickest counts. The first one may wait for a connection to the database."""
TOLERATED = timedelta(seconds=0.1)
"""Difference from the source that is left as it is: readings differ by as much on a busy machine."""
CATCHING_UP = 1.0
"""Seconds that a clock may gain in a second while it follows its source."""
FALLING_BACK = 0.5
"""Seconds that it may lose in a second."""


class SteadyClock:
    """A clock that reads its source when it is first asked. Between two readings the time passes by the processor.

    If the source was set meanwhile, the clock follows it gradually: it runs at most twice as fast, or at least half as
    fast, and never goes back. So a worker that renews its lease in time keeps it, and all servers of a database agree
    again after a while. Clocks of several servers that read the same source differ by less than their readings took.
    """

    def __init__(self, source: Clock, uptime: Callable[[], timedelta] = uptime) -> None:
        self._source = source
        self._uptime = uptime
        self._course: _Course | None = None

    def __call__(self) -> datetime:
        """Now, in UTC."""
        course, uptime = self._begun(), self._uptime()
        return EPOCH + uptime + course.offset_at(uptime)

    def follow(self) -> timedelta:
        """Read the source again, and approach it from now on.

        Returns:
            How far the source is ahead of this clock; negative if it is behind.
        """
        course, read, uptime = self._begun(), self._read(), self._uptime()
        offset = course.offset_at(uptime)
        ahead = read - offset
        self._course = _Course(uptime, offset, ahead if abs(ahead) > TOLERATED else timedelta(0))
        return ahead

    def _begun(self) -> _Course:
        """The course; the source is read for it if that was never done."""
        if self._course is None:
            self._course = _Course(self._uptime(), self._read(), timedelta(0))
        return self._course

    def _read(self) -> timedelta:
        """What the source showed when the processor's clock was at 0, by the quickest of several readings."""
        return min(self._timed() for _ in range(READINGS))[1]

    def _timed(self) -> tuple[timedelta, timedelta]:
        """How long a reading took, and what the source showed when the processor's clock was at 0."""
        asked = self._uptime()
        shown = self._source()
        answered = self._uptime()
        return answered - asked, shown - EPOCH - (asked + answered) / 2


@dataclass(frozen=True, slots=True)
class _Course:
    """How a clock goes from its last reading on."""

    since: timedelta
    """By the processor's clock."""
    offset: timedelta
    """What the clock showed when the processor's clock was at 0, as of ``since``."""
    ahead: timedelta
    """How far the source was ahead then."""

    def offset_at(self, uptime: timedelta) -> timedelta:
        passed = uptime - self.since
        return self.offset + min(max(self.ahead, -FALLING_BACK * passed), CATCHING_UP * passed)
