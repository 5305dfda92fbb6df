"""The evaluated points of a search, and its best result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from adabkb_client import Estimate, ExpectedValue

Reason = Literal["budget", "exhausted", "converged", "no_gain", "gain_unlikely", "stopped", "interrupted"]


@dataclass(frozen=True)
class Evaluated:
    """A finished trial. ``value`` is None if the trial failed or has an ``estimate`` instead, or if the search has
    several objectives. ``reason`` says why the trial failed or was stopped. ``plate`` is the number of its plate, in a
    search with plates."""

    number: int
    parameters: Mapping[str, Any]
    state: Literal["completed", "failed", "stopped"]
    value: float | None = None
    std_error: float | None = None
    reason: str | None = None
    plate: int | None = None
    metrics: Mapping[str, float] | None = None
    """The metrics by name, including the cost and the objectives if there are several; None in a search without any."""
    std_errors: Mapping[str, float] | None = None
    """The standard errors of metrics, where known."""
    estimate: ExpectedValue | None = None
    """Of a trial that was stopped by comparison with others: its expected value, which the model uses as its result."""

    @property
    def has_result(self) -> bool:
        """Whether it has a result: it is completed, or was stopped with its last value as its result."""
        return self.state != "failed" and self.estimate is None


@dataclass(frozen=True, repr=False)
class Found:
    """The result of a search: the best trial (the first one in a tie), all trials, and why it ended. With metrics that
    have bounds, the best trial is the best one that satisfies them or, if there is none, the one that violates them
    least. With several objectives, ``front`` has the trials that no other dominates, and ``best`` is None.

    ``recommended`` is a trial at the point with the best mean according to the model. If results are noisy, prefer it
    to ``best``, which is often a lucky result. It is None with several objectives or a context.

    ``near_baseline`` is a point that the model expects to be as good as ``recommended``, with few ``changes`` from the
    baseline. It need not have been evaluated. With a context, it is the point for the context of the last result. It
    is None in a search without a baseline.

    ``reason`` is "budget", "exhausted" (every point of a finite space, or with the fixed values, was evaluated),
    "converged" (the tolerance), "no_gain" or "gain_unlikely" (the rules of ``stop``), "stopped" (by ``Search.stop``) or
    "interrupted" (by Ctrl-C). ``best``, ``parameters`` and ``value`` are None if no trial was completed.
    """

    best: Evaluated | None
    trials: tuple[Evaluated, ...]
    reason: Reason
    seed: int
    direction: Literal["minimize", "maximize"] = "minimize"
    front: tuple[Evaluated, ...] = ()
    recommended: Evaluated | None = None
    near_baseline: Estimate | None = None

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
        states = Counter(trial.state for trial in self.trials)
        count += "".join(f", {states[state]} {state}" for state in ("failed", "stopped") if states[state])
        if self.front:
            return f"<{len(self.front)} on the front, {count}, {self.reason}>"
        if self.best is None:
            return f"<no best trial, {count}, {self.reason}>"
        return f"<{self.value} at {self.parameters}, {count}, {self.reason}>"
