"""Rules for recording a result, depending on whether it is new, repeated, late or of another attempt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adabkb_service.contract.context import measured_of
from adabkb_service.contract.cost import COST
from adabkb_service.contract.metrics import metrics_of, missing
from adabkb_service.contract.requests import (
    ObserveBody,
    PointFailureBody,
    PointValueBody,
    TrialFailureBody,
    TrialValueBody,
)
from adabkb_service.contract.stored import is_edited
from adabkb_service.errors import LeaseLost, ResultConflict, TrialFinished, shortened, shown
from adabkb_service.operations.assumed import with_assumed
from adabkb_service.operations.attempts import known_attempt
from adabkb_service.operations.correct import annotate_result, record_change
from adabkb_service.operations.queue import add_trial
from adabkb_service.storage import events
from adabkb_service.storage.event_payloads import Failed, Observed
from adabkb_service.storage.rows import ObservationRow, TrialRow, as_values
from adabkb_service.study import plates
from adabkb_service.study.draft import Draft
from adabkb_service.study.edited_space import evaluated
from adabkb_service.study.metric_checks import check_natural_bounds, checked_metrics, metrics_of_result
from adabkb_service.study.point_checks import check_measured, feasible_point
from adabkb_service.study.request import Disposition

Numbers = dict[str | None, tuple[float, float | None]]
"""Name of a metric -> value and standard error. The key of the objective is None."""
MIN_COST_SECONDS = 1e-3
"""The minimum cost of an attempt, in seconds, if its duration is the cost."""


@dataclass(frozen=True, slots=True)
class RecordedResult:
    """The outcome of recording a result."""

    trial: TrialRow | None
    observation: ObservationRow | None
    disposition: Disposition = "stored"


def record(draft: Draft, result: ObserveBody) -> RecordedResult:
    """Record a result in a draft of the study. A refused result changes nothing.

    Raises:
        TrialNotFound: the trial does not exist.
        Invalid: the point is not in the space or not on the plate, the attempt does not exist, a number is missing, not
            allowed or far beyond its natural bounds, or the attributes are too many or too large.
        ResultConflict: the attempt has another result, or was reported as failed.
        TrialFinished: the trial was stopped, or can no longer fail.
        LeaseLost: a failure was reported for an attempt that is not the current one.
    """
    match result:
        case TrialFailureBody():
            return _record_failure(draft, result)
        case PointFailureBody():
            return _record_own_failure(draft, result)
        case PointValueBody():
            return _record_own_value(draft, result)
        case TrialValueBody():
            return _record_value(draft, result)


def _record_own_value(draft: Draft, result: PointValueBody) -> RecordedResult:
    metrics = checked_metrics(metrics_of(draft.study.definition), result)
    parameters = feasible_point(draft.space, result.parameters, "/parameters", is_measured=True)
    if result.plate is not None:
        plates.check_result(draft, parameters, result.plate)
    stored = _observe(draft, None, None, parameters, result, metrics, result.plate)
    annotate_result(draft, stored, result.attributes)
    return RecordedResult(None, draft.observation(stored.seq))


def _record_value(draft: Draft, result: TrialValueBody) -> RecordedResult:
    trial = draft.trial(result.trial)
    attempt = known_attempt(trial, result.attempt)
    earlier = _earlier(draft, trial, attempt, is_given=result.attempt is not None)
    if earlier is None or not _lacks_numbers(draft, earlier):
        _check_not_stopped(trial)
    seconds = seconds_of(draft, trial, attempt, result.seconds)
    result = _with_measured_cost(draft, seconds, result, earlier)
    metrics = checked_metrics(metrics_of(draft.study.definition), result, earlier)
    parameters = trial.parameters
    measured = [name for name in measured_of(draft.definition.parameters) if name in parameters]
    point = result.parameters
    if earlier is None:
        check_measured(measured, point, "/parameters")
    if point and point.keys() <= set(measured):
        point = {**(parameters if earlier is None else earlier.parameters), **point}
    if point is not None and not (is_edited(draft.study.definition) and point == parameters):
        parameters = feasible_point(draft.space, evaluated(draft, trial, point), "/parameters", is_measured=True)
    if earlier is not None:
        known, given = _numbers(as_values(earlier)), _numbers({**vars(result), **metrics})
        if any(known.get(name, number) != number for name, number in given.items()):
            _check_same_as_reported(draft, trial, earlier, result, given)
        if result.parameters is not None and earlier.parameters != parameters:
            raise ResultConflict(
                f"Attempt {attempt} of trial {trial.number} already has a result, with other parameters: "
                f"{shown(earlier.parameters)}. Leave out the parameters. If the stored ones are wrong, exclude "
                f"observation {earlier.seq}, and report the value with its parameters and without the trial.",
                earlier.seq,
            )
        if given.keys() <= known.keys():
            return RecordedResult(trial, earlier, "repeated")
        check_natural_bounds(draft.definition.quantities, result.value, metrics.get("metrics", {}))
        record_change(draft, earlier, _added_columns(earlier, result, metrics))
        return RecordedResult(draft.trial(trial.number), draft.observation(earlier.seq))
    if trial.state == "failed" and trial.failed_attempt == attempt:
        because = f" ({shown(shortened(trial.reason, 100))})" if trial.reason else ""
        raise ResultConflict(
            f"Attempt {attempt} of trial {trial.number} was reported as failed{because}; "
            f"it cannot have {_with_error(result)} too."
        )
    is_late = trial.state not in ("active", "queued") or attempt != trial.attempt
    observation = _observe(draft, trial.number, attempt, parameters, result, metrics, seconds=seconds)
    return RecordedResult(draft.trial(trial.number), observation, "late" if is_late else "stored")


def _earlier(draft: Draft, trial: TrialRow, attempt: int, *, is_given: bool) -> ObservationRow | None:
    """Return the stored result of an attempt of a trial. Without one, return the trial's first result if the request
    names no attempt and this result lacks numbers. Otherwise, return None."""
    if trial.state not in ("completed", "stopped"):  # a trial ends with its first result, of whichever attempt
        return None
    found = draft.observations_of(trial.number)
    own_result = next((known for known in found if known.attempt == attempt), None)
    if own_result is None and not is_given and found and _lacks_numbers(draft, found[0]):
        return found[0]
    return own_result


def _lacks_numbers(draft: Draft, result: ObservationRow) -> bool:
    return bool(missing(metrics_of(draft.study.definition), result.value, result.metrics))


def _added_columns(
    earlier: ObservationRow, result: TrialValueBody, metrics: dict[str, dict[str, float]]
) -> dict[str, Any]:
    """Return the columns of a result that change when numbers are added to it, with their new values."""
    changes: dict[str, Any] = {}
    if earlier.value is None and result.value is not None:
        changes = {"value": result.value, "std_error": result.std_error}
    merged = {field: {**values, **(getattr(earlier, field) or {})} for field, values in metrics.items()}
    return changes | {field: values for field, values in merged.items() if values != (getattr(earlier, field) or {})}


def _with_measured_cost(
    draft: Draft, seconds: float | None, result: TrialValueBody, earlier: ObservationRow | None
) -> TrialValueBody:
    """Return the result with the duration of the evaluation as its cost, if the study measures durations. A result that
    gives its cost is unchanged. A repeated result keeps the stored cost."""
    if COST in metrics_of_result(result):
        return result
    cost = measured_cost(draft, seconds)
    if cost is not None and earlier is not None and earlier.metrics is not None:
        cost = earlier.metrics[COST]
    return result if cost is None else result.model_copy(update={"cost": cost})


def seconds_of(draft: Draft, trial: TrialRow, attempt: int, reported: float | None) -> float | None:
    """Return the duration of an evaluation: the reported one or, for the current attempt of a trial, the time since its
    start; None if neither is known."""
    if reported is not None:
        return reported
    if trial.started_at is None or attempt != trial.attempt:
        return None
    return (draft.now - trial.started_at).total_seconds()


def measured_cost(draft: Draft, seconds: float | None) -> float | None:
    """Return the cost of an evaluation with this duration; None if the study does not measure durations, or if the
    duration is unknown."""
    if draft.study.definition.get("cost") != "measured" or seconds is None:
        return None
    return max(seconds, MIN_COST_SECONDS)


def _record_failure(draft: Draft, failure: TrialFailureBody) -> RecordedResult:
    trial = draft.trial(failure.trial)
    attempt = known_attempt(trial, failure.attempt)
    _check_not_stopped(trial)
    if trial.state == "failed":
        return RecordedResult(trial, None, "repeated")
    if trial.state == "completed":
        outcome = f"the value {trial.value}" if trial.value is not None else f"the metrics {shown(trial.metrics)}"
        raise TrialFinished(f"Trial {trial.number} is completed with {outcome}, so it cannot fail.")
    if attempt != trial.attempt:
        raise LeaseLost(
            f"Trial {trial.number} has been issued again (attempt {trial.attempt}), so a failure of attempt {attempt} "
            "is not recorded."
        )
    seconds = seconds_of(draft, trial, attempt, failure.seconds)
    failed: Failed = {"attempt": attempt, "reason": failure.reason}
    if seconds is not None:
        failed["seconds"] = seconds
    draft.record("failed", failed, trial.number)
    return RecordedResult(draft.trial(trial.number), None)


def _record_own_failure(draft: Draft, failure: PointFailureBody) -> RecordedResult:
    """Record a failed evaluation at a point that the user chose. It is stored as a trial, since only trials fail. Like
    a result at such a point, it does not count towards the budget. It does not count towards ``failure_limit``
    either."""
    parameters = with_assumed(draft, failure.parameters)
    point = feasible_point(draft.space, parameters, "/parameters", is_measured=True)
    trial = add_trial(draft, point, is_own=True)
    draft.record("failed", {"attempt": trial.attempt, "reason": failure.reason}, trial.number)
    return RecordedResult(draft.trial(trial.number), None)


def _check_not_stopped(trial: TrialRow) -> None:
    if trial.state == "stopped" and trial.curve is not None:
        raise TrialFinished(
            f"Trial {trial.number} was stopped at step {trial.curve['step']}, and its reports determine its result. "
            "If the evaluation still reached its last step, report its value with its parameters, and leave out "
            "the trial."
        )


def _check_same_as_reported(
    draft: Draft, trial: TrialRow, earlier: ObservationRow, result: TrialValueBody, numbers: Numbers
) -> None:
    """Check that numbers equal those that were first reported. The log keeps these even if the result was corrected
    later.

    Raises:
        ResultConflict: a number differs.
    """
    reported: Numbers = {}
    stored = events.of_trial(draft.connection, trial.study_id, trial.number)
    for event in (*stored, *(each for each in draft.log if each.trial == trial.number)):
        if event.kind in ("observed", "measured") and event.payload["observation"] == earlier.seq:
            reported = {**_numbers(event.payload), **reported}
    if all(reported.get(name, number) == number for name, number in numbers.items()):
        return
    raise ResultConflict(
        f"Attempt {earlier.attempt} of trial {trial.number} has {_with_error(earlier)}; it cannot have "
        f"{_with_error(result)} too. To replace the value, correct observation {earlier.seq}.",
        earlier.seq,
    )


def _numbers(result: Mapping[str, Any]) -> Numbers:
    """Return the numbers by which two results are compared."""
    errors = result.get("std_errors") or {}
    found: Numbers = {name: (value, errors.get(name)) for name, value in (result.get("metrics") or {}).items()}
    return found if result.get("value") is None else {**found, None: (result["value"], result.get("std_error"))}


def _with_error(result: ObservationRow | TrialValueBody) -> str:
    more = {name: getattr(result, name) for name in ("std_error", "metrics", "std_errors")}
    numbers = ", ".join(f"{name} {shown(value)}" for name, value in more.items() if value not in (None, {}))
    if result.value is None:
        return numbers
    return f"the value {result.value} ({numbers})" if numbers else f"the value {result.value}"


def _observe(
    draft: Draft,
    trial: int | None,
    attempt: int | None,
    parameters: dict[str, Any],
    result: TrialValueBody | PointValueBody,
    metrics: dict[str, dict[str, float]],
    plate: int | None = None,
    seconds: float | None = None,
) -> ObservationRow:
    check_natural_bounds(draft.definition.quantities, result.value, metrics.get("metrics", {}))
    seq = draft.study.observations + 1
    observed: Observed = {"observation": seq, "attempt": attempt, "parameters": parameters}
    if plate is not None:
        observed["plate"] = plate
    if result.value is not None:
        observed["value"], observed["std_error"] = result.value, result.std_error
    if metrics:
        observed["metrics"], observed["std_errors"] = metrics["metrics"], metrics["std_errors"]
    if seconds is not None:
        observed["seconds"] = seconds
    draft.record("observed", observed, trial)
    return draft.observation(seq)
