"""Context parameters that are measured with the result: requests need not give them, results must."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from adabkb_service.contract.stored import definition_of
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.errors import Invalid, ResultConflict
from adabkb_service.inference.dataset import Dataset
from adabkb_service.operations.data.export import csv_rows
from adabkb_service.operations.model.predict import recommendation, row
from adabkb_service.operations.model.why import why
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import manage
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.studies.read import list_observations, trial
from adabkb_service.storage import events
from adabkb_service.storage.database import Database
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import (
    Ask,
    Failure,
    OwnFailure,
    Value,
    correct,
    edit,
    observe,
    queue,
    report,
    suggest,
)

SPEED = {"name": "speed", "kind": "float", "low": 0, "high": 10}
HUMIDITY = {"name": "humidity", "kind": "float", "low": 0, "high": 1, "context": "measured"}
MACHINE = {"name": "machine", "kind": "categorical", "choices": ["A", "B"], "context": True}
GLUE = {"name": "glue", "kind": "categorical", "choices": ["fast", "slow"]}


def measured(**changes: Any) -> StudyDefinition:
    return definition(**{"parameters": [SPEED, HUMIDITY, GLUE], "direction": "maximize", **changes})


def quality(point: Mapping[str, Any]) -> float:
    """The optimum depends on the humidity."""
    return float(-((point["speed"] - (8.0 - 6.0 * point["humidity"])) ** 2) / 10.0 + (point["glue"] == "fast"))


def run(running: Service, humidities: list[float]) -> None:
    for humidity in humidities:
        (trial,) = suggest(running, "s", Ask()).view.trials
        value = quality({**trial.parameters, "humidity": humidity})
        observe(running, "s", Value(value, trial.number, parameters={"humidity": humidity}))


def faults(refused: pytest.ExceptionInfo[Invalid]) -> dict[str, str]:
    return {each.pointer: each.detail for each in refused.value.errors}


def assumed(running: Service, **context: Any) -> Any:
    """What the next trial assumes; the trial then fails."""
    (trial,) = suggest(running, "s", Ask(context=context)).view.trials
    observe(running, "s", Failure(trial.number))
    return next(iter(trial.to_measure.values()))


def test_a_trial_is_asked_for_without_the_value_and_its_result_gives_it(
    database: Database, clock: ManualClock, running: Service
) -> None:
    create(running, measured())
    (trial,) = suggest(running, "s", Ask()).view.trials
    assert (trial.to_measure, set(trial.parameters)) == ({"humidity": 0.5}, {"speed", "glue"})
    answer = observe(running, "s", Value(1.0, trial.number, parameters={"humidity": 0.3})).view
    assert answer.trial is not None
    assert answer.observation is not None
    assert (answer.trial.to_measure, "humidity" in answer.trial.parameters) == ({}, False)
    assert answer.observation.parameters == {**trial.parameters, "humidity": 0.3}
    run(running, [0.1, 0.9, 0.2, 0.8, 0.3] * 3)
    assert_log_is_complete(database, clock, running)


def test_the_search_assumes_the_median_which_the_event_stores(database: Database, running: Service) -> None:
    """Of the results that count, or the value that the request expects."""
    create(running, measured())
    run(running, [0.9, 0.2, 0.7])
    assert assumed(running) == 0.7
    assert assumed(running, humidity=0.65) == 0.65
    correct(running, "s", 1, {"excluded": True})
    assert assumed(running) == 0.2
    with database.reading() as connection:
        log = [each for each in events.page(connection, "s", 0) if each.kind == "suggested"]
    assert [(each.payload["fixed"] or {}).get("humidity") for each in log] == [0.5, 0.9, 0.2, 0.7, 0.65, 0.2]


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "values", "without", "after"),
    [
        ({"kind": "float", "low": 1, "high": 100, "scale": "log"}, [3.0, 50.0, 4.0], 10.0, 4.0),
        ({"kind": "float", "low": 0, "high": 1, "step": 0.25}, [0.3, 0.9, 0.32], 0.5, 0.25),
        ({"kind": "int", "low": 0, "high": 10}, [9, 1, 2], 5, 2),
        ({"kind": "ordinal", "values": ["dry", "moist", "wet"]}, ["wet", "dry", "wet"], "moist", "wet"),
        ({"kind": "categorical", "choices": ["a", "b", "c"]}, ["c", "a", "c", "b"], "b", "c"),
        ({"kind": "bool"}, [False, True, False], True, False),
    ],
    ids=lambda each: str(each)[:30],
)
def test_each_kind_has_a_typical_value(
    running: Service, kind: dict[str, Any], values: list[Any], without: Any, after: Any
) -> None:
    """A trial never gets a value that cannot be chosen, even if results are between two steps."""
    create(running, measured(parameters=[SPEED, {"name": "state", "context": "measured", **kind}]))
    assert assumed(running) == without
    for value in values:
        observe(running, "s", Value(1.0, parameters={"speed": 1.0, "state": value}))
    assert assumed(running) == after


def test_a_result_without_the_value_is_refused_and_names_it(running: Service) -> None:
    """A repeated result, or one that adds a metric, need not give it again."""
    create(running, measured(metrics=["cost_of_glue"]))
    (trial,) = suggest(running, "s", Ask()).view.trials
    for given in (None, {}, {**trial.parameters}):
        with pytest.raises(Invalid) as refused:
            observe(running, "s", Value(1.0, trial.number, parameters=given, metrics={"cost_of_glue": 1.0}))
        assert list(faults(refused)) == ["/parameters/humidity"]
        assert "is measured with the result" in faults(refused)["/parameters/humidity"]
    with pytest.raises(Invalid) as refused:
        observe(running, "s", Value(1.0, trial.number, parameters={"humidity": 2.0}, metrics={"cost_of_glue": 1.0}))
    assert list(faults(refused)) == ["/parameters/humidity"]
    moved = {"speed": 3.0, "glue": "slow", "humidity": 0.4}
    observe(running, "s", Value(1.0, trial.number, parameters=moved, partial=True))
    added = observe(running, "s", Value(1.0, trial.number, metrics={"cost_of_glue": 2.0})).view.observation
    again = observe(running, "s", Value(1.0, trial.number, parameters={"humidity": 0.4}, partial=True)).view.observation
    assert added is not None
    assert added == again
    assert added.parameters == moved
    with pytest.raises(ResultConflict):
        observe(running, "s", Value(1.0, trial.number, parameters={"humidity": 0.5}, partial=True))


def test_other_context_parameters_are_still_required(running: Service) -> None:
    create(running, measured(parameters=[SPEED, HUMIDITY, MACHINE]))
    with pytest.raises(Invalid) as refused:
        suggest(running, "s", Ask())
    assert list(faults(refused)) == ["/context/machine"]
    with pytest.raises(Invalid) as refused:
        suggest(running, "s", Ask(context={"machine": "A", "humidity": 3}))
    assert list(faults(refused)) == ["/context/humidity"]
    (trial,) = suggest(running, "s", Ask(context={"machine": "A"})).view.trials
    assert (trial.parameters["machine"], trial.to_measure) == ("A", {"humidity": 0.5})


def test_a_waiting_trial_is_issued_whatever_is_expected(running: Service) -> None:
    """A queued point, and an own failed experiment, need no measured value."""
    create(running, measured())
    first = queue(running, "s", {"speed": 1.0, "glue": "slow"}).view
    second = queue(running, "s", {"speed": 2.0, "glue": "slow", "humidity": 0.9}).view
    assert (first.to_measure, second.to_measure) == ({"humidity": 0.5}, {"humidity": 0.9})
    issued = suggest(running, "s", Ask(2, context={"humidity": 0.1})).view.trials
    assert [each.number for each in issued] == [first.number, second.number]
    failed = observe(running, "s", OwnFailure({"speed": 3.0, "glue": "slow"})).view.trial
    assert failed is not None
    assert failed.to_measure == {"humidity": 0.5}


def test_quasi_random_points_have_the_assumed_value(time_limited: Service) -> None:
    create(time_limited, measured())
    trials = suggest(time_limited, "s", Ask(8)).view.trials
    assert {trial.origin for trial in trials} == {"policy", "fallback"}
    assert all(trial.to_measure == {"humidity": 0.5} for trial in trials)


def test_the_explanation_says_what_was_assumed(running: Service) -> None:
    create(running, measured())
    run(running, [0.4])
    decision = why(running, "s", 1).decision
    assert decision is not None
    assert decision.in_words.startswith(
        "The context that is measured with the result was assumed to be humidity = 0.5."
    )


def test_the_export_has_the_measured_values(running: Service) -> None:
    """An unfinished trial has none."""
    create(running, measured())
    run(running, [0.4])
    suggest(running, "s", Ask())
    rows = list(csv.DictReader("".join(csv_rows(running, "s")).splitlines()))
    assert [row["parameters.humidity"] for row in rows] == ["0.4", ""]


@pytest.mark.long
def test_the_model_learns_from_the_measured_values(running: Service) -> None:
    create(running, measured())
    run(running, [0.1, 0.9, 0.5] * 8)
    for humidity, speed in [(0.1, 7.4), (0.9, 2.6)]:
        found = recommendation(running, "s", context={"humidity": humidity}).model
        assert found is not None
        assert found.parameters["speed"] == pytest.approx(speed, abs=1.0)


def test_a_parameter_may_become_measured_while_the_study_runs(
    database: Database, clock: ManualClock, running: Service
) -> None:
    create(running, measured(parameters=[SPEED, GLUE]))
    (before,) = suggest(running, "s", Ask()).view.trials
    edit(running, HUMIDITY, humidity=0.2)
    observe(running, "s", Value(1.0, before.number))
    run(running, [0.6, 0.7])
    edit(running, {**HUMIDITY, "context": True})
    suggest(running, "s", Ask(context={"humidity": 0.3}))
    assert running.do(manage.get("s")).view.counts.observations == 3
    assert_log_is_complete(database, clock, running, {"humidity": 0.3})


PATIENCE = {"rule": "patience", "max_steps": 9, "no_gain_for": 3}
MEDIAN = {"rule": "median", "max_steps": 9, "after_trials": 2}
ASHA = {"rule": "asha", "max_steps": 9, "eta": 3}


@pytest.mark.parametrize("rule", [PATIENCE, MEDIAN, ASHA], ids=lambda rule: rule["rule"])
def test_a_stopped_trial_has_the_values_of_its_last_report(
    database: Database, clock: ManualClock, running: Service, rule: dict[str, Any]
) -> None:
    """The model takes its result, or the estimate of it, at these values, and not at the assumed ones."""
    create(running, measured(early_stopping=rule))
    run(running, [0.2, 0.4, 0.6])
    for number, humidity in ((4, 0.35), (5, 0.7), (6, 0.9)):
        suggest(running, "s", Ask())
        worse = -float(number)
        for step, earlier in ((1, 0.1), (4, humidity)):
            stop = report(running, "s", number, (step, worse), parameters={"humidity": earlier}).view.stop
            if stop:
                break
        if not stop:
            observe(running, "s", Value(worse, number, parameters={"humidity": humidity}))
    with database.reading() as connection:
        log = events.page(connection, "s", 0)
    stored = definition_of(row(running, "s").definition)
    dataset = Dataset(stored.space(), stored.sign)
    for each in log:
        dataset.apply(each)
    found = [each for each in log if each.kind == "stopped"]
    assert len(found) == 3 or (found and rule is not PATIENCE)
    reported = {each.trial: each for each in log if each.kind == "reported"}
    for each in found:
        assert each.trial is not None
        last = {4: 0.35, 5: 0.7, 6: 0.9}[each.trial] if reported[each.trial].payload["reports"][-1][0] == 4 else 0.1
        assert each.payload["parameters"]["humidity"] == last
        results = [row for row in list_observations(running, "s", 0, 100).items if row.trial == each.trial]
        assert [row.parameters["humidity"] for row in results] == ([last] if rule is PATIENCE else [])
        assert trial(running, "s", each.trial).to_measure == {}
        if rule is not PATIENCE:  # whose trials have a result, as others
            assert dataset.results[-each.trial].parameters["humidity"] == last
    assert_log_is_complete(database, clock, running)


def test_rules_compare_trials_whose_measured_values_differ_but_not_those_of_another_known_context(
    running: Service,
) -> None:
    create(running, measured(parameters=[SPEED, HUMIDITY, MACHINE], early_stopping={**MEDIAN, "after_trials": 1}))
    stops = []
    for number, (machine, humidity, value) in enumerate(
        [("A", 0.2, 1.0), ("A", 0.7, 0.5), ("B", 0.7, 0.4), ("B", 0.1, 0.3)], start=1
    ):
        suggest(running, "s", Ask(context={"machine": machine, "humidity": humidity}))  # which the user expects
        told = report(running, "s", number, (1, value), parameters={"humidity": humidity})
        stops.append(told.view.stop)
    assert stops == [False, True, False, True]


def test_a_report_without_the_measured_value_is_refused_if_it_may_stop_the_trial(running: Service) -> None:
    create(running, measured(early_stopping=PATIENCE))
    suggest(running, "s", Ask())
    cases: list[tuple[dict[str, Any] | None, dict[str, str]]] = [
        (None, {"humidity": "is missing: its value is measured with the result"}),
        ({"humidity": 1.5}, {"humidity": "is 1.5, outside [0.0, 1.0]"}),
        ({"humidity": 0.5, "speed": 3.0}, {"speed": "is not a parameter that is measured with the result"}),
        ({"humidity": 0.5, "colour": 3.0}, {"colour": "is not a parameter that is measured with the result"}),
    ]
    for given, expected in cases:
        with pytest.raises(Invalid) as refused:
            report(running, "s", 1, (1, 0.5), parameters=given)
        found = faults(refused)
        assert found.keys() == {f"/reports/0/parameters/{name}" for name in expected}
        for name, words in expected.items():
            assert words in found[f"/reports/0/parameters/{name}"]
    create(running, measured(id="t"))
    suggest(running, "t", Ask())
    assert not report(running, "t", 1, (1, 0.5)).view.stop, "it stops no trials"


REFUSED: list[tuple[dict[str, Any], tuple[str | int, ...], str]] = [
    (
        {"parameters": [SPEED, {**MACHINE, "context": "measured"}, {**GLUE, "when": {"machine": ["A"]}}]},
        ("parameters", 1, "context"),
        "conditions (when) of other parameters depend on it",
    ),
    ({"constraints": ["speed <= 9", "speed <= 9 * humidity"]}, ("constraints", 1), "humidity, which is measured"),
    ({"plates": {"size": 4, "shared": ["humidity"]}}, ("plates", "shared", 0), "is measured with each result"),
    (
        {"parameters": [SPEED, {**HUMIDITY, "context": "later"}]},
        ("parameters", 1, "float", "context"),
        "Input should be False, True or 'measured'",
    ),
]


@pytest.mark.parametrize(("changes", "place", "words"), REFUSED, ids=lambda each: str(each)[:40])
def test_what_a_measured_context_cannot_be_combined_with(
    changes: dict[str, Any], place: tuple[str | int, ...], words: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        measured(**changes)
    (fault,) = refused.value.errors()
    assert fault["loc"] == place
    assert words in fault["msg"]
