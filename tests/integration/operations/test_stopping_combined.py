"""Early stopping in studies with several metrics, and with edited spaces."""

from __future__ import annotations

from typing import Any

import pytest

from adabkb_service.errors import Invalid, ResultConflict, TrialFinished
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.data.trash import delete
from adabkb_service.operations.model.front import front
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.studies.read import list_observations
from adabkb_service.storage.database import Database
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, change, edit, get, observe, report, suggest
from tests.samples import some

ASHA = {"rule": "asha", "max_steps": 9}
PATIENCE = {"rule": "patience", "max_steps": 9, "no_gain_for": 2}
BOUND = [{"metric": "size", "upper": 5}]
OBJECTIVES = [{"metric": "error", "direction": "minimize"}, {"metric": "speed", "direction": "maximize"}]


def ask(running: Service) -> tuple[int, dict[str, Any]]:
    """Request a trial. Return its number and its point."""
    (trial,) = suggest(running, "s", Ask()).view.trials
    return trial.number, trial.parameters


def report_values(running: Service, number: int, *reports: tuple[int, float], cost: float | None = None) -> bool:
    """Report values. Return whether the trial is stopped."""
    return report(running, "s", number, *reports, cost=cost).view.stop


def test_patience_lets_the_worker_add_its_other_metrics(running: Service, database: Database) -> None:
    create(running, definition(early_stopping=PATIENCE, outcome_constraints=BOUND, cost="told", budget={"cost": 10}))
    number, _ = ask(running)
    assert report_values(running, number, (1, 2.0), (3, 2.5))
    (result,) = list_observations(running, "s", 0, 9).items
    assert (result.value, result.missing) == (2.5, ["size", "cost"])
    assert get(running, "s").best is None
    assert get(running, "s").cost_spent == 0.0
    with pytest.raises(ResultConflict):
        observe(running, "s", Value(9.0, number, metrics={"size": 4.0}, cost=3.0))
    part = observe(running, "s", Value(None, number, metrics={"size": 4.0}, cost=3.0)).view.observation  # type: ignore[arg-type]
    assert part is not None
    assert part.missing == []
    study = get(running, "s")
    assert study.best is not None
    assert (study.best.value, study.cost_spent, study.counts.stopped) == (2.5, 3.0, 1)
    with pytest.raises(TrialFinished, match="its reports determine its result"):
        observe(running, "s", Value(1.0, number, metrics={"size": 4.0}, cost=3.0))
    assert list(examine(database)) == []


def test_stopped_trial_costs_its_seconds(running: Service, clock: ManualClock, database: Database) -> None:
    create(running, definition(early_stopping=ASHA, cost="measured", per_cost=True))
    for value, seconds in ((1.0, 30.0), (2.0, 4.0)):
        number, _ = ask(running)
        clock.advance(seconds)
        if not report_values(running, number, (1, value)):
            observe(running, "s", Value(value, number))
    study = get(running, "s")
    assert (study.counts.stopped, study.counts.completed, study.cost_spent) == (1, 1, 34.0)
    assert suggest(running, "s", Ask()).view.trials[0].origin == "policy"
    assert list(examine(database)) == []
    assert replay(running, "s").diverged == []


def with_stopped(running: Service, cost: float) -> None:
    """A study with a trial that was stopped at the given cost. Good points are expensive."""
    create(running, definition(early_stopping=ASHA, cost="told", per_cost=True, budget={"cost": 200}))
    for x in (-0.9, -0.25, 0.5, 1.25, 1.9):
        observe(running, "s", Value(-x, parameters={"x": x, "y": 1.0 + x**2}, cost=9.0 + 8.0 * x))
    number, point = ask(running)
    assert not report_values(running, number, (1, -point["x"]), cost=0.5)
    observe(running, "s", Value(-point["x"], number, cost=9.0 + 8.0 * point["x"]))
    number, _ = ask(running)
    assert report_values(running, number, (1, 9.0), cost=cost)


def test_stopped_trial_costs_what_its_last_report_states(running: Service, database: Database) -> None:
    with_stopped(running, 30.0)
    study = get(running, "s")
    results = [result.metrics["cost"] for result in list_observations(running, "s", 0, 9).items if result.metrics]
    assert study.cost_spent == sum(results) + 30.0
    number, _ = ask(running)
    assert report_values(running, number, (1, 9.0), cost=160.0)
    assert get(running, "s").state == "complete"
    assert list(examine(database)) == []
    replayed = replay(running, "s")
    assert (replayed.diverged, replayed.changed) == ([], False)


@pytest.mark.long
def test_cost_of_stopped_trials_reduces_the_weight_of_costs(running: Service) -> None:
    points = []
    for cost in (0.5, 120.0):
        with_stopped(running, cost)
        points.append([ask(running)[1] for _ in range(4)])
        delete(running, "s")
    assert points[0] != points[1]


def test_reports_must_state_the_cost_if_they_can_stop_the_trial(running: Service) -> None:
    create(running, definition(early_stopping=ASHA, cost="told"))
    number, _ = ask(running)
    with pytest.raises(Invalid, match="is required: what the attempt has cost so far"):
        report_values(running, number, (1, 1.0))
    create(running, definition(id="t", early_stopping=ASHA, cost="measured"))
    (trial,) = suggest(running, "t", Ask()).view.trials
    with pytest.raises(Invalid, match='costs only in a study with "cost": "told"'):
        report(running, "t", trial.number, (1, 1.0), cost=2.0)


def test_report_under_patience_may_state_the_cost_of_the_result(running: Service) -> None:
    create(running, definition(early_stopping=PATIENCE, cost="told"))
    number, _ = ask(running)
    assert report_values(running, number, (1, 2.0), (3, 2.5), cost=4.0)
    (result,) = list_observations(running, "s", 0, 9).items
    assert (result.metrics, result.missing) == ({"cost": 4.0}, [])


def test_infeasible_result_does_not_compete(running: Service) -> None:
    create(running, definition(early_stopping=ASHA, outcome_constraints=BOUND))
    first, _ = ask(running)
    assert not report_values(running, first, (1, 0.0))
    observe(running, "s", Value(0.0, first, metrics={"size": 6.0}))
    second, _ = ask(running)
    assert not report_values(running, second, (1, 1.0)), "the only better trial is not feasible"
    observe(running, "s", Value(1.0, second, metrics={"size": 4.0}))
    third, _ = ask(running)
    assert report_values(running, third, (1, 2.0))


def test_one_of_several_objectives_is_reported(running: Service, database: Database, clock: ManualClock) -> None:
    several = {"objectives": OBJECTIVES, "direction": None}
    create(running, definition(**several, early_stopping={**PATIENCE, "metric": "speed"}))
    for number in range(1, 5):
        ask(running)
        assert not report_values(running, number, (1, 2.0), (2, 3.0 + number)), "larger speeds are better"
        assert report_values(running, number, (4, 3.0))
        (part,) = list_observations(running, "s", number - 1, 1).items
        assert (part.metrics, part.missing) == ({"speed": 3.0}, ["error"])
        observe(running, "s", Value(None, number, metrics={"error": float(number)}))  # type: ignore[arg-type]
    assert [each.metrics for each in front(running, "s").observed] == [{"error": 1.0, "speed": 3.0}]
    assert_log_is_complete(database, clock, running)


@pytest.mark.long
@pytest.mark.parametrize("metric", some(["error", "speed"], ["speed"]))
def test_estimate_is_of_the_reported_objective(
    running: Service, database: Database, clock: ManualClock, metric: str
) -> None:
    several = {"objectives": OBJECTIVES, "direction": None}
    create(running, definition(**several, early_stopping={**ASHA, "metric": metric}))
    better, worse = (1.0, 2.0) if metric == "error" else (2.0, 1.0)
    for _ in range(3):
        number, _ = ask(running)
        if not report_values(running, number, (1, better)):
            observe(running, "s", Value(None, number, metrics={"error": better, "speed": better}))  # type: ignore[arg-type]
        number, _ = ask(running)
        assert report_values(running, number, (1, worse))
    assert get(running, "s").counts.stopped >= 3
    assert_log_is_complete(database, clock, running)


def test_trials_compete_only_within_an_edited_space(running: Service, database: Database, clock: ManualClock) -> None:
    x, y = ({"name": name, "kind": "float", "low": 0, "high": 2} for name in "xy")
    create(running, definition(parameters=[x, y], early_stopping=ASHA))
    number, point = ask(running)
    assert not report_values(running, number, (1, 0.0))
    observe(running, "s", Value(0.0, number))
    low, high = (0.0, point["x"] - 0.1) if point["x"] > 1.0 else (point["x"] + 0.1, 2.0)
    edit(running, {**x, "low": low, "high": high})
    number, _ = ask(running)
    assert not report_values(running, number, (1, 1.0)), "the only better trial is outside"
    observe(running, "s", Value(1.0, number))
    number, _ = ask(running)
    assert report_values(running, number, (1, 2.0))
    assert_log_is_complete(database, clock, running)


def test_trials_compete_only_within_their_plate(running: Service, database: Database, clock: ManualClock) -> None:
    create(running, definition(early_stopping=ASHA, plates={"size": 3}))
    plates = []
    for values in ((0.0, 1.0, 2.0), (10.0, 11.0, 9.0)):  # the second plate is worse
        trials = [ask(running)[0] for _ in values]
        plates.append(
            [report_values(running, number, (1, value)) for number, value in zip(trials, values, strict=True)]
        )
    assert plates == [[False, True, True], [False, True, False]]
    assert_log_is_complete(database, clock, running)


def test_trials_compete_only_within_their_context(running: Service, database: Database, clock: ManualClock) -> None:
    machine = {"name": "machine", "kind": "categorical", "choices": ["A", "B"], "context": True}
    x = {"name": "x", "kind": "float", "low": 0, "high": 1}
    create(running, definition(parameters=[x, machine], early_stopping=ASHA))
    stopped = {}
    for name, value in (("A", 0.0), ("B", 10.0), ("B", 11.0), ("A", 1.0)):  # machine B is worse
        (trial,) = suggest(running, "s", Ask(context={"machine": name})).view.trials
        stopped[name, value] = report_values(running, trial.number, (1, value))
    assert stopped == {("A", 0.0): False, ("B", 10.0): False, ("B", 11.0): True, ("A", 1.0): True}
    assert_log_is_complete(database, clock, running, {"machine": "A"})


def test_trials_before_a_new_context_parameter_compete_in_its_default_context(running: Service) -> None:
    x = {"name": "x", "kind": "float", "low": 0, "high": 1}
    create(running, definition(parameters=[x], early_stopping=ASHA))
    number, _ = ask(running)
    assert not report_values(running, number, (1, 0.0))
    machine = {"name": "machine", "kind": "categorical", "choices": ["A", "B"], "context": True}
    change(running, "s", {"parameters": [x, machine], "defaults": {"machine": "A"}})
    for name, is_worse in (("B", False), ("A", True)):
        (trial,) = suggest(running, "s", Ask(context={"machine": name})).view.trials
        assert report_values(running, trial.number, (1, 1.0)) == is_worse
