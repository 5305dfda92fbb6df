"""Several objectives: reported, corrected, predicted, exported, imported and replayed; and features that cannot be
combined with them.
"""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest
from pydantic import ValidationError

from adabkb_service.contract.answers import Observed
from adabkb_service.contract.requests import PatchStudyBody, PointValueBody, TrialValueBody
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.errors import Invalid, ResultConflict
from adabkb_service.operations.data import export
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.importing import import_study
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.data.trash import delete
from adabkb_service.operations.model import analysis, front, predict
from adabkb_service.operations.model.assessment import assessment
from adabkb_service.operations.model.why import why
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from tests.integration.operations.conftest import SYSTEMS, ManualClock, definition
from tests.integration.operations.verbs import Ask, Failure, change, correct, get, observe, suggest

OBJECTIVES: list[dict[str, Any]] = [
    {"metric": "error", "direction": "minimize"},
    {"metric": "speed", "direction": "maximize", "reference": -3.0},
]
in_sqlite = pytest.mark.parametrize("migrated_url", ["sqlite"], indirect=True)


def several(**changes: Any) -> StudyDefinition:
    body = {**definition().model_dump(mode="json"), "objectives": OBJECTIVES, **changes}
    return StudyDefinition.model_validate(
        {name: value for name, value in body.items() if name != "direction" or name in changes}
    )


def measured(point: dict[str, Any]) -> dict[str, float]:
    return {"error": (point["x"] - 1.0) ** 2, "speed": -((point["x"] + 0.5) ** 2)}


def tell(running: Service, trial: int | None, metrics: Any, **more: Any) -> Observed:
    kind = PointValueBody if trial is None else TrialValueBody
    body = kind.model_validate({"metrics": metrics, **more, **({"trial": trial} if trial else {})})
    return observe(running, "s", body).view


def step(running: Service) -> None:
    for trial in suggest(running, "s", Ask(2)).view.trials:
        if trial.number % 7 == 0:
            observe(running, "s", Failure(trial.number))
        elif trial.number % 6:
            tell(running, trial.number, measured(trial.parameters), std_errors={"error": 0.01})


@pytest.mark.long
def test_objectives_survive_restart_correction_export_import_and_replay(
    database: Database, clock: ManualClock, running: Service
) -> None:
    create(running, several(metrics=["size"], outcome_constraints=[{"metric": "heat", "upper": 1.0}]))
    more = {"size": 1.0, "heat": 0.5}
    for trial in suggest(running, "s", Ask(3)).view.trials:
        tell(running, trial.number, {**measured(trial.parameters), **more, "heat": float(trial.number)})
    correct(running, "s", 2, {"metrics": {"heat": 0.5}})
    correct(running, "s", 3, {"excluded": True})
    for trial in suggest(Service(database, clock=clock), "s", Ask(3)).view.trials:
        tell(running, trial.number, {**measured(trial.parameters), **more})
    assert list(examine(database)) == []
    assert replay(running, "s").diverged == []
    shown = front.front(running, "s")
    assert [each.observation for each in shown.observed] == sorted({each.observation for each in shown.observed})
    assert 1 not in {each.observation for each in shown.observed} or measured(shown.observed[0].parameters)
    lines = list(export.json_lines(running, "s"))
    delete(running, "s")
    import_study(database, lines)
    again = Service(database, clock=clock)
    assert list(examine(database)) == []
    assert front.front(again, "s") == shown
    assert replay(again, "s").diverged == []
    (trial,) = suggest(again, "s", Ask(1)).view.trials
    tell(again, trial.number, {**measured(trial.parameters), **more})


@in_sqlite
def test_front_has_nondominated_results_and_the_hypervolume_over_time(running: Service) -> None:
    create(running, several())
    empty = front.front(running, "s")
    assert (empty.hypervolume, empty.history, empty.observed, empty.model) == (None, [], [], [])
    for number, (error, speed) in enumerate([(4.0, 0.0), (2.0, -1.0), (3.0, -2.0), (1.0, -2.0), (9.0, -9.0)]):
        tell(running, None, {"error": error, "speed": speed}, parameters={"x": number / 4, "y": 1.0})
    found = front.front(running, "s")
    assert [each.observation for each in found.observed] == [1, 2, 4]
    assert [(each.metric, each.reference, each.learned) for each in found.objectives] == [
        ("error", 9.0, True),
        ("speed", -3.0, False),
    ]
    assert [(each.observation, each.hypervolume) for each in found.history] == [(1, 15.0), (2, 19.0), (4, 20.0)]
    assert (found.results, found.hypervolume) == (5, 20.0)
    assert {each.metrics["speed"].mean for each in found.model}
    assert all(0.0 <= each.probability <= 1.0 for each in found.model)
    assert predict.recommendation(running, "s").front == found.model
    correct(running, "s", 1, {"excluded": True})
    assert [each.observation for each in front.front(running, "s").observed] == [2, 4]


@in_sqlite
def test_front_leaves_out_results_beyond_a_reference_unless_there_are_no_others(running: Service) -> None:
    create(running, several())
    shown = []
    for number, (error, speed) in enumerate([(0.4, -5.0), (0.5, -3.0), (2.0, -1.0), (9.0, 0.0)]):
        tell(running, None, {"error": error, "speed": speed}, parameters={"x": number / 4, "y": 1.0})
        shown.append([each.observation for each in front.front(running, "s").observed])
    assert shown == [[1], [1, 2], [3], [3, 4]]
    told = assessment(running, "s").progress.text
    assert "Best error 2, best speed 0 among the results that are better than the worst useful values." in told
    assert "2 results are best compromises: no other of these results is at least as good" in told


@pytest.mark.long
@in_sqlite
def test_each_objective_is_learned_with_its_own_noise(running: Service) -> None:
    noises = {"exact": (0.0, 0.0), "first": (0.5, 0.0), "second": (0.0, 0.5)}
    deviations: dict[str, list[float]] = {}
    for name, declared in noises.items():
        objectives = [{**each, "noise_std": noise} for each, noise in zip(OBJECTIVES, declared, strict=True)]
        create(running, several(id=name, objectives=objectives))
        for number in range(8):
            point = {"x": number / 8, "y": 1.0}
            observe(running, name, PointValueBody(parameters=point, metrics=measured(point)))
        (found,) = predict.predict(running, name, [{"x": 0.5, "y": 1.0}]).predictions
        deviations[name] = [each.std for each in (found.metrics or {}).values()]
    exact, first, second = deviations.values()
    assert first[0] > 10.0 * exact[0]
    assert first[1] == exact[1]
    assert second[0] == exact[0]
    assert second[1] > 10.0 * exact[1]


@in_sqlite
def test_model_queries_cover_each_objective(running: Service) -> None:
    create(running, several())
    for _ in range(6):
        step(running)
    (found,) = predict.predict(running, "s", [{"x": 0.25, "y": 1.0}]).predictions
    assert found.mean is None
    assert list(found.metrics or {}) == ["error", "speed"]
    assert found.metrics is not None
    assert found.metrics["error"].mean == pytest.approx(0.5625, abs=0.5)
    assert analysis.importance(running, "s", "speed").parameters[0].total > 0.5
    cells, _ = analysis.partition(running, "s", 0, 10, "leaf", "error")
    assert cells
    assert {cell.index for cell in cells} == {None}
    assert analysis.slice_through(running, "s", ["x"], 5, {}).predictions[0].metrics
    (trial,) = suggest(running, "s", Ask(1)).view.trials
    decision = why(running, "s", trial.number).decision
    assert decision is not None
    assert (decision.best, decision.gain) == (None, None)
    assert "The model expected error" in decision.in_words
    study = get(running, "s")
    assert (study.best, study.gap, study.direction) == (None, None, None)
    for ask in (lambda: analysis.importance(running, "s"), lambda: analysis.partition(running, "s", 0, 1, None)):
        with pytest.raises(Invalid, match=r"one of error, speed"):
            ask()


def test_results_and_tables_have_metrics_and_no_value(running: Service) -> None:
    create(running, several())
    (trial,) = suggest(running, "s", Ask(1)).view.trials
    answer = tell(running, trial.number, {"error": 1.0, "speed": 2.0}, std_errors={"speed": 0.5})
    assert "value" not in answer.model_dump(mode="json")["observation"]
    assert tell(running, trial.number, {"error": 1.0, "speed": 2.0}, std_errors={"speed": 0.5}) == answer
    with pytest.raises(ResultConflict, match="error"):
        tell(running, trial.number, {"error": 3.0, "speed": 2.0}, std_errors={"speed": 0.5})
    (line,) = csv.DictReader("".join(export.csv_rows(running, "s")).splitlines())
    assert (line["value"], line["metrics.error"], line["std_errors.speed"]) == ("", "1.0", "0.5")
    events = json.dumps([event.payload for event in read.list_events(running, "s", 0, 10).items][1:])
    assert '"value"' not in events


@in_sqlite
@pytest.mark.parametrize(
    ("result", "pointers"),
    [
        ({"value": 1.0, "metrics": {"error": 1, "speed": 1}}, ["/value"]),
        ({"std_error": 1.0, "metrics": {"error": 1, "speed": 1}}, ["/std_error"]),
        ({"metrics": {"error": 1}}, ["/metrics/speed"]),
    ],
)
def test_results_without_the_objectives_are_rejected(
    running: Service, result: dict[str, Any], pointers: list[str]
) -> None:
    create(running, several())
    with pytest.raises(Invalid) as refusal:
        observe(running, "s", PointValueBody.model_validate({"parameters": {"x": 0, "y": 1}, **result}))
    assert [fault.pointer for fault in refusal.value.errors] == pointers
    assert get(running, "s").counts.observations == 0


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        *(({"algorithm": SYSTEMS[name]}, "algorithm") for name in ("paper", "gp-threds")),
        ({"direction": "minimize"}, "direction"),
        ({"noise_std": 0.1}, "noise_std"),
        ({"objectives": [{**OBJECTIVES[0], "noise_std": -0.1}, OBJECTIVES[1]]}, "objectives"),
        ({"tolerance": 0.1}, "tolerance"),
        ({"stop": {"gap_share_below": 0.1}}, "stop"),
        ({"early_stopping": {"rule": "asha", "max_steps": 9}}, "early_stopping"),
        ({"early_stopping": {"rule": "asha", "max_steps": 9, "metric": "size"}}, "early_stopping"),
        ({"metrics": ["error"]}, "metrics"),
        ({"outcome_constraints": [{"metric": "speed", "lower": 1}]}, "outcome_constraints"),
        ({"objectives": OBJECTIVES[:1]}, "objectives"),
        ({"objectives": OBJECTIVES[:1] * 2}, "objectives"),
        ({"objectives": []}, "objectives"),
    ],
)
def test_incompatible_features_are_rejected_with_their_field(changes: dict[str, Any], where: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        several(**changes)
    assert [fault["loc"][0] for fault in refusal.value.errors()] == [where]


@in_sqlite
def test_stop_rules_are_rejected_later_and_single_objectives_have_no_front(running: Service) -> None:
    create(running, several())
    with pytest.raises(Invalid, match="use a budget"):
        change(running, "s", {"tolerance": 1.0})
    create(running, definition(id="one"))
    with pytest.raises(Invalid, match="the recommendation is its best point"):
        front.front(running, "one")
    with pytest.raises(Invalid, match="is required"):
        observe(running, "one", PointValueBody.model_validate({"parameters": {"x": 0, "y": 1}, "metrics": {"a": 1}}))
    with pytest.raises(ValidationError, match="is required"):
        PointValueBody.model_validate({"parameters": {"x": 0, "y": 1}})


def test_result_outside_an_edited_space_is_not_on_the_front(running: Service) -> None:
    create(running, several())
    for x in (0.0, 0.5, 1.0):
        tell(running, None, measured({"x": x}), parameters={"x": x, "y": 1.0})
    assert [each.observation for each in front.front(running, "s").observed] == [1, 2, 3]
    narrowed = {"name": "x", "kind": "float", "low": 0.25, "high": 2}
    change(running, "s", PatchStudyBody.model_validate({"parameters": [narrowed]}).changes())
    found = front.front(running, "s")
    assert [each.observation for each in found.observed] == [2, 3]
    assert found.results == 2
