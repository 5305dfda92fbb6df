"""Changes of bounds, early stopping and a cost budget while a study runs."""

from __future__ import annotations

from typing import Any

import pytest

from adabkb_service.contract.cost import CostBudget
from adabkb_service.errors import Invalid
from adabkb_service.operations.model.predict import predict
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import manage
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, change, get, observe, suggest

X = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
ASHA = {"rule": "asha", "max_steps": 27}


def refusals(running: Service, changes: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(Invalid) as refused:
        change(running, "s", changes)
    return {each.pointer: each.detail for each in refused.value.errors}


def evaluated(running: Service, count: int) -> None:
    for _ in range(count):
        (trial,) = suggest(running, "s", Ask()).view.trials
        x = trial.parameters["x"]
        observe(running, "s", Value(x, trial.number, metrics={"heat": 10 * x, "noise": 1 - x}))


@pytest.mark.long
def test_bounds_of_metrics_can_be_changed(database: Database, clock: ManualClock, running: Service) -> None:
    """The best result and the model follow them. All results keep all metrics, also those whose bound was removed."""
    bounds = [{"metric": "noise", "upper": 1.0}, {"metric": "heat", "upper": 8.0}]
    create(running, definition(parameters=X, direction="maximize", outcome_constraints=bounds))
    evaluated(running, 8)
    for x in (0.35, 0.75, 0.95):
        observe(running, "s", Value(x, parameters={"x": x}, metrics={"heat": 10 * x, "noise": 1 - x}))
    found = change(running, "s", {"outcome_constraints": [{"metric": "heat", "upper": 4.0}]}).view
    assert (found.metrics, [each.metric for each in found.outcome_constraints]) == (["noise", "heat"], ["heat"])
    assert found.best is not None
    assert 0.35 <= found.best.value <= 0.4
    low, high = predict(running, "s", [{"x": 0.1}, {"x": 0.9}]).predictions
    assert low.feasible_probability is not None
    assert high.feasible_probability is not None
    assert (low.feasible_probability > 0.9, high.feasible_probability < 0.1) == (True, True)
    assert set(low.metrics or {}) == {"heat", "noise"}
    evaluated(running, 4)
    without = change(running, "s", {"outcome_constraints": []}).view
    assert without.best is not None
    assert (without.metrics, without.best.value >= 0.95, without.best.feasible) == (["noise", "heat"], True, True)
    evaluated(running, 2)
    assert "which the results of this study do not have" in refusals(
        running, {"outcome_constraints": [{"metric": "cold", "upper": 1.0}]}
    ).pop("/outcome_constraints/0/metric")
    assert_log_is_complete(database, clock, running)


def test_early_stopping_can_be_tuned_but_not_replaced(database: Database, clock: ManualClock, running: Service) -> None:
    create(running, definition(parameters=X, early_stopping=ASHA))
    changed = change(running, "s", {"early_stopping": {**ASHA, "min_steps": 3, "eta": 4}}).view
    assert changed.early_stopping is not None
    assert changed.early_stopping.min_steps == 3
    found = refusals(running, {"early_stopping": {**ASHA, "max_steps": 81}})
    assert found.keys() == {"/early_stopping/max_steps"}
    other = {"rule": "median", "max_steps": 27}
    assert refusals(running, {"early_stopping": other}).keys() == {"/early_stopping/rule"}
    assert_log_is_complete(database, clock, running)
    create(running, definition(id="whole", parameters=X))
    with pytest.raises(Invalid, match="cannot be added while the study runs"):
        change(running, "whole", {"early_stopping": ASHA})


def test_a_cost_budget_can_be_raised(database: Database, clock: ManualClock, running: Service) -> None:
    """A study that has spent it continues, and the same request again changes nothing."""
    create(running, definition(parameters=X, cost="told", budget={"cost": 2}, per_cost=True))
    for _ in range(2):
        (trial,) = suggest(running, "s", Ask()).view.trials
        observe(running, "s", Value(1.0, trial.number, cost=1.0))
    assert running.do(manage.get("s")).view.state == "complete"
    raised = change(running, "s", {"budget": {"cost": 5}}).view
    assert (raised.state, raised.budget) == ("running", CostBudget(cost=5.0))
    assert change(running, "s", {"budget": {"cost": 5.0}}).view.revision == raised.revision
    (trial,) = suggest(running, "s", Ask()).view.trials
    observe(running, "s", Value(0.5, trial.number, cost=1.0))
    for budget in (7, {"plates": 2}, None):
        assert "cannot become another kind" in refusals(running, {"budget": budget})["/budget"]
    assert_log_is_complete(database, clock, running)
    create(running, definition(id="counted", parameters=X, cost="told", budget=9))
    with pytest.raises(Invalid, match="is a cost, but the budget of this study is not"):
        change(running, "counted", {"budget": {"cost": 5}})


def test_noise_can_be_declared_and_learned_again(database: Database, clock: ManualClock, running: Service) -> None:
    """With exact results, a study of four points ends; with noise, its points may be repeated."""
    number = [{"name": "n", "kind": "int", "low": 1, "high": 4}]
    create(running, definition(parameters=number, noise_std=0, seed=1))
    for _ in range(4):
        (trial,) = suggest(running, "s", Ask()).view.trials
        observe(running, "s", Value(trial.parameters["n"] / 4, trial.number))
    assert suggest(running, "s", Ask()).view.study.reason == "exhausted"
    found = change(running, "s", {"noise_std": 0.5}).view
    assert (found.noise_std, found.state) == (0.5, "running")
    again = suggest(running, "s", Ask()).view.trials
    assert [trial.origin for trial in again] == ["policy"]
    assert change(running, "s", {"noise_std": 0.5}).view.revision == get(running, "s").revision, "nothing changes"
    assert_log_is_complete(database, clock, running)
    version = get(running, "s").space_version or 1
    assert change(running, "s", {"noise_std": None}).view.noise_std is None
    assert change(running, "s", {"noise_std": 0.0}).view.noise_std == 0.0, "exact results are not unknown noise"
    assert get(running, "s").space_version == version + 2


def test_points_are_chosen_by_cost_and_outliers_doubted_from_a_change_on(
    database: Database, clock: ManualClock, running: Service
) -> None:
    """The next points are those of a study that was created with the setting, with the same results."""
    changes: dict[str, Any] = {"per_cost": True, "robust": True}
    for study, more in (("s", {}), ("plain", {}), ("other", changes)):
        create(running, definition(id=study, parameters=X, cost="told", seed=1, **more))
        for step, x in enumerate((0.1, 0.3, 0.35, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.2)):
            value = 9.0 if step == 3 else 10 * (x - 0.8) ** 2
            observe(running, study, Value(value, parameters={"x": x}, metrics={"cost": 1 + 50 * x}))
    found = change(running, "s", changes).view
    assert (found.per_cost, found.robust) == (True, True)
    points = {
        study: [trial.parameters["x"] for trial in suggest(running, study, Ask(3)).view.trials]
        for study in ("s", "plain", "other")
    }
    assert points["s"] == points["other"] != points["plain"]
    assert_log_is_complete(database, clock, running)
    back = change(running, "s", {"per_cost": False, "robust": False}).view
    assert (back.per_cost, back.robust) == (False, False)


def test_changes_that_make_no_sense_are_refused(running: Service) -> None:
    create(running, definition(parameters=X))
    assert "also needs the field cost" in refusals(running, {"per_cost": True})["/per_cost"]
    goals = [{"metric": name, "direction": "minimize"} for name in ("heat", "noise")]
    for study, more, field in (
        ("goals", {"objectives": goals, "direction": None}, "noise_std"),
        ("paper", {"algorithm": {"profile": "paper"}}, "robust"),
    ):
        create(running, definition(id=study, parameters=X, **more))
        with pytest.raises(Invalid) as refused:
            change(running, study, {field: 1.0 if field == "noise_std" else True})
        assert [each.pointer for each in refused.value.errors] == [f"/{field}"]
