"""Degenerate inputs give accurate predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.answers import Prediction, Recommendation
from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.paper.config import Config
from adabkb_service.engine.paper.policy import State, ada_bkb
from adabkb_service.engine.space import Space
from tests.samples import some
from tests.unit.engine.drive import run
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]


def assert_finite(state: State) -> None:
    """Assert that the report and predictions at twenty random points are finite."""
    dimension = state.problem.space.dimension
    prediction = ada_bkb.predict(state, np.random.default_rng(0).random((20, dimension)))
    for numbers in (prediction.mean, prediction.std, prediction.lcb, prediction.ucb):
        assert np.isfinite(numbers).all()
    report = ada_bkb.report(state)
    assert report.gap is not None
    assert np.isfinite([report.gap, report.beta, report.effective_dimension, report.offset, report.scale]).all()
    assert report.scale > 0


def assert_fits(state: State, points: Sequence[Array] | Array, values: Sequence[float], within: float) -> None:
    """Assert that the posterior mean at these points is close to the values, relative to their standard deviation."""
    assert_finite(state)
    mean = ada_bkb.predict(state, np.array(points)).mean
    assert np.abs(mean - values).max() <= within * ada_bkb.report(state).scale


def recommended(state: State) -> Recommendation:
    found = ada_bkb.recommend(state)
    assert found is not None
    return found


def at(state: State, point: Sequence[float]) -> Prediction:
    return ada_bkb.predict(state, np.array([point]))


@pytest.mark.parametrize("ridge", [1e-9, 1e-3])
def test_repeated_results_at_one_point_are_averaged(ridge: float) -> None:
    """After n results at one point, the posterior variance is scale^2 * ridge / (n + ridge)."""
    state = ada_bkb.start(unit_space(2), Config(ridge=ridge), 0)
    values = [float(i % 3) for i in range(300)]
    for value in values:
        state = ada_bkb.observe(state, np.array([0.3, 0.3]), value).state
    assert_finite(state)
    report, here, away = ada_bkb.report(state), at(state, (0.3, 0.3)), at(state, (0.9, 0.9))
    assert report.points == 1
    assert (report.offset, report.scale) == pytest.approx((np.mean(values), np.std(values)))
    assert here.mean == pytest.approx(np.mean(values))
    assert here.std == pytest.approx(report.scale * np.sqrt(ridge / (300 + ridge)), rel=1e-3)
    assert away.std == pytest.approx(report.scale, rel=0.01)
    assert recommended(state).point == pytest.approx((0.3, 0.3))
    assert recommended(state).mean == pytest.approx(np.mean(values))


@pytest.mark.parametrize("ridge", some([1e-9, 1e-3], [1e-9]))
@pytest.mark.parametrize("spacing", [1e-16, 1e-12, 1e-8, 1e-4])
def test_near_duplicates_are_averaged(ridge: float, spacing: float) -> None:
    state = ada_bkb.start(unit_space(2), Config(ridge=ridge, qbar=5.0), 0)
    points = [np.array([0.3, 0.3]) + i * spacing for i in range(60)]
    values = np.sin(np.arange(60))
    for point, value in zip(points, values, strict=True):
        state = ada_bkb.observe(state, point, float(value)).state
        ada_bkb.suggest(state, np.zeros((0, 2)))
    assert_finite(state)
    fitted = ada_bkb.predict(state, np.array(points))
    assert np.square(fitted.mean - values).mean() <= values.var() * (1 + 1e-6), "at least as accurate as the average"
    assert at(state, (0.9, 0.9)).std == pytest.approx(ada_bkb.report(state).scale, rel=0.01)
    if spacing <= 1e-12:  # the kernel cannot distinguish these points
        assert fitted.mean == pytest.approx(np.full(60, values.mean()), abs=1e-6)
        assert fitted.std == pytest.approx(np.full(60, values.std() * np.sqrt(ridge / 60)), rel=0.01)


@pytest.mark.parametrize("constant", [0.0, 1.0, -1e-300, 1e300])
def test_constant_outputs_are_predicted_everywhere(constant: float) -> None:
    result = run(unit_space(2), Config(), lambda _: constant, 40)
    assert_finite(result.state)
    report = ada_bkb.report(result.state)
    prediction = ada_bkb.predict(result.state, np.random.default_rng(0).random((20, 2)))
    assert (report.offset, report.scale) == (constant, abs(constant) or 1.0)
    assert prediction.mean == pytest.approx(np.full(20, constant), rel=1e-9)
    assert recommended(result.state).mean == pytest.approx(constant, rel=1e-9)
    assert recommended(result.state).std < 0.02 * report.scale
    assert (prediction.std <= report.scale).all()
    assert report.points == 40, "no point looks better than another one, so each suggestion is a new point"


@pytest.mark.parametrize(
    "objective",
    [lambda u: 1e300 * float(u[0] - 0.5), lambda u: 1e-300 * float(u[0]), lambda u: 1e9 + 1e-6 * float(u[0])],
    ids=["huge", "tiny", "offset"],
)
def test_extreme_outputs_are_fitted_and_maximized(objective: Callable[[Array], float]) -> None:
    result = run(unit_space(2), Config(), objective, 40)
    assert_fits(result.state, result.points, result.values, 0.02)
    assert ada_bkb.report(result.state).offset == pytest.approx(np.mean(result.values), rel=1e-9)
    assert recommended(result.state).point[0] > 0.9


@pytest.mark.parametrize("kernel", ["gaussian", "matern"])
def test_posterior_with_a_tiny_ridge_interpolates(kernel: str) -> None:
    """lambda = 1e-9 in a long smooth run, where the Gram matrix is numerically singular."""

    def objective(u: Array) -> float:
        return float(np.sin(4 * u[0]) + u[1] ** 2)  # at most 2, at (pi / 8, 1)

    config = Config(kernel=kernel, ridge=1e-9, noise_std=1e-4, lengthscale=1.0, beta="theory")  # type: ignore[arg-type]
    result = run(unit_space(2), config, objective, 150)
    assert_fits(result.state, result.points, result.values, 1e-3)
    assert objective(recommended(result.state).point) > 1.99


@pytest.mark.long
def test_best_value_improves_in_thirty_dimensions() -> None:
    config = Config(max_depth=300, norm_bound=0.5, beta=0.01, lengthscale=2.0)
    result = run(unit_space(30), config, lambda u: -float(((u - 0.4) ** 2).sum()), 60)
    assert_fits(result.state, result.points, result.values, 0.1)
    assert max(key.count(".") for key in result.cells) > 30
    assert result.values[0] == pytest.approx(-0.3), "the centre of the cube"
    assert max(result.values) > -0.15


@pytest.mark.long
def test_cells_narrower_than_the_float_spacing_still_lead_to_the_optimum() -> None:
    """The axis has about a hundred distinct floats, so cells of many levels have the same centre."""
    config = Config(max_depth=300, norm_bound=1.0, beta=1e-3, ridge=1e-4, lengthscale=0.5)
    axis = FloatAxis("x", 1e6, 1e6 + 1e-6)
    result = run(Space((axis,)), config, lambda u: -abs(float(u[0]) - 0.5), 15)
    assert_fits(result.state, result.points, result.values, 0.2)
    assert max(key.count(".") for key in result.cells) > 30
    assert max(result.values) > -0.01
