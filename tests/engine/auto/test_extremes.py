"""Results of any size, and more workers than points: the search goes on and nothing overflows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np
import pytest

from adabkb_service.engine.auto import warp
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.policies import auto
from adabkb_service.engine.space import ChoiceAxis, Space
from tests.engine.strategies import unit_space

NOTHING = np.zeros((0, 2))


def test_more_workers_than_points_share_them_where_noise_is_declared() -> None:
    """Every point is out already: a replicate of one of them, not a crash."""
    state = auto.start(Space((ChoiceAxis("b", (False, True)),)), Config(noise_std=0.1), 0)
    points = [suggestion.point for suggestion in islice(auto.suggestions(state, np.zeros((0, 1))), 3)]
    assert len({float(point[0]) for point in points}) == 2


@pytest.mark.parametrize("outlier", [-1e6, -1e13, -1e20, -1e300, 1e13, 1e300])
def test_results_keep_their_resolution_beside_an_outlier(outlier: float) -> None:
    """The others still spread over more than one standard deviation of the model's outputs."""
    values = np.random.default_rng(0).standard_normal(20)
    assert np.ptp(warp.fit(np.append(values, outlier)).forward(values)) > 1.0


@pytest.mark.parametrize("penalty", [-1e6, -1e12, -1e15, -1e300])
def test_the_search_survives_a_penalty(penalty: float) -> None:
    """A diverged training at the fourth of 30 steps on a parabola; the optimum is found all the same."""
    state, best = auto.start(unit_space(2), Config(), 0), -np.inf
    for step in range(30):
        suggestion = auto.suggest(state, NOTHING)
        value = penalty if step == 3 else -float(((suggestion.point - 0.37) ** 2).sum())
        best = max(best, value)
        state = auto.observe(suggestion.state, suggestion.point, value).state
    assert best > -1e-3


@pytest.mark.parametrize("shape", [lambda x: x, np.exp, lambda x: -np.exp(x)], ids=["line", "exp", "-exp"])
@pytest.mark.parametrize("value", [-1e300, 1e300, -1e100, 1e100])
def test_an_extreme_result_after_ordinary_ones_is_taken(shape: Callable[[float], float], value: float) -> None:
    """Nothing overflows (a warning is an error in these tests), predictions stay finite, points still come."""
    rng = np.random.default_rng(0)
    state = auto.start(unit_space(2), Config(), 0)
    for x in rng.random((12, 2)):
        state = auto.observe(state, x, float(1e-3 * shape(3 * x[0] + np.sin(9 * x[1])))).state
    state = auto.observe(state, np.array([0.5, 0.5]), value).state
    state = auto.suggest(state, NOTHING).state
    found = auto.predict(state, rng.random((5, 2)))
    assert np.isfinite([found.mean, found.std, found.lcb, found.ucb]).all()


def test_results_over_the_whole_range_of_floats() -> None:
    state = auto.start(unit_space(2), Config(), 0)
    for x in np.random.default_rng(0).random((12, 2)):
        state = auto.observe(state, x, 1.7e308 * float(2 * x[0] - 1)).state
    found = auto.predict(state, np.random.default_rng(1).random((5, 2)))
    assert np.isfinite([found.mean, found.std, found.lcb, found.ucb]).all()
