"""Learning of hyperparameters: the gradient is that of the loss, and known hyperparameters are recovered."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.model import likelihood, warp
from adabkb_service.engine.auto.model.kernel import MEAN_VARIANCE
from adabkb_service.engine.auto.model.likelihood import LENGTHSCALES, NOISE_PRIOR, NOISES, Evidence, Hyperparameters
from tests.unit.engine.auto.drive import run, sample_path
from tests.unit.engine.auto.strategies import MIXED
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

BOUNDS = np.log(np.array([LENGTHSCALES, NOISES]))


def evidence(kind: str, seed: int, n: int = 25) -> Evidence:
    """Smooth outputs with noise: in the cube (also with a smooth kernel), on every kind of axis, or with known noises
    that differ.
    """
    rng = np.random.default_rng(seed)
    space = MIXED if kind == "mixed" else unit_space(3)
    domain = Domain(space)
    X = np.array([domain.exact(x) for x in rng.random((n, space.dimension))])
    z = np.sin(4 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.1 * rng.standard_normal(n)
    extra = 0.3 * rng.random(n) if kind == "heteroscedastic" else np.zeros(n)
    return Evidence(X, (z - z.mean()) / z.std(), extra, domain.categorical, smooth=kind == "smooth")


def parameters(where: str, dimension: int, seed: int) -> Array:
    """log (l_1 .. l_d, nu): anywhere within the bounds, or each close to one of its two bounds."""
    rng = np.random.default_rng(seed)
    low, high = np.array([BOUNDS[0]] * dimension + [BOUNDS[1]]).T
    share = rng.random(dimension + 1) if where == "anywhere" else rng.choice([0.001, 0.999], dimension + 1)
    found: Array = low + share * (high - low)
    return found


def central_differences(data: Evidence, at: Array, step: float = 1e-3) -> Array:
    """Central differences of fourth order. With small noise, the loss is accurate only to about 1e-9."""
    found = np.zeros_like(at)
    for k in range(len(at)):
        e = np.where(np.arange(len(at)) == k, step, 0.0)
        near, far = (
            data.negative_log_posterior(at + m * e)[0] - data.negative_log_posterior(at - m * e)[0] for m in (1, 2)
        )
        found[k] = (8 * near - far) / (12 * step)
    return found


def with_part(at: Array, seed: int) -> Array:
    """Parameters with those of an additive part: (logit w, log a, t)."""
    rng, d = np.random.default_rng([seed, 2]), len(at) - 1
    return np.concatenate([at, [rng.uniform(-3.0, 5.0), rng.uniform(-2.5, 1.0)], rng.normal(size=d)])


@pytest.mark.parametrize("kind", ["continuous", "smooth", "mixed", "heteroscedastic"])
@pytest.mark.parametrize("part", ["plain", "additive"])
@pytest.mark.parametrize("where", ["anywhere", "near the bounds"])
def test_gradient_matches_finite_differences(kind: str, where: str, part: str) -> None:
    """Central differences for 12 data sets and parameter vectors, to 1e-5 of the gradient's size."""
    for seed in range(12):
        data = evidence(kind, seed)
        at = parameters(where, data.positions.shape[1], seed)
        at = at if part == "plain" else with_part(at, seed)
        gradient, expected = data.negative_log_posterior(at)[1], central_differences(data, at)
        assert np.abs(gradient - expected).max() <= 1e-5 * (1.0 + np.abs(expected).max()), (seed, gradient, expected)


def test_gradient_treats_a_clamped_variance_as_constant() -> None:
    """The outputs are so small that sigma_f^2 is at its lower limit."""
    data = evidence("continuous", 0)
    tiny = Evidence(data.positions, 1e-6 * data.outputs, data.extra, data.categorical)
    at = parameters("anywhere", 3, 1)
    assert tiny.variance(at) == likelihood.MIN_VARIANCE
    np.testing.assert_allclose(tiny.negative_log_posterior(at)[1], central_differences(tiny, at), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("part", ["plain", "additive"])
@pytest.mark.parametrize("kind", ["continuous", "mixed", "heteroscedastic"])
def test_loss_matches_the_formula(kind: str, part: str) -> None:
    """Marginal likelihood with profiled sigma_f^2 and the priors, from a kernel matrix built by loops."""
    data = evidence(kind, 3, n=12)
    n, d = data.positions.shape
    at = parameters("anywhere", d, 5)
    lengthscales, noise = np.exp(at[:d]), np.exp(at[d])
    share, scale, weights, penalty = 0.0, 1.0, np.zeros(d), 0.0
    if part == "additive":
        at = with_part(at, 5)
        share, scale, weights = 1.0 / (1.0 + np.exp(-at[d + 1])), np.exp(at[d + 2]), np.exp(at[d + 3 :])
        from_centre = at[d + 2] - np.log(0.5) + np.log(3.0) / 2
        penalty = (at[d + 1] / 3.0) ** 2 / 2 + from_centre**2 / 2 + ((at[d + 3 :] / 1.5) ** 2).sum() / 2
    K = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            apart = (data.positions[i] - data.positions[j]) / lengthscales
            r = np.sqrt(3 * sum(apart[k] ** 2 for k in range(d) if not data.categorical[k]))
            q = sum(1 / lengthscales[k] for k in range(d) if data.categorical[k] and apart[k] != 0)
            k = (1 - share) * (1 + r) * np.exp(-r - q)
            for axis in range(d if share else 0):
                away = abs(data.positions[i, axis] - data.positions[j, axis])
                s = np.sqrt(5.0) / scale * (away != 0.0 if data.categorical[axis] else away)
                k += share * weights[axis] / weights.sum() * (1 + s + s**2 / 3) * np.exp(-s)
            K[i, j] = k + MEAN_VARIANCE + (i == j) * (noise + data.extra[i])
    variance = float(data.outputs @ np.linalg.solve(K, data.outputs)) / n
    assert data.variance(at) == pytest.approx(variance, rel=1e-7)
    centre = np.log(0.5) + np.log(d / 3) / 2
    expected = (
        n / 2 * np.log(variance)
        + np.linalg.slogdet(K)[1] / 2
        + ((at[:d] - centre) ** 2).sum() / 2
        + (at[d] - NOISE_PRIOR[0]) ** 2 / (2 * NOISE_PRIOR[1] ** 2)
        + penalty
    )
    assert data.negative_log_posterior(at)[0] == pytest.approx(float(expected), rel=1e-8)


def learned(data: Evidence) -> Hyperparameters:
    return likelihood.learn(data, [likelihood.prior(data.positions.shape[1])])


@pytest.mark.parametrize("seed", range(4))
def test_irrelevant_axes_get_long_lengthscales(seed: int) -> None:
    """60 results of a wave along the first of 4 axes: only the first lengthscale is shorter than the box."""
    rng = np.random.default_rng(seed)
    X = rng.random((60, 4))
    y = np.sin(7 * X[:, 0]) + 0.02 * rng.standard_normal(60)
    found = learned(Evidence(X, warp.fit(y).forward(y), np.zeros(60), np.zeros(4, dtype=np.bool_))).lengthscales
    assert found[0] < 1.0
    assert found[1:].min() > 2.0 * found[0]
    assert found[1:].min() > 1.0


def test_only_relevant_choices_get_short_lengthscales() -> None:
    """Two categorical axes of three choices: each choice of the first one has another wave; the second one has no
    effect.
    """
    rng = np.random.default_rng(0)
    X = np.stack([(rng.integers(0, 3, 80) + 0.5) / 3, (rng.integers(0, 3, 80) + 0.5) / 3, rng.random(80)], axis=1)
    y = np.sin(7 * X[:, 2] + 7 * X[:, 0]) + 0.02 * rng.standard_normal(80)
    found = learned(Evidence(X, (y - y.mean()) / y.std(), np.zeros(80), np.array([True, True, False])))
    assert found.lengthscales[1] > 5.0 * found.lengthscales[0]


@pytest.mark.parametrize("ratio", [0.003, 0.03, 0.3])
def test_noise_variance_is_recovered(ratio: float) -> None:
    """150 results of functions drawn from the prior with known noise variance: within a factor of 1.5, for 5 seeds."""
    for seed in range(5):
        rng = np.random.default_rng([seed, 1])
        X = rng.random((150, 2))
        y = sample_path(rng, X, np.array([0.4, 0.8])) + np.sqrt(ratio) * rng.standard_normal(150)
        found = learned(Evidence(X, y, np.zeros(150), np.zeros(2, dtype=np.bool_)))
        assert ratio / 1.5 < found.noise_ratio * found.variance < ratio * 1.5, seed


def test_declared_noise_is_not_learned_twice() -> None:
    """For results with a declared noise variance of 0.2, less than a hundredth of it is learned in addition."""
    rng = np.random.default_rng(0)
    X = rng.random((120, 2))
    f = sample_path(rng, X, np.array([0.4, 0.8]))
    y, none = f + np.sqrt(0.2) * rng.standard_normal(120), np.zeros(2, dtype=np.bool_)
    silent, declared = (learned(Evidence(X, y, np.full(120, extra), none)) for extra in (0.0, 0.2))
    assert silent.noise_ratio * silent.variance > 0.1
    assert declared.noise_ratio * declared.variance < 0.002


def test_the_better_of_two_optima_is_kept_for_either_start() -> None:
    """Few noisy results of a wave fit a slow trend with noise, or a fast wave without; either start may be better."""
    slow, fast = Hyperparameters(np.array([20.0]), 0.5, 1.0), Hyperparameters(np.array([0.03]), 1e-6, 1.0)
    winners = set()
    for seed in (0, 5):
        rng = np.random.default_rng(seed)
        X = rng.random((12, 1))
        y = np.sin(12 * X[:, 0]) + 0.5 * rng.standard_normal(12)
        data = Evidence(X, (y - y.mean()) / y.std(), np.zeros(12), np.zeros(1, dtype=np.bool_))
        losses = [
            data.negative_log_posterior(np.log([*found.lengthscales, found.noise_ratio]))[0]
            for found in (likelihood.learn(data, starts) for starts in ([slow], [fast], [slow, fast], [fast, slow]))
        ]
        assert abs(losses[0] - losses[1]) > 1.0, "the test proves nothing if both starts end in the same optimum"
        winners.add(losses[0] < losses[1])
        assert losses[2] == losses[3] == min(losses[:2])
    assert winners == {True, False}


def test_splits_prefer_the_relevant_axis() -> None:
    """A wave along the first of 4 axes, evaluations 13 to 42, after the widest steps: more than half of the splits are
    along it (a quarter would be by chance).
    """
    cut: Counter[int] = Counter()
    for seed in range(2):
        result = run(unit_space(4), lambda u: float(np.sin(7 * u[0])), 12, seed=seed)
        before = set(result.cells)
        for _ in range(30):
            result.step(lambda u: float(np.sin(7 * u[0])))
        names = [key.rpartition(".")[2] for key in result.cells if key not in before]
        cut.update(int(name.split("-")[0]) for name in names)
    assert cut.total() > 50
    assert cut[0] / cut.total() > 1 / 2, cut
