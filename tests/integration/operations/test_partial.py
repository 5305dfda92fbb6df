"""Partial results: what they may lack, what later parts add, and what counts meanwhile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adabkb_service.contract.answers import Observation, Observed
from adabkb_service.contract.requests import PointValueBody, TrialValueBody
from adabkb_service.errors import Invalid, ResultConflict, TrialFinished
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.model import analysis, predict
from adabkb_service.operations.model.front import front
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from adabkb_service.study.request import Key
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Failure, change, correct, get, observe, store, suggest
from tests.samples import some

BOUNDED: dict[str, Any] = {
    "direction": "maximize",
    "metrics": ["mass"],
    "outcome_constraints": [{"metric": "purity", "lower": 0.9}],
}
SEVERAL: dict[str, Any] = {
    "direction": None,
    "objectives": [{"metric": "yield", "direction": "maximize"}, {"metric": "purity", "direction": "maximize"}],
}


def tell(running: Service, trial: int | None, key: Key | None = None, **fields: Any) -> Observed:
    """Report a result."""
    kind = PointValueBody if trial is None else TrialValueBody
    return observe(running, "s", kind.model_validate({**fields, **({"trial": trial} if trial else {})}), key).view


def ask(running: Service, count: int = 1) -> list[int]:
    return [trial.number for trial in suggest(running, "s", Ask(count)).view.trials]


def results(running: Service) -> list[Observation]:
    return list(read.list_observations(running, "s", 0, 100).items)


def kinds(running: Service) -> list[str]:
    return [event.kind for event in read.list_events(running, "s", 0, 100).items]


def pointers(refused: pytest.ExceptionInfo[Invalid]) -> list[str]:
    return [fault.pointer for fault in refused.value.errors]


def test_parts_of_a_result_become_one_result(running: Service) -> None:
    create(running, definition(**BOUNDED))
    (trial,) = ask(running)
    first = tell(running, trial, value=0.8, std_error=0.1, partial=True)
    assert first.trial is not None
    assert first.observation is not None
    assert (first.trial.state, first.observation.missing) == ("completed", ["mass", "purity"])
    second = tell(running, trial, metrics={"purity": 0.95}, std_errors={"purity": 0.02}, partial=True).observation
    assert second is not None
    assert second.missing == ["mass"]
    last = tell(running, trial, metrics={"mass": 3.0}).observation
    assert last is not None
    assert (last.seq, last.value, last.std_error, last.missing) == (1, 0.8, 0.1, [])
    assert (last.metrics, last.std_errors) == ({"purity": 0.95, "mass": 3.0}, {"purity": 0.02})
    assert kinds(running) == ["created", "suggested", "observed", "measured", "measured"]
    assert get(running, "s").counts.observations == 1


def test_repeated_part_changes_nothing_and_a_conflicting_one_is_rejected(running: Service) -> None:
    create(running, definition(**BOUNDED))
    (trial,) = ask(running)
    parts: list[dict[str, Any]] = [
        {"value": 0.8, "partial": True},
        {"metrics": {"purity": 0.95}, "partial": True},
        {"metrics": {"mass": 3.0}},
    ]
    for part in parts:
        tell(running, trial, **part)
    for part in parts:
        assert tell(running, trial, **part).observation == results(running)[0]
    tell(running, trial, value=0.8, metrics={"purity": 0.95, "mass": 3.0})
    wrongs: list[dict[str, Any]] = [
        {"value": 0.7, "partial": True},
        {"metrics": {"purity": 0.9}},
        {"metrics": {"mass": 3.0, "purity": 1}},
    ]
    for wrong in wrongs:
        with pytest.raises(ResultConflict):
            tell(running, trial, **wrong)
    with pytest.raises(TrialFinished):
        observe(running, "s", Failure(trial))
    assert len(kinds(running)) == 5
    correct(running, "s", 1, {"metrics": {"purity": 0.5}})
    tell(running, trial, **parts[1])  # unchanged
    assert results(running)[0].metrics == {"purity": 0.5, "mass": 3.0}


def test_each_part_with_a_key_counts_once(running: Service) -> None:
    create(running, definition(**BOUNDED))
    (trial,) = ask(running)
    answers = []
    for _ in range(2):
        tell(running, trial, Key("s", "first", "f"), value=0.8, partial=True)
        answers.append(tell(running, trial, Key("s", "second", "f"), metrics={"purity": 0.95, "mass": 1.0}))
    assert answers[0] == answers[1]
    assert kinds(running) == ["created", "suggested", "observed", "measured"]


def test_missing_metric_is_an_error_unless_the_result_is_partial(running: Service) -> None:
    create(running, definition(**BOUNDED))
    (trial,) = ask(running)
    with pytest.raises(Invalid, match="partial"):
        tell(running, trial, value=0.8, metrics={"mass": 1.0})
    with pytest.raises(Invalid) as refused:
        tell(running, trial, metrics={"mass": 1.0, "purity": 1.0})
    assert pointers(refused) == ["/value"]
    with pytest.raises(Invalid) as refused:
        tell(running, trial, value=0.8, std_errors={"purity": 0.1}, partial=True)
    assert pointers(refused) == ["/std_errors/purity"]
    with pytest.raises(Invalid) as refused:
        tell(running, trial, metrics={"purity": 1.0}, std_error=0.1, partial=True)
    assert pointers(refused) == ["/std_error"]
    tell(running, trial, metrics={"purity": 1.0}, partial=True)
    with pytest.raises(Invalid) as refused:
        tell(running, trial, metrics={"mass": 1.0})
    assert pointers(refused) == ["/value"]
    with pytest.raises(Invalid) as refused:
        correct(running, "s", 1, {"std_error": 0.1})
    assert pointers(refused) == ["/std_error"]
    assert get(running, "s").counts.observations == 1


def test_cost_is_required_with_the_first_part(running: Service) -> None:
    create(running, definition(**BOUNDED, cost="told", budget={"cost": 10}))
    (trial,) = ask(running)
    with pytest.raises(Invalid) as refused:
        tell(running, trial, value=0.8, partial=True)
    assert pointers(refused) == ["/cost"]
    tell(running, trial, value=0.8, cost=4.0, partial=True)
    tell(running, trial, metrics={"purity": 0.95, "mass": 1.0})
    assert get(running, "s").cost_spent == 4.0


def test_completing_a_result_without_a_trial_is_not_a_correction(running: Service) -> None:
    create(running, definition(**BOUNDED))
    tell(running, None, parameters={"x": 0, "y": 1}, metrics={"mass": 1.0}, partial=True)
    correct(running, "s", 1, {"value": 0.5, "metrics": {"purity": 1.0}})
    correct(running, "s", 1, {"value": 0.6})
    assert kinds(running) == ["created", "observed", "measured", "corrected"]
    assert results(running)[0].missing == []


def test_best_result_must_have_the_value_and_bounded_metrics(running: Service) -> None:
    """The value and metrics with bounds decide; other metrics may be missing."""
    create(running, definition(**BOUNDED))
    first, second, third = ask(running, 3)
    tell(running, first, value=1.0, metrics={"mass": 1.0}, partial=True)
    tell(running, second, metrics={"purity": 1.0}, partial=True)
    assert get(running, "s").best is None
    tell(running, third, value=0.5, metrics={"purity": 1.0}, partial=True)
    best = get(running, "s").best
    assert best is not None
    assert (best.value, best.feasible, best.metrics) == (0.5, True, {"purity": 1.0})
    tell(running, first, metrics={"purity": 0.91})
    best = get(running, "s").best
    assert best is not None
    assert (best.trial, best.value) == (first, 1.0)


@pytest.mark.long
def test_only_complete_results_are_on_the_front(running: Service) -> None:
    create(running, definition(**SEVERAL))
    trials = ask(running, 4)
    for number in trials[:2]:
        tell(running, number, metrics={"yield": number}, partial=True)
    tell(running, trials[2], metrics={"purity": 9.0}, partial=True)
    assert front(running, "s").observed == []
    tell(running, trials[3], metrics={"yield": 1.5, "purity": 1.0})
    assert [point.trial for point in front(running, "s").observed] == [trials[3]]
    tell(running, trials[0], metrics={"purity": 2.0})
    tell(running, trials[2], metrics={"yield": 0.1})
    found = front(running, "s")
    assert sorted(point.trial or 0 for point in found.observed) == [trials[0], trials[2], trials[3]]
    assert found.hypervolume is not None


def test_budget_does_not_wait_for_late_metrics(running: Service) -> None:
    create(running, definition(**BOUNDED, budget=1))
    (trial,) = ask(running)
    tell(running, trial, value=0.8, partial=True)
    assert (get(running, "s").state, get(running, "s").reason) == ("complete", "budget")
    tell(running, trial, metrics={"purity": 0.95, "mass": 1.0})
    best = get(running, "s").best
    assert best is not None
    assert best.value == 0.8


def yields(point: dict[str, Any]) -> tuple[float, float]:
    """The yield, which is best at x = 1.5, and the purity, which decreases with x and is 0.9 at x = 0.5."""
    x = float(point["x"])
    return 1.0 - (x - 1.5) ** 2 / 6.0, 1.15 - 0.5 * x


@pytest.mark.parametrize("late", some(["purity", "value"], ["purity"]))
def test_model_of_each_metric_uses_all_its_results(running: Service, late: str) -> None:
    create(running, definition(**BOUNDED))
    for count in range(12):
        (trial,) = suggest(running, "s", Ask()).view.trials
        value, purity = yields(trial.parameters)
        part: dict[str, Any] = {"value": value, "metrics": {"purity": purity, "mass": 1.0}}
        if count >= 6:
            part = {"metrics": part["metrics"]} if late == "value" else {**part, "metrics": {"mass": 1.0}}
        tell(running, trial.number, partial=count >= 6, **part)
    (expected,) = predict.predict(running, "s", [{"x": 0.0, "y": 1.0}]).predictions
    assert expected.metrics is not None
    assert expected.mean == pytest.approx(yields({"x": 0.0})[0], abs=0.1)
    assert expected.metrics["purity"].mean == pytest.approx(1.15, abs=0.1)
    judged = {name: analysis.validation(running, "s", name).results for name in (None, "purity", "mass")}
    assert judged == {None: 6 if late == "value" else 12, "purity": 12 if late == "value" else 6, "mass": 12}
    assert analysis.importance(running, "s", "purity").results == judged["purity"]


def test_metric_without_results_is_not_predicted(running: Service) -> None:
    create(running, definition(**BOUNDED))
    for trial in ask(running, 3):
        tell(running, trial, value=float(trial), metrics={"mass": 1.0}, partial=True)
    (expected,) = predict.predict(running, "s", [{"x": 0.0, "y": 1.0}]).predictions
    assert expected.metrics is not None
    assert set(expected.metrics) == {"mass"}
    assert analysis.partition(running, "s", 0, 10, None, "purity") == ([], None)
    assert analysis.validation(running, "s", "purity").items == []
    assert predict.recommendation(running, "s").reason == "too_few_results"


@pytest.mark.parametrize("fields", [BOUNDED, SEVERAL])
def test_point_with_missing_metrics_is_not_suggested_again(running: Service, fields: dict[str, Any]) -> None:
    whole = [{"name": "x", "kind": "int", "low": 0, "high": 7}]
    create(running, definition(**fields, parameters=whole))
    points = []
    for _ in range(8):
        (trial,) = suggest(running, "s", Ask()).view.trials
        points.append(trial.parameters["x"])
        tell(running, trial.number, metrics={"purity": 0.1 * trial.parameters["x"]}, partial=True)
    assert sorted(points) == list(range(8))
    assert suggest(running, "s", Ask()).view.trials == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("fields", "seed"),
    [(fields, seed) for fields in (BOUNDED, SEVERAL) for seed in range(3)],
)
def test_log_is_complete_with_metrics_in_any_order(
    database: Database, clock: ManualClock, running: Service, fields: dict[str, Any], seed: int
) -> None:
    """Metrics arrive in any order; a service without caches between the steps suggests the same points."""
    rng, owed = np.random.default_rng(seed), dict[int, dict[str, float]]()
    create(running, definition(**fields))
    others = ("purity",) if fields is SEVERAL else ("purity", "mass")
    points = []
    for step in range(12):
        service = Service(database, clock=clock) if step % 3 == 2 else running
        for trial in suggest(service, "s", Ask(1 + step % 2)).view.trials:
            points.append(trial.parameters)
            value, purity = yields(trial.parameters)
            owed[trial.number] = {"value": value, "purity": purity, "mass": 1.0 + trial.number}
        for number in list(owed):
            kept = {name: owed[number].pop(name) for name in list(owed[number]) if rng.random() < 0.4}
            owed = {each: left for each, left in owed.items() if left}
            part: dict[str, Any] = {"metrics": {name: kept[name] for name in others if name in kept}}
            if "value" in kept and fields is SEVERAL:
                part["metrics"]["yield"] = kept["value"]
            elif "value" in kept:
                part["value"] = kept["value"]
            if part["metrics"] or "value" in part:
                tell(service, number, partial=True, **part)
        if step % 4 == 3:
            store(service, "s")
        if step == 9:
            correct(service, "s", 2, {"excluded": True})
    assert list(examine(database)) == []
    assert replay(running, "s").diverged == []
    assert len({tuple(sorted(point.items())) for point in points}) == len(points)
    assert_log_is_complete(database, clock, running)


def test_stop_rule_counts_partial_results_and_recounts_when_completed(running: Service) -> None:
    create(running, definition(**BOUNDED, stop={"no_gain_for": 3}))
    first, second, *others = ask(running, 4)
    tell(running, first, value=1.0, metrics={"purity": 1.0, "mass": 1.0})
    tell(running, second, value=2.0, partial=True)
    for trial in others:
        tell(running, trial, value=0.0, metrics={"purity": 1.0, "mass": 1.0})
    assert get(running, "s").reason == "no_gain"
    tell(running, second, metrics={"purity": 1.0, "mass": 1.0})
    assert get(running, "s").reason is None
    change(running, "s", {"budget": 4})
    assert get(running, "s").reason == "budget"


def test_stop_rule_does_not_count_results_while_none_can_be_the_best(running: Service) -> None:
    create(running, definition(**BOUNDED, stop={"no_gain_for": 2}))
    trials = ask(running, 4)
    for trial in trials[:3]:
        tell(running, trial, value=1.0, partial=True)
    assert get(running, "s").reason is None
    tell(running, trials[3], value=2.0, metrics={"purity": 1.0, "mass": 1.0})
    assert get(running, "s").reason is None
