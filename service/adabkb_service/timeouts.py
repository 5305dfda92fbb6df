"""Timeouts between the parts of a server, in seconds; set by the server's settings."""

from __future__ import annotations

from dataclasses import dataclass

UNHURRIED = 3600.0
"""For commands and tests, which wait for an answer as long as it takes."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Longest waits in seconds. The defaults are effectively unlimited."""

    suggestion: float = UNHURRIED
    """A suggestion waits for the model; then this and further ones get quasi-random points until the model replies."""
    follow: float = UNHURRIED
    """A GET or PATCH of a study waits for the model to fold the latest results; then it shows earlier statistics."""
    request: float = UNHURRIED
    """A request waits for its batch, and a question for its answer; then it is refused and may be retried."""
    contention: float = UNHURRIED
    """A transaction is retried while other servers commit first."""
    decision: float = UNHURRIED
    """The model decides on the points of one suggestion; it finishes the current point."""

    @property
    def outcome(self) -> float:
        """Longest wait of a caller for the outcome of a request; exceeds the duration of all its parts."""
        return 6.0 * self.request
