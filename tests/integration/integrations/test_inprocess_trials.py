"""``minimize`` and ``maximize`` with trials that are stopped, partial, on plates, or at other points: as in a study."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from adabkb_client import (
    AshaRule,
    Categorical,
    Client,
    Float,
    LeasedTrial,
    MedianRule,
    Ordinal,
    Parameter,
    PatienceRule,
    Study,
)
from adabkb_client.errors import NotFinite, WrongResult
from adabkb_integrations.inprocess import Found, RunningTrial, maximize, minimize
from tests.samples import some

X: dict[str, Parameter] = {"x": Float(0, 1), "k": Categorical(["a", "b"])}
RULES: dict[str, Any] = {
    "median": MedianRule(9, after_trials=3, min_steps=2),
    "asha": AshaRule(9),
    "patience": PatienceRule(9, no_gain_for=2, min_gain=0.05),
}


def same_points(study: Study, found: Found) -> None:
    """Check that a study and a search have the same trials."""
    trials = [(dict(each.parameters), each.state, each.plate) for each in study.trials()]
    assert trials == [(dict(each.parameters), each.state, each.plate) for each in found.trials]


def trained(trial: LeasedTrial | RunningTrial) -> float:
    """Approach the final loss, from above or below, or stop improving."""
    x, final = trial.parameters["x"], abs(trial.parameters["x"] - 0.3) + (trial.parameters.get("k") == "a") / 4
    loss = float(2.0 - x)
    for step in range(1, 10):
        loss = final + (loss - final) * 0.6 + 0.02 * ((step * 7 + int(10 * x)) % 3)
        if trial.report(step, loss):
            assert trial.should_stop
            raise KeyError("ignored, since the trial is stopped")
    return loss


@pytest.mark.parametrize("rule", RULES)
def test_early_stopping_stops_the_trials_of_a_study_at_the_same_steps(rule: str, client: Client) -> None:
    options: dict[str, Any] = {"early_stopping": RULES[rule], "seed": 5}
    found = minimize(trained, X, 14, pass_trial=True, catch=KeyError, progress=False, **options)
    study = client.create_study(None, X, direction="minimize", budget=14, **options)
    study.run(trained, pass_trial=True, catch=KeyError, progress=False)
    same_points(study, found)
    stopped = [
        (mine, other) for mine, other in zip(found.trials, study.trials(), strict=True) if mine.state != "completed"
    ]
    assert stopped
    assert len(found.trials) > 14
    for mine, other in stopped:
        assert (mine.estimate, mine.reason, mine.value) == (other.estimate, other.reason, other.value)
    best = study.best()
    assert best is not None
    assert (found.value, found.parameters) == (best.value, best.parameters)


@pytest.mark.long
def test_early_stopping_goes_with_objectives_bounds_and_costs(client: Client) -> None:
    def two(trial: LeasedTrial | RunningTrial) -> dict[str, Any]:
        x, error = trial.parameters["x"], 2.0
        for step in range(1, 10):
            error = x + 1 / step + 0.1 * ((step + int(10 * x)) % 2)
            if trial.report(step, error, cost=step * (1 + x)):
                return {}
        return {"metrics": {"error": error, "size": 1 - x, "cost": 9 * (1 + x), "heat": 10 * x}}

    options: dict[str, Any] = {
        "objectives": [{"metric": name, "direction": "minimize"} for name in ("size", "error")],
        "outcome_constraints": [{"metric": "heat", "upper": 8}],
        "early_stopping": MedianRule(9, after_trials=2, metric="error"),
        "cost": "told",
        "per_cost": True,
        "seed": 3,
    }
    found = minimize(two, X, {"cost": 150}, pass_trial=True, progress=False, **options)
    study = client.create_study(None, X, budget={"cost": 150}, **options)
    study.run(two, pass_trial=True, progress=False)
    same_points(study, found)
    assert {each.state for each in found.trials} == {"completed", "stopped"}


def test_early_stopping_compares_trials_of_one_plate_and_context(client: Client) -> None:
    space: dict[str, Parameter] = {"x": Float(0, 1), "day": Ordinal([1, 2], context=True)}
    options: dict[str, Any] = {"early_stopping": AshaRule(9), "plates": {"size": 5}, "seed": 1}

    def days() -> Callable[[], dict[str, Any]]:
        number: Iterator[int] = count()
        return lambda: {"day": 1 + next(number) // 3 % 2}

    found = minimize(trained, space, 20, context=days(), pass_trial=True, catch=KeyError, progress=False, **options)
    study = client.create_study(None, space, direction="minimize", budget=20, **options)
    study.run(trained, context=days(), pass_trial=True, catch=KeyError, n_trials=len(found.trials), progress=False)
    same_points(study, found)
    assert "stopped" in {each.state for each in found.trials}


def test_a_patient_rule_keeps_the_metrics_that_the_function_returns() -> None:
    def flat(trial: RunningTrial) -> dict[str, Any]:
        value = trial.parameters["x"]
        for step in range(1, 10):
            if trial.report(step, value):
                break
        return {"value": 99.0, "metrics": {"size": 4.0}}

    options: dict[str, Any] = {"metrics": ["size"], "early_stopping": RULES["patience"]}
    found = minimize(flat, X, 3, seed=1, pass_trial=True, progress=False, **options)
    assert {each.state for each in found.trials} == {"stopped"}
    assert all((each.value, each.metrics) == (each.parameters["x"], {"size": 4.0}) for each in found.trials)


def test_a_stopped_trial_with_invalid_metrics_stays_stopped() -> None:
    def flat(trial: RunningTrial) -> dict[str, Any]:
        for step in range(1, 10):
            if trial.report(step, trial.parameters["x"]):
                break
        return {"value": 99.0, "metrics": {"size": math.nan}}

    options: dict[str, Any] = {"metrics": ["size"], "early_stopping": RULES["patience"]}
    found = minimize(flat, X, 3, seed=1, pass_trial=True, catch=NotFinite, progress=False, **options)
    assert {(each.state, each.metrics) for each in found.trials} == {("stopped", None)}


class TrialPruned(Exception):
    """An exception with the name of Optuna's, for programs that end a stopped trial by it."""


@pytest.mark.parametrize(
    ("error", "options", "ends"),
    some(
        [
            (TrialPruned, {}, False),
            (RuntimeError, {"catch": RuntimeError}, False),
            (RuntimeError, {"max_failures": 9}, False),
            (RuntimeError, {}, True),
            (KeyError, {}, True),
            (NameError, {}, True),
        ],
        [(TrialPruned, {}, False), (RuntimeError, {"catch": RuntimeError}, False), (RuntimeError, {}, True)],
    ),
)
@pytest.mark.parametrize("where", ["study", "processes", "search"])
def test_after_a_stop_only_its_exceptions_are_no_failures(
    where: str, error: type[Exception], options: dict[str, Any], ends: bool, client: Client
) -> None:
    rule: dict[str, Any] = {"early_stopping": RULES["patience"], "seed": 1}
    run: dict[str, Any] = {"pass_trial": True, "max_failures": 2, "progress": False, **options}
    study = client.create_study(None, X, direction="minimize", budget=3, **rule)

    def evaluate() -> None:
        if where == "search":
            minimize(Ending(error), X, 3, **rule, **run)
            return
        report = study.run(Ending(error), processes=where == "processes", **run)
        assert (report.completed, report.stopped, report.failed) == (1, len(study.trials()) - 1, 0)

    if ends:
        with pytest.raises(error, match="no disk left") as raised:
            evaluate()
        said = "".join(getattr(raised.value, "__notes__", ()))
        assert ("after 2 failures in a row" in said) == (error is not NameError)
        assert ("had been stopped by early stopping" in said) == (error is NameError and where != "search")
    else:
        evaluate()
    if where != "search":
        assert [trial.state for trial in study.trials()][:2] == ["completed", "stopped"]
        assert {trial.state for trial in study.trials()} == {"completed", "stopped"}


@dataclass
class Ending:
    """An objective without progress, which ends with an exception once its trial is stopped, except the first."""

    error: type[Exception]

    def __call__(self, trial: LeasedTrial | RunningTrial) -> float:
        for step in range(1, 10 if trial.number > 1 else 1):
            if trial.report(step, trial.parameters["x"]):
                raise self.error("no disk left")
        return 0.0


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        ([(2, 0.5, None), (1, 0.4, None)], "step must be more than 2"),
        ([(10, 0.5, None)], r"step must be at most max_steps of early_stopping \(9\)"),
        ([(1, 0.5, 3.0)], 'cost is only for a search with cost="told"'),
        ([(1, "low", None)], "value must be a number"),
    ],
)
def test_a_wrong_report_ends_the_search_and_is_named(reports: list[Any], message: str) -> None:
    def reporting(trial: RunningTrial) -> float:
        for step, value, cost in reports:
            trial.report(step, value, cost=cost)
        return 0.0

    with pytest.raises(WrongResult, match=message):
        minimize(reporting, X, 3, pass_trial=True, early_stopping=RULES["asha"], progress=False)


@pytest.mark.parametrize("shared", [["heat"], []])
def test_a_budget_of_plates_gives_the_trials_of_a_study(shared: list[str], client: Client) -> None:
    space: dict[str, Parameter] = {"heat": Ordinal([60, 80, 100]), "n": Ordinal([1, 2, 3, 4, 5])}
    options: dict[str, Any] = {"plates": {"size": 4, "shared": shared}, "noise_std": 0, "seed": 2}

    def value(heat: int, n: int) -> float:
        return heat / 100 + n

    found = minimize(value, space, {"plates": 2}, progress=False, **options)
    study = client.create_study(None, space, direction="minimize", budget={"plates": 2}, **options)
    study.run(value, progress=False)
    same_points(study, found)
    assert (found.reason, [each.plate for each in found.trials]) == ("budget", [1, 1, 1, 1, 2, 2, 2, 2])


def test_no_plate_is_begun_beyond_the_budget_if_the_last_one_has_no_points_left() -> None:
    space: dict[str, Parameter] = {"heat": Ordinal([60, 80, 100]), "n": Ordinal([1, 2, 3])}
    options: dict[str, Any] = {"plates": {"size": 4, "shared": ["heat"]}, "noise_std": 0, "seed": 2}
    found = minimize(lambda heat, n: heat / 100 + n, space, {"plates": 2}, progress=False, **options)
    assert (found.reason, [each.plate for each in found.trials]) == ("budget", [1, 1, 1, 2, 2, 2])


def humid(humidity: Callable[[], float]) -> Callable[..., dict[str, Any]]:
    """Return a function whose results depend on a humidity that is only known afterwards."""

    def measured(x: float, k: str) -> dict[str, Any]:
        here = humidity()
        return {"value": (x - here) ** 2 + (k == "a") / 4, "parameters": {"humidity": here, "lamp": "old"}}

    return measured


def test_a_context_that_is_measured_gives_the_points_of_a_study(client: Client) -> None:
    space: dict[str, Parameter] = {
        **X,
        "humidity": Float(0, 1, context="measured"),
        "lamp": Categorical(["new", "old"], context="measured"),
    }

    def without_humidity(x: float, k: str) -> dict[str, Any]:
        return {"value": x + (k == "a"), "parameters": {"lamp": "old"}}

    def drift() -> Callable[[], float]:
        number = count()
        return lambda: 0.2 + 0.05 * (next(number) % 7)

    found = minimize(humid(drift()), space, 12, seed=4, progress=False)
    study = client.create_study(None, space, direction="minimize", budget=12, seed=4)
    study.run(humid(drift()), progress=False)
    assert [dict(each.parameters) for each in study.observations()] == [dict(each.parameters) for each in found.trials]
    with pytest.raises(WrongResult, match="lacks the parameter 'humidity'"):
        minimize(without_humidity, space, 3, progress=False)
    with pytest.raises(ValueError, match="humidity is measured with the result, so no constraint can name it"):
        minimize(without_humidity, space, 3, constraints=["x <= humidity"])


@pytest.mark.parametrize("rule", some(RULES, {"median"}))
def test_early_stopping_with_a_measured_context_gives_the_points_of_a_study(rule: str, client: Client) -> None:
    space: dict[str, Parameter] = {**X, "humidity": Float(0, 1, context="measured")}
    options: dict[str, Any] = {"early_stopping": RULES[rule], "seed": 4}

    def training() -> Callable[[Any], dict[str, Any] | None]:
        number = count()

        def train(trial: Any) -> dict[str, Any] | None:
            here, value = 0.2 + 0.05 * (next(number) % 7), 0.0
            for step in range(1, 10):
                value = (trial.parameters["x"] - here) ** 2 + (trial.parameters["k"] == "a") / 4 + 1 / min(step, 4)
                if trial.report(step, value, parameters={"humidity": here}):
                    return None
            return {"value": value, "parameters": {"humidity": here}}

        return train

    found = minimize(training(), space, 12, pass_trial=True, progress=False, **options)
    study = client.create_study(None, space, direction="minimize", budget=12, **options)
    study.run(training(), pass_trial=True, progress=False)
    assert {each.state for each in found.trials} >= {"stopped"}
    assert [each.state for each in found.trials] == [each.state for each in study.trials()]
    mine = [{name: each.parameters[name] for name in X} for each in found.trials]
    assert mine == [dict(each.parameters) for each in study.trials()]
    humidities = [0.2 + 0.05 * (number % 7) for number in range(len(found.trials))]
    assert [each.parameters["humidity"] for each in found.trials] == humidities


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, r"parameters\['humidity'\] is missing"),
        ({"humidity": 2.0}, r"parameters\['humidity'\] is 2.0, outside"),
        ({"humidity": 0.5, "x": 0.5}, r"parameters\['x'\] is not measured with the result"),
    ],
)
def test_a_report_needs_exactly_the_values_that_are_measured(given: Any, message: str) -> None:
    space: dict[str, Parameter] = {**X, "humidity": Float(0, 1, context="measured")}

    def train(trial: Any) -> None:
        trial.report(1, 0.5, parameters=given)

    with pytest.raises(WrongResult, match=message):
        minimize(train, space, 3, pass_trial=True, early_stopping=RULES["patience"], progress=False)


def test_a_baseline_is_kept_in_the_context_of_the_last_result(client: Client) -> None:
    space: dict[str, Parameter] = {"x": Float(0, 1), "y": Float(0, 1), "day": Float(0, 1, context=True)}
    baseline = {"x": 0.5, "y": 1.0}

    def days() -> Callable[[], dict[str, Any]]:
        number = count()
        return lambda: {"day": next(number) / 14}

    def value(x: float, y: float, day: float) -> float:
        return (x - day) ** 2 + 0 * y

    found = minimize(value, space, 14, seed=2, baseline=baseline, context=days(), progress=False)
    study = client.create_study(None, space, direction="minimize", budget=14, seed=2, baseline=baseline)
    study.run(value, context=days(), progress=False)
    model, near = study.recommendation(context="latest").model, found.near_baseline
    assert model is not None
    assert near is not None
    assert (near.parameters, near.mean, near.changes) == (model.parameters, model.mean, model.changes)
    assert near.parameters["day"] == 13 / 14
    assert near.changes


def test_a_partial_result_teaches_what_it_has(client: Client) -> None:
    def some(x: float, k: str) -> dict[str, Any]:
        value = (x - 0.3) ** 2 + (k == "a")
        if x > 0.8:
            return {"value": value, "partial": True}
        if k == "a":
            return {"metrics": {"size": 10 * x}, "partial": True}
        return {"value": value, "metrics": {"size": 10 * x}}

    options: dict[str, Any] = {"outcome_constraints": [{"metric": "size", "upper": 6}], "seed": 6}
    found = minimize(some, X, 14, progress=False, **options)
    study = client.create_study(None, X, direction="minimize", budget=14, **options)
    study.run(some, progress=False)
    same_points(study, found)
    assert {each.value is None for each in found.trials} == {True, False}
    best = study.best()
    assert best is not None
    assert (found.value, found.parameters) == (best.value, best.parameters)


def test_a_result_at_another_point_counts_there(client: Client) -> None:
    def rounded(x: float, k: str) -> dict[str, Any]:
        at = round(x, 1)
        return {"value": (at - 0.3) ** 2, "parameters": {"x": at, "k": k}}

    def outside(x: float, k: str) -> dict[str, Any]:
        return {"value": x + (k == "a"), "parameters": {"x": 7}}

    found = minimize(rounded, X, 10, seed=1, progress=False)
    study = client.create_study(None, X, direction="minimize", budget=10, seed=1)
    study.run(rounded, progress=False)
    assert [dict(each.parameters) for each in study.observations()] == [dict(each.parameters) for each in found.trials]
    with pytest.raises(WrongResult, match=r"parameters\['x'\], which is 7, outside"):
        maximize(outside, X, 3, progress=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"early_stopping": MedianRule(9), "pass_trial": False}, "early_stopping also needs pass_trial=True"),
        ({"early_stopping": {"max_steps": 4}}, "early_stopping must be a rule such as MedianRule"),
        (
            {"early_stopping": {"rule": "ahsa", "max_steps": 4}},
            r"early_stopping\['rule'\] is 'ahsa'; it must be one of 'median', 'asha', 'patience'",
        ),
        ({"early_stopping": {"rule": ["asha"], "max_steps": 4}}, r"early_stopping\['rule'\] is \['asha'\]; it must"),
        (
            {"early_stopping": {"rule": "asha", "max_steps": 9, "no_gain_for": 3}},
            "'no_gain_for' is not a key of the rule",
        ),
        ({"early_stopping": {"rule": "patience", "max_steps": 9}}, "the rule 'patience' needs no_gain_for"),
        ({"early_stopping": MedianRule(9, min_steps=9)}, r"early_stopping\['min_steps'\] must be less than max_steps"),
        ({"early_stopping": AshaRule(9, eta=1001)}, r"early_stopping\['eta'\] must be at most 1000, not 1001"),
        ({"early_stopping": MedianRule(9, metric="m")}, r"early_stopping\['metric'\] is only for studies with several"),
        ({"early_stopping": MedianRule(9), "objectives": ["m", "n"]}, r"early_stopping\['metric'\] must name the obj"),
        ({"early_stopping": MedianRule(9), "algorithm": {"kind": "sobol"}}, "the rule 'median' requires the algorithm"),
        ({"budget": {"plates": 3}, "pass_trial": True}, "a plate budget also needs the option plates"),
        ({"budget": {"plates": 0}, "plates": {"size": 4}}, r"budget\['plates'\] must be at least 1"),
    ],
    ids=str,
)
def test_what_a_search_cannot_have_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        minimize(trained, X, **{"budget": 3, "pass_trial": "early_stopping" in options, **options})
