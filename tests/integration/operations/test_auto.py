"""The ``auto`` profile in studies: finite spaces, declared noise, and statistics."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

from adabkb_service.contract.model import Learned
from adabkb_service.engine.auto import learning
from adabkb_service.inference.decisions import Decisions
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.model import predict
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from tests.calls import watching
from tests.conftest import on_either
from tests.integration.operations.conftest import definition
from tests.integration.operations.verbs import Ask, Failure, Value, correct, get, observe, suggest

SIX_POINTS = [
    {"name": "layers", "kind": "int", "low": 1, "high": 3},
    {"name": "bias", "kind": "bool"},
]


def drain(running: Service) -> list[tuple[object, object]]:
    """Suggest and observe until no trial is issued."""
    found = []
    while trials := suggest(running, "s", Ask(count=2)).view.trials:
        for trial in trials:
            layers, bias = trial.parameters["layers"], trial.parameters["bias"]
            found.append((layers, bias))
            observe(running, "s", Value((layers - 2) ** 2 + bias, trial.number))
    return found


def test_finite_space_is_issued_once_and_completes_the_study(running: Service) -> None:
    create(running, definition(parameters=SIX_POINTS))
    assert sorted(drain(running)) == [(layers, bias) for layers in (1, 2, 3) for bias in (False, True)]
    over = get(running, "s")
    assert (over.state, over.reason) == ("complete", "exhausted")
    assert suggest(running, "s", Ask()).view.reason == "exhausted"
    found = predict.recommendation(running, "s")
    assert found.model is not None
    assert found.model.parameters == {"layers": 2, "bias": False}


def test_slow_batch_is_completed_with_fallback_points(time_limited: Service) -> None:
    """The engine suggests only the first point in time; the others are flagged, and no point is issued twice."""
    create(time_limited, definition(parameters=SIX_POINTS))
    trials = suggest(time_limited, "s", Ask(count=6)).view.trials
    assert [trial.origin for trial in trials] == ["policy", *["fallback"] * 5]
    assert len({tuple(trial.parameters.values()) for trial in trials}) == 6


def test_exhausted_study_waits_for_pending_points(running: Service) -> None:
    """If all points are issued, there is no new one, but the study ends only after the last result or failure."""
    create(running, definition(parameters=SIX_POINTS))
    answer = suggest(running, "s", Ask(count=10)).view
    assert (len(answer.trials), answer.reason, answer.study.state) == (6, "exhausted", "running")
    for trial in answer.trials[:5]:
        observe(running, "s", Value(1.0, trial.number))
    assert get(running, "s").state == "running"
    observe(running, "s", Failure(6, reason="diverged"))
    assert get(running, "s").state == "complete"


def test_excluded_result_reopens_an_exhausted_study(running: Service) -> None:
    """The point of an excluded result is issued again."""
    create(running, definition(parameters=SIX_POINTS))
    first = drain(running)[0]
    correct(running, "s", 1, {"excluded": True})
    assert get(running, "s").state == "running"
    assert drain(running) == [first]


def test_declared_noise_gives_replicates(running: Service) -> None:
    create(running, definition(parameters=SIX_POINTS, noise_std=0.5, budget=20))
    found = drain(running)
    assert len(found) == 20
    assert len(set(found)) == 6
    assert get(running, "s").reason == "budget"


def test_result_with_a_large_standard_error_has_less_weight(running: Service) -> None:
    """The same results, except for the standard error of an outlier. With it, the prediction is nearer to the
    parabola of the other results.
    """
    means = []
    for study, std_error in (("sure", None), ("unsure", 5.0)):
        create(running, definition(id=study))
        for x in (-1.0, -0.5, 0.0, 1.0, 1.5, 2.0):
            observe(running, study, Value(x * x, parameters={"x": x, "y": 1.0}))
        observe(running, study, Value(3.0, parameters={"x": 0.5, "y": 1.0}, std_error=std_error))
        [prediction] = predict.predict(running, study, [{"x": 0.5, "y": 1.0}]).predictions
        assert prediction.mean is not None
        means.append(prediction.mean)
    parabola = 0.25
    assert abs(means[1] - parabola) < (means[0] - parabola) / 2.0


def test_model_reports_its_learned_parameters(running: Service) -> None:
    """x matters and y does not, so x has nearly all of the variance. Statistics are finite, in the objective's
    units.
    """
    create(running, definition(direction="maximize"))
    blank = predict.model(running, "s")
    assert isinstance(blank.learned, Learned)
    assert (blank.learned.count, blank.gap, blank.observations) == (0, None, 0)
    rng = np.random.default_rng(0)
    for _ in range(25):
        x, y = float(rng.uniform(-1, 2)), float(10 ** rng.uniform(-2, 2))
        observe(running, "s", Value(1000 * math.sin(4 * x), parameters={"x": x, "y": y}))
    model = predict.model(running, "s")
    assert isinstance(model.learned, Learned)
    assert model.learned.additive is not None
    assert model.learned.additive.shares[0] > 5 * model.learned.additive.shares[1]
    assert (model.dictionary, model.points) == (25, 25)
    assert model.gap is not None
    best = get(running, "s").best
    assert best is not None
    assert model.gap > 1000 - best.value
    [at_best] = predict.predict(running, "s", [best.parameters]).predictions
    assert at_best.lcb is not None
    assert at_best.mean is not None
    assert at_best.ucb is not None
    assert at_best.lcb <= at_best.mean <= at_best.ucb
    assert at_best.mean == pytest.approx(best.value, abs=50)


@pytest.mark.long
def test_each_hyperparameter_search_runs_once_and_after_the_suggestion(running: Service) -> None:
    """It is not repeated for the state after a prefetched point."""
    create(running, definition())
    searched, steps = list[int](), list[str]()

    def note_search(call: FrameType, step: str) -> None:
        if step == "call":
            searched.append(call.f_locals["record"].size)
            steps.append("search")

    def note_decision(_: FrameType, step: str) -> None:
        if step == "call":
            steps.append("decide")

    with watching({learning.with_learned_hyperparameters: note_search, Decisions.decide: note_decision}):
        for number in range(40):
            (trial,) = suggest(running, "s", Ask()).view.trials
            if number == learning.SMALL:
                searched.clear()
                steps.clear()
            observe(running, "s", Value(float(trial.parameters["x"]) ** 2 + number % 3, trial.number))
    assert searched
    assert len(searched) == len(set(searched))
    assert steps[0] == "decide"
    assert "search search" not in " ".join(steps)


MOVES: dict[str, tuple[dict[str, Any], Callable[[Any], Any]]] = {
    "float": ({"kind": "float", "low": 0, "high": 10}, round),
    "log": (
        {"kind": "float", "low": 0.01, "high": 100, "scale": "log"},
        lambda value: 10.0 ** round(math.log10(value)),
    ),
    "int": ({"kind": "int", "low": 0, "high": 1000}, lambda n: n // 50 * 50),
    "ordinal": ({"kind": "ordinal", "values": [1, 2, 4, 8, 16, 32]}, lambda _: 4),
    "categorical": ({"kind": "categorical", "choices": ["a", "b", "c", "d", "e", "f"]}, lambda _: "c"),
}


@on_either("kind", MOVES, ["ordinal"])
@pytest.mark.parametrize("noise_std", [None, pytest.param(0.1, marks=pytest.mark.long)])
def test_suggested_point_is_not_repeated_if_a_similar_one_was_run(
    running: Service, kind: str, noise_std: float | None
) -> None:
    """People round suggested values or use similar ones. The result belongs to the evaluated point, which may be
    repeated if noise is declared.
    """
    parameter, moved = MOVES[kind]
    parameters = [{"name": "p", **parameter}, SIX_POINTS[1]]
    create(running, definition(parameters=parameters, noise_std=noise_std))
    replaced: list[dict[str, Any]] = []
    for _ in range(12):
        for trial in suggest(running, "s", Ask()).view.trials:
            assert trial.parameters not in replaced
            run = {**trial.parameters, "p": moved(trial.parameters["p"])}
            if run != trial.parameters:
                replaced.append(trial.parameters)
            observe(running, "s", Value(float(len(str(run["p"]))) + run["bias"], trial.number, parameters=run))
    assert len(replaced) >= 4
    assert replay(running, "s").diverged == []
