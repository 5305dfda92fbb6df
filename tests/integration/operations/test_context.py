"""Studies with context parameters: each trial has the context of its request, and a replay gives the same
suggestions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from adabkb_service.contract.requests import SuggestBody
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.errors import Invalid
from adabkb_service.operations.model.front import front
from adabkb_service.operations.model.predict import recommendation
from adabkb_service.operations.model.why import why
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import manage
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import ObservationRow
from tests.calls import watching
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import SYSTEMS, ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, change, correct, edit, observe, queue, suggest

HUMIDITY = {"name": "humidity", "kind": "float", "low": 0, "high": 1, "context": True}
MACHINE = {"name": "machine", "kind": "categorical", "choices": ["A", "B"], "context": True}
SPEED = {"name": "speed", "kind": "float", "low": 0, "high": 10}
GLUE = {"name": "glue", "kind": "categorical", "choices": ["fast", "slow"]}
PARAMETERS = [SPEED, HUMIDITY, GLUE, MACHINE]
DRY, WET = {"humidity": 0.1, "machine": "A"}, {"humidity": 0.9, "machine": "B"}


def with_context(**changes: Any) -> StudyDefinition:
    return definition(**{"parameters": PARAMETERS, "direction": "maximize", **changes})


def quality(point: Mapping[str, Any]) -> float:
    """The optimum depends on the humidity; the machine adds an offset."""
    best = 8.0 - 6.0 * point["humidity"]
    return float(-((point["speed"] - best) ** 2) / 10.0 + (point["glue"] == "fast") - 5.0 * (point["machine"] == "B"))


def evaluated(running: Service, context: Mapping[str, Any], count: int = 1, **options: Any) -> list[dict[str, Any]]:
    points = []
    for trial in suggest(running, "s", Ask(count, context=context, **options)).view.trials:
        observe(running, "s", Value(quality(trial.parameters), trial.number))
        points.append(trial.parameters)
    return points


def faults(refused: pytest.ExceptionInfo[Invalid]) -> dict[str, str]:
    return {each.pointer: each.detail for each in refused.value.errors}


def test_each_trial_has_the_context_of_its_request(database: Database, clock: ManualClock, running: Service) -> None:
    """Single trials and batches, also with another parameter fixed, in a new context each time. The log is complete."""
    create(running, with_context())
    for step in range(12):
        context = {"humidity": round(0.05 + 0.07 * step, 3), "machine": "AB"[step % 2]}
        fixed = {"glue": "slow"} if step % 4 == 3 else None
        points = evaluated(running, context, 1 + step % 2, fixed=fixed)
        assert len(points) == 1 + step % 2
        assert all(context.items() <= point.items() for point in points)
        assert fixed is None or {point["glue"] for point in points} == {"slow"}
    assert_log_is_complete(database, clock, running, WET)


def test_context_measured_with_the_result_counts(database: Database, clock: ManualClock, running: Service) -> None:
    """Trials are requested at one humidity, and evaluated at others."""
    create(running, with_context())
    for step in range(12):
        for trial in suggest(running, "s", Ask(context={"humidity": 0.5, "machine": "A"})).view.trials:
            measured = {**trial.parameters, "humidity": [0.1, 0.5, 0.9][step % 3]}
            observe(running, "s", Value(quality(measured), trial.number, parameters=measured))
    for humidity, speed in [(0.1, 7.4), (0.9, 2.6)]:
        found = recommendation(running, "s", context={"humidity": humidity, "machine": "A"}).model
        assert found is not None
        assert found.parameters["speed"] == pytest.approx(speed, abs=1.2)
    assert_log_is_complete(database, clock, running, WET)


@pytest.mark.long
def test_suggestions_and_recommendations_are_the_best_of_their_context(running: Service) -> None:
    """The optimum depends on the humidity; results in one context are informative about others, even those without
    results.
    """
    create(running, with_context())
    for step in range(30):
        evaluated(running, {"humidity": [0.1, 0.5, 0.9][step % 3], "machine": "AB"[step % 2]})
    for humidity, speed in [(0.1, 7.4), (0.3, 6.2), (0.7, 3.8), (0.9, 2.6)]:
        found = recommendation(running, "s", context={"humidity": humidity, "machine": "B"})
        assert found.model is not None
        assert found.model.parameters["humidity"] == humidity
        assert found.model.parameters["glue"] == "fast"
        assert found.model.parameters["speed"] == pytest.approx(speed, abs=0.6)
        assert found.model.mean == pytest.approx(-4.0, abs=0.3)
        assert found.gap is None
        assert (found.observed is None) == (humidity in (0.3, 0.7))
    (point,) = evaluated(running, {"humidity": 0.9, "machine": "A"}, fixed={"glue": "fast"})
    assert point["speed"] == pytest.approx(2.6, abs=2.0)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_best_observation_of_a_context_is_found_without_reading_all(running: Service, direction: str) -> None:
    """Of equally good ones, the first counts."""
    create(running, with_context(direction=direction))
    values = [5.0, 1.0, 5.0, 1.0] + [3.0] * 40
    for number, value in enumerate(values):
        context = (DRY, DRY, WET, WET)[number] if number < 4 else DRY
        observe(running, "s", Value(value, parameters={**context, "speed": number / 10, "glue": "fast"}))
    rows = Counter[str]()
    for context, numbers in ((DRY, (0, 1)), (WET, (2, 3))):
        with watching({ObservationRow.__init__: lambda _, event: rows.update([event])}):
            found = recommendation(running, "s", context=context).observed
        assert found is not None
        number = numbers[direction == "minimize"]
        assert (found.value, found.parameters["speed"]) == (values[number], number / 10)
    assert rows["call"] < 10


def test_without_a_context_there_is_no_best_point_and_no_gap(running: Service) -> None:
    create(running, with_context())
    evaluated(running, DRY, 3)
    found = recommendation(running, "s")
    assert (found.model, found.observed, found.reason) == (None, None, "context_needed")
    shown = running.do(manage.get("s")).view
    assert (shown.gap, shown.model.reason) == (None, "depends_on_context")
    assert shown.parameters[1].model_dump()["context"]


def test_context_must_be_complete_and_contain_nothing_else(running: Service) -> None:
    create(running, with_context())
    create(running, definition(id="plain"))
    cases: list[tuple[SuggestBody, dict[str, str]]] = [
        (Ask(), {"/context/humidity": "is missing", "/context/machine": "is missing"}),
        (Ask(context={"humidity": 0.4}), {"/context/machine": "is missing"}),
        (Ask(context={**DRY, "speed": 2}), {"/context/speed": "is not a context parameter of this study; to choose"}),
        (Ask(context={**DRY, "humidity": 1.2}), {"/context/humidity": "is 1.2, outside"}),
        (Ask(context={**DRY, "humid": 1}), {"/context/humid": "is not a parameter of this study; did you mean"}),
        (Ask(context=DRY, fixed={"machine": "A"}), {"/fixed/machine": "is a context parameter of this study; set"}),
    ]
    for body, expected in cases:
        with pytest.raises(Invalid) as refused:
            suggest(running, "s", body)
        found = faults(refused)
        assert found.keys() == expected.keys()
        assert all(found[pointer].startswith(start) for pointer, start in expected.items())
    with pytest.raises(Invalid, match="is not a context parameter"):
        suggest(running, "plain", Ask(context={"x": 1.0}))
    with pytest.raises(Invalid) as refused:
        recommendation(running, "s", context={"humidity": 0.4})
    assert list(faults(refused)) == ["?context/machine"]
    assert running.do(manage.get("s")).view.counts.trials == 0


def test_waiting_trial_is_issued_only_in_its_context(running: Service) -> None:
    """Such as a queued trial, whose values include a context."""
    create(running, with_context())
    queued = queue(running, "s", {"speed": 1.0, "glue": "slow", **WET}).view.number
    assert suggest(running, "s", Ask(context=DRY)).view.trials[0].number != queued
    assert suggest(running, "s", Ask(context=WET)).view.trials[0].number == queued


def test_finite_space_ends_in_one_context_and_continues_in_another(running: Service) -> None:
    create(running, with_context(parameters=[GLUE, MACHINE]))
    answer = suggest(running, "s", Ask(5, context={"machine": "A"})).view
    assert (len(answer.trials), answer.reason, answer.study.state) == (2, "fixed_exhausted", "running")
    assert len(suggest(running, "s", Ask(5, context={"machine": "B"})).view.trials) == 2


def test_why_distinguishes_the_context_from_fixed_values(running: Service) -> None:
    create(running, with_context())
    evaluated(running, DRY, fixed={"glue": "fast"})
    decision = why(running, "s", 1).decision
    assert decision is not None
    assert decision.in_words.startswith("The context was humidity = 0.1, machine = 'A'. Held fixed: glue = 'fast'.")


def test_quasi_random_points_have_the_context(time_limited: Service) -> None:
    create(time_limited, with_context(constraints=["speed <= 10 - 5 * humidity"]))
    trials = suggest(time_limited, "s", Ask(8, context=WET)).view.trials
    assert {trial.origin for trial in trials} == {"policy", "fallback"}
    assert all(WET.items() <= trial.parameters.items() for trial in trials)
    assert all(trial.parameters["speed"] <= 5.5 for trial in trials)


def test_infeasible_context_is_rejected(running: Service) -> None:
    create(running, with_context(constraints=["speed >= 20 * (humidity - 0.4)"]))
    with pytest.raises(Invalid) as refused:
        suggest(running, "s", Ask(context={**WET, "humidity": 0.95}))
    (error,) = refused.value.errors
    assert (error.pointer, error.code) == ("/context", "constraint_violated")
    assert error.detail.startswith("leaves no point that satisfies the study's constraint speed >= 20")


@pytest.mark.long
def test_context_can_be_added_and_become_an_ordinary_parameter(
    database: Database, clock: ManualClock, running: Service
) -> None:
    """Earlier results count in their own context."""
    create(running, definition(parameters=[SPEED, GLUE], direction="maximize"))
    for trial in suggest(running, "s", Ask(4)).view.trials:
        observe(running, "s", Value(quality({**trial.parameters, **DRY}), trial.number))
    edit(running, HUMIDITY, MACHINE, **DRY)
    with pytest.raises(Invalid, match="is missing; give a value for each context parameter"):
        suggest(running, "s", Ask())
    evaluated(running, WET, 4)
    edit(running, {**MACHINE, "context": False})
    assert {point["humidity"] for point in evaluated(running, {"humidity": 0.3}, 3)} == {0.3}
    assert_log_is_complete(database, clock, running, {"humidity": 0.3})


SEVERAL = [{"metric": "yield", "direction": "maximize"}, {"metric": "price", "direction": "minimize"}]


def test_each_context_has_its_own_front(database: Database, clock: ManualClock, running: Service) -> None:
    create(running, with_context(objectives=SEVERAL, direction=None))
    for step in range(8):
        context = [DRY, WET][step % 2]
        (trial,) = suggest(running, "s", Ask(context=context)).view.trials
        metrics = {"yield": quality(trial.parameters), "price": trial.parameters["speed"]}
        observe(running, "s", Value(None, trial.number, metrics=metrics))  # type: ignore[arg-type]
    for context in (DRY, WET):
        found = front(running, "s", context=context)
        assert found.model
        assert all(context.items() <= each.parameters.items() for each in found.model)
        assert recommendation(running, "s", context=context).front == found.model
    assert (front(running, "s").model, front(running, "s").results) == ([], 8)
    with pytest.raises(Invalid) as refused:
        front(running, "s", context={"humidity": 0.3})
    assert list(faults(refused)) == ["?context/machine"]
    assert_log_is_complete(database, clock, running, WET)


REFUSED: list[tuple[dict[str, Any], tuple[str | int, ...], str]] = [
    ({"parameters": [{**SPEED, "context": True}]}, ("parameters", 0, "context"), "needs a parameter that is neither"),
    (
        {"parameters": [GLUE, {**HUMIDITY, "when": {"glue": ["fast"]}}]},
        ("parameters", 1, "context"),
        "cannot be combined with a condition (when)",
    ),
    ({"tolerance": 0.0}, ("tolerance",), "cannot be combined with context parameters, because the gap"),
    (
        {"stop": {"no_gain_for": 9}},
        ("stop",),
        "cannot be combined with context parameters, because a result may be worse",
    ),
    (
        {"stop": {"gap_share_below": 0.1}},
        ("stop",),
        "cannot be combined with context parameters, because a result may be worse",
    ),
    ({"prior": {"humidity": {"around": 0.5, "width": 0.1}}}, ("prior", "humidity"), "is about a context parameter"),
]


@pytest.mark.parametrize(("changes", "place", "words"), REFUSED, ids=lambda each: str(each)[:40])
def test_features_that_conflict_with_a_context_are_rejected(
    changes: dict[str, Any], place: tuple[str | int, ...], words: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        with_context(**changes)
    (fault,) = refused.value.errors()
    assert fault["loc"] == place
    assert words in fault["msg"]


@pytest.mark.parametrize("system", sorted(SYSTEMS.keys() - {"auto", "random", "sobol"}))
def test_other_systems_reject_context_parameters(system: str) -> None:
    with pytest.raises(ValidationError, match="does not support context parameters; leave the algorithm out"):
        with_context(parameters=[SPEED, HUMIDITY], algorithm=SYSTEMS[system])


def test_stop_rules_with_a_context_are_rejected_when_added_later(running: Service) -> None:
    create(running, with_context())
    for changes in ({"tolerance": 0.1}, {"stop": {"no_gain_for": 5}}):
        with pytest.raises(Invalid, match="cannot be combined with context parameters"):
            change(running, "s", changes)
    create(running, definition(id="plain", stop={"no_gain_for": 30}))
    with pytest.raises(
        Invalid,
        match=r"cannot be combined with the study's stop, which cannot be combined with "
        r"context parameters",
    ):
        change(running, "plain", {"parameters": [HUMIDITY], "defaults": {"humidity": 0.5}})


def test_latest_is_the_context_of_the_latest_result(running: Service) -> None:
    """That counts and is inside the space; without a result there is no best point, and without a context parameter it
    changes nothing."""
    create(running, with_context())
    assert recommendation(running, "s", context="latest").reason == "no_results"
    for _ in range(4):
        evaluated(running, DRY)
        evaluated(running, WET)
    found = recommendation(running, "s", context="latest")
    assert found == recommendation(running, "s", context=WET)
    assert found.observed is not None
    assert WET.items() <= found.observed.parameters.items()
    correct(running, "s", 8, {"excluded": True})
    assert recommendation(running, "s", context="latest") == recommendation(running, "s", context=DRY)
    create(running, definition(id="plain"))
    observe(running, "plain", Value(1.0, parameters={"x": 1.0, "y": 1.0}))
    assert recommendation(running, "plain", context="latest") == recommendation(running, "plain")
