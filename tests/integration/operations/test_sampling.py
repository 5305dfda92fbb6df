"""Studies whose points are random or quasi-random: every kind of space that they support, replayed, edited and
assessed.
"""

from __future__ import annotations

from typing import Any

import pytest

from adabkb_service.operations.model.analysis import importance, validation
from adabkb_service.operations.model.assessment import assessment
from adabkb_service.operations.model.predict import recommendation
from adabkb_service.operations.model.why import why
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import SYSTEMS, ManualClock, definition
from tests.integration.operations.verbs import Ask, Failure, Value, edit, get, observe, suggest
from tests.samples import some

X = {"name": "x", "kind": "float", "low": 0, "high": 1}
Y = {"name": "y", "kind": "float", "low": 0, "high": 1}
N = {"name": "n", "kind": "int", "low": 1, "high": 100, "scale": "log"}
KIND = {"name": "kind", "kind": "categorical", "choices": ["a", "b"]}
MIXTURE = {"parameters": ["x", "y", "z"], "at_most": 2}
SPACES: dict[str, dict[str, Any]] = {
    "box": {"parameters": [X, N, KIND]},
    "constraints": {"parameters": [X, Y, KIND], "constraints": ["x + y <= 0.4", "not (kind == 'a' and x > 0.2)"]},
    "conditions": {"parameters": [KIND, {**X, "when": {"kind": ["a"]}}, {**N, "when": {"kind": ["b"]}}]},
    "catalogue": {"parameters": [X, {"name": "row", "kind": "catalogue", "table": "row,size\na,1\nb,2\nc,4"}]},
    "periodic": {"parameters": [{**X, "periodic": True}, {**KIND, "descriptors": {"size": [1, 2]}}]},
    "mixtures": {"parameters": [X, Y, {**Y, "name": "z"}, KIND], "mixtures": [MIXTURE]},
}


def evaluated(running: Service, count: int) -> list[dict[str, Any]]:
    found = []
    for number in range(count):
        (trial,) = suggest(running, "s", Ask()).view.trials
        assert trial.origin == "policy"
        outcome = Failure(trial.number) if number == 3 else Value(float(number % 4), trial.number)
        observe(running, "s", outcome)
        found.append(dict(trial.parameters))
    return found


@pytest.mark.parametrize(
    ("kind", "space"),
    some(
        [(kind, space) for kind in ("random", "sobol") for space in SPACES if (kind, space) != ("sobol", "mixtures")],
        [("random", "mixtures"), ("sobol", "constraints")],
    ),
)
def test_every_space_is_sampled_and_its_log_is_complete(
    database: Database, clock: ManualClock, running: Service, kind: str, space: str
) -> None:
    create(running, definition(algorithm=SYSTEMS[kind], seed=5, **SPACES[space]))
    points = evaluated(running, 12)
    assert len({str(point) for point in points}) == 12
    for point in points:
        if space == "constraints":
            assert point["x"] + point["y"] <= 0.4
            assert point["kind"] == "b" or point["x"] <= 0.2
        if space == "conditions":
            assert ("x" in point, "n" in point) == (point["kind"] == "a", point["kind"] == "b")
        if space == "mixtures":
            assert sum(point[name] for name in "xyz") == pytest.approx(1.0)
            assert sum(point[name] > 0 for name in "xyz") <= 2
    assert {point["kind"] for point in points if "kind" in point} in ({"a", "b"}, set())
    assert_log_is_complete(database, clock, running)


@pytest.mark.parametrize("kind", ["random", "sobol"])
def test_samples_have_their_context_and_finite_spaces_end(running: Service, kind: str) -> None:
    known = {"name": "wet", "kind": "float", "low": 0, "high": 1, "context": True}
    create(running, definition(algorithm=SYSTEMS[kind], parameters=[KIND, known]))
    found = [suggest(running, "s", Ask(context={"wet": 0.25})).view for _ in range(3)]
    assert [[trial.parameters["wet"] for trial in each.trials] for each in found] == [[0.25], [0.25], []]
    assert len(suggest(running, "s", Ask(context={"wet": 0.5})).view.trials) == 1


def test_sampled_study_can_be_edited(running: Service) -> None:
    create(running, definition(algorithm=SYSTEMS["sobol"], parameters=[X, N]))
    evaluated(running, 5)
    edit(running, {**X, "high": 0.5}, N)
    assert all(point["x"] <= 0.5 for point in evaluated(running, 6))


def test_sampled_studies_report_no_model(running: Service) -> None:
    create(running, definition(algorithm=SYSTEMS["random"], parameters=[X, N, KIND], direction="minimize"))
    evaluated(running, 9)
    best = recommendation(running, "s").model
    assert best is not None
    assert best.mean == 0.0
    study = get(running, "s")
    assert (study.best.value if study.best else None) == 0.0
    assert all(each.total == 0.0 for each in importance(running, "s").parameters)
    assert validation(running, "s").reason == "not_this_algorithm"
    found = assessment(running, "s")
    assert found.progress.expected is None
    assert found.latest is not None
    assert found.latest.phase == "sample"
    assert "chosen without a model" in found.latest.text
    assert "expect" not in found.progress.text + found.latest.text
    explained = why(running, "s", found.latest.trial).decision
    assert explained is not None
    assert explained.in_words == "The point is random or quasi-random, chosen without a model."
    assert found.outlook.gap is None
    assert found.outlook.probability is None
