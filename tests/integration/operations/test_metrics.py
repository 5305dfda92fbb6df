"""Metrics and outcome constraints: reported, corrected, ranked, predicted, exported and replayed."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest
from pydantic import ValidationError

from adabkb_service.contract.answers import Best, Observed
from adabkb_service.contract.requests import CorrectionBody, PointValueBody, TrialValueBody
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.errors import Invalid, ResultConflict, StudyExists
from adabkb_service.operations.data import export
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.importing import import_study
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.data.trash import delete
from adabkb_service.operations.model import analysis, predict
from adabkb_service.operations.model.why import why
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from tests.integration.operations.conftest import SYSTEMS, ManualClock, definition
from tests.integration.operations.verbs import Ask, Failure, correct, get, observe, suggest

METRICS: dict[str, Any] = {
    "metrics": ["size"],
    "outcome_constraints": [{"metric": "latency", "upper": 1.0}, {"metric": "memory", "lower": -1, "upper": 2}],
}
CONDITIONAL = [
    {"name": "x", "kind": "float", "low": -1, "high": 2},
    {"name": "kind", "kind": "categorical", "choices": ["flat", "deep"]},
    {"name": "z", "kind": "float", "low": 0, "high": 1, "when": {"kind": ["deep"]}},
]
in_sqlite = pytest.mark.parametrize("migrated_url", ["sqlite"], indirect=True)
"""For tests that do not depend on the kind of database."""


def constrained(**changes: object) -> StudyDefinition:
    return definition(**{**METRICS, **changes})


def measured(point: dict[str, Any]) -> dict[str, float]:
    return {"latency": point["x"] + 0.5, "memory": point["x"], "size": 3.0}


def tell(running: Service, trial: int | None, value: float, metrics: Any, **more: Any) -> Observed:
    """Report a result."""
    kind = PointValueBody if trial is None else TrialValueBody
    body = kind.model_validate({"value": value, "metrics": metrics, **more, **({"trial": trial} if trial else {})})
    return observe(running, "s", body).view


def best_of(running: Service) -> Best:
    best = get(running, "s").best
    assert best is not None
    return best


def step(running: Service) -> None:
    for trial in suggest(running, "s", Ask(2)).view.trials:
        if trial.number % 7 == 0:
            observe(running, "s", Failure(trial.number))
        elif trial.number % 6:
            tell(running, trial.number, trial.parameters["x"] ** 2, measured(trial.parameters))


@pytest.mark.long
def test_metrics_survive_restart_correction_export_import_and_replay(
    database: Database, clock: ManualClock, running: Service
) -> None:
    create(running, constrained())
    for _ in range(4):
        step(running)
    correct(running, "s", 1, {"metrics": {"latency": 0.25}})
    correct(running, "s", 2, {"excluded": True})
    for _ in range(2):
        step(Service(database, clock=clock))
    assert list(examine(database)) == []
    assert replay(running, "s").diverged == []
    lines = list(export.json_lines(running, "s"))
    shown = predict.recommendation(running, "s")
    best = get(running, "s").best
    delete(running, "s")
    import_study(database, lines)
    again = Service(database, clock=clock)
    assert list(examine(database)) == []
    assert predict.recommendation(again, "s") == shown
    assert get(again, "s").best == best
    assert replay(again, "s").diverged == []
    step(again)


@in_sqlite
def test_best_result_is_feasible_or_has_the_smallest_violation(running: Service) -> None:
    create(running, constrained())
    at = {"x": 0, "y": 1}
    tell(running, None, -9.0, {"latency": 2.0, "memory": 0, "size": 1}, parameters=at)
    assert best_of(running).violations == {"latency": 1.0}
    tell(running, None, 5.0, {"latency": 1.5, "memory": 0, "size": 1}, parameters=at)
    best = best_of(running)
    assert (best.value, best.feasible, best.violations) == (5.0, False, {"latency": 0.5})
    found = predict.recommendation(running, "s")
    assert (found.gap, found.reason, found.required_probability) == (None, "nothing_feasible", 0.95)
    tell(running, None, 7.0, {"latency": 1.0, "memory": 2.0, "size": 1}, parameters=at)
    tell(running, None, 6.0, {"latency": 0.5, "memory": 2.5, "size": 1}, parameters=at)
    best = best_of(running)
    assert (best.value, best.feasible, best.violations) == (7.0, True, {})
    correct(running, "s", 4, {"metrics": {"memory": 1.5}})
    assert best_of(running).value == 6.0
    correct(running, "s", 4, {"excluded": True})
    assert best_of(running).value == 7.0


@in_sqlite
def test_every_metric_is_predicted_also_for_a_trial(running: Service) -> None:
    create(running, constrained())
    for _ in range(9):  # the fewest for a prediction in words
        step(running)
    (found,) = predict.predict(running, "s", [{"x": 0.25, "y": 1.0}]).predictions
    assert list(found.metrics or {}) == ["size", "latency", "memory"]
    assert found.metrics is not None
    assert found.metrics["latency"].mean == pytest.approx(0.75, abs=0.3)
    assert found.metrics["latency"].lcb <= found.metrics["latency"].mean <= found.metrics["latency"].ucb
    assert 0.5 < (found.feasible_probability or 0.0) <= 1.0
    line = analysis.slice_through(running, "s", ["x"], 5, {})
    chances = [each.feasible_probability or 0.0 for each in line.predictions]
    assert chances[-1] < 0.5 * max(chances)
    (trial,) = suggest(running, "s", Ask(1)).view.trials
    assert trial.expected is not None
    assert trial.expected.feasible_probability is not None
    decision = why(running, "s", trial.number).decision
    assert decision is not None
    assert "satisfies all outcome constraints with probability" in decision.in_words
    found_best = predict.recommendation(running, "s", 0.5).model
    assert found_best is not None
    assert (found_best.feasible_probability or 0.0) >= 0.5
    assert found_best.metrics is not None


def test_trials_observations_and_tables_have_metrics(running: Service) -> None:
    create(running, constrained())
    (trial,) = suggest(running, "s", Ask(1)).view.trials
    answer = tell(running, trial.number, 1.0, {"size": 1, "memory": 0, "latency": 2}, std_errors={"latency": 0.5})
    assert answer.trial is not None
    assert answer.trial.metrics is not None
    assert answer.trial.metrics == {"size": 1.0, "latency": 2.0, "memory": 0.0}
    (row,) = read.list_observations(running, "s", 0, 10).items
    assert (row.metrics, row.std_errors) == (answer.trial.metrics, {"latency": 0.5})
    assert tell(running, trial.number, 1.0, row.metrics, std_errors=row.std_errors) == answer  # the same result again
    with pytest.raises(ResultConflict, match="latency"):
        tell(running, trial.number, 1.0, {**answer.trial.metrics, "latency": 3.0}, std_errors=row.std_errors)
    (line,) = csv.DictReader("".join(export.csv_rows(running, "s")).splitlines())
    assert (line["metrics.latency"], line["std_errors.latency"], line["std_errors.size"]) == ("2.0", "0.5", "")
    correct(running, "s", 1, {"metrics": {"latency": 0.5}, "std_errors": {"latency": None}})
    after = read.trial(running, "s", trial.number)
    assert after.metrics == {"size": 1.0, "latency": 0.5, "memory": 0.0}


@in_sqlite
@pytest.mark.parametrize(
    ("metrics", "errors", "pointers"),
    [
        (None, None, ["/metrics"]),
        ({"latency": 1.0}, None, ["/metrics/size", "/metrics/memory"]),
        ({"latency": 1, "memory": 1, "size": 1, "laten": 2}, None, ["/metrics/laten"]),
        ({"latency": 1, "memory": 1, "size": 1}, {"speed": 1.0}, ["/std_errors/speed"]),
    ],
)
def test_results_with_other_metrics_are_rejected(
    running: Service, metrics: Any, errors: Any, pointers: list[str]
) -> None:
    create(running, constrained())
    with pytest.raises(Invalid) as refusal:
        tell(running, None, 1.0, metrics, std_errors=errors, parameters={"x": 0, "y": 1})
    assert [fault.pointer for fault in refusal.value.errors] == pointers
    assert get(running, "s").counts.observations == 0


@in_sqlite
def test_study_without_metrics_accepts_and_shows_none(running: Service) -> None:
    create(running, definition())
    with pytest.raises(Invalid, match="has no metrics"):
        tell(running, None, 1.0, {"latency": 1.0}, parameters={"x": 0, "y": 1})
    with pytest.raises(Invalid, match="has no outcome constraints"):
        predict.recommendation(running, "s", 0.9)
    answer = tell(running, None, 1.0, {}, parameters={"x": 0, "y": 1})
    for shown in (answer, get(running, "s"), predict.recommendation(running, "s")):
        text = shown.model_dump_json()
        assert not any(word in text for word in ("metrics", "std_errors", "feasible", "required", "outcome"))
    events = [event.payload for event in read.list_events(running, "s", 0, 10).items]
    assert "metrics" not in json.dumps(events)


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        *(({"algorithm": SYSTEMS[name]}, "metrics") for name in SYSTEMS if name != "auto"),
        ({"metrics": ["size", "size"]}, "metrics"),
        ({"outcome_constraints": [{"metric": "m"}]}, "outcome_constraints"),
        ({"outcome_constraints": [{"metric": "m", "lower": 2, "upper": 1}]}, "outcome_constraints"),
        ({"outcome_constraints": [{"metric": "m", "upper": 1}, {"metric": "m", "lower": 0}]}, "outcome_constraints"),
    ],
)
def test_invalid_definitions_are_rejected(changes: dict[str, Any], where: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        constrained(**changes)
    assert refusal.value.errors()[0]["loc"][0] == where


@in_sqlite
def test_a_definition_may_list_the_metrics_that_its_bounds_imply(running: Service) -> None:
    create(running, definition(**METRICS))
    assert not create(running, definition(**{**METRICS, "metrics": ["latency", "size"]})).created
    with pytest.raises(StudyExists, match="metrics"):
        create(running, definition(**{**METRICS, "metrics": ["size", "weight"]}))


@pytest.mark.long
@in_sqlite
@pytest.mark.parametrize(
    "changes",
    [
        {**METRICS, "constraints": ["x * y <= 1", "x <= 1"]},
        {**METRICS, "parameters": CONDITIONAL},
    ],
)
def test_outcome_constraints_work_with_constraints_and_conditions(
    database: Database, clock: ManualClock, running: Service, changes: dict[str, Any]
) -> None:
    create(running, definition(**changes))
    for _ in range(3):
        step(running)
        step(Service(database, clock=clock))
    points = [row.parameters for row in read.list_observations(running, "s", 0, 100).items]
    assert all(each["x"] * each["y"] <= 1 for each in points if "y" in each)
    assert all(("z" in each) == (each.get("kind") == "deep") for each in points)
    assert replay(running, "s").diverged == []
    assert list(examine(database)) == []


@in_sqlite
def test_correction_of_an_unknown_metric_is_rejected(running: Service) -> None:
    create(running, constrained())
    tell(running, None, 1.0, {"size": 1, "memory": 0, "latency": 2}, parameters={"x": 0, "y": 1})
    with pytest.raises(Invalid, match="/metrics/laten"):
        correct(running, "s", 1, CorrectionBody.model_validate({"metrics": {"laten": 1}}).changes())
