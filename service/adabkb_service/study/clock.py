"""Clocks. Code that needs the time gets one as an argument, so that tests can control it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def utc_now() -> datetime:
    """Return the current time in UTC, by this machine's clock."""
    return datetime.now(UTC)


def uptime() -> timedelta:
    """Return the time since boot, including suspended time where the system counts it."""
    return timedelta(seconds=time.clock_gettime(CLOCK))


READINGS = 5
"""The source is read this many times, and the quickest reading is used. The first one may wait for a database
connection."""
TOLERATED = timedelta(seconds=0.1)
"""Largest difference from the source that is not corrected: readings on a busy machine differ by as much."""
CATCHING_UP = 1.0
"""Seconds that the clock may gain per second while it catches up with its source."""
FALLING_BACK = 0.5
"""Seconds that the clock may lose per second."""


class SteadyClock:
    """A clock that reads its source, and between readings advances with the machine's uptime.

    If the source was adjusted, the clock approaches it gradually: it runs at most at double and at least at half speed,
    and never goes back. So a worker that renews its lease in time keeps it, and all servers of a database agree again
    after a while. Then each clock differs from its source by at most ``TOLERATED`` and the duration of a reading.
    """

    def __init__(self, source: Clock, uptime: Callable[[], timedelta] = uptime) -> None:
        self._source = source
        self._uptime = uptime
        self._correction: _Correction | None = None

    def __call__(self) -> datetime:
        """Return the current time in UTC."""
        correction, uptime = self._current_correction(), self._uptime()
        return EPOCH + uptime + correction.offset_at(uptime)

    def follow(self) -> timedelta:
        """Read the source again and start to approach it.

        Returns:
            How far the source is ahead of this clock; negative if it is behind.
        """
        correction, read, uptime = self._current_correction(), self._read(), self._uptime()
        offset = correction.offset_at(uptime)
        ahead = read - offset
        self._correction = _Correction(uptime, offset, ahead if abs(ahead) > TOLERATED else timedelta(0))
        return ahead

    def _current_correction(self) -> _Correction:
        """Return the current correction. Read the source on first use."""
        if self._correction is None:
            self._correction = _Correction(self._uptime(), self._read(), timedelta(0))
        return self._correction

    def _read(self) -> timedelta:
        """Return the source's time at uptime 0, from the quickest of several readings."""
        return min(self._read_once() for _ in range(READINGS))[1]

    def _read_once(self) -> tuple[timedelta, timedelta]:
        """Return the duration of a reading, and the source's time at uptime 0."""
        asked = self._uptime()
        shown = self._source()
        answered = self._uptime()
        return answered - asked, shown - EPOCH - (asked + answered) / 2


@dataclass(frozen=True, slots=True)
class _Correction:
    """How the clock advances after its last reading."""

    since: timedelta
    """Uptime at the reading."""
    offset: timedelta
    """The clock's time at uptime 0, as of ``since``."""
    ahead: timedelta
    """How far the source was ahead at the reading."""

    def offset_at(self, uptime: timedelta) -> timedelta:
        passed = uptime - self.since
        return self.offset + min(max(self.ahead, -FALLING_BACK * passed), CATCHING_UP * passed)
