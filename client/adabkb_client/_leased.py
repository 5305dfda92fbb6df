"""A leased trial, whether its lease is kept by a thread or by a task."""

import os
import socket
from collections.abc import Mapping
from typing import Any

from adabkb_client._models import Answer, Trial
from adabkb_client.errors import Invalid

LEASE_SECONDS = 120.0
"""Length of a lease that is renewed: if its process is killed, the trial is issued again soon."""
RENEW_AT = 1 / 3
"""Share of a lease after which it is renewed, so that there is time for further attempts."""
RENEW_AGAIN = 0.05
"""Share of a lease between further attempts when a renewal has failed."""
REASON_LENGTH = 1000
MISTAKES = (ImportError, NameError, SyntaxError)
"""Errors that the program has, wherever it evaluates. The trial is given back, not failed."""
MISTAKES_AT_FIRST = (AttributeError, KeyError, TypeError, Invalid)
"""Errors that the program has if they come before its first success. Later they may be of a single point, and fail its
trial. A ``WrongResult`` is a TypeError."""
OPTUNAS = ("suggest_", "should_prune", "set_user_attr")
"""The beginnings of names of methods of Optuna's trials."""

STOP_VARIABLE = "ADABKB_STOP_SECONDS"
DEFAULT_STOP_SECONDS = 5.0


class Leased:
    """A trial that this process holds, and its outcome once it was reported."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.outcome: Answer | None = None
        """The server's response to the result, the failure or the release, once one of them was reported; or to the
        report after which the trial is stopped."""
        self.unsent: list[Mapping[str, Any]] = []
        """Reports in wire form that wait for the server."""
        self._attributes: Mapping[str, Any] = trial.attributes

    def __getattr__(self, name: str) -> Any:
        """Raise an error that explains the remedy to a program written for Optuna's trials.

        Raises:
            AttributeError: always, as there is no such attribute.
        """
        what = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name.startswith(OPTUNAS):
            what = f"a trial of this service has no {name}: {for_optuna()}"
        raise AttributeError(what, name=name, obj=self)

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
        """Its attributes, as they were when it was issued or last set here."""
        return dict(self._attributes)

    def _set_here(self, answer: Answer) -> None:
        if answer.trial is not None:
            self._attributes = answer.trial.attributes


def this_worker() -> str:
    """Return the name by which the server knows this process, unless it gives another one: host and process."""
    return f"{socket.gethostname()}:{os.getpid()}"


def is_mistake(error: BaseException, *, has_succeeded: bool) -> bool:
    """Whether an error of a function is a mistake of the program, which costs no trial.

    Args:
        error: what the function raised, or what is wrong with its result.
        has_succeeded: whether the run has got a result of the function before.
    """
    return isinstance(error, MISTAKES) or (not has_succeeded and isinstance(error, MISTAKES_AT_FIRST))


def for_optuna() -> str:
    """Return the remedy for an objective that is written for Optuna."""
    return (
        "this function is written for Optuna. Take the parameters of the study as arguments, `def objective(x, y):`, "
        "and leave pass_trial out. Or run the function as it is: `study.optimize(objective)`"
    )


def in_words(error: BaseException) -> str:
    """Return the reason of a trial that an exception fails."""
    return printable(f"{type(error).__name__}: {error}")


def printable(reason: str) -> str:
    """Return the reason in a form that the server accepts: no NUL, no lone surrogate, not too long."""
    return reason.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()[:REASON_LENGTH]


def stop_seconds() -> float:
    """Return the seconds for which it gives trials back, and waits for its programs: ``ADABKB_STOP_SECONDS``, or 5.

    Raises:
        ValueError: the variable is not a positive number.
    """
    text = os.environ.get(STOP_VARIABLE, "")
    try:
        seconds = float(text) if text else DEFAULT_STOP_SECONDS
    except ValueError:
        seconds = 0.0
    if not seconds > 0.0:
        raise ValueError(f"the environment variable {STOP_VARIABLE} must be a positive number of seconds, not {text!r}")
    return seconds
