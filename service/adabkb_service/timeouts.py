"""Timeouts between the parts of a server, in seconds; set by the server's settings."""

from __future__ import annotations

from dataclasses import dataclass

UNLIMITED_SECONDS = 3600.0
"""Effectively no limit: an hour, longer than any wait of commands and tests."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts in seconds. The defaults are effectively unlimited."""

    suggestion: float = UNLIMITED_SECONDS
    """How long a suggestion waits for the model. After that, points are quasi-random until the model replies."""
    follow: float = UNLIMITED_SECONDS
    """How long a GET or PATCH of a study waits for the model to process the latest results. After that, it returns the
    previous statistics."""
    request: float = UNLIMITED_SECONDS
    """How long a request waits for its batch, or a query for the model's answer. After that, it is refused and may be
    retried."""
    contention: float = UNLIMITED_SECONDS
    """How long a transaction is retried while other servers commit first."""
    decision: float = UNLIMITED_SECONDS
    """How long the model may decide on the points of one suggestion. After that, it only completes the point that it
    has begun."""

    @property
    def read(self) -> float:
        """How long a GET of a study waits for its batch, longer than for the model. After that, it returns the study as
        stored."""
        return 2.0 * self.follow

    @property
    def outcome(self) -> float:
        """The maximum time that a caller waits for the outcome of a request, longer than all its parts."""
        return 6.0 * self.request
