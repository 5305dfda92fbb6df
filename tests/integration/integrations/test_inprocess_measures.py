"""Searches without a server that have several metrics, costs, or earlier results."""

from __future__ import annotations

from typing import Any

import pytest

from adabkb_client import Bool, Catalogue, Categorical, Client, Float, Parameter
from adabkb_integrations.inprocess import Found, maximize, minimize

X: dict[str, Parameter] = {"x": Float(0, 1), "k": Categorical(["a", "b"])}
ROWS = Catalogue(["r1", "r2", "r3"], {"size": [1.0, 2.0, 3.0]})


def loss(x: float, k: str) -> float:
    return (x - 0.3) ** 2 + (k == "a")


def with_new(x: float, k: str, new: bool) -> float:
    return loss(x, k) + new


def unpaid(x: float, k: str) -> dict[str, Any]:
    return {"value": loss(x, k), "metrics": {"cost": -1.0}}


def sized(x: float, k: str) -> dict[str, Any]:
    return {"value": loss(x, k), "metrics": {"size": 10 * x}}


def trade(x: float, k: str) -> dict[str, Any]:
    return {"metrics": {"error": loss(x, k), "speed": x}}


def paid(x: float, k: str) -> dict[str, Any]:
    return {"value": loss(x, k), "metrics": {"cost": 1.0 + 9.0 * x}}


@pytest.mark.parametrize(
    ("function", "options", "declared"),
    [
        pytest.param(
            sized,
            {"outcome_constraints": [{"metric": "size", "upper": 2.0}]},
            {"outcome_constraints": [{"metric": "size", "upper": 2.0}]},
            marks=pytest.mark.long,
        ),
        (
            trade,
            {"objectives": ["error", {"metric": "speed", "direction": "maximize", "reference": 0.3}]},
            {
                "direction": None,
                "objectives": [
                    {"metric": "error", "direction": "minimize"},
                    {"metric": "speed", "direction": "maximize", "reference": 0.3},
                ],
            },
        ),
        pytest.param(
            paid, {"cost": "told", "per_cost": True}, {"cost": "told", "per_cost": True}, marks=pytest.mark.long
        ),
    ],
    ids=["bounds", "objectives", "costs"],
)
def test_search_evaluates_the_same_points_as_a_study_on_a_server(
    client: Client, function: Any, options: dict[str, Any], declared: dict[str, Any]
) -> None:
    found = minimize(function, X, 9, seed=4, progress=False, **options)
    study = client.create_study(None, X, **{"direction": "minimize", **declared}, budget=9, seed=4)
    study.run(function, progress=False)
    assert [dict(trial.parameters) for trial in study.trials()] == [dict(trial.parameters) for trial in found.trials]
    if "objectives" in options:
        assert [dict(each.metrics or {}) for each in found.front] == [each.metrics for each in study.front().observed]
        assert {(each.metrics or {})["speed"] > 0.3 for each in found.front} == {True}
        assert (found.best, found.value) == (None, None)
    else:
        best = study.best()
        assert best is not None
        assert (found.value, found.front) == (best.value, ())


def test_best_trial_satisfies_the_bounds() -> None:
    found = minimize(sized, X, 12, seed=1, outcome_constraints=[{"metric": "size", "upper": 2}], progress=False)
    assert found.best is not None
    assert found.best.metrics is not None
    assert found.best.metrics["size"] <= 2.0
    assert any(trial.metrics and trial.metrics["size"] > 2.0 for trial in found.trials)


def test_search_ends_when_its_cost_budget_is_spent() -> None:
    found = minimize(paid, X, {"cost": 20}, seed=1, cost="told", progress=False)
    costs = [trial.metrics["cost"] for trial in found.trials if trial.metrics]
    assert sum(costs) >= 20.0 > sum(costs[:-1])
    assert found.reason == "budget"


def test_measured_cost_is_the_time_of_the_call() -> None:
    found = minimize(loss, X, 3, seed=1, cost="measured", progress=False)
    assert all(trial.metrics and trial.metrics["cost"] > 0.0 for trial in found.trials)


def test_metrics_without_bounds_are_recorded() -> None:
    found = maximize(sized, X, 3, seed=1, metrics=["size"], progress=False)
    assert [trial.metrics for trial in found.trials] == [{"size": 10 * trial.parameters["x"]} for trial in found.trials]


@pytest.mark.parametrize("kind", ["random", "sobol"])
def test_baselines_record_several_objectives(kind: str) -> None:
    found = minimize(trade, X, 4, seed=1, objectives=["error", "speed"], algorithm={"kind": kind}, progress=False)
    assert len(found.front) >= 1


def test_earlier_search_determines_the_second_point() -> None:
    earlier = minimize(loss, X, 25, seed=1, progress=False)
    later = minimize(with_new, {**X, "new": Bool()}, 2, seed=2, transfer_from=[earlier], progress=False)
    assert abs(later.trials[1].parameters["x"] - 0.3) < 0.1
    assert later.trials[1].parameters["k"] == "b"
    trades = minimize(trade, X, 8, seed=1, objectives=["error", "speed"], progress=False)
    both = minimize(trade, X, 3, seed=2, objectives=["error", "speed"], transfer_from=[trades], progress=False)
    assert len(both.trials) == 3


def test_catalogue_search_supports_constraints_and_conditions() -> None:
    space: dict[str, Parameter] = {"row": ROWS, "x": Float(0, 1, when={"row": ["r2"]})}

    def value(row: str, x: float = 0.0) -> float:
        assert row != "r1"
        return x + (row == "r3")

    found = minimize(value, space, 6, seed=1, constraints=['row != "r1"'], progress=False)
    assert {trial.parameters["row"] for trial in found.trials} == {"r2", "r3"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objectives": ["error"]}, "objectives must be 2 to 4, not 1"),
        ({"objectives": "error"}, "objectives must be a list"),
        ({"objectives": ["error", {"direction": "minimize"}]}, r"objectives\[1\] must be a name, or a dict"),
        ({"objectives": ["error", "error"]}, "'error' is both"),
        ({"objectives": ["error", {"metric": "size", "direction": "up"}]}, "direction must be"),
        ({"outcome_constraints": [{"metric": "size"}]}, r"outcome_constraints\[0\] must have lower, upper or both"),
        ({"outcome_constraints": [{"metric": "size", "lower": 2, "upper": 1}]}, "lower must be at most upper"),
        ({"per_cost": True}, "per_cost also needs the option cost"),
        ({"budget": {"cost": 5}}, "a cost budget also needs the option cost"),
        ({"budget": {"cost": 0}, "cost": "told"}, "budget must be a number of trials, or"),
        ({"cost": "free"}, "cost must be"),
        ({"cost": "told", "per_cost": True, "algorithm": {"kind": "random"}}, "per_cost requires the algorithm"),
        ({"objectives": ["a", "b"], "noise_std": 1.0}, "noise_std: with several objectives, give it with each"),
        ({"objectives": ["a", {"metric": "b", "noise_std": -1}]}, r"objectives\[1\]: noise_std must be 0 or more"),
        ({"transfer_from": [3]}, r"transfer_from\[0\] must be what minimize or maximize has returned"),
        ({"transfer_from": [Found(None, (), "budget", 0)]}, r"transfer_from\[0\] has no parameter in common"),
    ],
)
def test_invalid_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        minimize(**{"function": loss, "space": X, "budget": 3, **options})


def test_result_without_its_metrics_is_rejected() -> None:
    with pytest.raises(TypeError, match="lacks the metric 'size'"):
        minimize(loss, X, 3, metrics=["size"], progress=False)
    with pytest.raises(TypeError, match="the cost of a result must be positive"):
        minimize(unpaid, X, 3, cost="told", progress=False)


@pytest.mark.parametrize("search", [minimize, maximize])
def test_errors_of_a_function_name_the_call_that_the_user_made(search: Any) -> None:
    declared = rf"declare them in {search.__name__}\(\.\.\., metrics=\[\.\.\.\]\)"
    with pytest.raises(TypeError, match=declared):
        search(lambda x: {"value": x, "metrics": {"a": 1.0}}, {"x": Float(0, 1)}, 2, progress=False)
    with pytest.raises(TypeError, match=r"written for Optuna: run it with Optuna's study\.optimize and AdaBKBSampler"):
        search(lambda trial: trial.suggest_float("x", 0, 1), {"x": Float(0, 1)}, 2, progress=False)
