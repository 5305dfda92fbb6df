"""The warp: a strictly increasing, invertible map, fitted so that neither outliers nor units matter."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.model import warp
from adabkb_service.engine.auto.model.warp import Warp
from adabkb_service.engine.auto.policy import auto
from tests.samples import some
from tests.unit.engine.auto.drive import Run, run
from tests.unit.engine.drive import record
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

EPSILON = np.finfo(float).eps


@st.composite
def results(draw: st.DrawFn) -> Array:
    """1 to 40 results of any skew, with repeats and outliers, in units from 1e-100 to 1e100."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    normal = rng.standard_normal(draw(st.integers(1, 40)))
    skewed = draw(st.sampled_from([normal, np.exp(3 * normal), -np.exp(3 * normal), np.round(normal), normal**5]))
    outliers = draw(st.lists(st.sampled_from([-1e6, -50.0, 0.0, 1e6]), max_size=3))
    scale = 10.0 ** draw(st.integers(-100, 100))
    return np.concatenate([skewed, outliers]) * scale + draw(st.sampled_from([0.0, 1e3])) * scale


def rounding(fitted: Warp, values: Array) -> Array:
    """The rounding error of an inverse: that of the output divided by the slope, and that of the value itself.

    (The transform is bounded, so many values far from most results have nearly the same output.)
    """
    steps = EPSILON * (1.0 + np.abs(fitted.forward(values)) + abs(fitted.offset / fitted.scale))
    own = EPSILON * (np.abs(values) + abs(fitted.middle) + fitted.spread)
    found: Array = 64 * (steps / fitted.slope(values) + own)
    return found


@given(results())
def test_inverse_recovers_the_results(values: Array) -> None:
    """Up to rounding, at the results that the warp was fitted to."""
    fitted = warp.fit(values)
    error = np.abs(fitted.inverse(fitted.forward(values)) - values)
    close = rounding(fitted, values) < np.abs(values) + fitted.spread
    assert (error[close] <= rounding(fitted, values)[close]).all()


@given(st.integers(0, 2**32), st.sampled_from(warp.POWERS.tolist()))
def test_forward_and_inverse_are_consistent_for_every_power(seed: int, power: float) -> None:
    """In both directions, within a few spreads of the middle, to nine digits."""
    rng = np.random.default_rng(seed)
    fitted = Warp(rng.normal(), float(np.exp(rng.normal())), power, rng.normal(), float(np.exp(rng.normal())))
    y = -fitted.middle + 3 * fitted.spread * rng.uniform(-1, 1, 50)
    np.testing.assert_allclose(fitted.inverse(fitted.forward(y)), y, rtol=1e-9, atol=1e-9)
    z = fitted.forward(y)
    np.testing.assert_allclose(fitted.forward(fitted.inverse(z)), z, rtol=1e-9, atol=1e-9)


@given(results())
def test_warp_is_strictly_increasing(values: Array) -> None:
    """Outputs have the order of the results; results that differ by more than rounding have different outputs."""
    fitted = warp.fit(values)
    ordered = np.unique(values)
    outputs = fitted.forward(ordered)
    assert np.isfinite(outputs).all()
    assert (np.diff(outputs) >= 0).all()
    slack = rounding(fitted, ordered)
    for i, j in pairwise(range(len(ordered))):
        assert outputs[j] > outputs[i] or ordered[j] - ordered[i] <= slack[i] + slack[j]


@given(st.integers(0, 2**32), st.sampled_from(warp.POWERS.tolist()))
def test_slope_matches_finite_differences(seed: int, power: float) -> None:
    """On both sides of the middle and for every power, the slope is positive."""
    rng = np.random.default_rng(seed)
    fitted = Warp(rng.normal(), float(np.exp(rng.normal())), power, rng.normal(), float(np.exp(rng.normal())))
    y = -fitted.middle + 3 * fitted.spread * rng.uniform(-1, 1, 50)
    h = 1e-5 * fitted.spread
    differences = (fitted.forward(y + h) - fitted.forward(y - h)) / (2 * h)
    slope = fitted.slope(y)
    assert (slope > 0).all()
    np.testing.assert_allclose(slope, differences, rtol=1e-5, atol=1e-8 * float(slope.max()))


@given(results())
def test_outputs_are_standardized(values: Array) -> None:
    """Distinct results have mean 0 and standard deviation 1, unless they are nearly equal."""
    assume(np.ptp(values) > 1e-9 * np.abs(values).max())
    outputs = warp.fit(values).forward(np.unique(values))
    assert abs(outputs.mean()) < 1e-6
    assert outputs.std() == pytest.approx(1.0, rel=1e-6)


@given(st.integers(0, 2**32))
def test_skewed_results_become_symmetric(seed: int) -> None:
    """The skewness of 100 log-normal costs decreases to less than a third."""
    cost = np.exp(np.random.default_rng(seed).standard_normal(100))

    def skewness(x: Array) -> float:
        return abs(float(((x - x.mean()) ** 3).mean() / x.std() ** 3))

    assume(skewness(cost) > 1.0)
    assert skewness(warp.fit(-cost).forward(-cost)) < skewness(cost) / 3


@pytest.mark.parametrize("values", [[], [3.0], [3.0] * 7, [0.0], [1e300] * 3, [-1e-300] * 3])
def test_warp_of_equal_results_is_a_shift(values: list[float]) -> None:
    """For no, one, or equal results, the outputs are 0, the slope is positive, and the inverse is valid."""
    y = np.array(values)
    fitted = warp.fit(y)
    assert (fitted.forward(y) == 0.0).all()
    assert (fitted.slope(y) > 0).all()
    np.testing.assert_allclose(fitted.inverse(fitted.forward(y)), y, rtol=1e-12)


@pytest.mark.parametrize("values", [[0.0, 1.0], [-5e8, 5e8 + 1.0], [2.0, 2.0 + 1e-6], [1e-200, 3e-200]])
def test_two_results_are_symmetric(values: list[float]) -> None:
    """Both at distance 1 from the middle, the larger one above."""
    outputs = warp.fit(np.array(values)).forward(np.array(values))
    assert outputs[1] == pytest.approx(1.0, abs=1e-6)
    assert outputs[0] == pytest.approx(-1.0, abs=1e-6)


def wave(u: Array) -> float:
    return float(np.sin(6 * u[0]) + u[1])


@pytest.mark.parametrize("outlier", some([-1e6, -1e9, 1e6], [-1e6]))
def test_an_outlier_hardly_changes_predictions_elsewhere(outlier: float) -> None:
    """A result of 1e6 in a corner and 40 values near 1. Farther than half the box from it, the error of predictions is
    below a fifth of the function's standard deviation; without the outlier, below a twentieth.
    """
    corner = np.array([0.99, 0.01])
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, at = np.vstack([rng.random((40, 2)), corner]), rng.random((300, 2))
        at = at[np.hypot(*(at - corner).T) > 0.5]
        truth = np.array([wave(u) for u in at])
        y = np.array([wave(u) for u in X])
        for values, share in ((y, 0.05), (np.append(y[:-1], outlier), 0.2)):
            state = auto.rebuild(auto.start(unit_space(2), Config(), 0), record(X, values), {}).state
            error = auto.predict(state, at).mean - truth
            assert np.sqrt((error**2).mean()) < share * truth.std(), (seed, share)


@pytest.mark.parametrize("outlier", [-1e6, 1e6])
def test_other_results_keep_their_resolution_next_to_an_outlier(outlier: float) -> None:
    """The outputs of 20 normal results span more than 1, with an outlier of 1e6 in either direction."""
    values = np.random.default_rng(0).standard_normal(20)
    fitted = warp.fit(np.append(values, outlier))
    assert np.ptp(fitted.forward(values)) > 1.0


def together(objective_scale: float, offset: float, steps: int) -> Run:
    return run(unit_space(2), lambda u: objective_scale * wave(u) + offset, steps, seed=3)


def test_repeated_results_do_not_change_the_warp() -> None:
    """On a step of the objective, the search gets the same value many times; distances between the others stay."""
    seen = np.array([-1.08, -1.23, -1.35, -1.44, -2.03])
    on_a_step = np.concatenate([seen, np.full(20, -1.08)])
    assert warp.fit(on_a_step) == warp.fit(seen)


def test_units_of_a_power_of_two_change_no_bit() -> None:
    """Results times 2^20: the same 30 suggestions bit for bit, and predictions exactly 2^20 times as large."""
    plain, scaled = together(1.0, 0.0, 30), together(2.0**20, 0.0, 30)
    assert [p.tolist() for p in scaled.points] == [p.tolist() for p in plain.points]
    at = np.random.default_rng(0).random((10, 2))
    one, other = auto.predict(plain.state, at), auto.predict(scaled.state, at)
    for name in ("mean", "std", "lcb", "ucb"):
        assert (getattr(other, name) == 2.0**20 * getattr(one, name)).all()


@pytest.mark.parametrize(
    ("scale", "offset"), some([(1e6, 1e9), (1e-200, 0.0), (1e250, -1e250), (3.0, 7.0)], [(1e250, -1e250), (3.0, 7.0)])
)
def test_units_change_no_suggestion(scale: float, offset: float) -> None:
    """Results in other units: the same 20 cells, and predictions in the new units up to rounding."""
    plain, scaled = together(1.0, 0.0, 20), together(scale, offset, 20)
    assert scaled.suggested == plain.suggested
    at = np.random.default_rng(0).random((10, 2))
    one, other = auto.predict(plain.state, at), auto.predict(scaled.state, at)
    np.testing.assert_allclose((other.mean - offset) / scale, one.mean, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(other.std / scale, one.std, rtol=1e-3, atol=1e-4)


@given(results(), st.floats(0.0, 1.0))
def test_range_bounds_the_outputs(values: Array, share: float) -> None:
    """Every result, however extreme, has an output within ``range``, and the bounds are tight: outputs inside have a
    finite result, and those outside an infinite one.
    """
    fitted = warp.fit(values)
    low, high = fitted.range()
    extreme = -fitted.middle + fitted.spread * np.array([-1e50, 1e50])
    outputs = fitted.forward(extreme)
    slack = 1e-9 * (1.0 + np.abs(outputs))
    assert (outputs >= low - slack).all()
    assert (outputs <= high + slack).all()
    seen = fitted.forward(values)
    for end, sign, nearest in ((low, -1.0, seen.min()), (high, 1.0, seen.max())):
        if np.isfinite(end):
            inside = end - sign * max(0.01 * abs(end - nearest), 1e-6)
            assert np.isfinite(fitted.inverse(np.array(nearest + share * (inside - nearest))))
            assert fitted.inverse(np.array(end + sign * max(0.01 * abs(end - nearest), 1e-6))) == sign * np.inf
