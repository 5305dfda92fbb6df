"""After a correction, the model is the same as without the mistake."""

from __future__ import annotations

import math

import numpy as np
import pytest

from adabkb_service.operations.model.predict import predict, recommendation
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from tests.integration.operations.conftest import definition
from tests.integration.operations.verbs import Value, correct, observe
from tests.samples import some

POINTS = [{"x": -0.9 + 0.2 * i, "y": 0.02 * 1.7**i} for i in range(14)]
SOMEWHERE = [{"x": -0.5, "y": 1.0}, {"x": 1.5, "y": 40.0}, POINTS[3]]
WRONG, PLACE = 1000.0, 6


def objective(point: dict[str, float]) -> float:
    return math.sin(3 * point["x"]) + (math.log(point["y"]) - 1) ** 2


def study_with_results(running: Service, study_id: str, profile: str, wrong: dict[int, float]) -> None:
    """A study with the results at all points, some of them corrected."""
    create(running, definition(id=study_id, algorithm={"profile": profile}))
    for i, point in enumerate(POINTS):
        observe(running, study_id, Value(wrong.get(i, objective(point)), parameters=point))


def model_of(running: Service, study_id: str) -> list[tuple[float, float]]:
    return [(found.mean or 0.0, found.std or 0.0) for found in predict(running, study_id, SOMEWHERE).predictions]


@pytest.mark.parametrize("profile", some(["auto", "paper"], ["auto"]))
def test_corrected_value_leaves_no_trace(running: Service, profile: str) -> None:
    study_with_results(running, "right", profile, {})
    study_with_results(running, "wrong", profile, {PLACE: WRONG})
    assert not np.allclose(model_of(running, "wrong"), model_of(running, "right"), rtol=0.1)
    correct(running, "wrong", PLACE + 1, {"value": objective(POINTS[PLACE])}, "misread")
    expected, found = np.array(model_of(running, "right")), np.array(model_of(running, "wrong"))
    # Hyperparameters are fitted from another start, so they agree only up to a part of the uncertainty.
    assert np.abs(found[:, 0] - expected[:, 0]).max() <= 0.05 * expected[:, 1].max()
    assert found[:, 1] == pytest.approx(expected[:, 1], rel=0.05)
    assert recommendation(running, "wrong").observed == recommendation(running, "right").observed


@pytest.mark.parametrize("profile", some(["auto", "paper"], ["paper"]))
def test_model_after_a_correction_does_not_depend_on_the_mistake(running: Service, profile: str) -> None:
    """Exactly: it depends on the current results, not on their history."""
    for study_id, place, wrong in (("low", 2, -WRONG), ("high", 9, WRONG)):
        study_with_results(running, study_id, profile, {place: wrong})
        correct(running, study_id, place + 1, {"excluded": True})
        correct(running, study_id, place + 1, {"value": objective(POINTS[place]), "excluded": False})
    assert model_of(running, "low") == model_of(running, "high")
