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
class Resource:
    """Something of which only a limited number may be in use at a time."""

    name: str
    user_setting: str
    """Setting with the limit per user."""
    setting: str | None = None
    """Setting with the limit of the server."""


REQUESTS = Resource("requests", "user_requests")  # no limit per server: ConnectionLimits limits connections instead
STREAMS = Resource("event streams", "user_streams", "streams")
WAITS = Resource("requests that wait for a trial", "user_waits", "waits")
KINDS = (REQUESTS, STREAMS, WAITS)


class Concurrency:
    """Counts what each user has in use. Used only by the event loop of a server. Requests with a share link count for
    the owner of the study.

    Args:
        most: setting -> limit.
    """

    def __init__(self, most: Mapping[str, int]) -> None:
        self._most = most
        self._counts: Counter[tuple[Resource, str]] = Counter()

    def is_full(self, resource: Resource, caller: Caller) -> bool:
        """Return whether the server or the user has reached the limit."""
        try:
            self.check(resource, caller)
        except (Busy, TooManyAtOnce):
            return True
        return False

    def check(self, resource: Resource, caller: Caller) -> None:
        """Raise an error if one more use would exceed a limit. Without authentication, only the server's limit applies.

        Raises:
            TooManyAtOnce: the user has reached the limit.
            Busy: the server has reached the limit.
        """
        if caller.user is not None and self._counts[resource, caller.user] >= self._most[resource.user_setting]:
            raise TooManyAtOnce(caller.user, resource.name, self._most[resource.user_setting], resource.user_setting)
        if resource.setting is None:
            return
        most = self._most[resource.setting]
        if sum(count for (used, _), count in self._counts.items() if used == resource) >= most:
            raise Busy(f"The server has reached its limit of {most:,} {resource.name}; try again later.")

    @contextmanager
    def hold(self, resource: Resource, caller: Caller) -> Iterator[None]:
        """Count one more use within the block.

        Raises:
            TooManyAtOnce, Busy: see ``check``.
        """
        self.check(resource, caller)
        key = resource, caller.user or ""
        self._counts[key] += 1
        try:
            yield
        finally:
            self._counts[key] -= 1
            if not self._counts[key]:
                del self._counts[key]
