"""Rules that end a study, or a search in a process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

StopReason = Literal["no_gain", "gain_unlikely"]
"""Why a study ended by a rule of the setting ``stop``."""
EndReason = Literal["budget", "exhausted", StopReason]
"""Why a study issues no more new points. It is complete once no trial is unfinished."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What the rules of the setting ``stop`` depend on."""

    since_gain: int
    """The number of results since the last improvement."""
    gap_share: float | None
    """The gap as a share of the range of the results; None if it is unknown."""


@dataclass(frozen=True, slots=True)
class StopRule:
    """A rule of the setting ``stop``: it ends a study based on its results."""

    reason: StopReason
    """Why a study ended to which the rule applies."""
    number: Literal["count", "share"]
    """The kind of its number: a whole number of at least 1, or a number between 0 and 1, both excluded."""
    applies: Callable[[float, Progress], bool]
    """Returns whether the rule with this number applies."""
    needs_gap: bool = False
    """Whether it needs the gap, which neither several objectives nor profiles other than auto have."""


STOP_RULES: Mapping[str, StopRule] = {
    "no_gain_for": StopRule("no_gain", "count", lambda number, progress: progress.since_gain >= number),
    "gap_share_below": StopRule(
        "gain_unlikely",
        "share",
        lambda number, progress: progress.gap_share is not None and progress.gap_share < number,
        needs_gap=True,
    ),
}
"""The rules of the setting ``stop`` by name. The first one that applies gives the reason."""


def is_converged(gap: float | None, tolerance: float | None) -> bool:
    """Whether the gap, None if it is unknown, is at most the tolerance; False without a tolerance."""
    return gap is not None and tolerance is not None and gap <= tolerance


def reason_to_end(
    *, is_used_up: bool, is_exhausted: bool, rules: Mapping[str, float], since_gain: int, gap_share: float | None
) -> EndReason | None:
    """Return why no more new points are issued; None if they are.

    Args:
        is_used_up: whether the budget, in trials, plates or costs, is used up.
        is_exhausted: whether every point of a finite space is issued.
        rules: the numbers of the given rules by the names in ``STOP_RULES``. Other names are ignored.
        since_gain: the number of results since the last improvement.
        gap_share: the gap as a share of the range of the results; None if it is unknown.
    """
    if is_used_up:
        return "budget"
    if is_exhausted:
        return "exhausted"
    progress = Progress(since_gain, gap_share)
    for name, rule in STOP_RULES.items():
        if name in rules and rule.applies(rules[name], progress):
            return rule.reason
    return None
