"""Plates in the life of a study: the trials of a plate share values, results share an offset that the model learns, and
a replay decides alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from adabkb_service.contract.answers import Trial
from adabkb_service.contract.requests import SuggestBody
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.errors import Invalid
from adabkb_service.inference.pool import in_this_process
from adabkb_service.operations import manage
from adabkb_service.operations.manage import create
from adabkb_service.operations.predict import predict
from adabkb_service.operations.service import Service
from adabkb_service.storage.database import Database
from tests.operations.conftest import OF_THE_PAPER, SYSTEMS, ManualClock, definition
from tests.operations.retold import assert_its_log_tells_all
from tests.operations.verbs import Ask, Failure, Value, edit, observe, queue, release, suggest

SPEED = {"name": "speed", "kind": "float", "low": 0, "high": 10}
HEAT = {"name": "heat", "kind": "ordinal", "values": [60, 80, 100]}
GLUE = {"name": "glue", "kind": "categorical", "choices": ["fast", "slow", "none"]}
DAY = {"name": "day", "kind": "int", "low": 1, "high": 9, "context": True}
PARAMETERS = [SPEED, HEAT, GLUE]
SIZE = 4
PLATES = {"size": SIZE, "shared": ["heat"]}


def on_plates(**changes: Any) -> StudyDefinition:
    return definition(**{"parameters": PARAMETERS, "direction": "maximize", "plates": PLATES, **changes})


def quality(point: Mapping[str, Any], plate: int | None = None) -> float:
    offset = 0.0 if plate is None else float(np.random.default_rng(plate).normal())
    heat = (point["heat"] - 80) ** 2 / 400.0
    return float(-((point.get("speed", 6.0) - 6.0) ** 2) / 10.0 + (point["glue"] == "fast") - heat + offset)


def asked(running: Service, count: int = SIZE, **options: Any) -> list[Trial]:
    return suggest(running, "s", Ask(count, **options)).view.trials


def evaluate(running: Service, trials: Sequence[Trial]) -> None:
    for trial in trials:
        observe(running, "s", Value(quality(trial.parameters, trial.plate), trial.number))


def test_a_plate_is_asked_for_together_or_trial_by_trial_and_the_log_tells_the_same(
    database: Database, clock: ManualClock, running: Service
) -> None:
    create(running, on_plates())
    trials: list[Trial] = []
    for count in (4, 1, 1, 2, 3, 1, 4, 9):
        found = asked(running, count)
        evaluate(running, found)
        trials += found
    assert [trial.plate for trial in trials] == [plate for plate in range(1, 6) for _ in range(4)]
    for _, of_plate in groupby(trials, key=lambda trial: trial.plate):
        points = [trial.parameters for trial in of_plate]
        assert len({point["heat"] for point in points}) == 1
        assert len({str(point) for point in points}) == SIZE
    assert len({trial.parameters["heat"] for trial in trials}) > 1
    assert_its_log_tells_all(database, clock, running)


def test_asking_together_and_one_by_one_gives_the_same_plate(running: Service) -> None:
    for name in ("together", "apart"):
        create(running, on_plates(id=name))
        for step in range(8):
            point = {"speed": float(step), "heat": [60, 80, 100][step % 3], "glue": "fast"}
            observe(running, name, Value(quality(point), parameters=point))
    together = [trial.parameters for trial in suggest(running, "together", Ask(SIZE)).view.trials]
    apart = [suggest(running, "apart", Ask()).view.trials[0].parameters for _ in range(SIZE)]
    assert together == apart


def test_an_answer_is_of_one_plate_and_says_that_it_is_full(running: Service) -> None:
    create(running, on_plates())
    first = suggest(running, "s", Ask(3)).view
    rest = suggest(running, "s", Ask(3)).view
    assert (len(first.trials), first.reason) == (3, None)
    assert (len(rest.trials), rest.reason) == (1, "plate_full")
    assert suggest(running, "s", Ask(3)).view.trials[0].plate == 2


def test_a_new_plate_begins_on_request(running: Service) -> None:
    create(running, on_plates())
    assert {trial.plate for trial in asked(running, 2)} == {1}
    assert {trial.plate for trial in asked(running, 2, plate="new")} == {2}
    assert {trial.plate for trial in asked(running, 2)} == {2}
    assert {trial.plate for trial in asked(running, 2)} == {3}
    create(running, definition(id="plain"))
    with pytest.raises(Invalid, match="this one has none"):
        suggest(running, "plain", Ask(plate="new"))


def test_a_request_for_a_plate_gets_what_it_has_room_for(running: Service) -> None:
    create(running, on_plates())
    found = [suggest(running, "s", SuggestBody(plate=which)).view for which in ("open", "open", "new")]
    assert [(len(each.trials), each.trials[0].plate, each.reason) for each in found] == [
        (SIZE, plate, None) for plate in (1, 2, 3)
    ]
    asked(running, 1)
    rest = suggest(running, "s", SuggestBody(plate="open")).view.trials
    assert [trial.plate for trial in rest] == [4] * (SIZE - 1)


def test_trials_that_were_released_keep_their_plate_and_are_issued_apart_from_others(running: Service) -> None:
    create(running, on_plates())
    first = asked(running)
    for trial in first[1:3]:
        release(running, "s", trial.number)
    again = suggest(running, "s", Ask(SIZE)).view
    assert [trial.number for trial in again.trials] == [trial.number for trial in first[1:3]]
    assert ({trial.plate for trial in again.trials}, again.reason) == ({1}, "plate_full")
    release(running, "s", first[0].number)
    assert {trial.plate for trial in asked(running, plate="new")} == {2}


def test_fixed_values_and_context_begin_a_plate_unless_they_fit_the_last_one(running: Service) -> None:
    create(running, on_plates(parameters=[*PARAMETERS, DAY], plates={"size": SIZE, "shared": ["heat", "day"]}))
    cases: list[tuple[int, dict[str, Any] | None, int]] = [
        (1, None, 1),
        (1, {"glue": "slow"}, 1),
        (2, {"heat": 100}, 2),
        (2, {"heat": 100, "glue": "fast"}, 2),
        (2, {"heat": 60}, 3),
        (3, None, 4),
        (3, {"heat": 100}, 5),
    ]
    for day, fixed, plate in cases:
        (trial,) = asked(running, 1, context={"day": day}, fixed=fixed)
        assert trial.plate == plate
        assert {**(fixed or {}), "day": day}.items() <= trial.parameters.items()


def test_a_plate_without_a_point_left_is_followed_by_another(running: Service) -> None:
    """Two points for each heat; a plate has room for four."""
    create(running, on_plates(parameters=[HEAT, {"name": "glue", "kind": "bool"}]))
    for plate in (1, 2, 3):
        trials = asked(running)
        assert [trial.plate for trial in trials] == [plate] * 2
        assert len({trial.parameters["heat"] for trial in trials}) == 1
        evaluate(running, trials)
    assert (asked(running), running.do(manage.get("s")).view.state) == ([], "complete")


def test_quasi_random_points_share_values_too(database: Database, clock: ManualClock) -> None:
    """The model gets no time at all."""
    running = Service(database, clock=clock, inference=in_this_process(database, decision_seconds=0.0))
    create(running, on_plates(algorithm={"kind": "random"}))
    for plate in (1, 2, 3):
        trials = asked(running)
        assert {trial.plate for trial in trials} == {plate}
        assert len({trial.parameters["heat"] for trial in trials}) == 1


def test_an_edit_of_the_space_closes_the_last_plate(database: Database, clock: ManualClock, running: Service) -> None:
    create(running, on_plates())
    evaluate(running, asked(running, 2, fixed={"heat": 100}))
    edit(running, {**HEAT, "values": [60, 80]})
    trials = asked(running)
    assert {trial.plate for trial in trials} == {2}
    assert {trial.parameters["heat"] for trial in trials} <= {60, 80}
    evaluate(running, trials)
    assert_its_log_tells_all(database, clock, running)


@pytest.mark.parametrize(
    ("edited", "message"),
    [
        ({"name": "heat", "kind": "fixed", "value": 80}, "is a fixed parameter"),
        ({**HEAT, "when": {"glue": ["fast"]}}, "has a condition"),
    ],
)
def test_a_shared_parameter_stays_one(running: Service, edited: dict[str, Any], message: str) -> None:
    create(running, on_plates())
    asked(running)
    with pytest.raises(Invalid, match=message):
        edit(running, edited)
    assert running.do(manage.get("s")).view.space_version is None


def test_the_offsets_of_plates_are_not_taken_for_effects_of_parameters(running: Service) -> None:
    """Two speeds at the same heat differ by 0.9, and the offsets of plates have a standard deviation of 1."""
    create(running, on_plates(plates={"size": 6, "shared": ["heat"]}))
    for _ in range(8):
        evaluate(running, asked(running, 6))
    points = [{"speed": speed, "heat": heat, "glue": "fast"} for heat in (60, 80, 100) for speed in (3.0, 6.0)]
    found = np.array([each.mean for each in predict(running, "s", points).view.predictions])
    assert found[1::2] - found[::2] == pytest.approx(0.9, abs=0.3)


def test_own_points_have_no_plate_and_failures_leave_the_plate_as_it_is(
    database: Database, clock: ManualClock, running: Service
) -> None:
    create(running, on_plates())
    point = {"speed": 1.0, "heat": 60, "glue": "none"}
    assert queue(running, "s", point).view.plate is None
    (own,) = asked(running)
    assert (own.plate, own.parameters) == (None, point)
    evaluate(running, [own])
    first = asked(running, 2)
    observe(running, "s", Failure(first[0].number))
    evaluate(running, [*first[1:], *asked(running, 2)])
    assert {trial.plate for trial in asked(running)} == {2}
    assert_its_log_tells_all(database, clock, running)


@pytest.mark.parametrize(
    ("changes", "place", "message"),
    [
        ({"plates": {"size": 1}}, ("plates", "size"), "greater than or equal to 2"),
        ({"plates": {"size": 4, "shared": ["hot"]}}, ("plates", "shared", 0), "is not a parameter"),
        ({"plates": {"size": 4, "shared": ["heat", "heat"]}}, ("plates", "shared", 1), "is named twice"),
        ({"plates": {"size": 4, "shared": ["speed", "heat", "glue"]}}, ("plates", "shared"), "nothing that differs"),
        (
            {
                "parameters": [*PARAMETERS[1:], {**SPEED, "when": {"glue": ["fast"]}}],
                "plates": {"size": 4, "shared": ["speed"]},
            },
            ("plates", "shared", 0),
            "has a condition",
        ),
        (
            {
                "parameters": [*PARAMETERS, {"name": "n", "kind": "fixed", "value": 1}],
                "plates": {"size": 4, "shared": ["n"]},
            },
            ("plates", "shared", 0),
            "is a fixed parameter",
        ),
        ({"early_stopping": {"rule": "median", "max_steps": 9}}, ("plates",), "compares trials"),
    ],
)
def test_what_cannot_be_shared_is_refused(changes: dict[str, Any], place: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValidationError) as refused:
        on_plates(**changes)
    (fault,) = refused.value.errors()
    assert fault["loc"] == place
    assert message in fault["msg"]


@pytest.mark.parametrize("system", [*OF_THE_PAPER, "random", "sobol"])
def test_plates_need_an_algorithm_that_holds_values(system: str) -> None:
    numbers = [SPEED, {**SPEED, "name": "heat"}]
    if system in ("random", "sobol"):
        assert on_plates(algorithm=SYSTEMS[system], parameters=numbers).plates is not None
        return
    with pytest.raises(ValidationError, match="auto supports them"):
        on_plates(algorithm=SYSTEMS[system], parameters=numbers)
