"""The state of a study, and the number of points that it may issue, at the boundary of each rule."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from adabkb_service.contract.stored import first_stored
from adabkb_service.storage.rows import StudyRow
from adabkb_service.study.lifecycle import UNLIMITED_POINTS, no_more_points_reason, room_for_points, status, summary
from adabkb_service.study.transitions import stats_of_empty_model
from tests.integration.operations.conftest import definition

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LIMITS: dict[str, Any] = {
    "budget": None, "tolerance": None, "pending_limit": None, "lease_seconds": 60.0, "max_attempts": 3, "tags": {},
    "title": None, "description": None, "failure_limit": None, "max_runtime_seconds": None, "stop": None,
}  # fmt: skip
PLAIN = definition()
PERCENT = definition(direction="maximize", quantities={"value": {"low": 0, "high": 100}})
BEST = {"trial": 1, "parameters": {"x": 0.5}}
WITH_COST = definition(cost="told", budget={"cost": 5.0})


def study(of: Any = PLAIN, **columns: Any) -> StudyRow:
    row = StudyRow.new("s", first_stored(of.model_dump(mode="json")), 0, NOW, **LIMITS)
    return replace(row, **columns)


def model(**figures: Any) -> dict[str, Any]:
    return {**stats_of_empty_model(1), **figures}


STATES: dict[str, tuple[dict[str, Any], tuple[str, str | None]]] = {
    "new": ({}, ("running", None)),
    "budget left": ({"budget": 2, "active": 1}, ("running", None)),
    "budget issued": ({"budget": 2, "active": 1, "queued": 1}, ("running", "budget")),
    "budget used up": ({"budget": 2, "completed": 2}, ("complete", "budget")),
    "budget lowered": ({"budget": 1, "completed": 2}, ("complete", "budget")),
    "paused": ({"paused": True}, ("paused", "paused")),
    "paused by failures": ({"paused": True, "failures": 2, "failure_limit": 2}, ("paused", "failures")),
    "paused after a failure": ({"paused": True, "failures": 1, "failure_limit": 2}, ("paused", "paused")),
    "failures, but resumed": ({"failures": 2, "failure_limit": 2}, ("running", None)),
    "paused, budget used up": ({"paused": True, "budget": 1, "failed": 1}, ("complete", "budget")),
    "paused, budget issued": ({"paused": True, "budget": 1, "active": 1}, ("paused", "paused")),
    "pending limit": ({"pending_limit": 2, "active": 1, "released": 1}, ("running", "pending_limit")),
    "below the pending limit": ({"pending_limit": 2, "active": 1}, ("running", None)),
    "exhausted": ({"model": model(exhausted=True)}, ("complete", "exhausted")),
    "the rule of Ada-BKB": ({"model": model(stopped=True), "active": 1}, ("complete", "converged")),
    "gap within tolerance": ({"tolerance": 0.5, "model": model(gap=0.5)}, ("complete", "converged")),
    "gap beyond tolerance": ({"tolerance": 0.5, "model": model(gap=0.51)}, ("running", None)),
    "gap not known": ({"tolerance": 0.5, "model": model()}, ("running", None)),
    "no tolerance": ({"model": model(gap=0.0)}, ("running", None)),
    "no gain": ({"stop": {"no_gain_for": 3}, "results_since_best": 3}, ("complete", "no_gain")),
    "a gain lately": ({"stop": {"no_gain_for": 3}, "results_since_best": 2}, ("running", None)),
    "gain unlikely": ({"stop": {"gap_share_below": 0.2}, "model": model(gap_share=0.1)}, ("complete", "gain_unlikely")),
    "gain likely": ({"stop": {"gap_share_below": 0.2}, "model": model(gap_share=0.2)}, ("running", None)),
    "share not known": ({"stop": {"gap_share_below": 0.2}, "model": model()}, ("running", None)),
    "no model": ({"stop": {"gap_share_below": 0.2}, "tolerance": 1.0}, ("running", None)),
    "either rule": (
        {"stop": {"no_gain_for": 9, "gap_share_below": 0.2}, "model": model(gap_share=0.1)},
        ("complete", "gain_unlikely"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("columns", "expected"), STATES.values(), ids=STATES)
def test_state_follows_from_the_row(columns: dict[str, Any], expected: tuple[str, str | None]) -> None:
    row = study(**columns)
    assert status(row) == expected
    assert (room_for_points(row) > 0) == (expected == ("running", None))
    shown = summary(row)
    gap = None if row.model is None else row.model["gap"]
    assert (shown.id, shown.state, shown.reason, shown.gap, shown.best) == ("s", *expected, gap, None)


@pytest.mark.parametrize(("tolerance", "state"), [(2.0, "complete"), (1.9, "running")])
def test_the_tolerance_is_compared_with_the_gap_within_the_natural_bounds(tolerance: float, state: str) -> None:
    row = study(PERCENT, tolerance=tolerance, model=model(gap=5.0), best={**BEST, "value": 98.0})
    assert summary(row).gap == 2.0
    assert status(row)[0] == state


def test_a_best_result_beyond_its_natural_bound_does_not_end_the_study() -> None:
    assert status(study(PERCENT, tolerance=2.0, model=model(gap=5.0), best={**BEST, "value": 150.0}))[0] == "running"


@pytest.mark.parametrize(("cost", "reason"), [(4.9, None), (5.0, "budget")])
def test_cost_budget_is_used_up_by_costs(cost: float, reason: str | None) -> None:
    assert no_more_points_reason(study(WITH_COST, cost_spent=cost)) == reason
    assert no_more_points_reason(study(cost_spent=cost)) is None


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, UNLIMITED_POINTS),
        ({"budget": 7, "completed": 2, "active": 1}, 4),
        ({"pending_limit": 5, "active": 2, "completed": 9}, 3),
        ({"pending_limit": 5, "active": 2, "budget": 4}, 2),
        ({"pending_limit": 3, "active": 1, "budget": 40}, 2),
        ({"paused": True, "budget": 7}, 0),
    ],
)
def test_number_of_new_points_is_bounded_by_the_nearest_limit(columns: dict[str, Any], expected: int) -> None:
    assert room_for_points(study(**columns)) == expected
