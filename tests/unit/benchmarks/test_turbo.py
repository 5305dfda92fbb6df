"""The benchmarks' TuRBO: its likelihood, its sample paths, and its trust region."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.space import Space
from benchmarks.quality.methods import turbo
from benchmarks.quality.methods.turbo import Fit, Turbo

SQUARE = Space((FloatAxis("a", 0.0, 1.0), FloatAxis("b", 0.0, 1.0)))


def test_gradient_of_the_likelihood_matches_finite_differences() -> None:
    rng = np.random.default_rng(0)
    points, values = rng.random((12, 3)), rng.normal(size=12)
    logs = np.log([0.5, 0.7, 0.3, 1.2, 0.01])
    found = turbo.negative_log_likelihood(logs, points, values)[1]
    assert found == pytest.approx(
        approx_fprime(logs, lambda x: turbo.negative_log_likelihood(x, points, values)[0], 1e-7), abs=1e-4
    )


def test_sample_paths_have_the_posterior_mean_and_deviation() -> None:
    rng = np.random.default_rng(1)
    points, at = rng.random((6, 2)), rng.random((4, 2))
    fit = Fit(np.array([0.4, 0.6]), 1.0, 0.01, points, np.sin(5.0 * points[:, 0]))
    paths = np.array([fit.path(at, rng) for _ in range(1000)])
    gram = turbo.matern(points, points, fit.lengthscales, 1.0) + 0.01 * np.eye(6)
    cross = turbo.matern(at, points, fit.lengthscales, 1.0)
    mean = cross @ np.linalg.solve(gram, fit.values)
    variance = 1.0 - np.einsum("kn,nk->k", cross, np.linalg.solve(gram, cross.T))
    assert paths.mean(axis=0) == pytest.approx(mean, abs=0.15)
    assert paths.std(axis=0) == pytest.approx(np.sqrt(variance), rel=0.15, abs=0.02)


def test_turbo_finds_a_minimum_and_restarts_when_its_region_is_too_small() -> None:
    method, best = Turbo(SQUARE, seed=0), np.inf
    for _ in range(90):
        parameters = method.ask()
        value = (parameters["a"] - 0.3) ** 2 + (parameters["b"] - 0.6) ** 2
        best = min(best, value)
        method.tell(parameters, value)
    assert best < 1e-4
    assert method.begun >= 2
