"""How long the parts of a server wait for each other, in seconds. The settings of a server say so."""

from __future__ import annotations

from dataclasses import dataclass

UNHURRIED = 3600.0
"""For commands and tests, which need an answer however long it takes."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Largest waits, in seconds. By default none times out."""

    suggestion: float = UNHURRIED
    """A suggestion waits for the model; then its points are quasi-random, as are those of others until it replies."""
    follow: float = UNHURRIED
    """A GET or PATCH of a study waits for the model to fold the latest results; then it shows earlier figures."""
    request: float = UNHURRIED
    """A request waits for its turn, and a question for the answer of the model; then it is refused, to be repeated."""
    contention: float = UNHURRIED
    """A transaction is repeated while other servers commit first."""
    decision: float = UNHURRIED
    """The model decides on the points of one suggestion; the one at work is finished."""

    @property
    def outcome(self) -> float:
        """A caller waits for the outcome of a request, whatever happens to it: longer than any part of it takes."""
        return 6.0 * self.request
