"""The messages between a server and a model process, about one study."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from adabkb_service.inference.proposals import Proposal
from adabkb_service.inference.restriction import UNRESTRICTED, Restriction
from adabkb_service.storage.columns import ModelStats
from adabkb_service.storage.rows import EventRow


@dataclass(frozen=True, slots=True)
class Advance:
    """Fold the log up to an event, then decide on points."""

    study_id: str
    incarnation: str
    """Distinguishes the study from earlier or later ones with the same id: random, drawn at creation."""
    study_seq: int
    """Seq of the last event to fold."""
    events: list[EventRow] = field(default_factory=list)
    """The latest events up to ``study_seq`` that the server has. If the model lacks earlier events, it reads them from
    the database."""
    decide: int = 0
    """Number of points that the model must have decided on, including earlier decisions."""
    within: Restriction = UNRESTRICTED
    """The restriction on these points."""


@dataclass(frozen=True, slots=True)
class Advanced:
    """Reply to ``Advance``: the progress of the model."""

    incarnation: str
    """See ``Advance``."""
    model_seq: int
    """Seq of the last folded event."""
    rests_on: int
    """Seq of the last folded event that affects the model. The points were decided after it."""
    points: list[Proposal] = field(default_factory=list)
    """All points that the model has decided on, in order. Each assumes that the points before it are issued."""
    is_all: bool = False
    """Whether a finite space, or the slice, has no points left besides these."""
    model_stats: ModelStats | None = None
    """Statistics of the model; None if they have not changed since they were stored."""
    behind: int = 0
    """Number of events left to fold. If it is not 0, another reply follows."""
    error: str | None = None
    """Why the model cannot fold the log, or cannot decide."""
    can_fold: bool = True
    """Whether the model can fold the log, even if it cannot decide."""
    seconds: float = 0.0
    """Seconds that it took to fold the latest events."""
    asked: int = 0
    """Number of points requested."""
    cache_bytes: int = 0
    """Size of all models in the process, in bytes."""
    within: Restriction = UNRESTRICTED
    """The restriction on the points."""
    is_plate_over: bool = False
    """Whether all points with the shared values of the restriction's open plate are issued."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Fold the log up to an event, then answer a question."""

    study_id: str
    incarnation: str
    study_seq: int
    question: str
    """Name of a question in ``inference.questions``."""
    arguments: tuple[Any, ...] = ()
    number: int = 0
    """Identifies the question for a withdrawal."""


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Withdraw a question that no request waits for any more."""

    study_id: str
    number: int
    """Number of the question."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a question, or the exception."""

    value: Any = None
    error: Exception | None = None


class CannotFold(Exception):
    """The error in the reply to a question if the model cannot fold its log; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class Forget:
    """Drop the model of a study, since the study was deleted or replaced."""

    study_id: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The process ended before it could reply."""

    run: int
    """Number of the process, from 1. A failed start counts as well."""


@dataclass(frozen=True, slots=True)
class Postponed:
    """The model could not read its log from the database. The server may send the message again."""


@dataclass(frozen=True, slots=True)
class Superseded:
    """The message gets no other reply: a later message includes it, its question was withdrawn, or the model was
    dropped."""


@dataclass(frozen=True, slots=True)
class Load:
    """Load of the model processes."""

    waiting: int
    """Messages without a reply."""
    cache_bytes: int
    """Size of all models in bytes, as last reported by the processes."""
    pids: list[int]
    """Ids of the running processes, without the server's own."""
    down: int = 0
    """Number of processes that are down: see ``Supervision.down``."""


@dataclass(frozen=True, slots=True)
class Begun:
    """Sent by a process once it accepts messages."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Sent by a process periodically, not as a reply."""

    seconds: dict[str, float]
    """Study -> processor seconds since the last report."""


Work = Advance | Ask | Forget
"""Messages that wait in the queue of their study: see ``ModelHost.post`` for their order."""
Message = Work | Withdraw
Reply = Advanced | Answered | Superseded | Postponed | Lost
