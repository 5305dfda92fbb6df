"""The metrics and the trace of a finished request."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from adabkb_service.contract.answers import BatchItem, Observed, ObservedBatch, StudySummary, Suggested
from adabkb_service.contract.reports import Reported
from adabkb_service.errors import TrialNotFound
from adabkb_service.study.batch import PendingRequest
from adabkb_service.study.dependencies import Dependencies
from adabkb_service.study.request import Outcome, Request
from adabkb_service.study.request_metrics import count_request
from adabkb_service.telemetry.metrics import Metrics

RESULTS = ("late_results", "repeated_results", "degraded_answers")


def view(kind: type[Any], **fields: Any) -> Any:
    """An answer with these fields only."""
    return kind.model_construct(**fields)


SUGGESTED, DEGRADED = view(Suggested, degraded=False), view(Suggested, degraded=True)
OBSERVED, REPORTED = view(Observed), view(Reported)
OF_THREE = view(ObservedBatch, items=[view(BatchItem)] * 3)


@dataclass
class Recorder:
    """The metrics and the traces of a process."""

    metrics: Metrics = field(default_factory=Metrics)
    traced: list[tuple[dict[str, tuple[float, float]], str]] = field(default_factory=list)

    @property
    def traces(self) -> Recorder:
        return self

    def parts(self, phases: dict[str, tuple[float, float]], study_id: str) -> None:
        self.traced.append((phases, study_id))

    def count(self, pending: PendingRequest, outcome: Any) -> dict[str, float]:
        """Count a request. Return the value of each sample, by its name and the values of its labels."""
        count_request(cast("Dependencies", self), pending, outcome)
        return {
            ".".join([sample.name.removeprefix("adabkb_"), *sample.labels.values()]): sample.value
            for family in self.metrics.registry.collect()
            for sample in family.samples
            if family.name.startswith("adabkb_")
        }


def finished(answer: type[Any], **times: Any) -> PendingRequest:
    """A finished request with an answer of this type."""

    def perform(*_: Any) -> Outcome[Any]:
        raise AssertionError

    return PendingRequest(Request("s", answer, perform), Future(), **times)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome(OBSERVED, dispositions=["stored"]), {}),
        (Outcome(OBSERVED, dispositions=["late"]), {"late_results": 1}),
        (Outcome(OBSERVED, dispositions=["repeated"]), {"repeated_results": 1}),
        (Outcome(OBSERVED, replayed=True), {"repeated_results": 1}),
        (
            Outcome(OF_THREE, dispositions=["late", "repeated", "stored", "repeated"]),
            {"late_results": 1, "repeated_results": 2},
        ),
        (Outcome(OF_THREE, replayed=True), {"repeated_results": 3}),
        (Outcome(REPORTED, replayed=True), {}),
        (Outcome(SUGGESTED, replayed=True), {}),
        (Outcome(DEGRADED), {"degraded_answers": 1}),
        (TrialNotFound("s", 1), {}),
    ],
)
def test_late_and_repeated_results_and_degraded_answers_are_counted(outcome: Any, expected: dict[str, int]) -> None:
    """All results of a repeated request are repeated results. A refused request counts as none."""
    answer = type(outcome.view) if isinstance(outcome, Outcome) else Observed
    found = Recorder().count(finished(answer), outcome)
    assert {name: found[f"{name}_total"] for name in RESULTS} == {**dict.fromkeys(RESULTS, 0), **expected}


TIMES: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "refused before its batch": ({}, {}),
    "read": ({"first_batch_at": 12.0, "last_batch_at": 12.0}, {"queue": 2.0}),
    "written": ({"first_batch_at": 12.0, "last_batch_at": 12.0, "committing": (13, 18)}, {"queue": 2, "commit": 5}),
    "parked": (
        {"first_batch_at": 12.0, "last_batch_at": 15.0, "committing": (16.0, 17.0)},
        {"queue": 2.0, "decide": 3.0, "commit": 1.0},
    ),
}


@pytest.mark.parametrize(("times", "expected"), TIMES.values(), ids=TIMES)
@pytest.mark.parametrize(
    ("answer", "operation"),
    [
        (Suggested, "suggest"),
        (Observed, "observe"),
        (ObservedBatch, "observe"),
        (Reported, "report"),
        (StudySummary, "other"),
    ],
)
def test_phases_of_a_request_are_timed_and_traced(
    answer: type[Any], operation: str, times: dict[str, Any], expected: dict[str, float]
) -> None:
    """Also those of a refused request. A request that was not parked did not wait for decisions."""
    recorder = Recorder()
    found = recorder.count(finished(answer, queued_at=10.0, **times), TrialNotFound("s", 1))
    sums = {name: value for name, value in found.items() if name.startswith("phase_seconds_sum.")}
    assert sums == {f"phase_seconds_sum.{operation}.{phase}": seconds for phase, seconds in expected.items()}
    ((phases, study_id),) = recorder.traced
    assert ({name: ended - began for name, (began, ended) in phases.items()}, study_id) == (expected, "s")
