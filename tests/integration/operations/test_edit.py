"""Edits of a running study's space: the results that count, the model, and invalid edits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adabkb_service.contract.requests import PatchStudyBody
from adabkb_service.errors import Invalid, StudyExists, TrialFinished
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.model import predict
from adabkb_service.operations.model.why import why
from adabkb_service.operations.reports.edits_in_words import edits
from adabkb_service.operations.reports.overview import Overview
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import manage
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.studies.read import list_observations
from adabkb_service.storage import events
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import TrialRow
from tests.calls import watching
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import SYSTEMS, ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, change, edit, get, observe, queue, release, retry, suggest

Y = {"name": "y", "kind": "float", "low": 0.01, "high": 100, "scale": "log"}
MIXED: list[dict[str, Any]] = [
    {"name": "x", "kind": "float", "low": -1, "high": 2},
    {"name": "n", "kind": "int", "low": 1, "high": 9},
    {"name": "kind", "kind": "categorical", "choices": ["a", "b", "c"]},
]
SHARES: list[dict[str, Any]] = [{"name": name, "kind": "float", "low": 0, "high": 1} for name in ("water", "oil")]
MOMENTUM = {"name": "momentum", "kind": "float", "low": 0, "high": 1, "when": {"kind": ["a"]}}


def x_between(low: float, high: float) -> dict[str, Any]:
    return {"name": "x", "kind": "float", "low": low, "high": high}


def evaluate(running: Service, count: int) -> list[dict[str, Any]]:
    """Evaluate a number of trials one after the other, with the optimum at n = 3 and x = 0.3, and return their
    parameters.
    """
    points = []
    for _ in range(count):
        (trial,) = suggest(running, "s", Ask()).view.trials
        x, other = trial.parameters["x"], trial.parameters.get("momentum", 0.5)
        observe(running, "s", Value((x - 0.3) ** 2 + (trial.parameters.get("n", 3) - 3) ** 2 + other, trial.number))
        points.append(dict(trial.parameters))
    return points


def observed(running: Service, *places: float) -> None:
    """Add results at these values of x, whose value is x."""
    for x in places:
        observe(running, "s", Value(x, parameters={"x": x, "y": 1.0}))


def test_study_continues_after_edits_and_its_log_is_complete(
    database: Database, clock: ManualClock, running: Service
) -> None:
    """Narrowed and widened bounds, a removed and an added choice, and an added conditional parameter: every trial is in
    the space of its time. After replay, doctor, export and import, the next suggestion is the same.
    """
    create(running, definition(parameters=MIXED))
    evaluate(running, 5)
    edit(running, {**MIXED[1], "low": 2, "high": 4}, {**MIXED[2], "choices": ["c", "a"]}, MOMENTUM, momentum=0.5)
    second = evaluate(running, 5)
    assert {point["n"] for point in second} <= {2, 3, 4}
    assert all(point["kind"] in "ca" and ("momentum" in point) == (point["kind"] == "a") for point in second)
    study = edit(running, {**MIXED[1], "high": 30}, {**MIXED[2], "choices": ["c", "a", "z"]})
    assert (study.space_version, study.defaults) == (3, {"momentum": 0.5})
    assert [parameter.name for parameter in study.parameters] == ["x", "n", "kind", "momentum"]
    assert any(point["n"] > 9 or point["kind"] == "z" for point in evaluate(running, 8))
    assert why(running, "s", 18).decision is not None
    assert_log_is_complete(database, clock, running)


def test_results_outside_narrowed_bounds_are_kept_but_do_not_count(running: Service) -> None:
    """They cannot be the best or recommended, and are not in the model, until the bounds are widened again."""
    create(running, definition())
    observed(running, -0.9, 0.5, 1.0)
    study = edit(running, x_between(0, 2))
    assert study.best.parameters["x"] == 0.5
    assert study.counts.observations == 3
    assert [row.outside for row in list_observations(running, "s", 0, 9).items] == [True, False, False]
    found = predict.recommendation(running, "s")
    assert found.observed is not None
    assert found.observed.parameters["x"] == 0.5
    assert predict.model(running, "s").observations == 2
    assert Overview(running).history("s")["records"] == [(2, 0.5)]
    wide = edit(running, x_between(-1, 2))
    assert (wide.best.parameters["x"], predict.model(running, "s").observations) == (-0.9, 3)


@pytest.mark.long
def test_constraints_can_be_replaced_and_exclude_earlier_results(
    database: Database, clock: ManualClock, running: Service
) -> None:
    """Trials satisfy them immediately. Without them, all results count again. The log is complete."""
    create(running, definition(parameters=MIXED, seed=2))
    evaluate(running, 6)

    def constrained(*constraints: str) -> Any:
        changes = PatchStudyBody.model_validate({"constraints": list(constraints)}).changes()
        return change(running, "s", changes).view

    study = constrained("n <= 4", 'not (kind == "a" and x > 0)')
    assert (study.space_version, study.constraints) == (2, ["n <= 4", 'not (kind == "a" and x > 0)'])
    for row in list_observations(running, "s", 0, 9).items:
        point = row.parameters
        assert row.outside == (point["n"] > 4 or (point["kind"] == "a" and point["x"] > 0))
    points = evaluate(running, 6)
    assert all(point["n"] <= 4 and not (point["kind"] == "a" and point["x"] > 0) for point in points)
    assert constrained("n <= 4", 'not (kind == "a" and x > 0)').space_version == 2
    assert constrained().constraints == []
    assert not any(row.outside for row in list_observations(running, "s", 0, 40).items)
    evaluate(running, 2)
    assert_log_is_complete(database, clock, running)


@pytest.mark.long
def test_mixtures_priors_and_the_baseline_can_be_replaced(
    database: Database, clock: ManualClock, running: Service
) -> None:
    """Trials follow them immediately. Without them, all results count again. The log is complete."""
    create(running, definition(parameters=[*MIXED, *SHARES], seed=2))
    evaluate(running, 5)

    def replaced(**fields: Any) -> Any:
        return change(running, "s", PatchStudyBody.model_validate(fields).changes()).view

    fields: dict[str, Any] = {
        "mixtures": [{"parameters": ["water", "oil"], "total": 1}],
        "prior": {"x": {"around": 0.4, "width": 0.1}},
        "baseline": {"kind": "c", "n": 3},
    }
    study = replaced(**fields)
    assert (study.space_version, study.baseline) == (2, {"kind": "c", "n": 3})
    for row in list_observations(running, "s", 0, 9).items:
        assert row.outside == (abs(row.parameters["water"] + row.parameters["oil"] - 1) > 1e-6)
    points = evaluate(running, 15)
    assert all(point["water"] + point["oil"] == pytest.approx(1, abs=1e-6) for point in points)
    found = predict.recommendation(running, "s")
    assert found.model is not None
    assert {each.parameter for each in found.model.changes or ()} <= {"kind", "n"}
    assert found.model.changes is not None, "a study without a baseline does not have this field"
    assert replaced(**{**fields, "baseline": {"n": 3, "kind": "c"}}).space_version == 2
    study = replaced(mixtures=[], prior={}, baseline={})
    assert (study.space_version, study.mixtures, study.prior, study.baseline) == (3, [], {}, {})
    assert not any(row.outside for row in list_observations(running, "s", 0, 20).items)
    evaluate(running, 2)
    assert_log_is_complete(database, clock, running)


def test_rows_from_before_a_parameter_was_added_have_its_default(running: Service) -> None:
    create(running, definition())
    observed(running, 0.5, 1.0)
    study = edit(running, {"name": "m", "kind": "int", "low": 1, "high": 5}, m=2)
    assert study.best.parameters == {"x": 0.5, "y": 1.0, "m": 2}
    assert list_observations(running, "s", 0, 1).items[0].parameters == {"x": 0.5, "y": 1.0}
    found = predict.recommendation(running, "s")
    assert found.observed is not None
    assert found.observed.parameters == {"x": 0.5, "y": 1.0, "m": 2}
    assert predict.model(running, "s").observations == 2


def test_result_of_a_trial_from_before_an_edit_is_accepted(database: Database, running: Service) -> None:
    """In any form; a result outside the space is stored, but does not count."""
    create(running, definition(seed=1))
    trials = suggest(running, "s", Ask(4)).view.trials
    edit(running, {"name": "m", "kind": "int", "low": 1, "high": 5}, m=2)
    first, second, third, fourth = trials
    observe(running, "s", Value(5.0, first.number))
    observe(running, "s", Value(6.0, second.number, parameters=second.parameters))
    moved = observe(running, "s", Value(7.0, third.number, parameters={**third.parameters, "x": 1.5})).view
    assert moved.observation is not None
    assert moved.observation.parameters == {**third.parameters, "x": 1.5, "m": 2}
    x = fourth.parameters["x"]
    edit(running, x_between(x + 0.01, 2.5) if x < 1 else x_between(-1, x - 0.01))
    outside = observe(running, "s", Value(-9.0, fourth.number, parameters=fourth.parameters)).view
    assert outside.observation is not None
    assert outside.observation.outside
    assert outside.trial is not None
    assert outside.trial.state == "completed"
    assert outside.study.best is not None
    assert outside.study.best.value > 0
    evaluate(running, 2)
    assert list(examine(database)) == []
    assert replay(running, "s").diverged == []


def test_waiting_trials_get_the_default_or_are_cancelled(running: Service) -> None:
    create(running, definition(failure_limit=1))
    queue(running, "s", {"x": -0.5, "y": 1})
    queue(running, "s", {"x": 1.5, "y": 1})
    (leased,) = suggest(running, "s", Ask()).view.trials
    study = edit(running, x_between(0, 2), {"name": "m", "kind": "bool"}, m=True)
    assert (study.counts.active, study.counts.queued, study.counts.failed) == (1, 1, 0)
    (waiting,) = suggest(running, "s", Ask(fixed={"m": True})).view.trials
    assert waiting.parameters == {"x": 1.5, "y": 1, "m": True}
    release(running, "s", leased.number)
    answer = suggest(running, "s", Ask()).view
    assert (answer.trials[0].number, answer.study.state) == (3, "running")
    assert (answer.study.counts.withdrawn, answer.study.counts.failed) == (1, 0)
    with pytest.raises(TrialFinished, match="Trial 1 is outside of the study's space, which was edited"):
        retry(running, "s", leased.number)


def test_exhausted_study_continues_in_a_wider_space(running: Service) -> None:
    create(running, definition(parameters=[{"name": "x", "kind": "int", "low": 1, "high": 2}]))
    evaluate(running, 2)
    assert suggest(running, "s", Ask()).view.reason == "exhausted"
    assert edit(running, {"name": "x", "kind": "int", "low": 1, "high": 3}).state == "running"
    assert evaluate(running, 1) == [{"x": 3}]
    assert suggest(running, "s", Ask()).view.study.state == "complete"


def test_parameter_can_become_fixed_and_vary_again(running: Service) -> None:
    create(running, definition())
    observed(running, 0.5, 1.0)
    study = edit(running, {"name": "x", "kind": "fixed", "value": 1.0})
    assert study.best.value == 1.0
    assert suggest(running, "s", Ask()).view.trials[0].parameters["x"] == 1.0
    edit(running, {"name": "new", "kind": "fixed", "value": "a"})
    assert edit(running, {"name": "new", "kind": "categorical", "choices": ["a", "b"]}).best.parameters["new"] == "a"


def test_unchanged_space_is_no_edit_and_a_revision_can_be_required(running: Service) -> None:
    head = create(running, definition()).view.revision
    assert edit(running, {**Y}).revision == head
    assert edit(running, x_between(0, 2)).revision == head + 1
    edited = definition(parameters=[x_between(0, 2), Y])
    assert create(running, edited).created is False
    with pytest.raises(StudyExists, match=r"parameter 'x': low is 0\.0, not -1\.0"):
        create(running, definition())


CONSTRAINED = {"constraints": ["x + y <= 1.5"]}
WRONG: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({}, {"parameters": [{"name": "m", "kind": "bool"}]}, "/defaults/m", "value that the new parameter m had in the"),
    ({}, {"parameters": [{"name": "m", "kind": "bool"}], "defaults": {"m": 3}}, "/defaults/m", "must be one of False"),
    ({}, {"parameters": [Y], "defaults": {"x": 1}}, "/defaults/x", "x is not among the parameters of this request"),
    ({}, {"parameters": [Y, Y]}, "/parameters/1/name", "is given twice"),
    ({}, {"parameters": [{**Y, "when": {"z": [1]}}]}, "/parameters/0/when/z", "is not one of the parameters"),
    (
        {"parameters": MIXED},
        {"parameters": [{"name": "kind", "kind": "fixed", "value": "a"}, {**MOMENTUM, "when": {"kind": ["b"]}}]},
        "/parameters/1/when/kind/0",
        "list values that kind takes",
    ),
    (CONSTRAINED, {"parameters": [x_between(3, 4)]}, "/parameters", "constraints.0, which"),
    (CONSTRAINED, {"constraints": ["x + z <= 1"]}, "/constraints/0", "'z' is not a parameter"),
    (CONSTRAINED, {"constraints": ["y > 1", "x < -2"]}, "/constraints/1", "no point satisfies"),
    ({"parameters": MIXED}, {"constraints": ["kind == 'd'"]}, "/constraints/0", "'d' is not a value of 'kind'"),
    (
        {"parameters": MIXED},
        {"parameters": [{**MIXED[2], "choices": ["a", "b"]}], "constraints": ["kind != 'c'"]},
        "/constraints/0",
        "'c' is not a value of 'kind'",
    ),
    (
        {"parameters": SHARES},
        {"mixtures": [{"parameters": ["water", "air"]}]},
        "/mixtures/0/parameters/1",
        "'air' is not a parameter",
    ),
    ({}, {"prior": {"z": {"around": 1, "width": 1}}}, "/prior/z", "is not a parameter of this study"),
    ({}, {"baseline": {"x": 7}}, "/baseline/x", "outside [-1.0, 2.0]"),
    ({"algorithm": SYSTEMS["paper"]}, {"constraints": ["x < 1"]}, "/constraints", "create a study of the edited"),
    ({"algorithm": SYSTEMS["paper"]}, {"parameters": [x_between(0, 2)]}, "/parameters", "create a study of the edited"),
]


def test_invalid_edits_are_rejected_and_change_nothing(running: Service) -> None:
    for number, (study, changes, pointer, words) in enumerate(WRONG):
        before = create(running, definition(id=f"s{number}", **study)).view
        with pytest.raises(Invalid) as refusal:
            change(running, before.id, PatchStudyBody.model_validate(changes).changes())
        assert [error.pointer for error in refusal.value.errors] == [pointer]
        assert words in refusal.value.errors[0].detail
        assert get(running, before.id) == before


def test_an_edit_that_conflicts_with_another_parameter_names_its_field(running: Service) -> None:
    kinds = {"name": "kind", "kind": "categorical", "choices": ["a", "b"]}
    depth = {"name": "depth", "kind": "int", "low": 1, "high": 3, "when": {"kind": ["a"]}}
    create(running, definition(parameters=[kinds, depth]))
    with pytest.raises(Invalid) as refusal:
        edit(running, {**kinds, "choices": ["b", "c"]})
    (error,) = refusal.value.errors
    assert error.pointer == "/parameters"
    assert error.detail.startswith("cannot be combined with depth, whose when.kind.0 must be one of 'b', 'c'")


def test_suggestion_after_an_edit_reads_few_waiting_trials(running: Service, study: str) -> None:
    """The first waiting trials are outside the space; later ones are not read."""
    for number in range(40):
        queue(running, study, {"x": number / 40.0, "y": 1.0})
    first = suggest(running, study, Ask(3)).view.trials
    edit(running, x_between(0.1, 2.0), Y)
    for trial in first:
        release(running, study, trial.number)
    read: list[str] = []
    with watching({TrialRow.__init__: lambda _, step: read.append(step)}):
        (handed,) = suggest(running, study, Ask(1)).view.trials
    assert handed.parameters["x"] >= 0.1
    assert 1 <= read.count("call") < 30


def test_the_user_of_an_edit_is_not_among_its_changes(database: Database, running: Service) -> None:
    create(running, definition())
    bounds = {"parameters": [x_between(-0.5, 1.0)], "noise_std": 0.1}
    running.do(replace(manage.change("s", PatchStudyBody.model_validate(bounds).changes()), user="anna"))
    with database.reading() as connection:
        log = events.page(connection, "s", 0)
    assert log[-1].user == "anna"
    assert edits(log) == {
        2: "x: \N{MINUS SIGN}0.5 to 1 (it was \N{MINUS SIGN}1 to 2); the standard deviation of a result changed"
    }
