"""What each user has spent, in the memory of this server: no request asks the database for it.

Requests and model time are counted by each server for itself, so that a user gets so much of each. What is stored is
read when a token is asked for anew, every few seconds, and what this server adds meanwhile is counted with it.
"""

from __future__ import annotations

import operator
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial

from cachetools import LRUCache
from sqlalchemy import Connection

from adabkb_service.access.bucket import Bucket
from adabkb_service.access.caller import Caller
from adabkb_service.access.quotas import Quotas
from adabkb_service.errors import RateLimit, TooManyRequests
from adabkb_service.storage import usage
from adabkb_service.storage.usage import Usage

REQUESTS_WINDOW = 10.0
"""Seconds over which requests may be uneven, or as many as one request needs."""
MODEL_WINDOW = 60.0
"""Seconds over which the work of models may be."""
USAGE_SECONDS = 1.0
"""How old what was read of a user's storage may be, when a token is asked for anew."""
MOST = 10_000
"""Tokens, users and studies that are remembered."""

Spend = Callable[[Usage], Callable[[], None]]
"""Called with what a request adds; returns a function that takes it back if it is not committed.

Raises ``QuotaExceeded`` if it is too much."""


class Meter:
    """Counts for all tokens.

    Args:
        timer: seconds.
    """

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
        self._timer = timer
        self._guard = threading.Lock()
        self._requests: LRUCache[str, Bucket] = LRUCache(MOST)
        self._models: LRUCache[str, Bucket] = LRUCache(MOST)
        self._payers: LRUCache[str, str] = LRUCache(MOST)
        """Study -> who last let its model work, and pays."""
        self._stored: LRUCache[str, tuple[float, Usage]] = LRUCache(MOST)
        """User -> when what they have was read, and what that is by now."""

    def request(self, caller: Caller) -> RateLimit | None:
        """Count a request.

        Returns:
            What is left, or None for a token without such a quota.

        Raises:
            TooManyRequests: nothing is.
        """
        rate = None if caller.quotas is None else caller.quotas.requests_per_second
        if rate is None:
            return None
        with self._guard:
            bucket = self._bucket(self._requests, "requests", caller, rate, max(REQUESTS_WINDOW, 1.0 / rate))
            if not bucket.holds(1.0):
                raise TooManyRequests(f"{_who(caller)} has {rate:g} requests a second.", bucket.standing(1.0))
            bucket.spend(1.0)
            return bucket.standing()

    def let_model_work(self, caller: Caller, study_id: str) -> None:
        """Let a user pay for what the model of a study does from now on.

        Raises:
            TooManyRequests: nothing is left.
        """
        with self._guard:
            bucket = self._processor(caller)
            if bucket is None:
                self._payers.pop(study_id, None)
                return
            self._payers[study_id] = caller.payer
            _check_left(caller, bucket)

    def let_work(self, caller: Caller) -> None:
        """Let a user pay for a processor of the server itself; ``worked`` says how long.

        Raises:
            TooManyRequests: nothing is left.
        """
        with self._guard:
            if bucket := self._processor(caller):
                _check_left(caller, bucket)

    def worked(self, caller: Caller, seconds: float) -> None:
        """The server has worked for a user for so many seconds of a processor."""
        with self._guard:
            if bucket := self._processor(caller):
                bucket.spend(seconds)

    def charge(self, seconds: Mapping[str, float]) -> None:
        """Models of studies have worked for so many seconds of a processor."""
        with self._guard:
            for study_id, spent in seconds.items():
                bucket = self._models.get(self._payers.get(study_id, ""))
                if bucket is not None:
                    bucket.fill(self._timer())
                    bucket.spend(spent)

    def read_storage(self, connection: Connection, caller: Caller) -> None:
        """Read what a user has, if there is a quota for it and it was not read a moment ago."""
        if caller.user is None or caller.quotas is None or not caller.quotas.limit_storage:
            return
        now = self._timer()
        with self._guard:
            read_at, _ = self._stored.get(caller.user, (now - USAGE_SECONDS, None))
        if now - read_at >= USAGE_SECONDS:
            found = usage.of_user(connection, caller.user)
            with self._guard:
                self._stored[caller.user] = now, found

    def spending(self, caller: Caller) -> Spend | None:
        """What a request has to call before it adds something; None without a quota for it."""
        if caller.user is None or caller.quotas is None or not caller.quotas.limit_storage:
            return None
        return partial(self._spend, caller.user, caller.quotas)

    def _spend(self, user: str, quotas: Quotas, more: Usage) -> Callable[[], None]:
        with self._guard:
            if user not in self._stored:
                return partial(self._refund, user, more, None)
            read_at, found = self._stored[user]
            quotas.check(found, more)
            self._stored[user] = read_at, Usage(*map(operator.add, found, more))
            return partial(self._refund, user, more, read_at)

    def _refund(self, user: str, less: Usage, read_at: float | None) -> None:
        """Take back what was added, unless the database was read meanwhile."""
        with self._guard:
            if user in self._stored and self._stored[user][0] == read_at:
                self._stored[user] = read_at, Usage(*map(operator.sub, self._stored[user][1], less))

    def _processor(self, caller: Caller) -> Bucket | None:
        """The bucket of processor seconds; None without such a quota."""
        per_minute = None if caller.quotas is None else caller.quotas.model_seconds_per_minute
        if per_minute is None:
            return None
        return self._bucket(self._models, "model-seconds", caller, per_minute / 60.0, MODEL_WINDOW)

    def _bucket(self, buckets: LRUCache[str, Bucket], name: str, caller: Caller, rate: float, window: float) -> Bucket:
        """The bucket of who pays, a new one if the quota has changed."""
        now = self._timer()
        bucket = buckets.get(caller.payer)
        if bucket is None or bucket.rate != rate:
            bucket = buckets[caller.payer] = Bucket(name, rate, window, now)
        bucket.fill(now)
        return bucket


def _check_left(caller: Caller, bucket: Bucket) -> None:
    """Refuse to work for a user who has used up the processor seconds.

    Raises:
        TooManyRequests: they have.
    """
    if not bucket.holds(0.0):
        per_minute = bucket.rate * 60.0
        detail = f"{_who(caller)} has {per_minute:g} seconds of a processor a minute, and its requests took more."
        raise TooManyRequests(detail, bucket.standing(min(1.0, bucket.rate)))


def _who(caller: Caller) -> str:
    return "The token" if caller.payer == caller.token else f"User {caller.user!r}"
