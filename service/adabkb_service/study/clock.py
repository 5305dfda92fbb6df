"""The time, passed in so that tests can move it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Now, in UTC, by this machine's clock."""
    return datetime.now(UTC)


class SteadyClock:
    """A clock that is read once, when it is first asked; from then on the time passes by the processor.

    So leases last as long as they should although somebody sets the clock meanwhile.
    """

    def __init__(self, source: Clock) -> None:
        self._source = source
        self._offset: timedelta | None = None
        """What the source showed when the processor's clock was at 0."""

    def __call__(self) -> datetime:
        """Now, in UTC."""
        if self._offset is None:
            asked = _uptime()
            shown = self._source()
            self._offset = shown - EPOCH - (asked + _uptime()) / 2  # reading it may take a while
        return EPOCH + self._offset + _uptime()


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def _uptime() -> timedelta:
    """Since the machine started, time asleep included where the system counts it."""
    return timedelta(seconds=time.clock_gettime(CLOCK))
