"""Noise that differs between regions is learned from replicates only."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Config, Problem
from adabkb_service.engine.auto.model.noise import errors
from adabkb_service.engine.auto.model.noise_by_region import noise_by_region
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.record import Record
from tests.unit.engine.auto.drive import Run
from tests.unit.engine.drive import record
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]
PROBLEM = Problem(unit_space(2), Config(), 0)


def deviation(points: Array) -> Array:
    """The standard deviation of the noise: large on the right."""
    found: Array = np.where(points[:, 0] > 0.5, 0.5, 0.02)
    return found


def results_with_replicates(seed: int, *, times: int, differs: bool, count: int = 16) -> Record:
    """Results at random points, each repeated ``times`` times."""
    rng = np.random.default_rng(seed)
    points = np.repeat(rng.random((count, 2)), times, axis=0)
    noise = deviation(points) if differs else np.full(len(points), 0.1)
    return record(points, (points.sum(axis=1) + noise * rng.standard_normal(len(points))).tolist())


def test_noise_is_larger_where_replicates_differ_more() -> None:
    for seed in range(5):
        known = results_with_replicates(seed, times=3, differs=True)
        right = known.positions[:, 0] > 0.5
        found = noise_by_region(PROBLEM, known)
        assert np.median(found[right]) > 5.0 * np.median(found[~right])
        assert 0.2 < np.median(found[right]) < 1.2


@pytest.mark.parametrize("times", [2, 3])
def test_equal_noise_or_no_replicates_give_no_noise_by_region(times: int) -> None:
    every = (results_with_replicates(seed, times=times, differs=False) for seed in range(20))
    assert sum(noise_by_region(PROBLEM, each).any() for each in every) <= 2
    assert not noise_by_region(PROBLEM, results_with_replicates(0, times=1, differs=True)).any()
    assert not noise_by_region(PROBLEM, results_with_replicates(0, times=3, differs=True, count=3)).any()


def test_declared_noise_is_used_unchanged() -> None:
    known = results_with_replicates(0, times=3, differs=True)
    assert set(errors(Problem(unit_space(2), Config(noise_std=0.3), 0), known).tolist()) == {0.3}


def test_predictions_follow_the_precise_results() -> None:
    """With replicates, predictions are accurate on the precise side."""
    known = results_with_replicates(2, times=3, differs=True)
    run = Run(auto.start(unit_space(2), Config(), 0))
    for point, value in zip(known.positions, known.values.tolist(), strict=True):
        run.tell(point, value)
    grid = np.random.default_rng(9).random((200, 2)) * [0.4, 1.0]
    found = auto.predict(run.state, grid)
    assert np.abs(found.mean - grid.sum(axis=1)).mean() < 0.05
    assert run.restored().ask().tobytes() == run.ask().tobytes()


def test_extreme_or_equal_replicates_give_no_noise_by_region() -> None:
    points = np.repeat(np.random.default_rng(0).random((8, 2)), 2, axis=0)
    assert not noise_by_region(PROBLEM, record(points, [1e300, -1e300] * 8)).any()
    assert not noise_by_region(PROBLEM, record(points, [1.0] * 16)).any()
