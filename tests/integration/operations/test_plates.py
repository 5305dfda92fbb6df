"""Studies with plates: the trials of a plate share values, their results share an offset that the model learns, and a
replay gives the same suggestions.

User-supplied points are on a plate only on request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import groupby, product
from typing import Any, Literal

import numpy as np
import pytest
from pydantic import ValidationError

from adabkb_service.contract.answers import Trial
from adabkb_service.contract.requests import PatchStudyBody, PointValueBody, SuggestBody
from adabkb_service.contract.stored import definition_of
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.engine.axes import FloatAxis
from adabkb_service.errors import Invalid, TrialFinished
from adabkb_service.inference.pool import in_this_process
from adabkb_service.operations.data.export import json_lines
from adabkb_service.operations.data.importing import import_study
from adabkb_service.operations.model.predict import predict, row
from adabkb_service.operations.reports.edits_in_words import edits
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import manage
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.studies.read import list_observations
from adabkb_service.operations.words.definition_in_words import rules
from adabkb_service.storage import events
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import event_row
from adabkb_service.study.replay_state import replayed
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import OF_THE_PAPER, SYSTEMS, ManualClock, definition
from tests.integration.operations.verbs import (
    Ask,
    Failure,
    Value,
    change,
    correct,
    edit,
    get,
    observe,
    observe_batch,
    queue,
    release,
    repeat,
    retry,
    suggest,
    withdraw,
)
from tests.samples import some

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


def test_plates_are_filled_in_batches_or_trial_by_trial(
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
    assert_log_is_complete(database, clock, running)


def test_batch_and_single_requests_give_the_same_plate(running: Service) -> None:
    for name in ("together", "apart"):
        create(running, on_plates(id=name))
        for step in range(8):
            point = {"speed": float(step), "heat": [60, 80, 100][step % 3], "glue": "fast"}
            observe(running, name, Value(quality(point), parameters=point))
    together = [trial.parameters for trial in suggest(running, "together", Ask(SIZE)).view.trials]
    apart = [suggest(running, "apart", Ask()).view.trials[0].parameters for _ in range(SIZE)]
    assert together == apart


def test_response_contains_one_plate_and_reports_when_it_is_full(running: Service) -> None:
    create(running, on_plates())
    first = suggest(running, "s", Ask(3)).view
    rest = suggest(running, "s", Ask(3)).view
    assert (len(first.trials), first.reason) == (3, None)
    assert (len(rest.trials), rest.reason) == (1, "plate_full")
    assert suggest(running, "s", Ask(3)).view.trials[0].plate == 2


def test_new_plate_begins_on_request(running: Service) -> None:
    create(running, on_plates())
    assert {trial.plate for trial in asked(running, 2)} == {1}
    assert {trial.plate for trial in asked(running, 2, plate="new")} == {2}
    assert {trial.plate for trial in asked(running, 2)} == {2}
    assert {trial.plate for trial in asked(running, 2)} == {3}
    create(running, definition(id="plain"))
    with pytest.raises(Invalid, match="this one has none"):
        suggest(running, "plain", Ask(plate="new"))


def test_request_for_a_plate_gets_its_free_places(running: Service) -> None:
    create(running, on_plates())
    found = [suggest(running, "s", SuggestBody(plate=which)).view for which in ("open", "open", "new")]
    assert [(len(each.trials), each.trials[0].plate, each.reason) for each in found] == [
        (SIZE, plate, None) for plate in (1, 2, 3)
    ]
    asked(running, 1)
    rest = suggest(running, "s", SuggestBody(plate="open")).view.trials
    assert [trial.plate for trial in rest] == [4] * (SIZE - 1)


@pytest.mark.parametrize("migrated_url", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.parametrize("which", some([None, "open", "new"], ["new"]))
def test_waiting_trials_are_issued_when_they_use_up_the_budget(
    database: Database, clock: ManualClock, running: Service, which: Literal["open", "new"] | None
) -> None:
    """A request for a new plate gets the queued repetitions, too, since the study issues no new points."""
    create(running, on_plates(budget=SIZE + 2))
    evaluate(running, asked(running))
    repeat(running, "s", trial=1, times=2)
    found = suggest(running, "s", Ask() if which is None else SuggestBody(plate=which)).view
    assert [trial.number for trial in found.trials] == [5, 6][: 1 if which is None else 2]
    evaluate(running, found.trials)
    evaluate(running, asked(running))
    assert (get(running, "s").state, get(running, "s").reason) == ("complete", "budget")
    change(running, "s", {"budget": 4 * SIZE})
    assert_log_is_complete(database, clock, running)


def test_new_plate_gets_no_waiting_trials_while_there_are_new_points(running: Service) -> None:
    create(running, on_plates(budget=2 * SIZE + 1))
    evaluate(running, asked(running))
    queue(running, "s", CONTROL)
    assert [trial.number for trial in asked(running, plate="new")] == [6, 7, 8, 9]
    assert [trial.number for trial in asked(running, plate="new")] == [5]


def test_released_trials_keep_their_plate_and_are_issued_separately(running: Service) -> None:
    create(running, on_plates())
    first = asked(running)
    for trial in first[1:3]:
        release(running, "s", trial.number)
    again = suggest(running, "s", Ask(SIZE)).view
    assert [trial.number for trial in again.trials] == [trial.number for trial in first[1:3]]
    assert ({trial.plate for trial in again.trials}, again.reason) == ({1}, "plate_full")
    release(running, "s", first[0].number)
    assert {trial.plate for trial in asked(running, plate="new")} == {2}


def test_mismatched_fixed_values_and_context_begin_a_new_plate(running: Service) -> None:
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


def test_exhausted_plate_is_followed_by_another(running: Service) -> None:
    """There are two points per heat, but four places on a plate."""
    create(running, on_plates(parameters=[HEAT, {"name": "glue", "kind": "bool"}]))
    for plate in (1, 2, 3):
        trials = asked(running)
        assert [trial.plate for trial in trials] == [plate] * 2
        assert len({trial.parameters["heat"] for trial in trials}) == 1
        evaluate(running, trials)
    assert (asked(running), running.do(manage.get("s")).view.state) == ([], "complete")


def test_quasi_random_points_share_values(database: Database, clock: ManualClock) -> None:
    """The model has no time to suggest."""
    running = Service(database, clock=clock, inference=in_this_process(database, decision_seconds=0.0))
    create(running, on_plates(algorithm={"kind": "random"}))
    for plate in (1, 2, 3):
        trials = asked(running)
        assert {trial.plate for trial in trials} == {plate}
        assert len({trial.parameters["heat"] for trial in trials}) == 1


@pytest.mark.parametrize(("algorithm", "learned"), [({"profile": "auto"}, True), ({"kind": "random"}, False)])
def test_study_says_that_offsets_are_learned_only_if_it_has_a_model(
    running: Service, algorithm: dict[str, Any], learned: bool
) -> None:
    create(running, on_plates(algorithm=algorithm))
    told = dict(rules(get(running, "s")))["Plates"]
    assert told.startswith(f"of {SIZE} trials with the same heat")
    assert ("learned" in told) is learned


AT_100 = {"heat": 100}


@pytest.mark.parametrize(
    ("changes", "closes"),
    [
        ({"noise_std": 0.1}, False),
        ({"constraints": ['not (heat > 80 and glue == "fast")']}, False),
        ({"constraints": ["heat <= 80 or speed >= 1"]}, False),
        ({"constraints": ["heat <= 80"]}, True),
        ({"parameters": [{**SPEED, "high": 5.0}]}, False),
        ({"parameters": [{**HEAT, "values": [40, 60, 80, 100, 120]}]}, False),
        ({"parameters": [{"name": "heat", "kind": "float", "low": 50, "high": 100}]}, False),
        ({"parameters": [{"name": "heat", "kind": "float", "low": 50, "high": 99}]}, True),
        ({"parameters": [{**HEAT, "values": [60, 80]}]}, True),
        ({"parameters": [{"name": "m", "kind": "bool"}], "defaults": {"m": True}}, False),
    ],
)
def test_edit_closes_the_last_plate_only_if_its_shared_values_are_lost(
    database: Database, clock: ManualClock, running: Service, changes: dict[str, Any], closes: bool
) -> None:
    create(running, on_plates(budget={"plates": 3}))
    evaluate(running, asked(running, 2, fixed=AT_100))
    change(running, "s", PatchStudyBody.model_validate(changes).changes())
    trials = asked(running, 3)
    assert [trial.plate for trial in trials] == ([2] * 3 if closes else [1] * 2)
    assert closes or {trial.parameters["heat"] for trial in trials} == {100}
    space = definition_of(row(running, "s").definition).space()
    assert all(space.admits(trial.parameters) and not space.problems(trial.parameters) for trial in trials)
    evaluate(running, trials)
    assert_log_is_complete(database, clock, running)


def test_an_edit_in_a_log_without_the_field_closes_the_plate(database: Database, running: Service) -> None:
    """Logs of earlier versions: each edit closed the last plate."""
    create(running, on_plates())
    evaluate(running, asked(running, 2, fixed=AT_100))
    change(running, "s", {"noise_std": 0.1})
    with database.reading() as connection:
        log = events.page(connection, "s", 0)
    last = log[-1]
    assert last.kind == "edited"
    assert last.payload["closes_plate"] is False
    payload = {name: value for name, value in last.payload.items() if name != "closes_plate"}
    older = [*log[:-1], event_row("s", last.seq, "edited", None, payload, last.created_at)]
    plates = [replayed("s", each).study.plate for each in (log, older)]
    assert [plate and plate["shared"] for plate in plates] == [{"heat": 100}, None]


def test_edit_closes_a_full_plate_that_could_get_a_free_place_later(running: Service) -> None:
    create(running, on_plates())
    trials = asked(running, fixed=AT_100)
    edit(running, {**HEAT, "values": [60, 80]})
    withdraw(running, "s", trials[0].number)
    assert {(trial.plate, trial.parameters["heat"] <= 80) for trial in asked(running)} == {(2, True)}
    with running.database.reading() as connection:
        (words,) = edits(events.page(connection, "s", 0)).values()
    assert words == "heat: 100 removed; the last plate was closed, since no point has its values"


def test_waiting_trials_that_an_edit_withdraws_leave_their_places_on_the_open_plate(running: Service) -> None:
    create(running, on_plates())
    first, *_ = asked(running, fixed={"heat": 100, "speed": 9.0})
    release(running, "s", first.number)
    edit(running, {**SPEED, "high": 5.0})
    (trial,) = asked(running, 1)
    assert (trial.plate, trial.parameters["heat"], trial.parameters["speed"] <= 5.0) == (1, 100, True)


FINITE: list[dict[str, Any]] = [{"name": "speed", "kind": "int", "low": 0, "high": 5}, HEAT, GLUE]
ALL: tuple[list[Any], ...] = ([60, 80, 100], ["fast", "slow", "none"])
"""The heats and the glues."""
MIXED = 13
"""A seed with which some edits close a plate, and others do not."""


@pytest.mark.parametrize("seed", some(range(20), {MIXED}))
def test_random_edits_close_the_last_plate_if_and_only_if_no_point_has_its_values(
    database: Database, clock: ManualClock, running: Service, seed: int
) -> None:
    """The space is finite, so all its points can be listed."""
    rng = np.random.default_rng(seed)
    create(running, on_plates(parameters=FINITE, plates={"size": 6, "shared": ["heat", "glue"]}, budget=None))
    outcomes = []
    for _ in range(8):
        evaluate(running, asked(running, int(rng.integers(1, 4))))
        before = row(running, "s").plate
        assert before is not None
        changes = PatchStudyBody.model_validate(drawn_edit(rng)).changes()
        with suppress(Invalid):  # no point would be left
            change(running, "s", changes)
        after = row(running, "s").plate
        assert after is not None
        possible = [each for each in listed(running) if each.items() >= (before["shared"] or {}).items()]
        assert after["shared"] == (before["shared"] if possible else None)
        outcomes.append(bool(possible))
    assert set(outcomes) == {True, False} or seed != MIXED
    assert_log_is_complete(database, clock, running)


def drawn_edit(rng: np.random.Generator) -> dict[str, Any]:
    """An edit of the noise, the values of a parameter, or the constraints of the study with the space ``FINITE``."""
    heats, glues = (sorted(rng.choice(each, 2, replace=False).tolist()) for each in ALL)
    rules = ["speed <= heat / 25", 'not (heat >= 80 and glue == "fast")', "heat <= 80", 'glue == "slow"', "speed > 3"]
    kinds: list[dict[str, Any]] = [
        {"noise_std": float(rng.integers(1, 9))},
        {"parameters": [{**HEAT, "values": heats}]},
        {"parameters": [{**GLUE, "choices": glues}]},
        {"parameters": [{**FINITE[0], "high": int(rng.integers(1, 9))}]},
        {"constraints": rng.choice(rules, rng.integers(0, 3), replace=False).tolist()},
    ]
    return kinds[rng.integers(len(kinds))]


def listed(running: Service) -> list[dict[str, Any]]:
    """All points of the study's space, which is finite."""
    space = definition_of(row(running, "s").definition).space()
    names = [axis.name for axis in space.axes]
    values = [list(map(axis.value, range(axis.count))) for axis in space.axes if not isinstance(axis, FloatAxis)]
    points = (dict(zip(names, each, strict=True)) for each in product(*values))
    return [point for point in points if space.admits(point)]


@pytest.mark.parametrize(
    ("edited", "message"),
    [
        ({"name": "heat", "kind": "fixed", "value": 80}, "is a fixed parameter"),
        ({**HEAT, "when": {"glue": ["fast"]}}, "has a condition"),
    ],
)
def test_shared_parameter_must_stay_valid_in_edits(running: Service, edited: dict[str, Any], message: str) -> None:
    create(running, on_plates())
    asked(running)
    with pytest.raises(Invalid, match=message):
        edit(running, edited)
    assert running.do(manage.get("s")).view.space_version is None


@pytest.mark.long
def test_plate_offsets_are_not_attributed_to_parameters(running: Service) -> None:
    """Two speeds at the same heat differ by 0.9, while the offsets of plates have a standard deviation of 1."""
    create(running, on_plates(plates={"size": 6, "shared": ["heat"]}))
    for _ in range(8):
        evaluate(running, asked(running, 6))
    points = [{"speed": speed, "heat": heat, "glue": "fast"} for heat in (60, 80, 100) for speed in (3.0, 6.0)]
    found = np.array([each.mean for each in predict(running, "s", points).predictions])
    assert found[1::2] - found[::2] == pytest.approx(0.9, abs=0.3)


def test_user_supplied_points_and_failures_do_not_change_the_plate(
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
    assert_log_is_complete(database, clock, running)


CONTROL = {"speed": 5.0, "heat": 80, "glue": "slow"}


def own(running: Service, plate: int | None, study: str = "s", **changes: Any) -> int:
    """Add a result at a user-supplied point, by default ``CONTROL``, and return its number."""
    point = {**CONTROL, **changes}
    found = observe(running, study, Value(quality(point, plate), parameters=point, plate=plate)).view.observation
    assert found is not None
    assert found.plate == plate
    return found.seq


def test_user_supplied_results_have_plates_and_new_plates_get_larger_numbers(
    database: Database, clock: ManualClock, running: Service
) -> None:
    create(running, on_plates())
    for plate in (7, 7, 3, None):
        own(running, plate)
    assert {trial.plate for trial in asked(running, 2)} == {8}
    (third,) = asked(running, 1)
    own(running, 8, heat=third.parameters["heat"])
    own(running, 20, heat=100)
    assert [trial.plate for trial in asked(running)] == [8], "it has one free place"
    correct(running, "s", 1, {"value": 2.5}, "misread")
    correct(running, "s", 2, {"excluded": True})
    first = asked(running, 2)
    assert {trial.plate for trial in first} == {21}
    evaluate(running, first)
    results = list_observations(running, "s", 0, 100).items
    assert [result.plate for result in results] == [7, 7, 3, None, 8, 20, None, None]
    assert_log_is_complete(database, clock, running)


@pytest.mark.long
def test_model_treats_user_supplied_results_on_plates_like_those_of_trials(running: Service) -> None:
    create(running, on_plates(id="trials"))
    create(running, on_plates(id="own"))
    create(running, on_plates(id="alone"))
    for _ in range(6):
        for trial in suggest(running, "trials", Ask(SIZE)).view.trials:
            value = quality(trial.parameters, trial.plate)
            observe(running, "trials", Value(value, trial.number))
            observe(running, "own", Value(value, parameters=trial.parameters, plate=trial.plate))
            observe(running, "alone", Value(value, parameters=trial.parameters))
    points = [{**CONTROL, "heat": heat, "speed": speed} for heat in (60, 80, 100) for speed in (2.0, 6.0, 9.0)]
    trials, own, alone = (
        [each.mean for each in predict(running, name, points).predictions] for name in ("trials", "own", "alone")
    )
    assert own == pytest.approx(trials, rel=1e-6)
    assert alone != pytest.approx(trials, rel=1e-3)


@pytest.mark.long
def test_corrected_result_stays_on_its_plate(running: Service) -> None:
    create(running, on_plates(id="right"))
    create(running, on_plates(id="corrected"))
    for plate in (1, 2, 3, 4):
        for speed in (1.0, 4.0, 6.0, 9.0):
            own(running, plate, "right", speed=speed)
            seq = own(running, plate, "corrected", speed=speed)
            value = quality({**CONTROL, "speed": speed}, plate)
            correct(running, "corrected", seq, {"value": value + 5.0})
            correct(running, "corrected", seq, {"value": value})
    points = [{**CONTROL, "speed": speed} for speed in (2.0, 5.0, 8.0)]
    right, corrected = (
        [each.std for each in predict(running, name, points).predictions] for name in ("right", "corrected")
    )
    assert corrected == pytest.approx(right, rel=0.05)


def test_user_supplied_result_must_match_the_shared_values_of_its_plate(running: Service) -> None:
    create(running, on_plates(plates={"size": SIZE, "shared": ["heat", "glue"]}))
    (trial,) = asked(running, 1, fixed={"heat": 60, "glue": "none"})
    own(running, 5)
    wrong = own(running, 6)
    before = get(running, "s")
    for plate, changes, messages in (
        (trial.plate, {"glue": "none"}, ["is 80, but plate 1 has 60; give that value, or the number of another plate"]),
        (5, {"heat": 100, "glue": "fast"}, ["is 100, but plate 5 has 80", "is 'fast', but plate 5 has 'slow'"]),
    ):
        with pytest.raises(Invalid) as refused:
            own(running, plate, **changes)
        faults = [(error.pointer, error.detail) for error in refused.value.errors]
        names = ["heat", "glue"][: len(messages)]
        for name, message, (pointer, detail) in zip(names, messages, faults, strict=True):
            assert pointer == f"/parameters/{name}"
            assert message in detail
    assert get(running, "s") == before
    own(running, trial.plate, heat=60, glue="none", speed=9.0)
    correct(running, "s", wrong, {"excluded": True}, "it was at 100 degrees")
    own(running, 6, heat=100)


def test_results_of_a_batch_must_match_on_a_plate(running: Service) -> None:
    create(running, on_plates())
    points = [{**CONTROL, "heat": heat} for heat in (80, 100, 80)]
    items = observe_batch(running, "s", [Value(1.0, parameters=point, plate=4) for point in points]).view.items
    assert [item.status for item in items] == [200, 422, 200]
    assert items[1].errors[0].pointer == "/parameters/heat"
    assert get(running, "s").counts.observations == 2


def test_plates_are_rejected_in_a_study_without_them(running: Service) -> None:
    create(running, definition(parameters=PARAMETERS))
    for refused in (
        lambda: own(running, 1),
        lambda: queue(running, "s", CONTROL, plate="open"),
        lambda: repeat(running, "s", parameters=CONTROL, plate="new"),
    ):
        with pytest.raises(Invalid, match="this one has none; leave it out") as refusal:
            refused()
        assert [error.pointer for error in refusal.value.errors] == ["/plate"]
    assert get(running, "s").counts.observations == get(running, "s").counts.trials == 0


@pytest.mark.parametrize("number", [0, -1, 1.5, 10**9 + 1, True, "3"])
def test_plate_number_must_be_an_integer(number: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        PointValueBody.model_validate({"parameters": CONTROL, "value": 1.0, "plate": number})
    assert refused.value.errors()[0]["loc"] == ("plate",)


def test_largest_plate_number_leaves_room_for_new_plates(
    database: Database, clock: ManualClock, running: Service
) -> None:
    create(running, on_plates())
    own(running, 10**9)
    assert {trial.plate for trial in asked(running)} == {10**9 + 1}
    assert_log_is_complete(database, clock, running)


def test_controls_take_places_on_the_requested_plate(database: Database, clock: ManualClock, running: Service) -> None:
    create(running, on_plates())
    first = queue(running, "s", CONTROL, plate="open").view
    assert (first.plate, first.state) == (1, "queued")
    plate = suggest(running, "s", SuggestBody(plate="open")).view.trials
    assert [trial.plate for trial in plate] == [1] * SIZE
    assert plate[0].parameters == CONTROL
    assert {trial.parameters["heat"] for trial in plate} == {80}
    evaluate(running, plate)
    queued = repeat(running, "s", trial=first.number, times=2, plate="open").view.trials
    assert [trial.plate for trial in queued] == [2, 2]
    rest = suggest(running, "s", SuggestBody(plate="open")).view.trials
    assert [trial.number for trial in rest[:2]] == [trial.number for trial in queued]
    assert len(rest) == SIZE
    evaluate(running, rest)
    asked(running, 1)
    assert queue(running, "s", {**CONTROL, "heat": 100}, plate="new").view.plate == 4
    assert queue(running, "s", CONTROL).view.plate is None
    assert get(running, "s").counts.trials == 2 * SIZE + 3
    assert [asked(running, 2)[0].plate for _ in range(2)] == [4, None], "each is waiting on its own plate"
    assert_log_is_complete(database, clock, running)


def test_control_must_match_its_plate_and_needs_a_free_place(running: Service) -> None:
    create(running, on_plates())
    asked(running, 2, fixed={"heat": 60})
    before = get(running, "s")
    with pytest.raises(Invalid, match='is 80, but plate 1 has 60; give that value, or plate "new"') as refused:
        queue(running, "s", CONTROL, plate="open")
    assert [error.pointer for error in refused.value.errors] == ["/parameters/heat"]
    cool = {**CONTROL, "heat": 60}
    with pytest.raises(Invalid, match='must be at most 2, the room on plate 1; give fewer, or plate "new"') as refused:
        repeat(running, "s", parameters=cool, times=3, plate="open")
    assert [error.pointer for error in refused.value.errors] == ["/times"]
    with pytest.raises(Invalid, match=f"must be at most {SIZE}, the room on a plate of {SIZE}"):
        repeat(running, "s", parameters=cool, times=SIZE + 1, plate="new")
    assert get(running, "s") == before
    own = queue(running, "s", CONTROL).view
    with pytest.raises(Invalid, match="has heat = 80, but plate 1 has 60") as refused:
        repeat(running, "s", trial=own.number, plate="open")
    assert [error.pointer for error in refused.value.errors] == ["/trial"]
    assert [trial.plate for trial in repeat(running, "s", parameters=cool, times=2, plate="open").view.trials] == [1, 1]
    assert queue(running, "s", CONTROL, plate="open").view.plate == 2


def test_log_with_a_plate_in_a_study_without_plates_is_rejected(database: Database, running: Service) -> None:
    create(running, definition(parameters=PARAMETERS))
    own(running, None)
    lines = [json.loads(line) for line in json_lines(running, "s")]
    (observed,) = (line for line in lines if line.get("kind") == "observed")
    observed["payload"]["plate"] = 3
    with pytest.raises(Invalid, match="names a plate, but the study has none"):
        import_study(database, map(json.dumps, lines))


@pytest.mark.parametrize(
    ("changes", "place", "message"),
    [
        ({"plates": {"size": 1}}, ("plates", "size"), "greater than or equal to 2"),
        ({"plates": {"size": 4, "shared": ["hot"]}}, ("plates", "shared", 0), "is not a parameter"),
        ({"plates": {"size": 4, "shared": ["heat", "heat"]}}, ("plates", "shared", 1), "is named twice"),
        (
            {"plates": {"size": 4, "shared": ["speed", "heat", "glue"]}},
            ("plates", "shared"),
            "no parameter that can differ",
        ),
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
    ],
)
def test_invalid_plates_are_rejected(changes: dict[str, Any], place: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValidationError) as refused:
        on_plates(**changes)
    (fault,) = refused.value.errors()
    assert fault["loc"] == place
    assert message in fault["msg"]


@pytest.mark.parametrize("system", [*OF_THE_PAPER, "random", "sobol"])
def test_plates_need_an_algorithm_with_fixed_values(system: str) -> None:
    numbers = [SPEED, {**SPEED, "name": "heat"}]
    if system in ("random", "sobol"):
        assert on_plates(algorithm=SYSTEMS[system], parameters=numbers).plates is not None
        return
    with pytest.raises(ValidationError, match="auto supports them"):
        on_plates(algorithm=SYSTEMS[system], parameters=numbers)


def test_next_trial_gets_the_place_of_a_withdrawn_one_on_the_last_plate(
    database: Database, clock: ManualClock, running: Service
) -> None:
    create(running, on_plates())
    first = asked(running)
    evaluate(running, first[1:])
    withdraw(running, "s", first[0].number)
    (found,) = asked(running, plate="open")
    assert (found.plate, found.parameters["heat"]) == (1, first[0].parameters["heat"])
    assert found.parameters not in [trial.parameters for trial in first]
    with pytest.raises(TrialFinished, match="Another trial has taken the place of trial 1 on plate 1"):
        retry(running, "s", 1)
    evaluate(running, [found])
    assert {trial.plate for trial in asked(running)} == {2}
    assert_log_is_complete(database, clock, running)


def test_withdrawn_trial_gets_its_free_place_back(database: Database, clock: ManualClock, running: Service) -> None:
    create(running, on_plates())
    first = asked(running)
    withdraw(running, "s", 1)
    assert retry(running, "s", 1).view.trial.state == "released"
    assert [trial.number for trial in asked(running)] == [1]
    evaluate(running, first)
    second = asked(running)
    for trial in second:
        withdraw(running, "s", trial.number)
    assert {trial.plate for trial in asked(running, 2)} == {3}
    observe(running, "s", Value(1.0, second[0].number))  # late
    assert {trial.plate for trial in asked(running, 2)} == {3}
    assert_log_is_complete(database, clock, running)


def test_withdrawn_trial_that_failed_in_the_end_takes_its_place_again(
    database: Database, clock: ManualClock, running: Service
) -> None:
    create(running, on_plates())
    first = asked(running)
    withdraw(running, "s", 1)
    observe(running, "s", Failure(1))  # it was run after all
    evaluate(running, first[1:])
    assert {trial.plate for trial in asked(running)} == {2}
    assert_log_is_complete(database, clock, running)
