"""A token bucket: what may be spent at a steady rate, with a reserve for bursts."""

from __future__ import annotations

import math

from adabkb_service.errors import RateLimit


class Bucket:
    """Holds an amount, which grows with time up to the quota of a window.

    So in any time T no more than ``quota * (1 + T / window)`` is spent.

    Args:
        name: of what is spent.
        rate: by which it grows, per second.
        window: seconds in which an empty bucket fills.
        now: the time in seconds.
    """

    def __init__(self, name: str, rate: float, window: float, now: float) -> None:
        self.rate = rate
        self._name = name
        self._window = window
        self._quota = rate * window
        self._amount = self._quota
        self._at = now

    def fill(self, now: float) -> None:
        """Let it grow up to a time."""
        self._amount = min(self._amount + (now - self._at) * self.rate, self._quota)
        self._at = now

    def holds(self, amount: float) -> bool:
        """Whether so much may be spent."""
        return self._amount >= amount

    def spend(self, amount: float) -> None:
        """Take an amount, of which it may hold less: then it is in debt."""
        self._amount -= amount

    def standing(self, amount: float = 0.0) -> RateLimit:
        """What is left; and when there will be an amount, or all of it if that is 0."""
        missing = (amount or self._quota) - self._amount
        return RateLimit(
            self._name,
            quota=math.ceil(self._quota),
            window=math.ceil(self._window),
            left=max(math.floor(self._amount), 0),
            reset=max(math.ceil(missing / self.rate), 0),
        )
