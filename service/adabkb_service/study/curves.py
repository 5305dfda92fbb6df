"""Values that trials have reported: those in the database and those that a draft adds. A *mark* is a step at which an
early-stopping rule compares trials."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from adabkb_service.contract.context import context_of, measured_of
from adabkb_service.contract.metrics import metrics_of, total_violation
from adabkb_service.contract.stored import is_edited
from adabkb_service.engine.early_stopping import extrapolated
from adabkb_service.storage import reports
from adabkb_service.storage.columns import Estimate
from adabkb_service.storage.rows import TrialRow
from adabkb_service.storage.trials import Reached
from adabkb_service.study.draft import Draft


def values(draft: Draft, trial: int, attempt: int, steps: Collection[int]) -> dict[int, float]:
    """Return step -> value that an attempt reported at this step; steps without a report are left out."""
    stored = reports.values(draft.connection, draft.study.id, trial, attempt, steps) if steps else {}
    added = {row.step: row.value for row in draft.reports.values() if (row.trial, row.attempt) == (trial, attempt)}
    return stored | {step: value for step, value in added.items() if step in steps}


def at_mark(draft: Draft, mark: int) -> dict[int, float]:
    """Return trial -> value at the mark, as reported by the last of its attempts that reached the mark."""
    stored = reports.at_mark(draft.connection, draft.study.id, mark)
    return stored | {row.trial: row.value for row in draft.reports.values() if row.mark == mark}


def comparable(draft: Draft, mark: int) -> dict[int, float]:
    """Return trial -> value at the mark, for the trials with which another trial is compared, and from which its final
    value is predicted. In a study with an edited space or with bounds on metrics, some trials are left out: those
    outside the space, without reports in their current attempt, or with a result that violates a bound."""
    values, metrics = at_mark(draft, mark), metrics_of(draft.study.definition)
    if not is_edited(draft.study.definition) and not any(metric.is_bounded for metric in metrics):
        return values
    known = draft.reached(mark)

    def is_comparable(number: int) -> bool:
        trial = known[number]
        if trial.curve is None:  # its current attempt has no reports yet
            return False
        is_feasible = not (trial.state == "completed" and total_violation(metrics, trial.metrics or {}))
        return is_feasible and draft.space.present(trial.parameters) is not None

    return {number: value for number, value in values.items() if is_comparable(number)}


def competitors(draft: Draft, mark: int, trial: TrialRow, values: Mapping[int, float]) -> list[float]:
    """Return the values at a mark of the other trials that have the same plate and context as a trial. In a study
    without plates and context, these are all other trials. Context that is measured with the result is not compared,
    since it differs between almost all trials; its effect is a part of the noise of the values.

    Args:
        draft: the draft of the study.
        mark: the mark.
        trial: the trial.
        values: as ``comparable`` returns them.
    """
    definition = draft.definition
    measured = measured_of(definition.parameters)
    names = [name for name in context_of(definition.parameters) if name not in measured]
    if not names and definition.plates is None:
        return [value for other, value in values.items() if other != trial.number]
    known = draft.reached(mark)

    def place(each: TrialRow | Reached) -> tuple[Any, ...]:
        present = draft.space.present(each.parameters) or each.parameters  # an edit may have added the context
        return each.plate, *(present.get(name) for name in names)

    here = place(trial)
    return [value for other, value in values.items() if other != trial.number and place(known[other]) == here]


def estimate(draft: Draft, mark: int, value: float, values: Mapping[int, float], metric: str | None) -> Estimate:
    """Return the expected final value of a trial that is stopped at a mark.

    Args:
        draft: the draft of the study.
        mark: the mark.
        value: the trial's value there.
        values: as ``comparable`` returns them.
        metric: the metric whose values are reported; None for the value.
    """
    expected, std_error = extrapolated(value, values, _results_at(draft, mark, metric))
    return Estimate(value=expected, std_error=std_error)


def _results_at(draft: Draft, mark: int, metric: str | None) -> dict[int, float]:
    """Return number -> value, or value of a metric, of the completed trials that have reached a mark."""
    completed = {number: each for number, each in draft.reached(mark).items() if each.state == "completed"}
    found = {
        number: each.value if metric is None else (each.metrics or {}).get(metric) for number, each in completed.items()
    }
    return {number: value for number, value in found.items() if value is not None}
