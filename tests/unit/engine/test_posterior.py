"""The sketched posterior: exact with a full dictionary, and independent of the order of updates."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.paper.config import Config, Problem
from adabkb_service.engine.paper.gp import sketched_gp
from adabkb_service.engine.paper.kernels import Gaussian, Kernel, Matern
from adabkb_service.engine.paper.policy import ada_bkb
from adabkb_service.engine.paper.restore import blank, restored
from adabkb_service.engine.paper.state import State, absorb, add_points, summarize
from tests.samples import some
from tests.unit.engine.drive import record, run
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]


def bumps(u: Array) -> float:
    return float(np.sin(5 * u[0]) + np.cos(4 * u[-1]))


def exact_gp(kernel: Kernel, X: Array, y: Array, at: Array, ridge: float) -> tuple[Array, Array]:
    """Textbook posterior with noise variance ``ridge`` (paper, eq. 1), repeats as separate rows."""
    K = kernel(X, X) + ridge * np.eye(len(X))
    k = kernel(at, X)
    return k @ np.linalg.solve(K, y), 1.0 - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))


@pytest.mark.parametrize("kernel", [Gaussian(), Matern(0.5), Matern(1.5), Matern(2.5)])
@pytest.mark.parametrize("dimension", some([1, 3], [3]))
def test_full_dictionary_equals_the_exact_gp(kernel: Kernel, dimension: int) -> None:
    """Compares mean and variance after one update per result, with repeats as counts: relative error 1e-8. The Gaussian
    kernel in one dimension gets 1e-6: close points have numerically equal features.
    """
    tolerance = 1e-6 if isinstance(kernel, Gaussian) and dimension == 1 else 1e-8
    for seed in range(3):
        assert_exact_gp(kernel, dimension, np.random.default_rng(seed), tolerance)


def assert_exact_gp(kernel: Kernel, dimension: int, rng: np.random.Generator, tolerance: float) -> None:
    name = "gaussian" if isinstance(kernel, Gaussian) else "matern"
    smoothness = 2.5 if isinstance(kernel, Gaussian) else getattr(kernel, "nu", 2.5)
    config = Config(
        kernel=name,  # type: ignore[arg-type]
        smoothness=smoothness,
        lengthscale=0.3,
        ridge=0.05,
        qbar=1e9,
        outputs="raw",
    )
    distinct = rng.random((25, dimension))
    positions = distinct[rng.integers(0, 25, 60)]
    values = rng.normal(size=60)
    state = ada_bkb.start(unit_space(dimension), config, 0)
    for position, value in zip(positions, values, strict=True):
        state = ada_bkb.observe(state, position, float(value)).state
    at = rng.random((40, dimension))
    mean, variance = exact_gp(kernel, positions / 0.3, values, at / 0.3, 0.05)
    prediction = ada_bkb.predict(state, at)
    np.testing.assert_allclose(prediction.mean, mean, rtol=tolerance, atol=tolerance / 10)
    np.testing.assert_allclose(prediction.std**2, variance, rtol=tolerance, atol=tolerance / 100)


def scenario(qbar: float) -> State:
    config = Config(lengthscale=0.5, ridge=0.01, qbar=qbar, norm_bound=2.0, beta=0.3, max_depth=8)
    return run(unit_space(3), config, bumps, 60, noise=0.1).state


@pytest.mark.parametrize("qbar", [0.3, 1.0, 3.0])
def test_incremental_updates_equal_a_factorisation_from_scratch(qbar: float) -> None:
    """After 60 rank-one steps that add and remove members, every number equals that of a fresh build."""
    state = scenario(qbar)
    dictionary = state.gp.sketch.dictionary
    assert len(dictionary) < len(state.points.evaluated) or qbar > 1
    gp = sketched_gp(state.problem, state.points, dictionary)
    fresh = summarize(state.problem, state.points, gp)
    np.testing.assert_allclose(state.summary.mean, fresh.mean, atol=1e-7)
    np.testing.assert_allclose(state.summary.deviation**2, fresh.deviation**2, rtol=1e-6, atol=1e-8)
    assert state.summary.beta == pytest.approx(fresh.beta, rel=1e-9)


def test_order_of_observations_does_not_matter() -> None:
    """With a full dictionary the posterior is a function of the set of results."""
    rng = np.random.default_rng(3)
    positions, values = rng.random((30, 2)), rng.normal(size=30)
    problem = Problem(unit_space(2), Config(qbar=1e9), 0)
    at = rng.random((20, 2))
    order = rng.permutation(30)
    one = ada_bkb.predict(restored(problem, record(positions, values), {}, range(30)), at)
    other = ada_bkb.predict(restored(problem, record(positions[order], values[order]), {}, range(30)), at)
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(one.std, other.std, rtol=1e-8, atol=1e-8)


def test_variance_never_increases_with_data_under_a_fixed_dictionary() -> None:
    rng = np.random.default_rng(4)
    problem = Problem(unit_space(2), Config(ridge=1e-3, lengthscale=0.4), 0)
    positions = rng.random((12, 2))
    state = restored(problem, record(positions, rng.normal(size=12)), {}, range(5))
    state, _ = add_points(state, rng.random((50, 2)))
    gp = state.gp
    before = gp.posterior.variance()
    for point in rng.integers(0, state.points.size, 80):
        gp = gp.observe(int(point))
        after = gp.posterior.variance()
        assert (after <= before + 1e-9 * before.max()).all()
        before = after


def test_abandoned_decisions_do_not_affect_the_earlier_state() -> None:
    """States are immutable."""
    state = scenario(1.0)
    at = np.random.default_rng(5).random((10, 3))
    before = ada_bkb.predict(state, at)
    nothing = np.zeros((0, 3))
    first = ada_bkb.suggest(state, nothing)
    thrown_away = ada_bkb.observe(first.state, first.point, 99.0).state
    ada_bkb.suggest(thrown_away, nothing)
    again = ada_bkb.suggest(state, nothing)
    assert again.cell == first.cell
    kept = ada_bkb.observe(again.state, again.point, 0.5).state
    alone = ada_bkb.observe(ada_bkb.suggest(scenario(1.0), nothing).state, again.point, 0.5).state
    np.testing.assert_array_equal(ada_bkb.predict(state, at).mean, before.mean)
    np.testing.assert_array_equal(ada_bkb.predict(kept, at).mean, ada_bkb.predict(alone, at).mean)


def test_dictionary_members_are_drawn_with_the_stated_probability() -> None:
    """Over 400 seeds, the frequency of each point is min(1, qbar n s2), within four standard errors."""
    rng = np.random.default_rng(6)
    positions, values = rng.random((8, 2)), rng.normal(size=8)
    config = Config(qbar=0.4, lengthscale=0.6, ridge=0.05)
    base = restored(Problem(unit_space(2), config, 0), record(positions, values), {}, range(8))
    state, (point,) = add_points(base, positions[:1])
    ids = state.points.evaluated
    counts = state.points.counts[ids] + (ids == point)
    probability = np.minimum(1.0, 0.4 * counts * state.summary.deviation[ids] ** 2)
    assert probability.min() < 0.9
    hits = np.zeros(8)
    for seed in range(400):
        seeded = State(Problem(unit_space(2), config, seed), base.tree, base.points, base.gp, base.summary)
        after = absorb(seeded, point, 0.0)
        hits += np.isin(after.points.evaluated, after.gp.sketch.dictionary)
    error = 4 * np.sqrt(probability * (1 - probability) / 400) + 1e-12
    assert (np.abs(hits / 400 - probability) <= error).all()


def test_study_without_results_has_the_prior() -> None:
    prediction = ada_bkb.predict(blank(Problem(unit_space(2), Config(ridge=0.01), 0)), np.array([[0.2, 0.9]]))
    assert prediction.mean.tolist() == [0.0]
    assert prediction.std.tolist() == [1.0]
