"""Count a finished request in the metrics and add it to its trace: the durations of its phases, and its outcome."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from adabkb_service.contract.answers import Observed, ObservedBatch, Suggested
from adabkb_service.contract.reports import Reported
from adabkb_service.study.batch import PendingRequest
from adabkb_service.study.dependencies import Dependencies
from adabkb_service.study.request import Outcome

OPERATIONS: dict[type[BaseModel], str] = {
    Suggested: "suggest",
    Observed: "observe",
    ObservedBatch: "observe",
    Reported: "report",
}
"""Answer type -> label of the requests with this answer. All other requests share the label "other"."""


def count_request(dependencies: Dependencies, pending: PendingRequest, outcome: Any) -> None:
    """Add a finished or refused request to the metrics and to its trace."""
    metrics, found = dependencies.metrics, _phases(pending)
    operation = OPERATIONS.get(pending.request.answer, "other")
    for phase, (began, ended) in found.items():
        metrics.phase(operation, phase, ended - began)
    if dependencies.traces is not None:
        pending.context.run(dependencies.traces.parts, found, pending.request.study_id)
    if not isinstance(outcome, Outcome):
        return
    if isinstance(outcome.view, Suggested) and outcome.view.degraded:
        metrics.degraded_answers.inc()
    if outcome.replayed and operation == "observe":
        metrics.repeated_results.inc(len(outcome.view.items) if isinstance(outcome.view, ObservedBatch) else 1)
    for disposition in outcome.dispositions:
        if disposition == "late":
            metrics.late_results.inc()
        elif disposition == "repeated":
            metrics.repeated_results.inc()


def _phases(pending: PendingRequest) -> dict[str, tuple[float, float]]:
    """Return phase -> its beginning and end, by ``time.monotonic``."""
    if pending.first_batch_at is None:
        return {}
    found = {"queue": (pending.queued_at, pending.first_batch_at)}
    if pending.was_parked:
        found["decide"] = pending.first_batch_at, pending.last_batch_at
    if pending.committing is not None:
        found["commit"] = pending.committing
    return found
