"""What a server and a model process say to each other about one study."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from adabkb_service.inference.proposals import Proposal
from adabkb_service.storage.rows import EventRow


@dataclass(frozen=True, slots=True)
class Advance:
    """Fold the log up to an event, and then decide on points."""

    study_id: str
    incarnation: str
    study_seq: int
    """Seq of the event to fold up to."""
    events: list[EventRow] = field(default_factory=list)
    """The last ones up to it, as far as the server has them; others are read from the database."""
    decide: int = 0
    """How many points to have decided on then, those decided on before included."""
    fixed: dict[str, Any] | None = None
    """Values that parameters of these points are to have."""


@dataclass(frozen=True, slots=True)
class Advanced:
    """How far the model has come."""

    incarnation: str
    """Of the study that the model is of."""
    model_seq: int
    """Seq of the last event folded."""
    rests_on: int
    """Seq of the last event that affects the model: the points rest on it."""
    points: list[Proposal] = field(default_factory=list)
    """All points decided on, in order; each rests on those before it being handed out."""
    is_all: bool = False
    """Whether no point of a finite space is left beyond these."""
    figures: dict[str, Any] | None = None
    """The model in numbers; None where they are as they were stored."""
    behind: int = 0
    """Events that are left to fold; another message follows."""
    error: str | None = None
    """Why the model cannot follow the log, or cannot decide."""
    can_follow: bool = True
    """Whether the model follows the log, even if it cannot decide."""
    seconds: float = 0.0
    """How long it took to fold the last events."""
    asked: int = 0
    """How many points it was to decide on."""
    cache_bytes: int = 0
    """Of all models that the process holds now."""
    fixed: dict[str, Any] | None = None
    """Values that parameters of the points have."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Fold the log up to an event, and answer a question then."""

    study_id: str
    incarnation: str
    study_seq: int
    question: str
    """A name in ``inference.questions``."""
    arguments: tuple[Any, ...] = ()
    number: int = 0
    """By which it can be withdrawn."""


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Withdraw a question: no request waits for its answer any more."""

    study_id: str
    number: int
    """Of the question."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a question, or what was raised instead."""

    value: Any = None
    error: Exception | None = None


class CannotFollow(Exception):
    """Instead of an answer: the model cannot follow its log. The text says why."""


@dataclass(frozen=True, slots=True)
class Forget:
    """The study is gone, or its rows were replaced."""

    study_id: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The process ended before it could reply."""

    run: int
    """Number of the process: 1 is the first one that was started, or was to be."""


@dataclass(frozen=True, slots=True)
class Postponed:
    """The database did not answer, so the model could not read its log; it may be told again."""


@dataclass(frozen=True, slots=True)
class Superseded:
    """There is nothing to say: a later message includes this one, or the study is forgotten."""


@dataclass(frozen=True, slots=True)
class Load:
    """What model processes have to do and to hold."""

    waiting: int
    """Messages that they have not replied to."""
    cache_bytes: int
    """Of their models, by what they last said."""
    pids: list[int]
    """The processes that run now, beside the server's own."""
    down: int = 0
    """Processes that have ended, and whose successors have not started for some seconds."""


@dataclass(frozen=True, slots=True)
class Begun:
    """Told by a process once it takes messages."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Told by a process now and then, in reply to nothing."""

    seconds: dict[str, float]
    """Of a processor, by study, since it was last told."""


Work = Advance | Ask | Forget
"""What is done in the order in which it comes."""
Message = Work | Withdraw
Reply = Advanced | Answered | Superseded | Postponed | Lost
