"""A token bucket: it limits the average rate of spending, and allows bursts."""

from __future__ import annotations

import math

from adabkb_service.errors import RateLimit


class Bucket:
    """An amount that grows at a constant rate, up to its growth in one window (the quota).

    In a period of length T, at most ``quota * (1 + T / window)`` is spent, if each amount is spent only while the
    bucket holds it.

    Args:
        name: name of the resource.
        rate: growth per second.
        window: seconds in which an empty bucket fills.
        now: current time in seconds.
    """

    def __init__(self, name: str, rate: float, window: float, now: float) -> None:
        self.rate = rate
        self._name = name
        self._window = window
        self._quota = rate * window
        self._amount = self._quota
        self._at = now

    def fill(self, now: float) -> None:
        """Add the growth since the last call."""
        self._amount = min(self._amount + (now - self._at) * self.rate, self._quota)
        self._at = now

    def holds(self, amount: float) -> bool:
        """Return whether this amount may be spent."""
        return self._amount >= amount

    def spend(self, amount: float) -> None:
        """Spend an amount. The remaining amount may become negative."""
        self._amount -= amount

    def rate_limit(self, amount: float = 0.0) -> RateLimit:
        """Return the remaining amount, and the seconds until the bucket holds ``amount`` or, if that is 0, until it is
        full."""
        missing = (amount or self._quota) - self._amount
        return RateLimit(
            self._name,
            quota=math.ceil(self._quota),
            window=math.ceil(self._window),
            left=max(math.floor(self._amount), 0),
            reset=max(math.ceil(missing / self.rate), 0),
        )
