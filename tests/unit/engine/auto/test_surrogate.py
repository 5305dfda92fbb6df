"""The posterior agrees with textbook formulas written with loops and dense solves."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto import learning
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.domain.components import NONE as NO_COMPONENTS
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.model import surrogate
from adabkb_service.engine.auto.model.kernel import MEAN_VARIANCE, Kernel
from adabkb_service.engine.auto.model.surrogate import JITTER, Surrogate
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.space import Space
from tests.unit.engine.auto.drive import run, sample_path
from tests.unit.engine.auto.reference import full_kernel
from tests.unit.engine.auto.strategies import MIXED
from tests.unit.engine.drive import record
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

VARIANCE = 1.7
SPACES = [unit_space(1), unit_space(3), MIXED]


def covariance(kernel: Kernel, X: Array, Y: Array) -> Array:
    """The formula in the docstring of ``kernel``, by loops, including the constant mean."""
    K = np.zeros((len(X), len(Y)))
    for i, x in enumerate(X):
        for j, y in enumerate(Y):
            square, q = 0.0, 0.0
            for k, lengthscale in enumerate(kernel.lengthscales):
                if kernel.categorical[k]:
                    q += (x[k] != y[k]) / lengthscale
                else:
                    square += ((x[k] - y[k]) / lengthscale) ** 2
            r = np.sqrt((5.0 if kernel.smooth else 3.0) * square)
            K[i, j] = (1.0 + r + kernel.smooth * r**2 / 3.0) * np.exp(-r - q) + MEAN_VARIANCE
    return K


def textbook(kernel: Kernel, X: Array, z: Array, noises: Array, at: Array) -> tuple[Array, Array]:
    """Posterior mean and variance of the exact Gaussian process."""
    K, k = covariance(kernel, X, X) + np.diag(noises), covariance(kernel, at, X)
    reduced = 1.0 + MEAN_VARIANCE - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))
    return k @ np.linalg.solve(K, z), VARIANCE * reduced


def textbook_compressed(kernel: Kernel, S: Array, X: Array, z: Array, noises: Array, at: Array) -> tuple[Array, Array]:
    """The posterior of the paper's section 2: the exact process with k(x, x') replaced by k_S(x)' K_SS^-1 k_S(x')
    between results. What the dictionary cannot express remains as variance. K_SS has the engine's jitter.
    """
    inverse = np.linalg.inv(covariance(kernel, S, S) + JITTER * np.eye(len(S)))
    cross, k = covariance(kernel, S, X), covariance(kernel, at, S)
    Q, q = cross.T @ inverse @ cross + np.diag(noises), k @ inverse @ cross
    reduced = 1.0 + MEAN_VARIANCE - np.einsum("ij,ji->i", q, np.linalg.solve(Q, q.T))
    return q @ np.linalg.solve(Q, z), VARIANCE * reduced


class Case:
    """Random rows of a space with differing noises, and positions to predict at: new ones, and some of the rows."""

    def __init__(self, space: Space, seed: int, n: int = 30) -> None:
        rng, domain = np.random.default_rng(seed), Domain(space)
        d = space.dimension
        self.kernel = Kernel(np.exp(rng.uniform(np.log(0.15), np.log(3.0), d)), domain.categorical)
        self.X = np.array([domain.exact(x) for x in rng.random((n, d))])
        self.X[-1] = self.X[0]  # a replicate
        self.z, self.noises = rng.normal(size=n), np.exp(rng.uniform(np.log(1e-3), np.log(0.5), n))
        self.at = np.vstack([[domain.exact(x) for x in rng.random((15, d))], self.X[:5]])

    @property
    def posterior(self) -> Surrogate:
        return surrogate.exact(self.kernel, VARIANCE, self.X, self.z, self.noises)

    def compressed(self, rows: Ints) -> Surrogate:
        return surrogate.compressed(self.kernel, VARIANCE, self.X[rows], self.X, self.z, self.noises)


def assert_same(view: Surrogate, other: tuple[Array, Array], at: Array, rtol: float = 1e-8) -> None:
    """Assert equal means and variances."""
    mean, deviation = view.mean_and_std(at)
    np.testing.assert_allclose(mean, other[0], rtol=rtol, atol=rtol)
    np.testing.assert_allclose(deviation**2, other[1], rtol=rtol, atol=rtol)


@pytest.mark.parametrize("space", SPACES, ids=["1-d", "3-d", "mixed"])
@pytest.mark.parametrize("seed", range(3))
def test_exact_posterior_matches_the_textbook(space: Space, seed: int) -> None:
    """Mean and variance to 1e-8, with differing noises and a replicate."""
    case = Case(space, seed)
    assert_same(case.posterior, textbook(case.kernel, case.X, case.z, case.noises, case.at), case.at)
    np.testing.assert_array_equal(case.posterior.mean(case.at), case.posterior.mean_and_std(case.at)[0])


@pytest.mark.parametrize("space", SPACES, ids=["1-d", "3-d", "mixed"])
def test_conditioning_row_by_row_equals_all_at_once(space: Space) -> None:
    """One row after the other, in blocks, and in another order: the same posterior to 1e-9."""
    case = Case(space, 4)
    whole = case.posterior.mean_and_std(case.at)
    single = surrogate.empty(case.kernel, VARIANCE)
    for i in range(len(case.z)):
        single = single.condition(case.X[i : i + 1], case.z[i : i + 1], case.noises[i : i + 1])
    blocks = surrogate.empty(case.kernel, VARIANCE)
    for rows in np.array_split(np.random.default_rng(0).permutation(len(case.z)), 4):
        blocks = blocks.condition(case.X[rows], case.z[rows], case.noises[rows])
    for view in (single, blocks):
        assert_same(view, (whole[0], whole[1] ** 2), case.at, rtol=1e-9)


@pytest.mark.parametrize("base", ["exact", "compressed"])
def test_hallucination_keeps_the_mean_and_updates_the_variance(base: str) -> None:
    """For rows without outputs, the mean stays everywhere, and the variance is that after real outputs. The posterior
    equals one given the means as outputs.
    """
    case = Case(unit_space(3), 5)
    view = case.posterior if base == "exact" else case.compressed(np.arange(10))
    pending, noises = np.random.default_rng(1).random((4, 3)), np.array([0.01, 0.1, 0.2, 0.3])
    before = view.mean_and_std(case.at)
    fantasized = view.condition(pending, None, noises).mean_and_std(case.at)
    real = view.condition(pending, np.array([5.0, -3.0, 2.0, 0.0]), noises).mean_and_std(case.at)
    as_means = view.condition(pending, view.mean(pending), noises).mean_and_std(case.at)
    np.testing.assert_allclose(fantasized[0], before[0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(fantasized[1], real[1], rtol=1e-10)
    np.testing.assert_allclose(as_means[0], before[0], rtol=1e-8, atol=1e-8)
    assert (fantasized[1] <= before[1]).all()
    assert (fantasized[1] < 0.99 * before[1]).any()


@pytest.mark.parametrize("space", SPACES, ids=["1-d", "3-d", "mixed"])
def test_dictionary_of_all_points_is_exact(space: Space) -> None:
    """With every distinct row in the dictionary, mean and variance equal the exact posterior's to 1e-6."""
    case = Case(space, 6)
    mean, deviation = case.posterior.mean_and_std(case.at)
    distinct = np.sort(np.unique(case.X, axis=0, return_index=True)[1])
    assert_same(case.compressed(distinct), (mean, deviation**2), case.at, rtol=1e-6)


@pytest.mark.parametrize("space", SPACES, ids=["1-d", "3-d", "mixed"])
def test_variance_outside_the_dictionary_is_added_to_the_noise(space: Space) -> None:
    """FITC as published: to 1e-6 against dense inverses."""
    case = Case(space, 7)
    S = case.X[:10]
    cross = covariance(case.kernel, S, case.X)
    explained = np.einsum(
        "ij,ij->j", cross, np.linalg.solve(covariance(case.kernel, S, S) + JITTER * np.eye(10), cross)
    )
    noises = case.noises + 1.0 + MEAN_VARIANCE - explained
    expected = textbook_compressed(case.kernel, S, case.X, case.z, noises, case.at)
    assert_same(case.compressed(np.arange(10)), expected, case.at, rtol=1e-6)


def test_dictionary_contains_the_best_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """50 of 300 noise-free results are in the dictionary. At the ten best, the error of the mean is at most 1/500 of
    the results' standard deviation.
    """
    X = np.random.default_rng(0).random((300, 4))
    f = np.sin(9.0 * X).sum(axis=1) - 4.0 * ((X - 0.4) ** 2).sum(axis=1)
    monkeypatch.setattr(learning, "EXACT", 100)
    monkeypatch.setattr(learning, "DICTIONARY", 50)
    state = auto.start(unit_space(4), Config(), 0)
    for _ in range(2):  # the second fit draws the dictionary by the leverages of the first
        state = auto.rebuild(state, record(X, f), {}).state
    assert len(state.surrogate.inducing) == 50
    best = np.argsort(-f)[:10]
    off = np.abs(state.warp.inverse(state.surrogate.mean(X[best])) - f[best]).max() / f.std()
    assert off < 0.002


def test_compression_in_chunks_gives_the_same_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven rows at a time."""
    case = Case(unit_space(3), 8)
    mean, deviation = case.compressed(np.arange(10)).mean_and_std(case.at)
    monkeypatch.setattr(surrogate, "CHUNK", 7)
    assert_same(case.compressed(np.arange(10)), (mean, deviation**2), case.at, rtol=1e-9)


def test_compressed_variance_is_not_overconfident() -> None:
    """The compressed variance is at least the variance given exact values at the dictionary, and at most the prior's.
    (It may be slightly below the exact posterior's at the dictionary.)
    """
    for seed in range(5):
        case = Case(unit_space(2), seed, n=60)
        deviation = case.compressed(np.arange(8)).mean_and_std(case.at)[1]
        S, k = case.X[:8], covariance(case.kernel, case.at, case.X[:8])
        unexplained = (
            1.0 + MEAN_VARIANCE - np.einsum("ij,ji->i", k, np.linalg.solve(covariance(case.kernel, S, S), k.T))
        )
        assert (deviation**2 >= VARIANCE * unexplained - 1e-6).all()
        assert (deviation**2 <= VARIANCE * (1.0 + MEAN_VARIANCE) + 1e-9).all()


def test_compressed_variance_is_at_least_a_third_of_the_exact_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A quarter of 200 results is drawn as dictionary by leverage, in two rounds. The limit is BKB's bound for epsilon
    = 1/2, checked at 500 points. The mean differs by less than a tenth of the function's standard deviation; noise has
    a tenth of it.
    """
    rng = np.random.default_rng(0)
    X, at = rng.random((200, 2)), rng.random((500, 2))
    f = sample_path(rng, np.vstack([X, at]), np.array([0.5, 0.8]))
    kept = record(X, f[:200] + 0.1 * f.std() * rng.standard_normal(200))
    state = auto.rebuild(auto.start(unit_space(2), Config(), 0), kept, {}).state
    monkeypatch.setattr(learning, "EXACT", 100)
    monkeypatch.setattr(learning, "DICTIONARY", 50)
    once = learning.relearned(state, kept)
    twice = learning.relearned(once, kept)
    exact, compressed = state.surrogate, twice.surrogate
    assert len(exact.inducing) == 200
    assert len(compressed.inducing) == 50
    (mean, deviation), (compressed_mean, compressed_deviation) = exact.mean_and_std(at), compressed.mean_and_std(at)
    assert ((compressed_deviation / deviation) ** 2 > 1 / 3).all()
    assert np.abs(compressed_mean - mean).mean() < 0.1 * mean.std()


@pytest.mark.parametrize("space", SPACES, ids=["1-d", "3-d", "mixed"])
@pytest.mark.parametrize("beta", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("base", ["exact", "compressed"])
def test_gradient_of_the_bound_matches_finite_differences(space: Space, beta: float, base: str) -> None:
    """Central differences to 1e-5, away from the results; zero along categorical axes."""
    case = Case(space, 9)
    view = case.posterior if base == "exact" else case.compressed(np.arange(10))
    at = np.random.default_rng(2).uniform(0.02, 0.98, (10, space.dimension))
    at[:, case.kernel.categorical] = case.X[:10][:, case.kernel.categorical]
    values, gradient = view.ucb_and_gradient(at, beta)
    np.testing.assert_allclose(values, view.ucb(at, beta), rtol=1e-12, atol=1e-12)
    for k in range(space.dimension):
        h = np.where(np.arange(space.dimension) == k, 1e-5, 0.0)
        expected = (view.ucb(at + h, beta) - view.ucb(at - h, beta)) / 2e-5
        if case.kernel.categorical[k]:
            expected = np.zeros(10)
        np.testing.assert_allclose(gradient[:, k], expected, rtol=1e-5, atol=1e-6)


def test_posterior_without_results_is_the_prior() -> None:
    """Mean 0 and variance sigma_f^2 (1 + MEAN_VARIANCE), everywhere."""
    mean, deviation = surrogate.empty(Kernel(np.array([0.3, 0.5]), np.zeros(2, dtype=np.bool_)), VARIANCE).mean_and_std(
        np.random.default_rng(0).random((5, 2))
    )
    assert mean.tolist() == [0.0] * 5
    np.testing.assert_allclose(deviation**2, VARIANCE * (1.0 + MEAN_VARIANCE), rtol=1e-14)


@pytest.mark.parametrize("is_sum", [True, False])
def test_state_has_the_textbook_posterior(is_sum: bool) -> None:
    """After 30 or 80 noisy steps with checkpoints in between, the surrogate is that of the state's hyperparameters and
    warped results by the dense formulas, with and without an additive part.
    """

    def objective(u: Array) -> float:
        return float(np.sin(9 * u[0]) + np.cos(9 * u[1])) if is_sum else float(np.sin(6 * u[0] * u[1]))

    state = run(unit_space(2), objective, 80 if is_sum else 30, noise=0.01 if is_sum else 0.1).state
    hyperparameters = state.checkpoint.hyperparameters
    assert (hyperparameters.additive is not None) is is_sum
    kernel = hyperparameters.kernel(state.problem.domain)

    def covariance(X: Array, Y: Array) -> Array:
        return full_kernel(kernel, kernel.scaled(X), kernel.scaled(Y)) + MEAN_VARIANCE

    X, z = state.record.positions, state.warp.forward(state.record.values)
    at = np.random.default_rng(0).random((20, 2))
    K, k = covariance(X, X) + hyperparameters.noise_ratio * np.eye(len(X)), covariance(at, X)
    reduced = 1.0 + MEAN_VARIANCE - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))
    mean, deviation = state.surrogate.mean_and_std(at)
    np.testing.assert_allclose(mean, k @ np.linalg.solve(K, z), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(deviation**2, hyperparameters.variance * reduced, rtol=1e-5, atol=1e-8)


def test_declared_noise_is_in_the_users_units() -> None:
    """A result's own standard error replaces the study's, and learned noise is added to either. The noise variance is
    (error x slope of the warp)^2 in model outputs.
    """
    rng = np.random.default_rng(3)
    X, y = rng.random((12, 1)), np.exp(rng.normal(size=12))
    state = auto.start(unit_space(1), Config(noise_std=0.2), 0)
    for i in range(12):
        state = auto.observe(state, X[i], float(y[i]), 0.5 if i % 3 == 0 else 0.0).state
    hyperparameters, h = state.checkpoint.hyperparameters, 1e-6
    slope = (state.warp.forward(y + h) - state.warp.forward(y - h)) / (2 * h)
    errors = np.where(np.arange(12) % 3 == 0, 0.5, 0.2)
    noises = hyperparameters.noise_ratio + (errors * slope) ** 2 / hyperparameters.variance
    assert hyperparameters.smooth, "noise is declared"
    kernel = Kernel(hyperparameters.lengthscales, np.zeros(1, dtype=np.bool_), smooth=True)
    at = rng.random((10, 1))
    K, k = covariance(kernel, X, X) + np.diag(noises), covariance(kernel, at, X)
    np.testing.assert_allclose(
        state.surrogate.mean(at), k @ np.linalg.solve(K, state.warp.forward(y)), rtol=1e-6, atol=1e-6
    )


def test_indefinite_covariance_is_clipped_and_reported() -> None:
    """The same noise-free points, observed repeatedly, give the posterior of observing them once."""
    kernel = Kernel(np.full(2, 3.0), np.zeros(2, dtype=bool), components=NO_COMPONENTS)
    once = np.random.default_rng(0).uniform(size=(30, 2))
    outputs = np.sin(3.0 * once).sum(axis=1)
    first = surrogate.exact(kernel, VARIANCE, once, outputs, np.full(30, 1e-7))
    assert first.clipped == 0
    again = first
    for _ in range(3):
        again = again.condition(once, outputs, np.zeros(30))
    assert again.clipped > 0
    assert again.mean(once) == pytest.approx(outputs, abs=1e-3)
