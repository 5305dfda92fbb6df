"""Usage per user, in the memory of this server, so that requests need no database query.

Each server counts requests and model time separately, so a user has the full quota on each of them. Storage is read
from the database when a token is checked again, every few seconds. Between these times, additions by this server are
counted.
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
from adabkb_service.access.quotas import MEGABYTE, Quotas
from adabkb_service.errors import RateLimit, TooManyRequests
from adabkb_service.storage import usage
from adabkb_service.storage.usage import Usage

REQUESTS_WINDOW = 10.0
"""Window of the quota of requests, in seconds. It is longer if the quota allows less than one request in this time."""
MODEL_WINDOW = 60.0
"""Window of the quota of model time, in seconds."""
USAGE_SECONDS = 1.0
"""When a token is checked again, its user's storage is read again if the last reading is at least this old."""
MOST = 10_000
"""The maximum number of tokens, of users and of studies in memory."""

ANSWERS_WINDOW = 24 * 3600.0
"""Time in which a user may store as many bytes of answers as the quota of megabytes allows, in seconds."""

Spend = Callable[[Usage, int], Callable[[], None]]
"""Called with what a request adds, and with the bytes of its answer if they count and the answer is stored under an
idempotency key. Returns a function that undoes the charge if the request is not committed. Raises ``QuotaExceeded`` if
the additions exceed a quota, and ``TooManyRequests`` if the stored answers do."""


class Meter:
    """Counts usage per payer: a token with its own quotas, otherwise a user.

    Args:
        timer: current time in seconds.
    """

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
        self._timer = timer
        self._guard = threading.Lock()
        self._requests: LRUCache[str, Bucket] = LRUCache(MOST)
        self._models: LRUCache[str, Bucket] = LRUCache(MOST)
        self._answers: LRUCache[str, Bucket] = LRUCache(MOST)
        self._payers: LRUCache[str, str] = LRUCache(MOST)
        """Study -> payer: who last requested work from its model."""
        self._stored: LRUCache[str, tuple[float, Usage]] = LRUCache(MOST)
        """User -> when their usage was read, and their usage including later additions."""

    def request(self, caller: Caller) -> RateLimit | None:
        """Count a request.

        Returns:
            The remaining quota, or None for a token without a request quota.

        Raises:
            TooManyRequests: the quota is used up.
        """
        rate = None if caller.quotas is None else caller.quotas.requests_per_second
        if rate is None:
            return None
        with self._guard:
            bucket = self._bucket(self._requests, "requests", caller, rate, max(REQUESTS_WINDOW, 1.0 / rate))
            if not bucket.holds(1.0):
                raise TooManyRequests(
                    f"{_who(caller)} is limited to {rate:g} requests a second.", bucket.rate_limit(1.0)
                )
            bucket.spend(1.0)
            return bucket.rate_limit()

    def set_payer(self, caller: Caller, study_id: str, *, is_read: bool = False) -> None:
        """Check a user's quota of processor time, and charge the user for the work of a study's model from now on. A
        user without such a quota is not charged. Unless the request of such a user is a read, the user who was charged
        so far is not charged any more, either.

        Raises:
            TooManyRequests: the quota is used up.
        """
        with self._guard:
            bucket = self._processor_bucket(caller)
            if bucket is None:
                if not is_read:
                    self._payers.pop(study_id, None)
                return
            self._payers[study_id] = caller.payer
            _check_left(caller, bucket)

    def check_processor_quota(self, caller: Caller) -> None:
        """Check that a user may use processor time of the server itself; ``charge_processor_time`` charges for it.

        Raises:
            TooManyRequests: the quota is used up.
        """
        with self._guard:
            if bucket := self._processor_bucket(caller):
                _check_left(caller, bucket)

    def charge_processor_time(self, caller: Caller, seconds: float) -> None:
        """Charge a user for processor seconds of the server."""
        with self._guard:
            if bucket := self._processor_bucket(caller):
                bucket.spend(seconds)

    def charge(self, seconds: Mapping[str, float]) -> None:
        """Charge the payers of studies for processor seconds of their models."""
        with self._guard:
            for study_id, spent in seconds.items():
                bucket = self._models.get(self._payers.get(study_id, ""))
                if bucket is not None:
                    bucket.fill(self._timer())
                    bucket.spend(spent)

    def read_storage(self, connection: Connection, caller: Caller) -> None:
        """Read a user's usage, if a quota exists and the last reading is too old."""
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
        """Return a function that a request calls before it adds something; None without a storage quota."""
        if caller.user is None or caller.quotas is None or not caller.quotas.limit_storage:
            return None
        return partial(self._spend, caller, caller.user, caller.quotas)

    def _spend(self, caller: Caller, user: str, quotas: Quotas, more: Usage, answer: int) -> Callable[[], None]:
        with self._guard:
            answers = self._answer_bucket(caller, quotas) if answer else None
            if answers is not None and not answers.holds(0.0):
                detail = (
                    f"{_who(caller)} has sent too many requests with an Idempotency-Key: the answers stored in a day "
                    f"exceed the quota of {quotas.megabytes:g} megabytes."
                )
                raise TooManyRequests(detail, answers.rate_limit(1.0))
            read_at = None
            if user in self._stored:
                read_at, found = self._stored[user]
                quotas.check(found, more)
                self._stored[user] = read_at, Usage(*map(operator.add, found, more))
            if answers is not None:
                answers.spend(answer)
            return partial(self._refund, user, more, read_at, answers, answer)

    def _refund(self, user: str, less: Usage, read_at: float | None, answers: Bucket | None, answer: int) -> None:
        """Undo a charge. Usage that was read from the database meanwhile does not include the addition."""
        with self._guard:
            if answers is not None:
                answers.spend(-answer)
            if user in self._stored and self._stored[user][0] == read_at:
                self._stored[user] = read_at, Usage(*map(operator.sub, self._stored[user][1], less))

    def _processor_bucket(self, caller: Caller) -> Bucket | None:
        """Return the bucket of processor seconds; None without such a quota."""
        per_minute = None if caller.quotas is None else caller.quotas.model_seconds_per_minute
        if per_minute is None:
            return None
        return self._bucket(self._models, "model-seconds", caller, per_minute / 60.0, MODEL_WINDOW)

    def _answer_bucket(self, caller: Caller, quotas: Quotas) -> Bucket | None:
        """Return the bucket of bytes of stored answers; None without a quota of megabytes."""
        if quotas.megabytes is None:
            return None
        rate = max(quotas.megabytes * MEGABYTE, 1.0) / ANSWERS_WINDOW
        return self._bucket(self._answers, "stored-answers", caller, rate, ANSWERS_WINDOW)

    def _bucket(self, buckets: LRUCache[str, Bucket], name: str, caller: Caller, rate: float, window: float) -> Bucket:
        """Return the payer's bucket; a new one if the quota has changed."""
        now = self._timer()
        bucket = buckets.get(caller.payer)
        if bucket is None or bucket.rate != rate:
            bucket = buckets[caller.payer] = Bucket(name, rate, window, now)
        bucket.fill(now)
        return bucket


def _check_left(caller: Caller, bucket: Bucket) -> None:
    """Refuse work for a user who has used up the processor seconds.

    Raises:
        TooManyRequests: the quota is used up.
    """
    if not bucket.holds(0.0):
        per_minute = bucket.rate * 60.0
        detail = (
            f"{_who(caller)} is limited to {per_minute:g} processor seconds a minute for models and large requests "
            "(model_seconds_per_minute), and has used more."
        )
        raise TooManyRequests(detail, bucket.rate_limit(min(1.0, bucket.rate)))


def _who(caller: Caller) -> str:
    return "The token" if caller.payer == caller.token else f"User {caller.user!r}"
