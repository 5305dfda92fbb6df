"""Early stopping: rules that end trials before their last step, based on their intermediate values.

A rule compares a trial with others only at certain steps, its *marks*. So no decision needs the whole curves of other
trials. The asha rule has a mark at each rung, and the median rule at each step. The patience rule has none, since it
considers only the trial itself. Each decision is a pure function of the trial's own curve, and of the values that the
others reported at the mark.

Sources: median rule: Golovin et al., Google Vizier (2017), section 3.2.2, with values at the same step as in Optuna's
MedianPruner; asha: Li et al., A System for Massively Parallel Hyperparameter Tuning (2020), in its stopping variant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, pstdev, stdev
from typing import Literal, TypedDict

MAX_STEPS = 10**9
"""The largest step number."""
LIMITS = {
    "max_steps": (1, MAX_STEPS),
    "min_steps": (1, MAX_STEPS),
    "after_trials": (1, 1_000_000),
    "eta": (2, 1000),
    "no_gain_for": (1, MAX_STEPS),
}
"""The smallest and the largest value of each whole number of a rule."""
OWN: dict[str, dict[str, float | None]] = {
    "median": {"after_trials": 5},
    "asha": {"after_trials": 1, "eta": 3},
    "patience": {"no_gain_for": None, "min_gain": 0.0},
}
"""The numbers that only some rules have, with their defaults; None if a number is required."""
MIN_MOVES = 3
"""Completed trials needed to estimate the standard deviation of a move: the change from the value at the mark to the
final value."""


class Curve(TypedDict):
    """Summary of the values that a trial, or one attempt of it, has reported."""

    reports: int
    step: int
    """Step of the last report."""
    value: float
    """Value of the last report."""
    best: float
    """The best reported value."""
    gain_step: int
    """Step of the last improvement that counts for the rule ``patience``."""
    gain_value: float
    """Value at ``gain_step``."""


@dataclass(frozen=True)
class Rule:
    """A rule of early stopping. Each of the fields after ``metric`` is used by some of the rules only."""

    rule: Literal["median", "asha", "patience"]
    max_steps: int
    """Number of steps of a full evaluation."""
    sign: float
    """+1 if larger reported values are better, -1 if smaller ones are."""
    min_steps: int = 1
    """No trial is stopped before this step."""
    metric: str | None = None
    """With several objectives: the one whose values are reported."""
    after_trials: int = 1
    """A trial is stopped at a mark only if this many other trials have reached the mark."""
    eta: int = 3
    """One in this many trials continues from each rung: min_steps, min_steps * eta, min_steps * eta^2, ..."""
    no_gain_for: int = 1
    """Number of steps without an improvement after which a trial is stopped."""
    min_gain: float = 0.0
    """Improvements no larger than this do not count."""

    @property
    def compares(self) -> bool:
        """Whether the rule compares trials. If not, the last value of a stopped trial is its result."""
        return self.rule != "patience"

    def may_stop(self, step: int) -> bool:
        """Whether the rule applies at a step: not before ``min_steps``, and not at the end of the evaluation."""
        return self.min_steps <= step < self.max_steps

    def mark(self, before: int, step: int) -> int | None:
        """Return the mark at which the report of ``step``, after one of step ``before``, is compared: the step itself
        or, for asha, the highest rung that this report has reached and the previous one had not. None without one."""
        if self.rule == "median":
            return step if self.may_stop(step) else None
        reached, rung = None, self.min_steps
        while self.rule == "asha" and rung <= step and self.may_stop(rung):
            reached = rung if rung > before else reached
            rung *= self.eta
        return reached

    def verdict(self, curve: Curve, others: Sequence[float]) -> str | None:
        """Return why a trial should stop, in a sentence; None if it should continue.

        Args:
            curve: the trial's curve, up to the current report.
            others: values that other trials reported at the mark of this report.
        """
        if self.rule == "patience":
            since = curve["step"] - curve["gain_step"]
            reason = f"Its value has not improved for {since} steps, since step {curve['gain_step']}."
            return reason if since >= self.no_gain_for else None
        if len(others) < self.after_trials:
            return None
        if self.rule == "median":
            middle = median(others)
            reason = f"Its best value up to step {curve['step']}, {curve['best']:.6g}, is worse than {middle:.6g}, the "
            reason += f"median of {len(others)} other trials at that step."
            return reason if self.sign * curve["best"] < self.sign * middle else None
        better = sum(self.sign * value > self.sign * curve["value"] for value in others)
        places = max((len(others) + 1) // self.eta, 1)
        reason = f"At step {curve['step']} it has place {better + 1} of {len(others) + 1} trials, of which the best "
        return f"{reason}{places} continue." if better >= places else None


def steps_problem(min_steps: int, max_steps: int) -> str | None:
    """Return why a rule cannot have this ``min_steps``; None if it can."""
    return None if min_steps < max_steps else f"must be less than max_steps ({max_steps}), or no trial could be stopped"


def metric_problem(metric: str | None, objectives: Sequence[str]) -> str | None:
    """Return why a rule cannot have this ``metric``; None if it can.

    Args:
        metric: the name, or None.
        objectives: the names of several objectives; empty with a single one.
    """
    if objectives and metric not in objectives:
        return f"must name the objective whose values are reported: {', '.join(objectives)}"
    if metric is not None and not objectives:
        return "is only for studies with several objectives; leave it out"
    return None


def extended(curve: Curve | None, step: int, value: float, sign: float, min_gain: float = 0.0) -> Curve:
    """Return a curve with one more report. None means a curve without reports. ``sign`` and ``min_gain`` are as in
    ``Rule``."""
    if curve is None:
        return Curve(reports=1, step=step, value=value, best=value, gain_step=step, gain_value=value)
    gains = sign * (value - curve["gain_value"]) > min_gain
    return Curve(
        reports=curve["reports"] + 1,
        step=step,
        value=value,
        best=value if sign * value > sign * curve["best"] else curve["best"],
        gain_step=step if gains else curve["gain_step"],
        gain_value=value if gains else curve["gain_value"],
    )


def extrapolated(value: float, at_mark: Mapping[int, float], results: Mapping[int, float]) -> tuple[float, float]:
    """The expected final value of a trial, and its standard deviation.

    A trial's move is its final value minus its value at the mark. The expected final value is the value at the mark
    plus the mean move of the completed trials (zero without any). With at least three completed trials, the standard
    deviation is that of their moves, times ``sqrt(1 + 1/n)`` for n trials; otherwise, it is that of all values at the
    mark. If a number overflows, return the value at the mark, with standard deviation 0.

    Args:
        value: the trial's value at the mark.
        at_mark: trial number -> value at the mark, for all trials that reached it.
        results: trial number -> final value, for the completed trials.
    """
    moves = [results[number] - before for number, before in at_mark.items() if number in results]
    try:
        expected = value + fmean(moves) if moves else value
        if len(moves) < MIN_MOVES:
            found = expected, pstdev(at_mark.values())
        else:
            found = expected, stdev(moves) * math.sqrt(1.0 + 1.0 / len(moves))
    except (ArithmeticError, ValueError, AttributeError):  # raised by ``statistics`` for infinite numbers
        found = math.inf, math.inf
    return found if all(map(math.isfinite, found)) else (value, 0.0)  # values near the largest float overflow
