"""FALKON (Rudi, Carratino and Rosasco 2017): kernel ridge regression on M Nystrom centers, by conjugate gradients.

With K_nm the kernel of n rows and the centers and K_mm that of the centers, it solves

    (K_nm' K_nm + lambda n K_mm) alpha = K_nm' y

preconditioned by T = chol(K_mm) and A = chol(T T' / M + lambda I), both upper triangular: in beta = A T alpha the
matrix is near the identity, and some twenty steps give alpha.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

Array = NDArray[np.float64]

JITTER = 1e-10
"""Added to the diagonal of K_mm, times M, since K_mm is singular in floating point if lengthscales are long."""
SOLVED = 1e-14
"""Residual, relative to the first one, below which the equations count as solved."""
STEPS = 20
"""The authors use 10 steps. For CASP, they compute in single precision with a larger jitter, so 10 are nearly enough;
here, 10 steps would leave a seventh of the error."""


@dataclass(frozen=True, slots=True)
class Falkon:
    """A fitted model."""

    centers: Array
    """(M, k), divided by the lengthscales."""
    lengthscales: Array
    """(k,)."""
    alpha: Array
    """(M,)."""

    def predict(self, X: Array) -> Array:
        """Rows (n, k) -> (n,)."""
        prediction: Array = gaussian(X / self.lengthscales, self.centers) @ self.alpha
        return prediction


def fit(X: Array, y: Array, centers: Array, lengthscales: Array, penalty: float, steps: int = STEPS) -> Falkon:
    """Fit by conjugate gradients.

    Args:
        X, y: n rows, (n, k) and (n,).
        centers: (M, k), some of the rows.
        lengthscales: (k,), one per feature.
        penalty: lambda.
        steps: the maximum number of steps of the conjugate gradients.
    """
    n, M = len(X), len(centers)
    scaled = centers / lengthscales
    K_mm = gaussian(scaled, scaled)
    K_mm[np.diag_indices(M)] += JITTER * M
    T = cholesky(K_mm, overwrite_a=True)
    inner = T @ T.T / M
    inner[np.diag_indices(M)] += penalty
    A = cholesky(inner, overwrite_a=True)
    K_nm = gaussian(X / lengthscales, scaled)

    def half(v: Array) -> Array:
        return _solve(T, _solve(A, v))

    def half_transposed(v: Array) -> Array:
        return _solve(A, _solve(T, v, transposed=True), transposed=True)

    def apply(v: Array) -> Array:
        w = _solve(A, v)
        return half_transposed(K_nm.T @ (K_nm @ _solve(T, w))) / n + penalty * _solve(A, w, transposed=True)

    beta = _conjugate_gradients(apply, half_transposed(K_nm.T @ y) / n, steps)
    return Falkon(scaled, lengthscales, half(beta))


def gaussian(first: Array, second: Array) -> Array:
    """exp(-|x - x'|^2 / 2) of scaled rows, (n, k) and (m, k) -> (n, m)."""
    squares = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1) - 2.0 * (first @ second.T)
    np.maximum(squares, 0.0, out=squares)
    squares *= -0.5
    kernel: Array = np.exp(squares, out=squares)
    return kernel


def _solve(triangular: Array, right: Array, *, transposed: bool = False) -> Array:
    solution: Array = solve_triangular(triangular, right, trans=int(transposed), check_finite=False)
    return solution


def _conjugate_gradients(apply: Callable[[Array], Array], right: Array, steps: int) -> Array:
    solution, residual = np.zeros_like(right), right.copy()
    direction, square = residual.copy(), float(residual @ residual)
    solved = square * SOLVED**2
    for _ in range(steps):
        if square <= solved:
            break
        image = apply(direction)
        step = square / float(direction @ image)
        solution += step * direction
        residual -= step * image
        square, before = float(residual @ residual), square
        direction = residual + square / before * direction
    return solution
