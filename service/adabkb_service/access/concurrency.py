"""Limits on concurrent requests, event streams and requests that wait for a trial, per server and per user, so that no
user exhausts a server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from adabkb_service.access.caller import Caller
from adabkb_service.errors import Busy, TooManyAtOnce


@dataclass(frozen=True, slots=True)
class Kind:
    """A resource with a limited number in use at the same time."""

    name: str
    user_setting: str
    """Setting with the limit per user."""
    setting: str | None = None
    """Setting with the limit of the server."""


REQUESTS = Kind("requests", "user_requests")  # the server limits connections
STREAMS = Kind("event streams", "user_streams", "streams")
WAITS = Kind("requests that wait for a trial", "user_waits", "waits")
KINDS = (REQUESTS, STREAMS, WAITS)


class Concurrency:
    """Counts of all users. Used only by the event loop of a server. Links count for the owner of their study.

    Args:
        most: limits by setting.
    """

    def __init__(self, most: Mapping[str, int]) -> None:
        self._most = most
        self._held: Counter[tuple[Kind, str]] = Counter()

    def is_full(self, kind: Kind, caller: Caller) -> bool:
        """Whether the server or the user has reached the limit."""
        try:
            self.check(kind, caller)
        except (Busy, TooManyAtOnce):
            return True
        return False

    def check(self, kind: Kind, caller: Caller) -> None:
        """Refuse one more beyond the limit. Without authentication only the server's limit applies.

        Raises:
            TooManyAtOnce: the user has reached the limit.
            Busy: the server has reached the limit.
        """
        if caller.user is not None and self._held[kind, caller.user] >= self._most[kind.user_setting]:
            raise TooManyAtOnce(caller.user, kind.name, self._most[kind.user_setting], kind.user_setting)
        if kind.setting is None:
            return
        most = self._most[kind.setting]
        if sum(count for (held, _), count in self._held.items() if held == kind) >= most:
            raise Busy(f"The server has {most:,} {kind.name}, which is as many as it may have; try again later.")

    @contextmanager
    def hold(self, kind: Kind, caller: Caller) -> Iterator[None]:
        """Count one more within the block.

        Raises:
            TooManyAtOnce, Busy: see ``check``.
        """
        self.check(kind, caller)
        key = kind, caller.user or ""
        self._held[key] += 1
        try:
            yield
        finally:
            self._held[key] -= 1
            if not self._held[key]:
                del self._held[key]
