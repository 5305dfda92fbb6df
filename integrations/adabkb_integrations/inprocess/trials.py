"""The evaluated points of a search, and its best result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Reason = Literal["budget", "exhausted", "stopped", "interrupted"]


@dataclass(frozen=True)
class Evaluated:
    """A finished trial. If it failed, ``value`` is None and ``reason`` gives the cause. ``plate`` is the number of its
    plate, in a search with plates."""

    number: int
    parameters: Mapping[str, Any]
    state: Literal["completed", "failed"]
    value: float | None = None
    std_error: float | None = None
    reason: str | None = None
    plate: int | None = None


@dataclass(frozen=True, repr=False)
class Found:
    """The result of a search: the best trial (the first one in a tie), all trials, and why it ended.

    ``reason`` is "budget", "exhausted" (every point of a finite space was evaluated), "stopped" (by ``Search.stop``) or
    "interrupted" (by Ctrl-C). ``best``, ``parameters`` and ``value`` are None if no trial was completed.
    """

    best: Evaluated | None
    trials: tuple[Evaluated, ...]
    reason: Reason
    seed: int

    @property
    def parameters(self) -> Mapping[str, Any] | None:
        """The parameters of the best trial."""
        return None if self.best is None else self.best.parameters

    @property
    def value(self) -> float | None:
        """The value of the best trial."""
        return None if self.best is None else self.best.value

    def __repr__(self) -> str:
        count = f"{len(self.trials)} trial{'' if len(self.trials) == 1 else 's'}"
        return f"<{self.value} at {self.parameters}, {count}, {self.reason}>"
