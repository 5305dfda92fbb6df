"""The cost of evaluations: reported or measured, cost budgets, and suggestions per cost."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from adabkb_service.contract.metrics import MAX_METRICS
from adabkb_service.errors import Invalid, StudyExists
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.export import json_lines
from adabkb_service.operations.data.importing import import_study
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.data.trash import delete
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, change, correct, observe, suggest

BESIDE_COST = [{"metric": "error", "direction": "minimize"}, {"metric": "cost", "direction": "minimize"}]
PER_COST: dict[str, Any] = {"cost": "told", "per_cost": True, "budget": {"cost": 100.0}}


def test_study_ends_when_its_cost_budget_is_spent_and_is_replayed(
    database: Database, clock: ManualClock, running: Service
) -> None:
    created = create(running, definition(**PER_COST)).view
    assert created.model_dump(mode="json")["budget"] == {"cost": 100.0}
    assert (created.cost_spent, created.metrics) == (0.0, ["cost"])
    for _ in range(8):
        (trial,) = suggest(running, "s", Ask()).view.trials
        x = trial.parameters["x"]
        observe(running, "s", Value(x, trial.number, cost=10.0 + abs(x)))
    lines = list(json_lines(running, "s"))
    while trials := suggest(running, "s", Ask()).view.trials:
        observe(running, "s", Value(0.0, trials[0].number, cost=10.0))
    study = create(running, definition(**PER_COST)).view
    assert (study.state, study.reason) == ("complete", "budget")
    assert study.cost_spent is not None
    assert 100.0 <= study.cost_spent < 112.0
    assert replay(running, "s").diverged == []
    assert list(examine(database)) == []
    delete(running, "s")
    import_study(database, lines)
    assert suggest(Service(database, clock=clock), "s", Ask()).view.trials[0].origin == "policy"


def test_measured_costs_are_the_seconds_of_the_attempt(clock: ManualClock, running: Service) -> None:
    create(running, definition(cost="measured", budget={"cost": 60}))
    (trial,) = suggest(running, "s", Ask()).view.trials
    clock.advance(42.5)
    first = observe(running, "s", Value(1.0, trial.number)).view
    assert first.observation is not None
    assert first.observation.metrics == {"cost": 42.5}
    clock.advance(9.0)
    again = observe(running, "s", Value(1.0, trial.number)).view
    assert again.observation == first.observation
    stored = observe(running, "s", Value(1.0, parameters=trial.parameters, cost=7.0)).view.observation
    assert stored is not None
    assert stored.metrics == {"cost": 7.0}
    assert suggest(running, "s", Ask()).view.trials, "49.5 of 60 are spent"


def test_a_study_with_as_many_metrics_as_allowed_may_have_a_cost(running: Service) -> None:
    """The answers list the cost, too, so that they have one metric more than a definition may list."""
    names = [f"m{number}" for number in range(MAX_METRICS)]
    assert create(running, definition(metrics=names, cost="told")).view.metrics == [*names, "cost"]


def test_correction_of_a_cost_changes_what_is_spent(running: Service) -> None:
    create(running, definition(cost="told", budget={"cost": 10}))
    (trial,) = suggest(running, "s", Ask()).view.trials
    observe(running, "s", Value(1.0, trial.number, cost=50.0))
    assert suggest(running, "s", Ask()).view.reason == "budget"
    correct(running, "s", 1, {"metrics": {"cost": 5.0}})
    assert suggest(running, "s", Ask()).view.trials


@pytest.mark.parametrize(
    ("changes", "place", "sentence"),
    [
        ({"budget": {"cost": 9}}, "budget", "also needs the field cost"),
        ({"per_cost": True}, "per_cost", "also needs the field cost"),
        ({"cost": "told", "algorithm": {"profile": "paper"}}, "cost", "needs the profile auto"),
        (
            {"cost": "told", "direction": None, "objectives": BESIDE_COST},
            "cost",
            "cannot be combined with an objective of this name",
        ),
    ],
)
def test_incompatible_features_are_rejected(changes: dict[str, Any], place: str, sentence: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        definition(**changes)
    (error,) = refusal.value.errors()
    assert error["ctx"]["field"] == place
    assert sentence in error["msg"]


def test_missing_nonpositive_and_unused_costs_are_rejected(running: Service) -> None:
    create(running, definition(**PER_COST))
    create(running, definition(id="plain"))
    (trial,) = suggest(running, "s", Ask()).view.trials
    (other,) = suggest(running, "plain", Ask()).view.trials
    for study, result, pointer in (
        ("s", Value(1.0, trial.number), "/metrics"),
        ("s", Value(1.0, trial.number, metrics={"cost": -1.0}), "/metrics/cost"),
        ("s", Value(1.0, trial.number, cost=1e300), "/metrics/cost"),
        ("plain", Value(1.0, other.number, cost=1.0), "/cost"),
    ):
        with pytest.raises(Invalid) as refusal:
            observe(running, study, result)
        assert refusal.value.errors[0].pointer == pointer


def test_a_cost_budget_stays_one(running: Service) -> None:
    create(running, definition(**PER_COST))
    with pytest.raises(Invalid, match="is a cost budget"):
        change(running, "s", {"budget": 5})
    with pytest.raises(StudyExists, match=r"budget\.cost is 100.0, not 50.0"):
        create(running, definition(**{**PER_COST, "budget": {"cost": 50}}))
