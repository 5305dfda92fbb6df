"""The records of a client: each call, and whether it was acknowledged."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Literal

from adabkb_client import Counts, Parameter, Parameters, Trial

Kind = Literal[
    "create", "suggest", "observe", "point", "fail", "release", "heartbeat", "queue", "correct", "exclude", "pause",
    "resume", "read", "retry", "report", "edit",
]  # fmt: skip
Fate = Literal["acknowledged", "nothing", "refused", "unknown"]
"""The outcome of a call: an answer; an answer without a trial; a refusal; or unknown, since the client gave up."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One effect that a client requested, however often it had to repeat the request.

    A call with several effects, such as a suggestion of three trials or a batch of results, has an entry for each.
    """

    worker: str
    kind: Kind
    fate: Fate
    study: str
    started: datetime
    ended: datetime
    asked: float
    answered: float
    """The same moments by the machine's monotonic clock, in seconds. They order all calls."""
    trial: int | None = None
    attempt: int | None = None
    observation: int | None = None
    """The seq of the observation: for a correction from the request, for a result from the answer."""
    value: float | None = None
    parameters: Parameters | None = None
    count: int = 0
    """The number of requested trials, for a suggestion without trials."""
    reports: tuple[tuple[int, float], ...] = ()
    """Steps and values."""
    stopped: bool = False
    """Whether the answer to a report was to stop."""
    edited: Parameter | None = None
    """The parameter after an edit of the space."""
    revision: int | None = None
    counts: Counts | None = None
    """The study's revision in the answer, and its numbers of trials by state."""
    listed: tuple[Trial, ...] = ()
    """The trials that a read returned: all trials of the study."""

    def __str__(self) -> str:
        facts = {"trial": self.trial, "attempt": self.attempt, "observation": self.observation, "value": self.value}
        details = "".join(f" {name} {fact!r}" for name, fact in facts.items() if fact is not None)
        return (
            f"{self.worker} {self.kind}{details} ({self.fate}, {self.started:%H:%M:%S.%f} to {self.ended:%H:%M:%S.%f})"
        )


@dataclass
class Ledger:
    """The entries of one client, used by one thread."""

    worker: str
    entries: list[Entry] = field(default_factory=list)
    operations: Counter[Kind] = field(default_factory=Counter)
    """Calls by kind."""
    answered: list[datetime] = field(default_factory=list)
    """The times at which answered calls ended."""
    surprises: list[str] = field(default_factory=list)
    """Answers without an explanation, which are violations."""


@dataclass(frozen=True)
class Books:
    """The ledgers of all clients together."""

    ledgers: list[Ledger]

    @property
    def operations(self) -> Counter[Kind]:
        """Calls by kind."""
        return sum((ledger.operations for ledger in self.ledgers), Counter())

    @property
    def answered(self) -> int:
        """The number of answered calls."""
        return sum(len(ledger.answered) for ledger in self.ledgers)

    @property
    def surprises(self) -> list[str]:
        """Answers without an explanation."""
        return [surprise for ledger in self.ledgers for surprise in ledger.surprises]

    @property
    def fates(self) -> Counter[str]:
        """Numbers of entries by outcome."""
        return Counter(entry.fate for entry in self._entries())

    def by_study(self) -> dict[str, list[Entry]]:
        """The entries that concern each study."""
        found = defaultdict(list)
        for entry in self._entries():
            found[entry.study].append(entry)
        return found

    def created(self) -> list[Entry]:
        """The studies whose creation was acknowledged."""
        return [entry for entry in self._entries() if entry.kind == "create" and entry.fate == "acknowledged"]

    def _entries(self) -> Iterator[Entry]:
        return (entry for ledger in self.ledgers for entry in ledger.entries)

    def longest_silence(self) -> float:
        """The longest time in which no call of any client was answered, in seconds."""
        moments = sorted(moment for ledger in self.ledgers for moment in ledger.answered)
        return max(((later - earlier).total_seconds() for earlier, later in pairwise(moments)), default=0.0)
