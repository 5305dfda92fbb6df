"""A leased trial, whether its lease is kept by a thread or by a task."""

from collections.abc import Mapping
from typing import Any

from adabkb_client.models import Answer, Trial
from adabkb_client.plain import NotANumber

LEASE_SECONDS = 120.0
"""Length of a lease that is renewed: if its process is killed, the trial is handed out again soon."""
RENEW_AT = 1 / 3
"""Share of a lease after which it is renewed, so that there is time for further attempts."""
RENEW_AGAIN = 0.05
"""Share of a lease between further attempts when a renewal has failed."""
REASON_LENGTH = 1000
MISTAKES = (ImportError, NameError, SyntaxError, NotANumber)
"""Errors that the program has, wherever it evaluates. The trial is given back, not failed."""


class Leased:
    """A trial that this process holds, and its outcome once it was reported."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.outcome: Answer | None = None
        """What the server answered to the result, the failure or the release, once one of them was reported; or to the
        report after which the trial is stopped."""
        self.unsent: list[Mapping[str, Any]] = []
        """Reports in wire form that wait for the server."""
        self._attributes: Mapping[str, Any] = trial.attributes

    @property
    def settled(self) -> bool:
        """Whether the outcome was reported."""
        return self.outcome is not None

    def should_stop(self) -> bool:
        """Whether the answer to the last report was to stop. Then the trial is over, and needs no result."""
        return self.outcome is not None and self.outcome.trial is not None and self.outcome.trial.state == "stopped"

    @property
    def number(self) -> int:
        """The trial's number."""
        return self.trial.number

    @property
    def parameters(self) -> dict[str, Any]:
        """Where to evaluate the objective."""
        return dict(self.trial.parameters)

    @property
    def attributes(self) -> dict[str, Any]:
        """Its attributes, as they were when it was handed out or last set here."""
        return dict(self._attributes)

    def _set_here(self, answer: Answer) -> None:
        if answer.trial is not None:
            self._attributes = answer.trial.attributes


def in_words(error: BaseException) -> str:
    """Return the reason of a trial that an exception fails."""
    return printable(f"{type(error).__name__}: {error}")


def printable(reason: str) -> str:
    """Return the reason in a form that the server accepts: no NUL, no lone surrogate, not too long."""
    return reason.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()[:REASON_LENGTH]
