"""The operations as blocking calls, and short forms of their bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from adabkb_service.api.problems import describe
from adabkb_service.contract.answers import (
    Corrected,
    Observed,
    ObservedBatch,
    Repeated,
    Study,
    Suggested,
    Trial,
    TrialAnswer,
)
from adabkb_service.contract.reports import Reported, ReportsBody
from adabkb_service.contract.requests import (
    BatchBody,
    HeartbeatBody,
    ObserveBody,
    PatchStudyBody,
    PointFailureBody,
    PointValueBody,
    QueueBody,
    ReleaseBody,
    RepeatBody,
    RetryBody,
    SuggestBody,
    TrialFailureBody,
    TrialValueBody,
    WithdrawBody,
)
from adabkb_service.operations import annotate as annotation
from adabkb_service.operations import correct as correction
from adabkb_service.operations import lease
from adabkb_service.operations import observe as observation
from adabkb_service.operations import queue as queueing
from adabkb_service.operations import report as reporting
from adabkb_service.operations import suggest as suggestion
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import manage
from adabkb_service.study.request import Key, Outcome


def Ask(
    count: int = 1,
    worker: str | None = None,
    lease_seconds: float | None = None,
    fixed: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
    *,
    plate: Literal["open", "new"] | None = None,
    skip_released: bool = False,
) -> SuggestBody:
    """A request for trials."""
    given, known = (None if each is None else dict(each) for each in (fixed, context))
    return SuggestBody.model_construct(
        count=count,
        worker=worker,
        lease_seconds=lease_seconds,
        fixed=given,
        context=known,
        plate=plate,
        skip_released=skip_released,
    )


def Value(
    value: float,
    trial: int | None = None,
    attempt: int | None = None,
    std_error: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    **more: Any,
) -> TrialValueBody | PointValueBody:
    """A result of a trial or of a user-supplied point, with ``cost``, ``metrics``, ..."""
    fields = {"value": value, "std_error": std_error, **more}
    if trial is None:
        return PointValueBody.model_construct(parameters=dict(parameters or {}), **fields)
    given = None if parameters is None else dict(parameters)
    return TrialValueBody.model_construct(trial=trial, attempt=attempt, parameters=given, **fields)


def Failure(trial: int, attempt: int | None = None, reason: str | None = None) -> TrialFailureBody:
    """A failed trial."""
    return TrialFailureBody.model_construct(trial=trial, state="failed", attempt=attempt, reason=reason)


def OwnFailure(parameters: Mapping[str, Any], reason: str | None = None) -> PointFailureBody:
    """A failed evaluation of a user-supplied point."""
    return PointFailureBody.model_construct(parameters=dict(parameters), state="failed", reason=reason)


def suggest(running: Service, study_id: str, body: SuggestBody, key: Key | None = None) -> Outcome[Suggested]:
    return running.do(suggestion.suggest(study_id, body, key))


def observe(running: Service, study_id: str, result: ObserveBody, key: Key | None = None) -> Outcome[Observed]:
    return running.do(observation.observe(study_id, result, key))


def observe_batch(
    running: Service,
    study_id: str,
    results: Sequence[ObserveBody],
    *,
    dry_run: bool = False,
    key: Key | None = None,
) -> Outcome[ObservedBatch]:
    body = BatchBody.model_construct(items=list(results), dry_run=dry_run)
    return running.do(observation.observe_batch(study_id, body, describe, key))


def correct(
    running: Service,
    study_id: str,
    seq: int,
    changes: dict[str, Any],
    reason: str | None = None,
    key: Key | None = None,
) -> Outcome[Corrected]:
    return running.do(correction.correct(study_id, seq, changes, reason, key))


def queue(
    running: Service,
    study_id: str,
    parameters: Mapping[str, Any],
    key: Key | None = None,
    *,
    plate: Literal["open", "new"] | None = None,
) -> Outcome[Trial]:
    body = QueueBody.model_construct(parameters=dict(parameters), plate=plate)
    return running.do(queueing.queue(study_id, body, key))


def repeat(running: Service, study_id: str, key: Key | None = None, **body: Any) -> Outcome[Repeated]:
    return running.do(queueing.repeat(study_id, RepeatBody(**body), key))


def withdraw(
    running: Service,
    study_id: str,
    number: int,
    reason: str | None = None,
    *,
    attempt: int | None = None,
    key: Key | None = None,
) -> Outcome[TrialAnswer]:
    body = WithdrawBody.model_construct(reason=reason, attempt=attempt)
    return running.do(lease.withdraw(study_id, number, body, key))


def heartbeat(
    running: Service,
    study_id: str,
    number: int,
    *,
    attempt: int | None = None,
    lease_seconds: float | None = None,
    key: Key | None = None,
) -> Outcome[TrialAnswer]:
    body = HeartbeatBody.model_construct(attempt=attempt, lease_seconds=lease_seconds)
    return running.do(lease.heartbeat(study_id, number, body, key))


def report(
    running: Service,
    study_id: str,
    number: int,
    *reports: tuple[int, float],
    attempt: int | None = None,
    key: Key | None = None,
    cost: float | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Outcome[Reported]:
    items = [{"step": step, "value": value, "cost": cost, "parameters": parameters} for step, value in reports]
    body = ReportsBody.model_validate({"reports": items, "attempt": attempt})
    return running.do(reporting.report(study_id, number, body, key))


def release(
    running: Service,
    study_id: str,
    number: int,
    *,
    reason: str | None = None,
    attempt: int | None = None,
    key: Key | None = None,
) -> Outcome[TrialAnswer]:
    body = ReleaseBody.model_construct(reason=reason, attempt=attempt)
    return running.do(lease.release(study_id, number, body, key))


def annotate(
    running: Service, study_id: str, number: int, attributes: Mapping[str, Any], key: Key | None = None
) -> Outcome[TrialAnswer]:
    return running.do(annotation.annotate(study_id, number, dict(attributes), key))


def retry(
    running: Service, study_id: str, number: int, *, reason: str | None = None, key: Key | None = None
) -> Outcome[TrialAnswer]:
    return running.do(lease.retry(study_id, number, RetryBody.model_construct(reason=reason), key))


def change(
    running: Service,
    study_id: str,
    changes: dict[str, Any],
    revisions: frozenset[str] | None = None,
    key: Key | None = None,
) -> Outcome[Study]:
    return running.do(manage.change(study_id, changes, revisions, key))


def get(running: Service, study_id: str) -> Study:
    return running.do(manage.get(study_id)).view


def store(running: Service, study_id: str) -> None:
    """Store the model, whose rows may otherwise be some events behind."""
    running.ask(study_id, "stored")
    running.do(replace(manage.get(study_id), stores_model_stats=True))


def edit(running: Service, *parameters: dict[str, Any], **defaults: Any) -> Any:
    """Edit the space of the study "s", and return the study."""
    changes = {"parameters": list(parameters), **({"defaults": defaults} if defaults else {})}
    return change(running, "s", PatchStudyBody.model_validate(changes).changes()).view
