"""The probability that a trial finishes: where it is learned, and that it changes no decision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adabkb_service.operations.model.analysis import slice_through
from adabkb_service.operations.model.predict import predict
from adabkb_service.operations.model.why import why
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Failure, OwnFailure, Value, observe, suggest

PARAMETERS = [{"name": name, "kind": "float", "low": 0, "high": 1} for name in ("x", "y")]


def study(running: Service, **changes: Any) -> None:
    create(running, definition(parameters=PARAMETERS, direction="maximize", seed=1, **changes))


def likely(running: Service, *points: tuple[float, float]) -> list[float | None]:
    found = predict(running, "s", [dict(zip("xy", point, strict=True)) for point in points]).predictions
    return [each.finish_probability for each in found]


def test_predictions_tell_where_trials_finish(database: Database, clock: ManualClock, running: Service) -> None:
    study(running)
    fails = [(0.7, 0.1), (0.9, 0.3), (0.75, 0.6), (0.95, 0.8), (0.8, 0.9)]
    finishes = [(0.1, 0.2), (0.3, 0.7), (0.45, 0.4), (0.2, 0.9), (0.4, 0.1)]
    for x, y in finishes:
        observe(running, "s", Value(x, parameters={"x": x, "y": y}))
    for x, y in fails[:2]:
        observe(running, "s", OwnFailure({"x": x, "y": y}))
    assert likely(running, (0.2, 0.5)) == [None], "two failures are too few"
    for x, y in fails[2:]:
        observe(running, "s", OwnFailure({"x": x, "y": y}))
    inside, outside = likely(running, (0.2, 0.5), (0.9, 0.6))
    assert inside is not None
    assert outside is not None
    assert (inside > 0.75, outside < 0.25) == (True, True)
    drawn = slice_through(running, "s", ["x"], 11, {}).predictions
    found = np.array([each.finish_probability for each in drawn], dtype=float)
    assert found[:5].min() > 0.75, "x is at most 0.4"
    assert found[7:].max() < 0.25, "x is at least 0.7"
    assert_log_is_complete(database, clock, running)


@pytest.mark.long
def test_the_probability_is_that_of_failures_that_do_not_depend_on_the_point(running: Service) -> None:
    study(running)
    rng = np.random.default_rng(0)
    for index, (x, y) in enumerate(rng.random((40, 2)).tolist()):
        observe(running, "s", OwnFailure({"x": x, "y": y}) if index % 2 else Value(x, parameters={"x": x, "y": y}))
    found = np.array(likely(running, *map(tuple, rng.random((20, 2)).tolist())), dtype=float)
    assert (np.abs(found - 0.5) < 0.35).all()
    assert abs(found.mean() - 0.5) < 0.1


@pytest.mark.long
def test_questions_change_no_decision_and_events_have_no_such_probability(running: Service) -> None:
    points = []
    for name in ("asked", "alone"):
        create(running, definition(id=name, parameters=PARAMETERS, direction="maximize", seed=1))
        for _ in range(12):
            (trial,) = suggest(running, name, Ask()).view.trials
            points.append(trial.parameters)
            assert trial.expected is None or trial.expected.finish_probability is None
            failed = trial.parameters["x"] > 0.4
            observe(running, name, Failure(trial.number) if failed else Value(trial.parameters["x"], trial.number))
            if name == "asked":
                predict(running, name, [{"x": 0.5, "y": 0.5}])
    assert points[:12] == points[12:]
    assert predict(running, "asked", [{"x": 1.0, "y": 0.5}]).predictions[0].finish_probability is not None


def test_the_explanation_has_the_probability_as_of_the_suggestion(running: Service) -> None:
    """Later results do not change it. Before enough trials had failed, there is none."""
    study(running)
    for x in (0.1, 0.3, 0.2):
        observe(running, "s", Value(x, parameters={"x": x, "y": x}))
    for x in (0.7, 0.8, 0.9):
        observe(running, "s", OwnFailure({"x": x, "y": x}))
    (trial,) = suggest(running, "s", Ask()).view.trials
    (then,) = likely(running, (trial.parameters["x"], trial.parameters["y"]))
    assert then is not None
    assert _explained(running, trial.number) == then
    observe(running, "s", Value(1.0, trial.number))
    observe(running, "s", OwnFailure({"x": 0.5, "y": 0.5}))
    assert likely(running, (trial.parameters["x"], trial.parameters["y"])) != [then]
    assert _explained(running, trial.number) == then
    create(running, definition(id="young"))
    suggest(running, "young", Ask())
    decision = why(running, "young", 1).decision
    assert decision is not None
    assert decision.finish_probability is None


def _explained(running: Service, trial: int) -> float | None:
    decision = why(running, "s", trial).decision
    return None if decision is None else decision.finish_probability
