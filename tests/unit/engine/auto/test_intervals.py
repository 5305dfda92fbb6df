"""On functions drawn from the prior, intervals have about their nominal coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.model import likelihood
from adabkb_service.engine.auto.policy import auto
from benchmarks.calibration import drawn
from tests.unit.engine.auto.drive import Run, sample_path
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

INTERVAL = 1.645
NOISES = (1e-3, 0.1, 0.5)
"""Standard deviations of the noise, relative to that of the function."""
COUNTS = (5, 10, 20, 60)
TESTED = 200


def coverage(seed: int) -> tuple[float, float]:
    """The shares of 200 random points whose true value is within mean +- std, and within [lcb, ucb], after 5 to 60
    random observations of a Matern 3/2 path. Lengthscales are within a factor e of the prior's centre.
    """
    dimension, level = 1 + seed % 3, NOISES[seed // 3 % 3]
    rng = np.random.default_rng([seed, 9])
    count = int(COUNTS[seed % len(COUNTS)])
    lengthscales = np.exp(likelihood.prior_center(dimension) + np.clip(rng.standard_normal(dimension), -1.0, 1.0))
    X = rng.random((TESTED + count, dimension))
    f = sample_path(rng, X, lengthscales)
    noise = level * f.std() * rng.standard_normal(count)
    result = Run(auto.start(unit_space(dimension), Config(), seed))
    for x, y in zip(X[TESTED:], f[TESTED:] + noise, strict=True):
        result.tell(x, float(y))
    truth, found = f[:TESTED], auto.predict(result.state, X[:TESTED])
    within = np.abs(truth - found.mean) <= found.std
    between = (found.lcb <= truth) & (truth <= found.ucb)
    return float(within.mean()), float(between.mean())


@pytest.mark.parametrize("functions", [18, pytest.param(72, marks=pytest.mark.long)])
def test_intervals_have_their_nominal_coverage(functions: int) -> None:
    """Averaged over functions of 1, 2 and 3 dimensions and three noise levels: the 90% interval covers 85% to 95%, and
    one standard deviation (68%) covers 60% to 75%.
    """
    covered = np.array([coverage(seed) for seed in range(functions)])
    assert 0.60 <= covered[:, 0].mean() <= 0.75
    assert 0.85 <= covered[:, 1].mean() <= 0.95


@pytest.mark.long
@pytest.mark.parametrize("functions", [20, 40])
def test_intervals_near_and_far_from_the_best_point_have_their_coverage(functions: int) -> None:
    """Coverage is between 85% and 95% after 40 suggested points on noisy functions of 3 dimensions, both within 0.05 of
    the best point and more than 0.3 away from it. The search's own posterior covers less than 80% near it.
    """
    noise = 0.2
    far: list[float] = []
    near: list[float] = []
    of_search: list[float] = []
    for seed in range(functions):
        rng = np.random.default_rng([seed, 5])
        function, result = drawn(rng, 3), Run(auto.start(unit_space(3), Config(), seed))
        for _ in range(40):
            point = result.ask()
            result.tell(point, float(function(point[None])[0]) + noise * rng.standard_normal())
        best = auto.recommend(result.state)
        assert best is not None
        tested = rng.random((TESTED, 3))
        around = np.clip(best.point + 0.1 * tested - 0.05, 0.0, 1.0)
        tested = tested[np.abs(tested - best.point).max(axis=1) > 0.3]
        for shares, positions in ((far, tested), (near, around)):
            truth, found = function(positions), auto.predict(result.state, positions)
            shares.append(((found.lcb <= truth) & (truth <= found.ucb)).mean())
        mean, std = result.state.surrogate.mean_and_std(around)
        of_search.append((np.abs(result.state.warp.forward(function(around)) - mean) <= INTERVAL * std).mean())
    assert 0.85 <= np.mean(far) <= 0.95
    assert 0.85 <= np.mean(near) <= 0.95
    assert np.mean(of_search) < 0.8


@pytest.mark.parametrize("cost", ["normal", "log-normal"])
def test_bounds_and_mean_are_quantiles_of_one_distribution(cost: str) -> None:
    """Also under a nonlinear warp: lcb < mean < ucb everywhere, and the interval is about 3.3 std wide. For skewed
    costs, it extends farther towards worse values.
    """
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    f = sample_path(rng, X, np.array([0.4, 0.8]))
    result = Run(auto.start(unit_space(2), Config(), 0))
    for x, y in zip(X, f if cost == "normal" else -np.exp(2 * f), strict=True):
        result.tell(x, float(y))
    found = auto.predict(result.state, rng.random((300, 2)))
    assert (found.lcb < found.mean).all()
    assert (found.mean < found.ucb).all()
    assert (found.std > 0).all()
    ratio = (found.ucb - found.lcb) / (2 * INTERVAL * found.std)
    assert 0.8 < np.median(ratio) < 1.25
    if cost == "log-normal":
        assert ((found.mean - found.lcb) > (found.ucb - found.mean)).mean() > 0.65


def test_intervals_are_finite_far_from_all_results() -> None:
    """A bounded transform has no inverse beyond its range. Predictions are still finite 1.645 deviations from the mean,
    after five results and an outlier of 1e6.
    """
    result = Run(auto.start(unit_space(2), Config(), 0))
    for x, y in zip(np.random.default_rng(0).random((6, 2)), (0.0, 1.0, 0.5, 0.2, 0.9, -1e6), strict=True):
        result.tell(x, y)
    found = auto.predict(result.state, np.random.default_rng(1).random((200, 2)))
    assert np.isfinite([found.mean, found.std, found.lcb, found.ucb]).all()
    assert math.isfinite(float(found.std.max()))
