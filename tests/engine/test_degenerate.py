"""Degenerate inputs give finite numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.paper.config import Config
from adabkb_service.engine.paper.policy import State, ada_bkb
from tests.engine.drive import run
from tests.engine.strategies import unit_space

Array = NDArray[np.float64]


def assert_finite(state: State) -> None:
    dimension = state.problem.space.dimension
    prediction = ada_bkb.predict(state, np.random.default_rng(0).random((20, dimension)))
    for numbers in (prediction.mean, prediction.std, prediction.lcb, prediction.ucb):
        assert np.isfinite(numbers).all()
    report = ada_bkb.report(state)
    assert report.gap is not None
    assert np.isfinite([report.gap, report.beta, report.effective_dimension, report.offset, report.scale]).all()
    assert report.scale > 0
    recommendation = ada_bkb.recommend(state)
    assert recommendation is not None
    assert np.isfinite([recommendation.mean, recommendation.std]).all()


@pytest.mark.parametrize("ridge", [1e-9, 1e-3])
def test_one_point_repeated(ridge: float) -> None:
    state = ada_bkb.start(unit_space(2), Config(ridge=ridge), 0)
    for i in range(300):
        state = ada_bkb.observe(state, np.array([0.3, 0.3]), float(i % 3)).state
    assert_finite(state)
    assert ada_bkb.report(state).points == 1


@pytest.mark.parametrize("ridge", [1e-9, 1e-3])
@pytest.mark.parametrize("spacing", [1e-16, 1e-12, 1e-8, 1e-4])
def test_near_duplicates(ridge: float, spacing: float) -> None:
    state = ada_bkb.start(unit_space(2), Config(ridge=ridge, qbar=5.0), 0)
    for i in range(60):
        state = ada_bkb.observe(state, np.array([0.3, 0.3]) + i * spacing, float(np.sin(i))).state
        ada_bkb.suggest(state, np.zeros((0, 2)))
    assert_finite(state)


@pytest.mark.parametrize("constant", [0.0, 1.0, -1e-300, 1e300])
def test_constant_outputs(constant: float) -> None:
    assert_finite(run(unit_space(2), Config(), lambda _: constant, 40).state)


@pytest.mark.parametrize(
    "objective",
    [lambda u: 1e300 * float(u[0] - 0.5), lambda u: 1e-300 * float(u[0]), lambda u: 1e9 + 1e-6 * float(u[0])],
    ids=["huge", "tiny", "offset"],
)
def test_extreme_outputs(objective: Callable[[Array], float]) -> None:
    assert_finite(run(unit_space(2), Config(), objective, 40).state)


@pytest.mark.parametrize("kernel", ["gaussian", "matern"])
def test_tiny_ridge(kernel: str) -> None:
    """lambda = 1e-9 over a long smooth run, where the Gram matrix is singular in floating point."""
    config = Config(kernel=kernel, ridge=1e-9, noise_std=1e-4, lengthscale=1.0, beta="theory")  # type: ignore[arg-type]
    assert_finite(run(unit_space(2), config, lambda u: float(np.sin(4 * u[0]) + u[1] ** 2), 150).state)


def test_thirty_dimensions_and_three_hundred_levels() -> None:
    config = Config(max_depth=300, norm_bound=0.5, beta=0.01, lengthscale=2.0)
    result = run(unit_space(30), config, lambda u: -float(((u - 0.4) ** 2).sum()), 60)
    assert_finite(result.state)
    assert max(key.count(".") for key in result.cells) > 30


def test_depth_beyond_the_resolution_of_floats() -> None:
    """One dimension, 300 levels: cells narrower than the spacing of floats coincide, and nothing breaks."""
    config = Config(max_depth=300, norm_bound=1.0, beta=1e-6, ridge=1e-4, lengthscale=0.5)
    assert_finite(run(unit_space(1), config, lambda u: -abs(float(u[0]) - 0.5), 40).state)
