"""Rules that end a study, or a search in a process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal


def is_converged(gap: float | None, tolerance: float | None) -> bool:
    """Whether the gap, None if it is unknown, is at most the tolerance; False without a tolerance."""
    return gap is not None and tolerance is not None and gap <= tolerance


def reason_to_end(
    *, is_used_up: bool, is_exhausted: bool, rules: Mapping[str, float], since_gain: int, gap_share: float | None
) -> Literal["budget", "exhausted", "no_gain", "gain_unlikely"] | None:
    """Return why no more new points are issued; None if they are.

    Args:
        is_used_up: whether the budget, in trials, plates or costs, is used up.
        is_exhausted: whether every point of a finite space is issued.
        rules: ``no_gain_for`` and ``gap_share_below``, as far as they are given.
        since_gain: the number of results since the last improvement.
        gap_share: the gap as a share of the range of the results; None if it is unknown.
    """
    if is_used_up:
        return "budget"
    if is_exhausted:
        return "exhausted"
    if "no_gain_for" in rules and since_gain >= rules["no_gain_for"]:
        return "no_gain"
    if "gap_share_below" in rules and gap_share is not None and gap_share < rules["gap_share_below"]:
        return "gain_unlikely"
    return None
