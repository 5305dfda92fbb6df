"""The ``auto`` profile as a study lives it: finite spaces, noise that is declared, what it says of itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from adabkb_service.contract.answers import Learned
from adabkb_service.contract.results import Failure, Value
from adabkb_service.inference import proposals as propose
from adabkb_service.operations import report
from adabkb_service.operations.correct import correct
from adabkb_service.operations.manage import create, get
from adabkb_service.operations.observe import observe
from adabkb_service.operations.service import Service
from adabkb_service.operations.suggest import SuggestRequest, suggest
from tests.operations.conftest import definition

SIX_POINTS = [
    {"name": "layers", "kind": "int", "low": 1, "high": 3},
    {"name": "bias", "kind": "bool"},
]


def drain(running: Service) -> list[tuple[object, object]]:
    """Trials are asked for and told until none comes."""
    found = []
    while trials := suggest(running, "s", SuggestRequest(count=2)).view.trials:
        for trial in trials:
            layers, bias = trial.parameters["layers"], trial.parameters["bias"]
            found.append((layers, bias))
            observe(running, "s", Value((layers - 2) ** 2 + bias, trial.number))
    return found


def test_a_finite_space_is_handed_out_once_and_completes_the_study(running: Service) -> None:
    create(running, definition(parameters=SIX_POINTS))
    assert sorted(drain(running)) == [(layers, bias) for layers in (1, 2, 3) for bias in (False, True)]
    over = get(running, "s")
    assert (over.state, over.reason) == ("complete", "exhausted")
    assert suggest(running, "s", SuggestRequest()).view.reason == "exhausted"
    found = report.recommendation(running, "s")
    assert found.model is not None
    assert found.model.parameters == {"layers": 2, "bias": False}


def test_a_batch_that_takes_too_long_is_filled_up_with_other_points(
    running: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine decides on the first only; the others are flagged, and no point comes twice."""
    monkeypatch.setattr(propose, "SECONDS", 0.0)
    create(running, definition(parameters=SIX_POINTS))
    trials = suggest(running, "s", SuggestRequest(count=6)).view.trials
    assert [trial.origin for trial in trials] == ["policy", *["fallback"] * 5]
    assert len({tuple(trial.parameters.values()) for trial in trials}) == 6


def test_an_exhausted_study_waits_for_the_points_that_are_out(running: Service) -> None:
    """All points handed out: no new one, but the study is over only when the last result is in or has failed."""
    create(running, definition(parameters=SIX_POINTS))
    answer = suggest(running, "s", SuggestRequest(count=10)).view
    assert (len(answer.trials), answer.reason, answer.study.state) == (6, "exhausted", "running")
    for trial in answer.trials[:5]:
        observe(running, "s", Value(1.0, trial.number))
    assert get(running, "s").state == "running"
    observe(running, "s", Failure(6, reason="diverged"))
    assert get(running, "s").state == "complete"


def test_a_point_that_becomes_free_again_reopens_the_study(running: Service) -> None:
    """A correction that excludes a result: its point has none any more and is handed out again."""
    create(running, definition(parameters=SIX_POINTS))
    first = drain(running)[0]
    correct(running, "s", 1, {"excluded": True})
    assert get(running, "s").state == "running"
    assert drain(running) == [first]


def test_declared_noise_makes_replicates_worth_asking_for(running: Service) -> None:
    create(running, definition(parameters=SIX_POINTS, noise_std=0.5, budget=20))
    found = drain(running)
    assert len(found) == 20
    assert len(set(found)) == 6
    assert get(running, "s").reason == "budget"


def test_a_result_with_a_large_standard_error_moves_the_model_less(running: Service) -> None:
    """The same results but for the standard error of one that stands out."""
    means = []
    for study, std_error in (("sure", None), ("unsure", 5.0)):
        create(running, definition(id=study))
        for x in (-1.0, -0.5, 0.0, 1.0, 1.5, 2.0):
            observe(running, study, Value(x * x, parameters={"x": x, "y": 1.0}))
        observe(running, study, Value(3.0, parameters={"x": 0.5, "y": 1.0}, std_error=std_error))
        [prediction] = report.predict(running, study, [{"x": 0.5, "y": 1.0}]).view.predictions
        means.append(prediction.mean)
    assert means[0] == pytest.approx(3.0, abs=0.1)
    assert means[1] < 1.5


def test_the_model_says_what_it_has_learned(running: Service) -> None:
    """x matters, y does not: y's lengthscale is the longer by far. Figures are finite JSON in the objective's units."""
    create(running, definition(direction="maximize"))
    blank = report.model(running, "s")
    assert isinstance(blank.learned, Learned)
    assert (blank.learned.count, blank.gap, blank.observations) == (0, None, 0)
    rng = np.random.default_rng(0)
    for _ in range(25):
        x, y = float(rng.uniform(-1, 2)), float(10 ** rng.uniform(-2, 2))
        observe(running, "s", Value(1000 * math.sin(4 * x), parameters={"x": x, "y": y}))
    model = report.model(running, "s")
    assert isinstance(model.learned, Learned)
    assert model.learned.lengthscales[1] > 5 * model.learned.lengthscales[0]
    assert (model.dictionary, model.points) == (25, 25)
    assert model.gap is not None
    best = get(running, "s").best
    assert best is not None
    assert model.gap > 1000 - best.value
    [at_best] = report.predict(running, "s", [best.parameters]).view.predictions
    assert at_best.lcb <= at_best.mean <= at_best.ucb
    assert at_best.mean == pytest.approx(best.value, abs=50)
