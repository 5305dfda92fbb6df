"""Writing one result, with the rules for results that come twice, late, or for the wrong attempt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adabkb_service.contract.results import Failure, Result, Value
from adabkb_service.engine.space import Space
from adabkb_service.errors import FieldError, Invalid, LeaseLost, ResultConflict, TrialFinished, shortened, shown
from adabkb_service.storage import events
from adabkb_service.storage.rows import ObservationRow, TrialRow
from adabkb_service.study.draft import Change
from adabkb_service.study.points import checked_point


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a result became."""

    trial: TrialRow | None
    observation: ObservationRow | None
    new: bool
    """False if the same result was there already."""


def record(change: Change, space: Space, result: Result) -> Recorded:
    """Take a result into a change of the study; nothing is changed if it is refused.

    Raises:
        TrialNotFound: there is no such trial.
        Invalid: the point is not in the space, or there was no such attempt.
        ResultConflict: the attempt has another result.
        TrialFinished, LeaseLost: the trial cannot be failed (any more).
    """
    if isinstance(result, Failure):
        return _record_failure(change, result)
    if result.trial is None:
        parameters = checked_point(space, result.parameters or {}, "/parameters")
        return Recorded(None, _observe(change, None, None, parameters, result), new=True)
    trial = change.trial(result.trial)
    attempt = _attempt(trial, result.attempt)
    parameters = trial.parameters
    if result.parameters is not None:
        parameters = checked_point(space, result.parameters, "/parameters")
    earlier = None
    if trial.state == "completed":  # by its first result, whatever attempt that was of
        earlier = next((known for known in change.results_of(trial.number) if known.attempt == attempt), None)
    if earlier is not None:
        if (earlier.value, earlier.std_error) != (result.value, result.std_error):
            _check_same_as_told(change, trial, earlier, result)
        if result.parameters is not None and earlier.parameters != parameters:
            raise ResultConflict(f"Attempt {attempt} of trial {trial.number} was run at {shown(earlier.parameters)}.")
        return Recorded(trial, earlier, new=False)
    if trial.state == "failed" and trial.failed_attempt == attempt:
        raise ResultConflict(
            f"Attempt {attempt} of trial {trial.number} was reported as failed ({shortened(trial.reason or '', 100)}); "
            f"it cannot have the value {result.value} too."
        )
    observation = _observe(change, trial.number, attempt, parameters, result)
    if trial.state != "completed":
        trial = change.move(trial, state="completed", value=result.value, reason=None, finished_at=change.now)
        change.set(failures=0)
    return Recorded(trial, observation, new=True)


def _record_failure(change: Change, failure: Failure) -> Recorded:
    trial = change.trial(failure.trial)
    attempt = _attempt(trial, failure.attempt)
    if trial.state == "failed":
        return Recorded(trial, None, new=False)
    if trial.state == "completed":
        raise TrialFinished(f"Trial {trial.number} is completed with the value {trial.value}; it cannot fail.")
    if attempt != trial.attempt:
        raise LeaseLost(
            f"Trial {trial.number} is at attempt {trial.attempt}; attempt {attempt} cannot fail it any more."
        )
    change.note("failed", {"attempt": attempt, "reason": failure.reason}, trial.number)
    trial = change.move(trial, state="failed", failed_attempt=attempt, reason=failure.reason, finished_at=change.now)
    change.set(failures=change.study.failures + 1)
    return Recorded(trial, None, new=True)


def _attempt(trial: TrialRow, attempt: int | None) -> int:
    if attempt is None:
        return trial.attempt
    if not min(trial.attempt, 1) <= attempt <= trial.attempt:
        detail = f"trial {trial.number} has had {trial.attempt} attempts so far, counted from 1"
        raise Invalid([FieldError("/attempt", detail, "unknown_attempt")])
    return attempt


def _check_same_as_told(change: Change, trial: TrialRow, earlier: ObservationRow, result: Value) -> None:
    """Since it was told it may have been corrected: then the log knows what it was."""
    for event in events.of_trial(change.connection, trial.study_id, trial.number):
        told = event.payload
        if event.kind == "observed" and told["observation"] == earlier.seq:
            if (told["value"], told["std_error"]) == (result.value, result.std_error):
                return
            break
    raise ResultConflict(
        f"Attempt {earlier.attempt} of trial {trial.number} has the value {earlier.value} "
        f"(std_error {earlier.std_error}); it cannot have {result.value} (std_error {result.std_error}) too. "
        f"To correct it: PATCH observation {earlier.seq}."
    )


def _observe(
    change: Change, trial: int | None, attempt: int | None, parameters: dict[str, Any], result: Value
) -> ObservationRow:
    row = ObservationRow(
        study_id=change.study.id,
        seq=change.study.observations + 1,
        trial=trial,
        attempt=attempt,
        parameters=parameters,
        value=result.value,
        std_error=result.std_error,
        excluded=False,
        observed_at=change.now,
    )
    change.add_result(row)
    payload = {
        "observation": row.seq,
        "attempt": attempt,
        "parameters": parameters,
        "value": row.value,
        "std_error": row.std_error,
    }
    change.note("observed", payload, trial)
    return row
