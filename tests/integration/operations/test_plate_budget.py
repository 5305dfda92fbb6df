"""A budget in plates: which trials it allows, when the study is complete, and that no plate exceeds it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import ValidationError

from adabkb_service.contract.answers import Trial
from adabkb_service.contract.requests import PatchStudyBody, SuggestBody
from adabkb_service.errors import Invalid, StudyComplete
from adabkb_service.operations.data.export import json_lines
from adabkb_service.operations.data.importing import import_study
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.studies.template import template
from adabkb_service.storage.database import Database
from adabkb_service.study.request import Key
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.test_plates import (
    CONTROL,
    HEAT,
    PARAMETERS,
    SIZE,
    asked,
    evaluate,
    on_plates,
    own,
)
from tests.integration.operations.verbs import (
    Ask,
    Failure,
    Value,
    change,
    get,
    observe,
    queue,
    repeat,
    retry,
    suggest,
    withdraw,
)


def with_budget(plates: int = 2, **changes: Any) -> Any:
    return on_plates(budget={"plates": plates}, **changes)


def set_budget(running: Service, budget: Any) -> Any:
    return change(running, "s", PatchStudyBody.model_validate({"budget": budget}).changes()).view


def test_the_study_is_complete_when_its_plates_are_full_and_told(
    database: Database, clock: ManualClock, running: Service
) -> None:
    assert create(running, with_budget(3)).view.budget == with_budget(3).budget
    found = get(running, "s")
    assert (found.counts.plates, found.state, found.reason) == (0, "running", None)
    for plate, count in ((1, 4), (2, 1), (2, 3)):
        trials = asked(running, count)
        assert {trial.plate for trial in trials} == {plate}
        evaluate(running, trials)
        assert get(running, "s").counts.plates == plate
    assert_log_is_complete(database, clock, running)  # which takes one trial of plate 3
    evaluate(running, asked(running, 2))
    assert get(running, "s").state == "running"
    last = asked(running, 9)
    assert ([trial.plate for trial in last], get(running, "s").reason) == ([3], "budget")
    evaluate(running, last)
    observe(running, "s", Value(1.0, 9))
    found = get(running, "s")
    assert (found.state, found.reason, found.counts.trials, found.counts.plates) == ("complete", "budget", 12, 3)
    assert suggest(running, "s", Ask()).view.trials == []


def test_no_plate_is_begun_beyond_the_budget_while_the_last_one_has_room(running: Service) -> None:
    create(running, with_budget())
    evaluate(running, asked(running))
    evaluate(running, asked(running, 1, fixed={"heat": 60}))
    for options in ({"plate": "new"}, {"fixed": {"heat": 100}}):
        answer = suggest(running, "s", SuggestBody.model_validate(options)).view
        assert (answer.trials, answer.reason, answer.study.state) == ([], "no_plate_left", "running")
    for refused in (
        lambda: queue(running, "s", CONTROL, plate="new"),
        lambda: repeat(running, "s", parameters=CONTROL, times=2, plate="new"),
    ):
        with pytest.raises(StudyComplete, match='allows no other plate; give plate "open"'):
            refused()
    cool = {**CONTROL, "heat": 60}
    assert repeat(running, "s", parameters=cool, times=2, plate="open").view.trials[1].plate == 2
    assert queue(running, "s", CONTROL).view.plate is None, "it takes no place"
    rest = suggest(running, "s", SuggestBody(plate="open")).view.trials + asked(running, 9)
    assert sorted(str(trial.plate) for trial in rest) == ["2", "2", "2", "None"]
    with pytest.raises(StudyComplete):
        queue(running, "s", cool, plate="open")


NUMBER = {"name": "n", "kind": "int", "low": 1, "high": 3}
"""With ``HEAT``, a plate has three points, but four places."""


def with_small_plates() -> Any:
    return with_budget(parameters=[HEAT, NUMBER], noise_std=0, seed=2)


def observe_all(running: Service, trials: Sequence[Trial]) -> None:
    for trial in trials:
        observe(running, "s", Value(trial.parameters["heat"] / 100 + trial.parameters["n"], trial.number))


def closed(running: Service) -> list[int]:
    """The plates that were closed, according to the log."""
    lines = map(json.loads, json_lines(running, "s"))
    return [line["payload"]["plate"] for line in lines if line.get("kind") == "plate_closed"]


@pytest.mark.parametrize("counts", [[1] * 6, [2] * 4, [4] * 3, [1, 3, 3, 3]])
def test_the_budget_is_used_up_when_the_last_plate_has_no_points_left(
    database: Database, clock: ManualClock, running: Service, counts: list[int]
) -> None:
    create(running, with_small_plates())
    issued: list[int | None] = []
    for count in counts:
        trials = asked(running, count)
        assert trials, "a plate without points does not stop the study"
        issued += [trial.plate for trial in trials]
        observe_all(running, trials)
    assert issued == [1, 1, 1, 2, 2, 2]
    answer = suggest(running, "s", Ask()).view
    assert closed(running) == [2]
    assert (answer.trials, answer.reason, answer.study.state) == ([], "budget", "complete")
    set_budget(running, {"plates": 3})
    assert_log_is_complete(database, clock, running)
    assert {trial.plate for trial in asked(running, 4)} == {3}


@pytest.mark.parametrize("counts", [[1] * 6, [1, 4, 1, 4]])
def test_the_next_plate_begins_while_trials_of_one_without_points_left_are_open(
    running: Service, counts: list[int]
) -> None:
    create(running, with_small_plates())
    trials = [trial for count in counts for trial in asked(running, count)]
    assert [trial.plate for trial in trials] == [1, 1, 1, 2, 2, 2]
    assert {trial.origin for trial in trials} == {"policy"}


def test_a_repeated_request_that_ends_the_study_has_its_answer(running: Service) -> None:
    """The answer was lost, and another worker reported the result."""
    create(running, with_small_plates())
    for _ in range(5):
        observe_all(running, asked(running, 1))
    first = suggest(running, "s", Ask(), Key("s", "k", "f")).view
    observe_all(running, first.trials)
    again = suggest(running, "s", Ask(), Key("s", "k", "f"))
    assert (again.replayed, again.view.trials) == (True, first.trials)


def test_a_plate_without_points_is_closed_once_and_the_study_ends_with_its_last_result(
    database: Database, clock: ManualClock, running: Service
) -> None:
    create(running, with_small_plates())
    observe_all(running, asked(running, 4))
    open_trials = asked(running, 4) + asked(running, 4)
    services = [Service(database, clock=clock) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda service: suggest(service, "s", Ask()).view, services))
    assert [(answer.trials, answer.reason, answer.study.state) for answer in answers] == [([], "budget", "running")] * 3
    assert closed(running) == [2]
    restarted = Service(database, clock=clock)
    observe_all(restarted, open_trials)
    assert (get(restarted, "s").state, get(restarted, "s").reason) == ("complete", "budget")
    set_budget(restarted, {"plates": 3})
    assert_log_is_complete(database, clock, restarted)


def test_a_plate_is_closed_when_it_has_no_point_left_in_any_context(
    database: Database, clock: ManualClock, running: Service
) -> None:
    number = {**NUMBER, "high": 2}
    who = {"name": "who", "kind": "categorical", "choices": ["A", "B"], "context": True}
    plates, parameters = {"size": 6, "shared": ["heat"]}, [HEAT, number, who]
    create(running, definition(parameters=parameters, plates=plates, budget={"plates": 1}, noise_std=0, seed=2))
    for name in "AB":
        trials = suggest(running, "s", Ask(3, context={"who": name})).view.trials
        assert [trial.plate for trial in trials] == [1, 1]
        observe_all(running, trials)
        answer = suggest(running, "s", Ask(context={"who": name})).view
        expected = ("no_plate_left", "running", []) if name == "A" else ("budget", "complete", [1])
        assert (answer.reason, answer.study.state, closed(running)) == expected
    set_budget(running, {"plates": 2})
    assert_log_is_complete(database, clock, running, context={"who": "A"})


@pytest.mark.parametrize("kind", [True, "measured"])
def test_a_plate_stays_open_while_another_context_may_have_points(running: Service, kind: bool | str) -> None:
    room = {"name": "room", "kind": "float", "low": 0, "high": 1, "context": kind}
    create(running, with_budget(1, parameters=[HEAT, NUMBER, room], noise_std=0, seed=2))
    known = {"room": 0.1}
    for trial in suggest(running, "s", Ask(4, context=known)).view.trials:
        told = known if kind == "measured" else None
        observe(running, "s", Value(1.0, trial.number, parameters=told))
    answer = suggest(running, "s", Ask(context=known)).view
    assert (answer.trials, answer.reason, answer.study.state) == ([], "no_plate_left", "running")
    (last,) = suggest(running, "s", Ask(context={"room": 0.9})).view.trials
    assert (last.plate, get(running, "s").reason, closed(running)) == (1, "budget", [])


def test_a_plate_begun_early_leaves_its_places_empty(running: Service) -> None:
    create(running, with_budget())
    evaluate(running, asked(running, 1))
    evaluate(running, suggest(running, "s", SuggestBody(plate="new")).view.trials)
    found = get(running, "s")
    assert (found.state, found.counts.trials, found.counts.plates) == ("complete", 1 + SIZE, 2)


def test_a_plate_does_not_count_while_its_trials_are_withdrawn(
    database: Database, clock: ManualClock, running: Service
) -> None:
    create(running, with_budget())
    first, second = asked(running), asked(running)
    assert get(running, "s").reason == "budget"
    for trial in first:
        withdraw(running, "s", trial.number)
    assert (get(running, "s").counts.plates, get(running, "s").reason) == (1, None)
    third = asked(running)
    assert {trial.plate for trial in third} == {3}
    with pytest.raises(StudyComplete, match="is used up; increase it to retry trial 1"):
        retry(running, "s", 1)
    for trial in third:
        withdraw(running, "s", trial.number)
    assert retry(running, "s", 1).view.study.counts.plates == 2
    assert retry(running, "s", 2).view.study.counts.plates == 2, "its plate counts already"
    evaluate(running, [*first[:2], *second])
    assert get(running, "s").state == "complete"
    observe(running, "s", Value(1.0, third[0].number))  # late
    assert get(running, "s").counts.plates == 3
    set_budget(running, {"plates": 5})
    assert_log_is_complete(database, clock, running)


def test_a_free_place_of_the_last_plate_is_filled_and_failures_keep_their_places(running: Service) -> None:
    create(running, with_budget(1))
    trials = asked(running)
    observe(running, "s", Failure(trials[0].number))
    withdraw(running, "s", trials[1].number)
    evaluate(running, trials[2:])
    assert get(running, "s").state == "running"
    evaluate(running, asked(running, 9))
    found = get(running, "s")
    assert (found.state, found.counts.completed, found.counts.failed) == ("complete", 3, 1)
    retry(running, "s", trials[0].number)
    assert [trial.number for trial in asked(running)] == [trials[0].number]


def test_own_results_on_plates_use_no_budget(running: Service) -> None:
    create(running, with_budget())
    for plate in (7, 8, 9):
        own(running, plate)
    evaluate(running, asked(running))
    assert get(running, "s").counts.plates == 1
    assert {trial.plate for trial in asked(running)} == {11}


def test_places_of_a_plate_that_an_edit_closed_stay_empty(running: Service) -> None:
    create(running, with_budget(1))
    trials = asked(running, 2)
    evaluate(running, trials)
    lost = trials[0].parameters["heat"]
    change(running, "s", {"constraints": [f"heat < {lost} or heat > {lost}"]})
    assert (get(running, "s").state, asked(running)) == ("complete", [])


def test_the_budget_is_changed_to_plates_and_to_trials(running: Service) -> None:
    create(running, on_plates(budget=3))
    evaluate(running, asked(running))
    assert get(running, "s").state == "complete"
    shown = set_budget(running, {"plates": 1})
    assert (shown.state, shown.budget.plates) == ("running", 1)
    evaluate(running, asked(running))
    assert get(running, "s").state == "complete"
    set_budget(running, {"plates": 2})
    evaluate(running, asked(running, 1))
    assert set_budget(running, {"plates": 1}).state == "complete", "more plates are begun than it allows"
    assert set_budget(running, 6).state == "running"
    set_budget(running, {"plates": 2})
    assert len(asked(running)) == SIZE - 1
    assert running.do(template("s")).view.definition["budget"] == {"plates": 2}
    assert set_budget(running, None).budget is None


def test_a_budget_in_plates_is_refused_in_a_study_without_plates(running: Service) -> None:
    with pytest.raises(ValidationError, match="this study has none; give a number of trials, or declare plates"):
        definition(parameters=PARAMETERS, budget={"plates": 2})
    create(running, definition(parameters=PARAMETERS))
    with pytest.raises(Invalid, match="this study has none") as refused:
        set_budget(running, {"plates": 2})
    assert [error.pointer for error in refused.value.errors] == ["/budget"]


@pytest.mark.parametrize("budget", [{"plates": 0}, {"plates": 1.5}, {"plates": 2, "cost": 3}, {"plates": True}, {}])
def test_an_invalid_budget_in_plates_is_refused(budget: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        on_plates(budget=budget)
    with pytest.raises(ValidationError):
        PatchStudyBody.model_validate({"budget": budget})


def test_concurrent_requests_never_begin_a_plate_beyond_the_budget(
    database: Database, clock: ManualClock, running: Service
) -> None:
    create(running, with_budget(3))
    other = Service(database, clock=clock)

    def work(index: int) -> list[int | None]:
        service, plates = (running, other)[index % 2], []
        for turn in range(4):
            body = SuggestBody(count=2, plate="new" if (index + turn) % 3 == 0 else None)
            trials = suggest(service, "s", body).view.trials
            plates += [trial.plate for trial in trials]
            evaluate(service, trials)
        return plates

    with ThreadPoolExecutor(8) as pool:
        issued = [plate for plates in pool.map(work, range(8)) for plate in plates]
    assert set(issued) == {1, 2, 3}
    assert issued.count(3) == SIZE
    assert get(running, "s").state == "complete"
    set_budget(running, {"plates": 4})
    assert_log_is_complete(database, clock, running)


def test_a_log_that_begins_a_plate_beyond_the_budget_is_rejected(database: Database, running: Service) -> None:
    create(running, with_budget(1))
    asked(running, 2)
    lines = [json.loads(line) for line in json_lines(running, "s")]
    second = [line for line in lines if line.get("kind") == "suggested"][1]
    second["payload"]["plate"] = 2
    with pytest.raises(Invalid, match=r"begins plate 2 in a budget of 1 plate; export the study again"):
        import_study(database, map(json.dumps, lines))
