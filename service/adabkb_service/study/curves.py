"""Values that trials report, in a draft: those stored and those that it adds."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from statistics import fmean, pstdev, stdev

from adabkb_service.storage import reports
from adabkb_service.storage.columns import Estimate
from adabkb_service.study.draft import Draft

FEWEST_MOVES = 3
"""Completed trials needed to estimate the uncertainty of a trial's move from their moves."""


def values(draft: Draft, trial: int, attempt: int, steps: Collection[int]) -> dict[int, float]:
    """Step -> reported value of an attempt, for those of the steps that have a report."""
    stored = reports.values(draft.connection, draft.study.id, trial, attempt, steps) if steps else {}
    added = {row.step: row.value for row in draft.reports.values() if (row.trial, row.attempt) == (trial, attempt)}
    return stored | {step: value for step, value in added.items() if step in steps}


def at_mark(draft: Draft, mark: int) -> dict[int, float]:
    """Trial -> value that its last attempt to reach the mark reported there."""
    stored = reports.at_mark(draft.connection, draft.study.id, mark)
    return stored | {row.trial: row.value for row in draft.reports.values() if row.mark == mark}


def extrapolated(value: float, at_mark: Mapping[int, float], results: Mapping[int, float]) -> Estimate:
    """The expected final value of a trial.

    Its expected move is the mean move of the completed trials (zero without any), and its standard deviation is that of
    their moves. With fewer than three completed trials, it is the standard deviation of the values at the mark.

    Args:
        value: the value of the trial, at a mark.
        at_mark: values of all trials at the mark, by number.
        results: values of the completed trials, by number.
    """
    moves = [results[number] - before for number, before in at_mark.items() if number in results]
    try:
        expected = value + fmean(moves) if moves else value
        if len(moves) < FEWEST_MOVES:
            found = expected, pstdev(at_mark.values())
        else:
            found = expected, stdev(moves) * math.sqrt(1.0 + 1.0 / len(moves))
    except (ArithmeticError, ValueError, AttributeError):  # raised by ``statistics`` for infinite numbers
        found = math.inf, math.inf
    if not all(map(math.isfinite, found)):  # values near the largest float overflow
        return Estimate(value=value, std_error=0.0)
    return Estimate(value=found[0], std_error=found[1])
