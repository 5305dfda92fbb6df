"""Results at values between the steps of a float or between ordered numbers: they are stored and shown as measured, the
model uses them at their true place, a replay gives the same suggestions, and suggestions stay on the steps."""

from __future__ import annotations

from typing import Any

import pytest

from adabkb_service.engine.axes import StepAxis
from adabkb_service.errors import Invalid, StudyComplete, TrialFinished
from adabkb_service.operations.model.predict import predict, recommendation
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.studies.read import list_observations
from adabkb_service.storage.database import Database
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import SYSTEMS, ManualClock, definition
from tests.integration.operations.verbs import (
    Ask,
    Failure,
    OwnFailure,
    Value,
    change,
    edit,
    get,
    observe,
    queue,
    repeat,
    retry,
    suggest,
)
from tests.samples import some

HEAT = {"name": "heat", "kind": "float", "low": 50, "high": 92, "step": 5}
STIRRING = {"name": "stirring", "kind": "float", "low": 0, "high": 1, "step": 0.25}
TIME = {"name": "time", "kind": "float", "low": 1, "high": 9}
COUNT = {"name": "count", "kind": "int", "low": 1, "high": 9, "step": 2}
SIZE = {"name": "size", "kind": "ordinal", "values": [1, 2, 4]}
RANK = {"name": "rank", "kind": "ordinal", "values": [1, 3, 2.5]}
GRADE = {"name": "grade", "kind": "ordinal", "values": ["coarse", "fine"]}
MOLARITY = {"name": "molarity", "kind": "ordinal", "values": [0.057, 0.1, 0.153]}
GRID = StepAxis("heat", 50.0, 92.0, 5.0)
DRIFTED = {"heat": 72.3, "time": 2.0}


def drifting(**changes: Any) -> dict[str, Any]:
    return {"parameters": [HEAT, TIME], "direction": "maximize", **changes}


def yield_of(point: dict[str, Any]) -> float:
    return float(80.0 - (point["heat"] - 72.3) ** 2 / 10.0 - (point["time"] - 4.0) ** 2)


KINDS: dict[str, dict[str, Any]] = {
    "two steps": {"parameters": [HEAT, STIRRING, TIME]},
    "steps only": {"parameters": [HEAT, STIRRING]},
    "constraint": {"constraints": ["heat + 4 * time <= 104", "heat >= 60"]},
    "values": {"constraints": ["heat in [65, 70, 75, 80] or time > 5"]},
    "condition": {"parameters": [HEAT, {**TIME, "when": {"heat": [70, 75, 80]}}]},
    "baseline": {"baseline": {"heat": 60, "time": 2}},
    "context": {"parameters": [HEAT, {**TIME, "context": True}]},
    "plates": {"plates": {"size": 2, "shared": ["heat"]}},
    "noise": {"noise_std": 0.5, "constraints": ["heat + 4 * time <= 104"]},
    "bounded": {"metrics": ["price"], "outcome_constraints": [{"metric": "price", "upper": 7}]},
}


@pytest.mark.parametrize("kind", some(KINDS, ["plates"]))
def test_a_drifting_study_has_suggestions_on_the_steps_and_a_complete_log(
    database: Database, clock: ManualClock, running: Service, kind: str
) -> None:
    study = definition(**drifting(**KINDS[kind]))
    create(running, study)
    space, context = study.space(), {"time": 4.0} if kind == "context" else None
    for number in range(8):
        trial = suggest(running, "s", Ask(context=context)).view.trials[0]
        assert space.problems(trial.parameters) == {}
        assert space.admits(trial.parameters)
        drift = 2.3 if trial.parameters["heat"] < 90 else -1.7
        actual = {**trial.parameters, "heat": trial.parameters["heat"] + (drift if number % 2 else 0.0)}
        value = yield_of({"time": 4.0, **actual})
        metrics = {"price": actual["heat"] / 12} if kind == "bounded" else None
        result = Value(value, trial.number, parameters=actual, metrics=metrics)
        stored = observe(running, "s", result).view.observation
        assert stored is not None
        assert stored.parameters == actual
    assert recommendation(running, "s", context=context).model is not None
    assert_log_is_complete(database, clock, running, context)


@pytest.mark.parametrize(
    "system", some([system for system in SYSTEMS if system != "gp-threds"], ["auto", "paper"])
)  # which has no steps
def test_each_algorithm_continues_on_the_steps(running: Service, system: str) -> None:
    study = drifting(algorithm=SYSTEMS[system], parameters=[HEAT, STIRRING], noise_std=0.1)
    create(running, definition(**study))
    for shift in (2.3, 0.0, 1.1):
        trial = suggest(running, "s", Ask()).view.trials[0]
        assert GRID.problem(trial.parameters["heat"]) is None
        actual = {**trial.parameters, "heat": min(trial.parameters["heat"] + shift, 92.0)}
        observe(running, "s", Value(1.0 + shift, trial.number, parameters=actual))


@pytest.mark.parametrize("values", some([[0.057, 0.1, 0.153], [0.153, 0.1, 0.057]], [[0.153, 0.1, 0.057]]))
@pytest.mark.parametrize("kind", some(["plain", "constraint", "condition", "context", "plates"], ["condition"]))
def test_a_result_between_two_ordered_numbers_is_kept_and_never_suggested(
    database: Database, clock: ManualClock, running: Service, kind: str, values: list[float]
) -> None:
    molarity = {**MOLARITY, "values": values}
    kinds: dict[str, dict[str, Any]] = {
        "constraint": {"constraints": ["molarity in [0.057, 0.1]"]},
        "condition": {"parameters": [molarity, {**TIME, "when": {"molarity": [0.1]}}]},
        "context": {"parameters": [molarity, {**TIME, "context": True}]},
        "plates": {"plates": {"size": 2, "shared": ["molarity"]}},
    }
    study = definition(**drifting(parameters=[molarity, TIME], noise_std=0.5) | kinds.get(kind, {}))
    create(running, study)
    context = {"time": 4.0} if kind == "context" else None
    for number in range(8):
        trial = suggest(running, "s", Ask(context=context)).view.trials[0]
        assert study.space().problems(trial.parameters) == {}
        suggested = float(trial.parameters["molarity"])
        used = {0.057: 0.07, 0.1: 0.11}.get(suggested, 0.14) if number % 2 else suggested
        actual = {**trial.parameters, "molarity": used}
        observe(running, "s", Value(80.0 - 1e3 * (used - 0.11) ** 2, trial.number, parameters=actual))
    stored = [each.parameters["molarity"] for each in list_observations(running, "s", 0, 100).items]
    assert {0.07, 0.11, 0.14} & set(stored)
    assert_log_is_complete(database, clock, running, context)


def test_the_model_uses_the_place_between_two_ordered_numbers(running: Service) -> None:
    """The order of the values sets the distances: 0.1 is as far from 0.057 as from 0.153."""
    create(running, definition(**drifting(parameters=[MOLARITY, TIME], noise_std=0.01)))
    for molarity in (0.057, 0.0785, 0.1, 0.1265, 0.153):
        for time in (2.0, 5.0, 8.0):
            place = {0.057: 0.0, 0.0785: 0.5, 0.1: 1.0, 0.1265: 1.5, 0.153: 2.0}[molarity]
            observe(running, "s", Value(10 - (place - 1.5) ** 2, parameters={"molarity": molarity, "time": time}))
    points = [{"molarity": molarity, "time": 5.0} for molarity in (0.0785, 0.1265, 0.13975)]
    means = [each.mean for each in predict(running, "s", points).predictions]
    assert means == pytest.approx([9.0, 10.0, 9.9375], abs=0.1)
    found = recommendation(running, "s").model
    assert found is not None
    assert found.parameters["molarity"] == 0.1265


def test_the_model_uses_the_measured_place_and_recommends_it(running: Service) -> None:
    create(running, definition(**drifting(noise_std=0.01)))
    for heat in (50.0, 57.0, 64.0, 72.3, 80.0, 86.0, 92.0):
        for time in (2.0, 4.0, 6.0):
            point = {"heat": heat, "time": time}
            observe(running, "s", Value(yield_of(point), parameters=point))
    points = [{"heat": heat, "time": 4.0} for heat in (70.0, 72.3, 75.0)]
    means = [each.mean for each in predict(running, "s", points).predictions]
    assert means == pytest.approx([yield_of(point) for point in points], abs=0.2)
    found = recommendation(running, "s").model
    assert found is not None
    assert found.parameters == {"heat": 72.3, "time": 4.0}
    best = get(running, "s").best
    assert best is not None
    assert best.parameters == {"heat": 72.3, "time": 4.0}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("heat", 92.5, "is 92.5, outside [50.0, 92.0]"),
        ("heat", 49.9, "is 49.9, outside [50.0, 92.0]"),
        ("heat", "72.3", "is the text '72.3', but must be a finite number between 50.0 and 92.0"),
        ("count", 3.5, "must be an integer between 1 and 9"),
        ("count", 4, "is 4, not 1 plus a multiple of 2"),
        ("size", 5, "must be one of 1, 2, 4, or between two of them"),
        ("size", "3", "is the text '3', but must be one of 1, 2, 4, or between two of them"),
        ("rank", 2, "must be one of 1, 3, 2.5"),
        ("grade", 3, "must be one of 'coarse', 'fine'"),
    ],
)
def test_other_values_that_a_parameter_does_not_have_are_refused(
    running: Service, name: str, value: object, message: str
) -> None:
    create(running, definition(**drifting(parameters=[HEAT, COUNT, SIZE, RANK, GRADE])))
    point = {"heat": 70, "count": 3, "size": 2, "rank": 1, "grade": "fine", name: value}
    with pytest.raises(Invalid) as refused:
        observe(running, "s", Value(1.0, parameters=point))
    assert [(each.pointer, each.detail) for each in refused.value.errors] == [(f"/parameters/{name}", message)]


def test_a_value_above_the_last_step_is_at_most_half_a_step_away(running: Service) -> None:
    create(running, definition(**drifting(parameters=[{**HEAT, "high": 94}, TIME])))
    observe(running, "s", Value(1.0, parameters={"heat": 92.5, "time": 2}))
    with pytest.raises(Invalid):
        observe(running, "s", Value(1.0, parameters={"heat": 93.9, "time": 2}))


def test_chosen_values_stay_on_the_steps(running: Service) -> None:
    create(running, definition(**drifting()))
    for choosing in (
        lambda: suggest(running, "s", Ask(fixed={"heat": 72.3})),
        lambda: queue(running, "s", DRIFTED),
        lambda: repeat(running, "s", parameters=DRIFTED),
    ):
        with pytest.raises(Invalid, match=r"72\.3, not 50\.0 plus a multiple of 5"):
            choosing()


def test_a_repetition_has_the_suggested_value_of_the_step(running: Service) -> None:
    create(running, definition(**drifting()))
    trial = suggest(running, "s", Ask(fixed={"heat": 75})).view.trials[0]
    observe(running, "s", Value(1.0, trial.number, parameters={"heat": 72.3, "time": 5.5}))
    assert repeat(running, "s", trial=trial.number).view.trials[0].parameters == {"heat": 75.0, "time": 5.5}


def test_a_deviation_from_a_feasible_suggestion_is_accepted(running: Service) -> None:
    create(running, definition(**drifting(constraints=["heat in [70, 80]", "heat <= 80 - 2 * time"])))
    observe(running, "s", Value(1.0, parameters={"heat": 72.3, "time": 5.0}))
    for point in ({"heat": 73.3, "time": 2.0}, {"heat": 80.0, "time": 4.0}):
        with pytest.raises(Invalid, match="violates the study's constraint"):
            observe(running, "s", Value(1.0, parameters=point))


def test_a_value_on_a_plate_may_deviate_by_less_than_half_a_step(running: Service) -> None:
    create(running, definition(**drifting(plates={"size": 2, "shared": ["heat"]})))
    trial = suggest(running, "s", Ask(fixed={"heat": 70})).view.trials[0]
    observe(running, "s", Value(1.0, parameters=DRIFTED, plate=trial.plate))
    with pytest.raises(Invalid, match=r"is 73\.0, but plate 1 has 70\.0"):
        observe(running, "s", Value(1.0, parameters={**DRIFTED, "heat": 73.0}, plate=trial.plate))


def test_results_between_the_steps_of_an_edited_parameter_still_count(
    database: Database, clock: ManualClock, running: Service
) -> None:
    create(running, definition(**drifting(parameters=[{**HEAT, "step": None}, TIME])))
    for heat in (61.2, 72.3, 83.4):
        observe(running, "s", Value(heat, parameters={"heat": heat, "time": 2}))
    waiting = queue(running, "s", DRIFTED).view.number
    edit(running, HEAT)
    found = recommendation(running, "s").model
    assert found is not None
    assert found.parameters["heat"] == 83.4
    assert not any(each.outside for each in list_observations(running, "s", 0, 100).items)
    issued = suggest(running, "s", Ask()).view.trials[0]
    assert issued.number != waiting
    assert GRID.problem(issued.parameters["heat"]) is None
    observe(running, "s", Value(1.0, issued.number))
    assert_log_is_complete(database, clock, running)


def test_an_own_experiment_that_failed_between_the_steps_is_a_failed_trial(
    database: Database, clock: ManualClock, running: Service
) -> None:
    """It cannot be issued again, since it is between the steps."""
    create(running, definition(**drifting()))
    failed = observe(running, "s", OwnFailure(DRIFTED, "clogged")).view.trial
    assert failed is not None
    assert (failed.state, failed.parameters, failed.reason) == ("failed", DRIFTED, "clogged")
    with pytest.raises(TrialFinished, match="between the steps of heat"):
        retry(running, "s", failed.number)
    assert_log_is_complete(database, clock, running)


def test_own_experiments_that_failed_count_only_when_they_are_retried(
    database: Database, clock: ManualClock, running: Service
) -> None:
    """They count neither towards the budget nor towards the failures in a row that pause a study, as an own result
    does not."""
    create(running, definition(**drifting(budget=2, failure_limit=2)))
    for _ in range(3):
        failed = observe(running, "s", OwnFailure({**DRIFTED, "heat": 70})).view
    assert (failed.study.state, failed.study.counts.failed) == ("running", 3)
    assert failed.trial is not None
    assert failed.trial.origin == "own"
    again = retry(running, "s", failed.trial.number).view.trial
    assert (again.state, again.origin) == ("released", "queued")
    assert [trial.number for trial in suggest(running, "s", Ask(2)).view.trials] == [3, 4]
    assert observe(running, "s", OwnFailure(DRIFTED)).view.study.counts.failed == 3
    with pytest.raises(StudyComplete, match="budget"):
        retry(running, "s", 1)
    observe(running, "s", Failure(3))
    observe(running, "s", Value(1.0, 4))
    assert observe(running, "s", OwnFailure(DRIFTED)).view.study.state == "complete"
    change(running, "s", {"budget": 3})
    assert_log_is_complete(database, clock, running)
