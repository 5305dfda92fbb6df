"""Values that trials have reported: those in the database and those that a draft adds. A *mark* is a step at which an
early-stopping rule compares trials."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from statistics import fmean, pstdev, stdev
from typing import Any

from adabkb_service.contract.context import context_of
from adabkb_service.contract.metrics import metrics_of, total_violation
from adabkb_service.contract.stored import definition_of, is_edited
from adabkb_service.storage import reports
from adabkb_service.storage.columns import Estimate
from adabkb_service.storage.rows import TrialRow
from adabkb_service.storage.trials import Reached
from adabkb_service.study.draft import Draft

MIN_MOVES = 3
"""Completed trials needed to estimate the standard deviation of a move: the change from the value at the mark to the
final value."""


def values(draft: Draft, trial: int, attempt: int, steps: Collection[int]) -> dict[int, float]:
    """Step -> value that an attempt reported at this step; steps without a report are left out."""
    stored = reports.values(draft.connection, draft.study.id, trial, attempt, steps) if steps else {}
    added = {row.step: row.value for row in draft.reports.values() if (row.trial, row.attempt) == (trial, attempt)}
    return stored | {step: value for step, value in added.items() if step in steps}


def at_mark(draft: Draft, mark: int) -> dict[int, float]:
    """Trial -> value at the mark, as reported by the last of its attempts that reached the mark."""
    stored = reports.at_mark(draft.connection, draft.study.id, mark)
    return stored | {row.trial: row.value for row in draft.reports.values() if row.mark == mark}


def comparable(draft: Draft, mark: int) -> dict[int, float]:
    """Trial -> value at the mark, for the trials with which another trial is compared, and from which its final value
    is predicted. In a study with an edited space or with bounds on metrics, these are only the trials that are inside
    the space, have reports in their current attempt, and have no result that violates a bound."""
    values, metrics = at_mark(draft, mark), metrics_of(draft.study.definition)
    if not is_edited(draft.study.definition) and not any(metric.is_bounded for metric in metrics):
        return values
    known = draft.reached(mark)

    def counts(number: int) -> bool:
        trial = known[number]
        if trial.curve is None:  # its current attempt has no reports yet
            return False
        is_feasible = not (trial.state == "completed" and total_violation(metrics, trial.metrics or {}))
        return is_feasible and draft.space.present(trial.parameters) is not None

    return {number: value for number, value in values.items() if counts(number)}


def competitors(draft: Draft, mark: int, trial: TrialRow, values: Mapping[int, float]) -> list[float]:
    """The values at a mark of the other trials that have the same plate and context as a trial. In a study without
    plates and context, these are all other trials.

    Args:
        draft: the draft of the study.
        mark: the mark.
        trial: the trial.
        values: as ``comparable`` returns them.
    """
    definition = definition_of(draft.study.definition)
    names = context_of(definition.parameters)
    if not names and definition.plates is None:
        return [value for other, value in values.items() if other != trial.number]
    known = draft.reached(mark)

    def place(each: TrialRow | Reached) -> tuple[Any, ...]:
        present = draft.space.present(each.parameters) or each.parameters  # an edit may have added the context
        return each.plate, *(present.get(name) for name in names)

    here = place(trial)
    return [value for other, value in values.items() if other != trial.number and place(known[other]) == here]


def results_at(draft: Draft, mark: int, metric: str | None) -> dict[int, float]:
    """Number -> value, or value of a metric, of the completed trials that have reached a mark."""
    completed = {number: each for number, each in draft.reached(mark).items() if each.state == "completed"}
    found = {
        number: each.value if metric is None else (each.metrics or {}).get(metric) for number, each in completed.items()
    }
    return {number: value for number, value in found.items() if value is not None}


def extrapolated(value: float, at_mark: Mapping[int, float], results: Mapping[int, float]) -> Estimate:
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
    if not all(map(math.isfinite, found)):  # values near the largest float overflow
        return Estimate(value=value, std_error=0.0)
    return Estimate(value=found[0], std_error=found[1])
