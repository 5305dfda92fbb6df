"""How much each user has at the same time: requests, event streams, waits. So no user takes all that a server has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from adabkb_service.access.caller import Caller
from adabkb_service.errors import TooManyAtOnce


@dataclass(frozen=True, slots=True)
class Kind:
    """Something of which a user has only so many at the same time."""

    name: str
    setting: str
    """That limits it."""


REQUESTS = Kind("requests", "user_requests")
STREAMS = Kind("event streams", "user_streams")
WAITS = Kind("requests that wait for a trial", "user_waits")


class Concurrency:
    """Counts for all users. Used by the event loop of a server alone. Links count for the owner of their study.

    Args:
        most: by setting.
    """

    def __init__(self, most: dict[str, int]) -> None:
        self._most = most
        self._held: Counter[tuple[Kind, str]] = Counter()

    def is_full(self, kind: Kind, caller: Caller) -> bool:
        """Whether a user has as many as possible. Without tokens nothing is limited."""
        return caller.user is not None and self._held[kind, caller.user] >= self._most[kind.setting]

    def check(self, kind: Kind, caller: Caller) -> None:
        """Refuse one more, if the user has as many as possible.

        Raises:
            TooManyAtOnce: they have.
        """
        if self.is_full(kind, caller):
            raise TooManyAtOnce(caller.user or "", kind.name, self._most[kind.setting], kind.setting)

    @contextmanager
    def hold(self, kind: Kind, caller: Caller) -> Iterator[None]:
        """Count one more as long as the block goes on.

        Raises:
            TooManyAtOnce: see ``check``.
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
