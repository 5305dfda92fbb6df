"""The metrics that a result may have, must have, and may get later."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from adabkb_service.contract.metrics import metrics_of
from adabkb_service.contract.requests import PointValueBody
from adabkb_service.engine.metrics import Metric
from adabkb_service.errors import Invalid
from adabkb_service.storage.rows import ObservationRow
from adabkb_service.study.metric_checks import checked_metrics, corrected_metrics
from tests.integration.operations.conftest import definition

NONE: tuple[Metric, ...] = ()
OBJECTIVES = [{"metric": "yield", "direction": "maximize"}, {"metric": "waste", "direction": "minimize"}]


def of(**changes: Any) -> tuple[Metric, ...]:
    return metrics_of(definition(**changes).model_dump(mode="json"))


TWO = of(metrics=["mass", "heat"])
COST = of(cost="told", metrics=["mass"])
SEVERAL = of(objectives=OBJECTIVES, direction=None)


def result(**fields: Any) -> PointValueBody:
    return PointValueBody.model_validate({"parameters": {}, **fields})


def earlier(value: float | None, **metrics: float) -> ObservationRow:
    return ObservationRow(
        "s", 1, None, None, {}, value, None, False, datetime(2026, 1, 1, tzinfo=UTC), metrics, {}, None, None
    )


def refused(raised: pytest.ExceptionInfo[Invalid]) -> list[tuple[str, str]]:
    return [(error.pointer, error.code) for error in raised.value.errors]


ACCEPTED: dict[str, tuple[tuple[Metric, ...], dict[str, Any], ObservationRow | None, dict[str, Any]]] = {
    "none": (NONE, {"value": 1.0}, None, {}),
    "all, in the order of the study": (
        TWO,
        {"value": 1.0, "metrics": {"heat": 2.0, "mass": 1.0}, "std_errors": {"heat": 0.5}},
        None,
        {"metrics": {"mass": 1.0, "heat": 2.0}, "std_errors": {"heat": 0.5}},
    ),
    "one of two": (
        TWO,
        {"value": 1.0, "metrics": {"heat": 2.0}, "partial": True},
        None,
        {"metrics": {"heat": 2.0}, "std_errors": {}},
    ),
    "no value yet": (
        TWO,
        {"metrics": {"heat": 2.0}, "partial": True},
        None,
        {"metrics": {"heat": 2.0}, "std_errors": {}},
    ),
    "the rest": (TWO, {"metrics": {"heat": 2.0}}, earlier(1.0, mass=3.0), {"metrics": {"heat": 2.0}, "std_errors": {}}),
    "an error later": (
        TWO,
        {"metrics": {"heat": 2.0}, "std_errors": {"mass": 0.1}},
        earlier(1.0, mass=3.0),
        {"metrics": {"heat": 2.0}, "std_errors": {"mass": 0.1}},
    ),
    "cost": (
        COST,
        {"value": 1.0, "cost": 5.0, "metrics": {"mass": 1.0}},
        None,
        {"metrics": {"mass": 1.0, "cost": 5.0}, "std_errors": {}},
    ),
    "cost of a part": (
        COST,
        {"value": 1.0, "cost": 5.0, "partial": True},
        None,
        {"metrics": {"cost": 5.0}, "std_errors": {}},
    ),
    "several objectives": (
        SEVERAL,
        {"metrics": {"yield": 1.0, "waste": 2.0}},
        None,
        {"metrics": {"yield": 1.0, "waste": 2.0}, "std_errors": {}},
    ),
}


@pytest.mark.parametrize(("metrics", "fields", "before", "expected"), ACCEPTED.values(), ids=ACCEPTED)
def test_valid_metrics_are_accepted(
    metrics: tuple[Metric, ...], fields: dict[str, Any], before: ObservationRow | None, expected: dict[str, Any]
) -> None:
    found = checked_metrics(metrics, result(**fields), before)
    assert found == expected
    assert list(found.get("metrics", ())) == list(expected.get("metrics", ()))


REFUSED: dict[str, tuple[tuple[Metric, ...], dict[str, Any], ObservationRow | None, list[tuple[str, str]]]] = {
    "no value": (NONE, {"metrics": {"a": 1.0}}, None, [("/value", "missing")]),
    "no value, with metrics": (TWO, {"metrics": {"mass": 1.0, "heat": 1.0}}, None, [("/value", "missing")]),
    "still no value": (TWO, {"metrics": {"mass": 1.0, "heat": 1.0}}, earlier(None, mass=1.0), [("/value", "missing")]),
    "error without a value": (
        TWO,
        {"std_error": 1.0, "metrics": {"mass": 1.0}, "partial": True},
        None,
        [("/std_error", "missing")],
    ),
    "no metrics": (TWO, {"value": 1.0}, None, [("/metrics", "missing")]),
    "one missing": (TWO, {"value": 1.0, "metrics": {"mass": 1.0}}, None, [("/metrics/heat", "missing")]),
    "unknown": (
        TWO,
        {"value": 1.0, "metrics": {"mass": 1.0, "heat": 1.0, "hat": 1.0}},
        None,
        [("/metrics/hat", "unknown_metric")],
    ),
    "error of an unknown one": (
        TWO,
        {"value": 1.0, "metrics": {"mass": 1.0, "heat": 1.0}, "std_errors": {"hat": 1.0}},
        None,
        [("/std_errors/hat", "unknown_metric")],
    ),
    "error without its metric": (
        TWO,
        {"value": 1.0, "std_errors": {"heat": 1.0}, "partial": True},
        earlier(None, mass=1.0),
        [("/std_errors/heat", "missing")],
    ),
    "metrics of a study without": (NONE, {"value": 1.0, "metrics": {"a": 1.0}}, None, [("/metrics", "unknown_metric")]),
    "errors of a study without": (
        NONE,
        {"value": 1.0, "std_errors": {"a": 1.0}},
        None,
        [("/std_errors", "unknown_metric")],
    ),
    "both of a study without": (
        NONE,
        {"value": 1.0, "metrics": {"a": 1.0}, "std_errors": {"a": 1.0}},
        None,
        [("/metrics", "unknown_metric"), ("/std_errors", "unknown_metric")],
    ),
    "cost of a study without": (
        TWO,
        {"value": 1.0, "cost": 1.0, "metrics": {"mass": 1.0, "heat": 1.0}},
        None,
        [("/cost", "unknown_metric")],
    ),
    "no cost of a part": (COST, {"value": 1.0, "partial": True}, None, [("/cost", "missing")]),
    "a value among several objectives": (
        SEVERAL,
        {"value": 1.0, "metrics": {"yield": 1.0, "waste": 2.0}},
        None,
        [("/value", "objectives")],
    ),
    "its error": (
        SEVERAL,
        {"std_error": 1.0, "metrics": {"yield": 1.0, "waste": 2.0}},
        None,
        [("/std_error", "objectives")],
    ),
}


@pytest.mark.parametrize(("metrics", "fields", "before", "expected"), REFUSED.values(), ids=REFUSED)
def test_invalid_metrics_are_rejected_by_field(
    metrics: tuple[Metric, ...], fields: dict[str, Any], before: ObservationRow | None, expected: list[tuple[str, str]]
) -> None:
    with pytest.raises(Invalid) as raised:
        checked_metrics(metrics, result(**fields), before)
    assert refused(raised) == expected


def test_corrections_change_metrics_and_remove_errors() -> None:
    was = earlier(1.0, mass=3.0)
    assert corrected_metrics(TWO, was, {"value": 2.0}) == {}
    assert corrected_metrics(TWO, was, {"metrics": {"heat": 1.0}}) == {"metrics": {"mass": 3.0, "heat": 1.0}}
    assert corrected_metrics(TWO, was, {"std_errors": {"mass": None}}) == {"std_errors": {}}
    assert corrected_metrics(TWO, was, {"std_errors": {"mass": 0.5}}) == {"std_errors": {"mass": 0.5}}
    assert corrected_metrics(NONE, earlier(1.0), {}) == {}


@pytest.mark.parametrize(
    ("metrics", "was", "changes", "expected"),
    [
        (TWO, earlier(1.0), {"metrics": {"hat": 1.0}}, [("/metrics/hat", "unknown_metric")]),
        (TWO, earlier(None), {"std_error": 1.0}, [("/std_error", "missing")]),
        (TWO, earlier(1.0), {"std_errors": {"heat": 1.0}}, [("/std_errors/heat", "missing")]),
        (NONE, earlier(1.0), {"metrics": {"hat": 1.0}}, [("/metrics", "unknown_metric")]),
        (COST, earlier(1.0), {"metrics": {"cost": 0.0}}, [("/metrics/cost", "cost")]),
        (COST, earlier(1.0), {"metrics": {"cost": 1e300}}, [("/metrics/cost", "cost")]),
        (SEVERAL, earlier(None), {"value": 1.0}, [("/value", "objectives")]),
        (SEVERAL, earlier(None), {"std_error": 1.0}, [("/std_error", "objectives")]),
    ],
)
def test_invalid_corrections_are_rejected_by_field(
    metrics: tuple[Metric, ...], was: ObservationRow, changes: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    with pytest.raises(Invalid) as raised:
        corrected_metrics(metrics, was, changes)
    assert refused(raised) == expected
