"""Results of any size, and more workers than points: the search continues without overflow."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np
import pytest

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.model import warp
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.axes import ChoiceAxis
from adabkb_service.engine.space import Space
from tests.samples import some
from tests.unit.engine.strategies import unit_space

NOTHING = np.zeros((0, 2))


def test_extra_workers_get_replicates_under_declared_noise() -> None:
    """When all points are issued, the next suggestion replicates one of them."""
    state = auto.start(Space((ChoiceAxis("b", (False, True)),)), Config(noise_std=0.1), 0)
    points = [suggestion.point for suggestion in islice(auto.suggestions(state, np.zeros((0, 1))), 3)]
    assert len({float(point[0]) for point in points}) == 2


@pytest.mark.parametrize("outlier", [-1e6, -1e13, -1e20, -1e300, 1e13, 1e300])
def test_other_results_keep_their_resolution_next_to_an_outlier(outlier: float) -> None:
    """The other results still spread over more than one standard deviation of the model's outputs."""
    values = np.random.default_rng(0).standard_normal(20)
    assert np.ptp(warp.fit(np.append(values, outlier)).forward(values)) > 1.0


@pytest.mark.parametrize("penalty", some([-1e6, -1e12, -1e15, -1e300], [-1e15]))
def test_search_recovers_from_a_penalty(penalty: float) -> None:
    """Training diverges at the fourth of 30 steps on a parabola; the search still finds the optimum."""
    state, best = auto.start(unit_space(2), Config(), 0), -np.inf
    for step in range(30):
        suggestion = auto.suggest(state, NOTHING)
        value = penalty if step == 3 else -float(((suggestion.point - 0.37) ** 2).sum())
        best = max(best, value)
        state = auto.observe(suggestion.state, suggestion.point, value).state
    assert best > -1e-3


@pytest.mark.parametrize("shape", [lambda x: x, np.exp, lambda x: -np.exp(x)], ids=["line", "exp", "-exp"])
@pytest.mark.parametrize("value", some([-1e300, 1e300, -1e100, 1e100], [-1e300, 1e300]))
def test_extreme_results_cause_no_overflow(shape: Callable[[float], float], value: float) -> None:
    """A warning would fail the test. Predictions stay finite, and suggestions continue."""
    rng = np.random.default_rng(0)
    state = auto.start(unit_space(2), Config(), 0)
    for x in rng.random((12, 2)):
        state = auto.observe(state, x, float(1e-3 * shape(3 * x[0] + np.sin(9 * x[1])))).state
    state = auto.observe(state, np.array([0.5, 0.5]), value).state
    state = auto.suggest(state, NOTHING).state
    found = auto.predict(state, rng.random((5, 2)))
    assert np.isfinite([found.mean, found.std, found.lcb, found.ucb]).all()


def test_results_can_span_the_whole_range_of_floats() -> None:
    state = auto.start(unit_space(2), Config(), 0)
    for x in np.random.default_rng(0).random((12, 2)):
        state = auto.observe(state, x, 1.7e308 * float(2 * x[0] - 1)).state
    found = auto.predict(state, np.random.default_rng(1).random((5, 2)))
    assert np.isfinite([found.mean, found.std, found.lcb, found.ucb]).all()


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_optimum_on_the_edge_is_not_suggested_repeatedly(noise: float) -> None:
    """No centroid lies on the edge. Once its cell is too narrow to split, the search continues elsewhere."""
    state, rng = auto.start(unit_space(1), Config(), 0), np.random.default_rng(0)
    points = []
    for _ in range(60):
        suggestion = auto.suggest(state, np.zeros((0, 1)))
        points.append(float(suggestion.point[0]))
        value = points[-1] + noise * float(rng.standard_normal())
        state = auto.observe(suggestion.state, suggestion.point, value).state
    assert len(set(points)) == 60
    assert max(points) > 1 - 1e-6


@pytest.mark.parametrize("values", [[12345.0], [3.0] * 10, [998.0, 1000.0]])
def test_constant_results_have_no_gap(values: list[float]) -> None:
    """If one result or equal results gave a gap, a study with a tolerance would end at once."""
    state, rng = auto.start(unit_space(2), Config(), 0), np.random.default_rng(0)
    for value in values:
        state = auto.observe(state, rng.random(2), value).state
    assert auto.report(state).gap is None


def test_results_with_huge_errors_are_ignored() -> None:
    """Every second result has a standard error of 1e300."""
    state, rng = auto.start(unit_space(2), Config(), 0), np.random.default_rng(0)
    for step in range(25):
        suggestion = auto.suggest(state, NOTHING)
        error = 1e300 if step % 2 else 0.0
        state = auto.observe(suggestion.state, suggestion.point, float(rng.standard_normal()), error).state
    found = auto.predict(state, rng.random((5, 2)))
    assert np.isfinite([found.mean, found.std, found.lcb, found.ucb]).all()
    assert np.abs(found.mean).max() < 10
    assert np.isfinite(auto.report(state).effective_dimension)


def test_finite_spaces_of_many_parameters_are_enumerated() -> None:
    """There are more axes than a numpy array can have, most with a single value."""
    axes = [ChoiceAxis(f"c{i}", ("only",)) for i in range(70)]
    space = Space((ChoiceAxis("a", (False, True)), *axes, ChoiceAxis("b", ("x", "y", "z"))))
    suggested = list(auto.suggestions(auto.start(space, Config(), 0), np.zeros((0, 72))))
    assert len({tuple(space.decode(found.point).items()) for found in suggested}) == 6
