"""What a draft of a study knows of the values that trials report: those stored, and those that it adds."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from statistics import fmean, pstdev, stdev

from adabkb_service.storage import reports
from adabkb_service.storage.columns import Estimate
from adabkb_service.study.draft import Draft

FEWEST_MOVES = 3
"""Completed trials whose moves tell how uncertain the move of another one is."""


def values(draft: Draft, trial: int, attempt: int, steps: Collection[int]) -> dict[int, float]:
    """Step -> value of the reports of an attempt at these steps, as far as there are any."""
    stored = reports.values(draft.connection, draft.study.id, trial, attempt, steps) if steps else {}
    added = {row.step: row.value for row in draft.reports.values() if (row.trial, row.attempt) == (trial, attempt)}
    return stored | {step: value for step, value in added.items() if step in steps}


def at_mark(draft: Draft, mark: int) -> dict[int, float]:
    """Trial -> the value that its last attempt to get there reported at a mark."""
    stored = reports.at_mark(draft.connection, draft.study.id, mark)
    return stored | {row.trial: row.value for row in draft.reports.values() if row.mark == mark}


def extrapolated(value: float, at_mark: Mapping[int, float], results: Mapping[int, float]) -> Estimate:
    """The value that a trial was to be expected to have at its last step.

    It is expected to move from here as the completed trials have moved on average (to stay, if none is completed), with
    the standard deviation of their moves. Where fewer than three are completed, it is that of the values here.

    Args:
        value: of the trial at a mark.
        at_mark: values of all trials at this mark, by number.
        results: of the completed trials, by number.
    """
    moves = [results[number] - before for number, before in at_mark.items() if number in results]
    try:
        expected = value + fmean(moves) if moves else value
        if len(moves) < FEWEST_MOVES:
            found = expected, pstdev(at_mark.values())
        else:
            found = expected, stdev(moves) * math.sqrt(1.0 + 1.0 / len(moves))
    except (ArithmeticError, ValueError, AttributeError):  # what statistics raises about infinite numbers
        found = math.inf, math.inf
    if not all(map(math.isfinite, found)):  # the values are at the end of what a float can hold
        return Estimate(value=value, std_error=0.0)
    return Estimate(value=found[0], std_error=found[1])
