"""A leased trial, whose lease is renewed by a thread or by a task."""

import logging
import os
import socket
from collections.abc import Mapping
from time import monotonic
from typing import Any

from adabkb_client._models import Answer, Trial
from adabkb_client._objects import OPTUNAS, Hinting, Shown, for_optuna, of_point
from adabkb_client.errors import (
    AdaBKBError,
    Conflict,
    Invalid,
    NotFinite,
    WorkerDied,
    WorkerLost,
    WrongFunction,
    WrongResult,
)

log = logging.getLogger("adabkb_client")

LEASE_SECONDS = 120.0
"""Default length of a renewed lease, short enough that the trial of a killed process is issued again soon."""
RENEW_AT = 1 / 3
"""Share of a lease after which it is renewed. The rest is time for retries."""
RENEW_AGAIN = 0.05
"""Share of a lease between retries of a renewal."""
REASON_LENGTH = 1000
MISTAKES = (ImportError, NameError, SyntaxError)
"""Errors that are always programming errors. They release the trial instead of failing it."""
MISTAKES_AT_FIRST = (AttributeError, KeyError, TypeError, Invalid)
"""Errors that count as programming errors until the function has returned a first result. Later, such an error may be
specific to a point, so it fails the trial. (``WrongResult`` is a TypeError.)"""
EVALUATION_ERRORS = (Invalid, NotFinite, WorkerDied, WorkerLost, WrongFunction, WrongResult)
"""Errors of this client that are caused by the evaluation, and not by the server or the connection."""
STOP_VARIABLE = "ADABKB_STOP_SECONDS"
DEFAULT_STOP_SECONDS = 5.0


class Active(dict[str, Any]):
    """The values of the active parameters by name. The error for another name explains why it may be missing."""

    def __missing__(self, name: str) -> Any:
        raise KeyError(
            f"{name!r} is no parameter of this trial; it has {', '.join(self)}. A parameter with `when` is missing "
            f"while it is inactive: use parameters.get({name!r})"
        )


class Leased(Shown, Hinting):
    """A trial leased by this process, with its outcome once reported."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.outcome: Answer | None = None
        """The server's answer to the result, the failure or the release, or to the report at which the trial was
        stopped; None before."""
        self._is_outcome_sent = False
        """Whether this process has sent an outcome, which the server may have before the answer arrives."""
        self._unsent: list[Mapping[str, Any]] = []
        """Reports in wire form that could not be sent yet."""
        self._attributes: Mapping[str, Any] = trial.attributes
        self._begun = monotonic()

    def _hint(self, name: str) -> str | None:
        if name.startswith(OPTUNAS):
            return f"the trial otherwise: {for_optuna()}"
        trial = vars(self).get("trial")  # missing while the object is being unpickled
        return None if trial is None else of_point("trial", name, trial.parameters)

    @property
    def seconds(self) -> float:
        """Seconds since this process got the trial."""
        return monotonic() - self._begun

    def should_stop(self) -> bool:
        """Whether the server has stopped the trial, which then needs no result."""
        return self.outcome is not None and self.outcome.trial is not None and self.outcome.trial.state == "stopped"

    @property
    def number(self) -> int:
        """The trial's number."""
        return self.trial.number

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters at which to evaluate the objective, by name, without those that are inactive: see ``when`` of
        ``Float``. Use ``parameters.get("momentum", 0.0)`` for these."""
        return Active(self.trial.parameters)

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the trial, as of its issue or the last change by this object."""
        return dict(self._attributes)

    def _note_lost_lease(self, refusal: Conflict) -> None:
        """Log why the lease is no longer renewed, unless this process has ended the trial itself."""
        if not self._is_outcome_sent:
            log.info(
                "trial %d of study %r: %s Another worker has it, or it has ended. The evaluation here "
                "continues, and its result is sent.",
                self.number,
                self.trial.study,
                refusal.detail,
            )

    def _continue_as(self, other: "Leased") -> None:
        """Continue with the outcome, the attributes and the unsent reports of an object for the same trial."""
        self.outcome, self._is_outcome_sent = other.outcome, other._is_outcome_sent
        self._attributes, self._unsent = other._attributes, other._unsent

    def _set_here(self, answer: Answer) -> None:
        if answer.trial is not None:
            self._attributes = answer.trial.attributes


def this_worker() -> str:
    """Return the default name of this process as a worker: host and process."""
    return f"{socket.gethostname()}:{os.getpid()}"


def is_of_evaluation(error: AdaBKBError) -> bool:
    """Return whether an error of this package is one of the evaluation: it fails or releases the trial. A report that
    contradicts an earlier one is such an error, but not another conflict, such as a trial that another worker holds."""
    return isinstance(error, EVALUATION_ERRORS) or (isinstance(error, Conflict) and error.code == "report_conflict")


def is_mistake(error: BaseException, *, has_succeeded: bool) -> bool:
    """Return whether an error of a function is a programming error, which releases its trial instead of failing it.

    Args:
        error: the exception of the function, or the error in its result.
        has_succeeded: whether the function has returned a result in this run before.
    """
    return isinstance(error, MISTAKES) or (not has_succeeded and isinstance(error, MISTAKES_AT_FIRST))


def in_words(error: BaseException) -> str:
    """Return the failure reason for an exception."""
    return printable(f"{type(error).__name__}: {error}")


def printable(reason: str) -> str:
    """Return the reason in a form that the server accepts: no NUL, no lone surrogate, not too long."""
    return reason.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()[:REASON_LENGTH]


def stop_seconds() -> float:
    """Return the seconds within which a stopped program must release trials and end worker processes:
    ``ADABKB_STOP_SECONDS``, or 5.

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
