"""What a client knows: each call it made, and whether it was acknowledged."""

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
"""What became of a call: an answer; the answer that there is no trial; a refusal; or the client gave up, and it may
have happened or not."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One effect that a client asked for, however often it had to ask.

    A call with several effects, a suggestion of three trials or a batch of results, has an entry for each.
    """

    worker: str
    kind: Kind
    fate: Fate
    study: str
    started: datetime
    ended: datetime
    asked: float
    answered: float
    """The same moments by the monotonic clock of the machine, in seconds, which nobody sets: they order all calls."""
    trial: int | None = None
    attempt: int | None = None
    observation: int | None = None
    """Its seq: in a correction the one asked for, in a result the one answered."""
    value: float | None = None
    parameters: Parameters | None = None
    count: int = 0
    """Trials asked for, by a suggestion that brought none."""
    reports: tuple[tuple[int, float], ...] = ()
    """Steps and values."""
    stopped: bool = False
    """Whether the answer to a report was to stop."""
    edited: Parameter | None = None
    """What an edit of the space makes of a parameter."""
    revision: int | None = None
    counts: Counts | None = None
    """What the answer said of the study: the last event of its log, and the trials by state then."""
    listed: tuple[Trial, ...] = ()
    """Trials that a read brought: all that there were."""

    def __str__(self) -> str:
        facts = {"trial": self.trial, "attempt": self.attempt, "observation": self.observation, "value": self.value}
        told = "".join(f" {name} {fact!r}" for name, fact in facts.items() if fact is not None)
        return f"{self.worker} {self.kind}{told} ({self.fate}, {self.started:%H:%M:%S.%f} to {self.ended:%H:%M:%S.%f})"


@dataclass
class Ledger:
    """One client's entries; owned by one thread."""

    worker: str
    entries: list[Entry] = field(default_factory=list)
    operations: Counter[Kind] = field(default_factory=Counter)
    """Calls by kind."""
    answered: list[datetime] = field(default_factory=list)
    """When the calls ended that were not given up."""
    surprises: list[str] = field(default_factory=list)
    """Answers that nothing explains: violations."""


@dataclass(frozen=True)
class Books:
    """All clients' ledgers, put together."""

    ledgers: list[Ledger]

    @property
    def operations(self) -> Counter[Kind]:
        """Calls by kind."""
        return sum((ledger.operations for ledger in self.ledgers), Counter())

    @property
    def answered(self) -> int:
        """Calls that were not given up."""
        return sum(len(ledger.answered) for ledger in self.ledgers)

    @property
    def surprises(self) -> list[str]:
        """Answers that nothing explains."""
        return [surprise for ledger in self.ledgers for surprise in ledger.surprises]

    @property
    def fates(self) -> Counter[str]:
        """Entries by fate."""
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
