"""Degenerate inputs give finite numbers, and the search continues."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.state.state import State
from tests.samples import some
from tests.unit.engine.auto.drive import run
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]


def assert_finite(state: State) -> None:
    dimension = state.problem.space.dimension
    prediction = auto.predict(state, np.random.default_rng(0).random((20, dimension)))
    assert np.isfinite([prediction.mean, prediction.std, prediction.lcb, prediction.ucb]).all()
    report = auto.report(state)
    assert np.isfinite([report.beta, report.effective_dimension, report.offset, report.scale]).all()
    assert report.gap is None or 0.0 <= report.gap < np.inf
    assert report.scale > 0
    recommendation = auto.recommend(state)
    assert recommendation is not None
    assert np.isfinite([recommendation.mean, recommendation.std]).all()
    assert np.isfinite(auto.suggest(state, np.zeros((0, dimension))).point).all()


@pytest.mark.parametrize("spacing", some([0.0, 1e-16, 1e-12, 1e-8, 1e-4], [0.0, 1e-12]))
def test_repeated_and_nearly_repeated_points(spacing: float) -> None:
    """120 results at one point, or along a line of points so close that their rows are numerically equal: the model
    predicts their mean there, with its standard error."""
    state = auto.start(unit_space(2), Config(), 0)
    for i in range(120):
        state = auto.observe(state, np.array([0.3, 0.3]) + i * spacing, float(i % 3)).state
    assert_finite(state)
    prediction = auto.predict(state, np.array([[0.3, 0.3]]) + 60 * spacing)
    np.testing.assert_allclose(prediction.mean, 1.0, atol=0.1)
    np.testing.assert_allclose(prediction.std, np.std([0.0, 1.0, 2.0]) / np.sqrt(120), rtol=0.25)
    assert auto.report(state).points == (1 if spacing == 0.0 else len({0.3 + i * spacing for i in range(120)}))


@pytest.mark.parametrize(
    "constant", [0.0, -1e-300, *(pytest.param(each, marks=pytest.mark.long) for each in (1.0, 1e300))]
)
def test_constant_outputs(constant: float) -> None:
    """The search spreads 25 different points over the box, and predictions equal the constant."""
    result = run(unit_space(2), lambda _: constant, 25)
    assert_finite(result.state)
    assert auto.report(result.state).gap is None
    points = np.array(result.points)
    assert len(np.unique(points, axis=0)) == 25
    assert (np.ptp(points, axis=0) > 0.5).all()
    mean = auto.predict(result.state, np.random.default_rng(1).random((10, 2))).mean
    np.testing.assert_allclose(mean, constant, rtol=1e-6)


@pytest.mark.parametrize(
    "objective",
    [lambda u: 1e300 * float(u[0] - 0.5), lambda u: 1e-300 * float(u[0]), lambda u: 1e9 + 1e-6 * float(u[0])],
    ids=["huge", "tiny", "offset"],
)
def test_extreme_outputs(objective: Callable[[Array], float]) -> None:
    """The search still follows the slope to its end."""
    result = run(unit_space(2), objective, 25)
    assert_finite(result.state)
    assert max(point[0] for point in result.points) > 0.95


def test_long_noise_free_run_near_a_sharp_optimum() -> None:
    """After 100 noise-free results close to the optimum, the covariance matrix is nearly singular."""
    result = run(unit_space(2), lambda u: -(float(np.abs(u - 0.377).sum()) ** 0.5), 100)
    assert_finite(result.state)
    assert len(np.unique(np.array(result.points), axis=0)) == 100
