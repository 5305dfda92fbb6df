"""Writing one result, with the rules for results that come twice, late, or for the wrong attempt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from adabkb_service.engine.space import Space
from adabkb_service.errors import FieldError, Invalid, LeaseLost, ResultConflict, TrialFinished
from adabkb_service.operations.points import checked_point
from adabkb_service.storage import events, observations, trials
from adabkb_service.storage.rows import ObservationRow, StudyRow, TrialRow


@dataclass(frozen=True, slots=True)
class Value:
    """A result: of a trial, or without one of a point nobody suggested."""

    value: float
    trial: int | None = None
    attempt: int | None = None
    """The trial's current one if None."""
    std_error: float | None = None
    parameters: Mapping[str, Any] | None = None
    """What was actually run; the trial's own if None."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A trial that gave no result."""

    trial: int
    attempt: int | None = None
    reason: str | None = None


Result = Value | Failure


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a result became."""

    trial: TrialRow | None
    observation: ObservationRow | None
    new: bool
    """False if the same result was there already."""


def record(connection: Connection, study: StudyRow, space: Space, result: Result, now: datetime) -> Recorded:
    """Write a result of a locked study; nothing is written if it is refused.

    Raises:
        TrialNotFound: there is no such trial.
        Invalid: the point is not in the space, or there was no such attempt.
        ResultConflict: the attempt has another result.
        TrialFinished, LeaseLost: the trial cannot be failed (any more).
    """
    if isinstance(result, Failure):
        return _record_failure(connection, study, result, now)
    if result.trial is None:
        parameters = checked_point(space, result.parameters or {}, "/parameters")
        return Recorded(None, _observe(connection, study, None, None, parameters, result, now), new=True)
    trial = trials.get(connection, study.id, result.trial)
    attempt = _attempt(trial, result.attempt)
    parameters = trial.parameters
    if result.parameters is not None:
        parameters = checked_point(space, result.parameters, "/parameters")
    if earlier := _result_of(connection, trial, attempt):
        _check_same(trial, earlier, result, parameters)
        return Recorded(trial, earlier, new=False)
    if trial.state == "failed" and trial.failed_attempt == attempt:
        raise ResultConflict(
            f"Attempt {attempt} of trial {trial.number} was reported as failed ({trial.reason}); "
            f"it cannot have the value {result.value} too."
        )
    observation = _observe(connection, study, trial.number, attempt, parameters, result, now)
    if trial.state != "completed":
        trial = trials.change(connection, trial, state="completed", value=result.value, reason=None, finished_at=now)
    return Recorded(trial, observation, new=True)


def _record_failure(connection: Connection, study: StudyRow, failure: Failure, now: datetime) -> Recorded:
    trial = trials.get(connection, study.id, failure.trial)
    attempt = _attempt(trial, failure.attempt)
    if trial.state == "failed":
        return Recorded(trial, None, new=False)
    if trial.state == "completed":
        raise TrialFinished(f"Trial {trial.number} is completed with the value {trial.value}; it cannot fail.")
    if attempt != trial.attempt:
        raise LeaseLost(
            f"Trial {trial.number} is at attempt {trial.attempt}; attempt {attempt} cannot fail it any more."
        )
    payload = {"attempt": attempt, "reason": failure.reason}
    events.append(connection, study.id, "failed", payload, now=now, trial=trial.number)
    trial = trials.change(
        connection, trial, state="failed", failed_attempt=attempt, reason=failure.reason, finished_at=now
    )
    return Recorded(trial, None, new=True)


def _attempt(trial: TrialRow, attempt: int | None) -> int:
    if attempt is None:
        return trial.attempt
    if not min(trial.attempt, 1) <= attempt <= trial.attempt:
        detail = f"trial {trial.number} has had {trial.attempt} attempts so far, counted from 1"
        raise Invalid([FieldError("/attempt", detail, "unknown_attempt")])
    return attempt


def _result_of(connection: Connection, trial: TrialRow, attempt: int) -> ObservationRow | None:
    results = observations.of_trial(connection, trial.study_id, trial.number)
    return next((result for result in results if result.attempt == attempt), None)


def _check_same(trial: TrialRow, earlier: ObservationRow, result: Value, parameters: dict[str, Any]) -> None:
    if (earlier.value, earlier.std_error) != (result.value, result.std_error):
        raise ResultConflict(
            f"Attempt {earlier.attempt} of trial {trial.number} has the value {earlier.value} "
            f"(std_error {earlier.std_error}); it cannot have {result.value} (std_error {result.std_error}) too. "
            f"To correct it: PATCH observation {earlier.seq}."
        )
    if result.parameters is not None and earlier.parameters != parameters:
        raise ResultConflict(f"Attempt {earlier.attempt} of trial {trial.number} was run at {earlier.parameters}.")


def _observe(
    connection: Connection,
    study: StudyRow,
    trial: int | None,
    attempt: int | None,
    parameters: dict[str, Any],
    result: Value,
    now: datetime,
) -> ObservationRow:
    row = ObservationRow(
        study_id=study.id,
        seq=observations.last_seq(connection, study.id) + 1,
        trial=trial,
        attempt=attempt,
        parameters=parameters,
        value=result.value,
        std_error=result.std_error,
        excluded=False,
        observed_at=now,
    )
    observations.add(connection, row)
    payload = {
        "observation": row.seq,
        "attempt": attempt,
        "parameters": parameters,
        "value": row.value,
        "std_error": row.std_error,
    }
    events.append(connection, study.id, "observed", payload, now=now, trial=trial)
    return row
