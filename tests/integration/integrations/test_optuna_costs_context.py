"""The sampler with costs and with a context: the points are those of ``minimize``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

from adabkb_client import Categorical, Float, Parameter
from adabkb_integrations.inprocess import minimize
from adabkb_integrations.optuna import AdaBKBSampler
from adabkb_integrations.optuna.history import SUGGESTED
from adabkb_integrations.optuna.outcomes import cost_of

pytestmark = pytest.mark.usefixtures("quiet_optuna")

SPACE: dict[str, Parameter] = {
    "glue": Categorical(["fast", "slow"]),
    "humidity": Float(0, 1, context=True),
    "speed": Float(0, 10),
}
HUMIDITIES = [0.1, 0.8, 0.45, 0.2, 0.9, 0.33, 0.7, 0.05, 0.6]


def quality(glue: str, humidity: float, speed: float) -> float:
    return (speed - 8 * humidity) ** 2 + (glue == "slow")


def cost(speed: float) -> float:
    return 0.5 + speed**2


def asked(trial: optuna.Trial) -> dict[str, Any]:
    return {
        "glue": trial.suggest_categorical("glue", ["fast", "slow"]),
        "humidity": trial.suggest_float("humidity", 0, 1),
        "speed": trial.suggest_float("speed", 0, 10),
    }


def run(objective: Any, trials: int, first: dict[str, Any], storage: Any = None, **options: Any) -> optuna.Study:
    study = optuna.create_study(sampler=AdaBKBSampler(seed=1, **options), storage=storage)
    study.enqueue_trial(first)
    study.optimize(objective, n_trials=trials)
    return study


@pytest.mark.parametrize("storage", [None, "sqlite://"])
@pytest.mark.parametrize("constraints", [[], ['not (glue == "slow" and speed > 3)']])
def test_points_are_chosen_for_the_context_as_by_minimize(storage: Any, constraints: list[str]) -> None:
    known = iter(HUMIDITIES)
    options: Any = {"constraints": constraints, "seed": 1, "progress": False}
    found = minimize(quality, SPACE, 9, context=lambda: {"humidity": next(known)}, **options)
    expected = [dict(trial.parameters) for trial in found.trials]
    first = {name: value for name, value in expected[0].items() if name != "humidity"}
    context = {"context": lambda trial: {"humidity": HUMIDITIES[trial.number]}, "constraints": constraints}
    study = run(lambda trial: quality(**asked(trial)), 9, first, storage, **context)
    assert [trial.params for trial in study.trials] == expected
    assert [point["humidity"] for point in expected] == HUMIDITIES


def test_every_trial_has_the_values_of_the_context_also_before_there_is_a_model() -> None:
    sampler = AdaBKBSampler(seed=1, context={"humidity": 0.25, "glue": "slow", "unknown": 3})
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: quality(**asked(trial)), n_trials=8)
    assert {(trial.params["humidity"], trial.params["glue"]) for trial in study.trials} == {(0.25, "slow")}
    assert len({trial.params["speed"] for trial in study.trials}) == 8
    assert abs(study.best_params["speed"] - 2) < 0.2


@pytest.mark.parametrize("storage", [None, "sqlite://"])
def test_a_context_value_has_the_type_of_its_parameter_with_and_without_a_model(storage: Any) -> None:
    def objective(trial: optuna.Trial) -> float:
        point = {**asked(trial), "layers": trial.suggest_int("layers", 1, 4)}
        found.append({name: point[name] for name in context})
        return float(point["speed"])

    found: list[dict[str, Any]] = []
    context = {"humidity": "0.25", "layers": 3.0}
    study = optuna.create_study(sampler=AdaBKBSampler(seed=1, context=context), storage=storage)
    study.optimize(objective, n_trials=3)
    suggested = [trial.system_attrs[SUGGESTED] for trial in study.trials[1:]]
    for values in [*found, *suggested]:
        assert [(values[name], type(values[name])) for name in context] == [(0.25, float), (3, int)]


@pytest.mark.parametrize("storage", [None, "sqlite://"])
def test_a_context_may_have_values_of_numpy(storage: Any) -> None:
    """Databases store JSON, which has none of them."""

    def objective(trial: optuna.Trial) -> float:
        layers, is_dry = trial.suggest_int("layers", 1, 4), trial.suggest_categorical("dry", [False, True])
        found.append((layers, is_dry, trial.suggest_categorical("glue", ["fast", "slow"])))
        return quality(found[-1][2], trial.suggest_float("humidity", 0, 1), trial.suggest_float("speed", 0, 10))

    found: list[tuple[Any, ...]] = []
    context = {"layers": np.int64(3), "dry": np.bool_(True), "glue": np.str_("slow"), "humidity": np.array([0.5])}
    study = optuna.create_study(sampler=AdaBKBSampler(seed=1, context=context), storage=storage)
    study.optimize(objective, n_trials=4)
    assert [(*values, *map(type, values)) for values in found] == [(3, True, "slow", int, bool, str)] * 4
    assert {(type(trial.params["humidity"]), trial.params["humidity"]) for trial in study.trials} == {(float, 0.5)}


@pytest.mark.parametrize("trials", [0, 4])
@pytest.mark.parametrize("value", [{"humidity": 7}, {"glue": "none"}, {"humidity": "high"}])
def test_a_wrong_context_is_refused(trials: int, value: dict[str, Any]) -> None:
    given: dict[str, Any] = {"humidity": 0.5}
    study = optuna.create_study(sampler=AdaBKBSampler(seed=1, context=lambda _: given))
    study.optimize(lambda trial: quality(**asked(trial)), n_trials=trials)
    given = value
    with pytest.raises(ValueError, match=r"context\['(humidity|glue)'\] is .*, which is not a value of"):
        study.optimize(lambda trial: quality(**asked(trial)), n_trials=1)
    with pytest.raises(TypeError, match="must be a dict"):
        AdaBKBSampler(context=3)  # type: ignore[arg-type]


def test_points_are_chosen_by_gain_per_cost_as_by_minimize() -> None:
    space: dict[str, Parameter] = SPACE | {"humidity": Float(0, 1)}

    def measured(glue: str, humidity: float, speed: float) -> dict[str, Any]:
        return {"value": quality(glue, humidity, speed), "metrics": {"cost": cost(speed)}}

    def objective(trial: optuna.Trial) -> float:
        point = asked(trial)
        trial.set_user_attr("cost", cost(point["speed"]))
        return quality(**point)

    found = minimize(measured, space, 10, cost="told", per_cost=True, seed=1, progress=False)
    expected = [dict(trial.parameters) for trial in found.trials]
    told = run(objective, 10, expected[0], cost="told", per_cost=True)
    assert [trial.params for trial in told.trials] == expected
    assert [trial.params for trial in run(objective, 10, expected[0]).trials] != expected


@pytest.mark.parametrize("directions", [["minimize"], ["minimize", "maximize"]])
def test_durations_are_costs_also_with_several_objectives_and_constraints(directions: list[Any]) -> None:
    def objective(trial: optuna.Trial) -> Any:
        point = asked(trial)
        if trial.number == 3:
            raise ValueError("it failed")
        return (quality(**point), point["speed"]) if len(directions) == 2 else quality(**point)

    sampler = AdaBKBSampler(
        seed=1, cost="measured", per_cost=True, constraints_func=lambda trial: [trial.params["speed"] - 9]
    )
    study = optuna.create_study(directions=directions, sampler=sampler)
    study.optimize(objective, n_trials=12, catch=(ValueError,))
    assert sum(trial.state.is_finished() for trial in study.trials) == 12


def test_a_complete_trial_needs_a_cost_if_it_is_told() -> None:
    study = optuna.create_study(sampler=AdaBKBSampler(seed=1, cost="told"))
    with pytest.raises(ValueError, match=r'trial 0 has no cost; call trial.set_user_attr\("cost", ...\)'):
        study.optimize(lambda trial: quality(**asked(trial)), n_trials=1)

    def objective(trial: optuna.Trial) -> float:
        trial.set_user_attr("cost", -1 if trial.number == 3 else 1)
        return quality(**asked(trial))

    study.optimize(objective, n_trials=2)  # the trial without a cost counts without one
    with pytest.raises(ValueError, match="trial 3: the user attribute 'cost' must be a positive number, not -1"):
        study.optimize(objective, n_trials=1)
    with pytest.raises(ValueError, match="per_cost also needs cost"):
        AdaBKBSampler(per_cost=True)
    with pytest.raises(ValueError, match='cost must be "told"'):
        AdaBKBSampler(cost="attribute")  # type: ignore[arg-type]


@pytest.mark.parametrize("told", [0, -1, True, float("inf"), float("nan"), pytest.param(10**400, id="too large"), "3"])
@pytest.mark.parametrize("state", [TrialState.COMPLETE, TrialState.PRUNED])
def test_a_wrong_told_cost_is_refused_once_and_the_study_continues(state: TrialState, told: Any) -> None:
    """Optuna stores the refused trial, whose attributes cannot be changed."""

    def objective(trial: optuna.Trial) -> float:
        value = quality(**asked(trial))
        trial.set_user_attr("cost", told if trial.number == 3 else 1)
        trial.report(value, 0)
        if trial.number == 3 and state is TrialState.PRUNED:
            raise optuna.TrialPruned
        return value

    study = optuna.create_study(sampler=AdaBKBSampler(seed=1, cost="told", per_cost=True))
    study.optimize(objective, n_trials=3)
    with pytest.raises(ValueError, match="trial 3: the user attribute 'cost' must be a positive number"):
        study.optimize(objective, n_trials=1)
    study.optimize(objective, n_trials=1)
    assert [trial.state for trial in study.trials[3:]] == [state, TrialState.COMPLETE]


@pytest.mark.parametrize("kind", [np.int64, np.float32])
def test_a_told_cost_may_be_a_number_of_numpy(kind: Any) -> None:
    def points(make: Any) -> list[dict[str, Any]]:
        def objective(trial: optuna.Trial) -> float:
            point = asked(trial)
            trial.set_user_attr("cost", make(1 + int(point["speed"])))
            return quality(**point)

        study = run(objective, 6, {}, cost="told", per_cost=True)
        return [trial.params for trial in study.trials]

    assert points(kind) == points(int)


def test_trials_that_were_added_without_a_duration_have_no_known_cost() -> None:
    """Otherwise, the points near them would seem to cost almost nothing."""
    study = optuna.create_study(sampler=AdaBKBSampler(seed=1, cost="measured", per_cost=True))
    distribution = optuna.distributions.FloatDistribution(0, 10)
    study.add_trial(optuna.create_trial(params={"speed": 2.0}, distributions={"speed": distribution}, value=1.0))
    study.optimize(lambda trial: trial.suggest_float("speed", 0, 10), n_trials=2)
    first, *others = (cost_of(trial, "measured") for trial in study.trials)
    assert math.isnan(first)
    assert all(cost > 0 for cost in others)


def test_a_branch_without_known_costs_is_compared_with_the_others() -> None:
    """The first branch is the worse one, and none of its trials has a cost."""
    costs: dict[str, dict[str, Any]] = {"bad": {}, "good": {"cost": 1.0}}
    kind = optuna.distributions.CategoricalDistribution(list(costs))
    share = optuna.distributions.FloatDistribution(0, 1)

    def objective(trial: optuna.Trial) -> float:
        trial.set_user_attr("cost", 1.0)
        is_bad = trial.suggest_categorical("kind", list(costs)) == "bad"
        return 5 + trial.suggest_float("bad", 0, 1) if is_bad else trial.suggest_float("good", 0, 1)

    study = optuna.create_study(sampler=AdaBKBSampler(seed=1, cost="told", per_cost=True))
    for name, attributes in costs.items():
        for place in (0.1, 0.5, 0.9):
            params, distributions = {"kind": name, name: place}, {"kind": kind, name: share}
            value = place + 5 * (name == "bad")
            study.add_trial(
                optuna.create_trial(params=params, distributions=distributions, value=value, user_attrs=attributes)
            )
    study.optimize(objective, n_trials=3)
    assert all("good" in trial.system_attrs[SUGGESTED] for trial in study.trials[6:])
