"""Each kernel matches the formula in its docstring, and its g bounds the distance in the RKHS."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from adabkb_service.engine.paper.kernels import Gaussian, Kernel, Matern, distance

FORMULAS: list[tuple[Kernel, Callable[[float], float]]] = [
    (Gaussian(), lambda r: math.exp(-(r**2) / 2)),
    (Matern(0.5), lambda r: math.exp(-r)),
    (Matern(1.5), lambda r: (1 + math.sqrt(3) * r) * math.exp(-math.sqrt(3) * r)),
    (Matern(2.5), lambda r: (1 + math.sqrt(5) * r + 5 * r**2 / 3) * math.exp(-math.sqrt(5) * r)),
]


@pytest.mark.parametrize(("kernel", "formula"), FORMULAS)
def test_kernels_match_their_docstring_formulas(kernel: Kernel, formula: Callable[[float], float]) -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    expected = [[formula(float(np.linalg.norm(x - y))) for y in Y] for x in X]
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-13)
    np.testing.assert_array_equal(np.diag(kernel(X, X)), np.ones(len(X)))


@pytest.mark.parametrize(("kernel", "formula"), FORMULAS)
def test_g_bounds_the_rkhs_distance_and_never_decreases(kernel: Kernel, formula: Callable[[float], float]) -> None:
    r = np.geomspace(1e-6, 50.0, 400)
    exact = np.array([math.sqrt(2 - 2 * formula(x)) for x in r])
    np.testing.assert_allclose(distance(kernel, r), exact, atol=1e-7)
    assert (np.diff(distance(kernel, r)) >= -1e-9).all()
    if math.isfinite(kernel.slope):
        assert (exact <= kernel.slope * r * (1 + 1e-9) + 1e-7).all()
        # The slope is the smallest valid one: the limit of small r attains it.
        assert exact[200] / r[200] == pytest.approx(kernel.slope, rel=0.02)


def test_nearby_points_keep_their_precision() -> None:
    """1 - k of two points 1e-6 apart, far from the origin, is accurate: the code must not use |x|^2 + |y|^2 - 2xy."""
    x = np.array([[1000.0, -1000.0]])
    assert 1.0 - Gaussian()(x, x + np.array([1e-6, 0.0]))[0, 0] == pytest.approx(5e-13, rel=1e-3)
