"""Mean and variance of the sketched posterior (paper, eq. 5), updated for all points at once.

Of the P known points, E are evaluated. With features z_i (M numbers each), counts n_i and reward sums Y_i of the
evaluated points, and ridge lambda:

    A = sum_i n_i z_i z_i' + lambda I         w = A^-1 sum_i Y_i z_i
    mean(x) = z(x)'w
    variance(x) = (k(x, x) - z(x)'z(x)) / lambda + z(x)'A^-1 z(x)

This variance is that of the Gaussian process with noise variance lambda, divided by lambda: it is 1 / lambda under the
prior, and about 1 / n at a point observed n times. (The paper's eq. 5 mixes kernel vectors of two sizes; this is the
form of BKB and of the authors' code.)

For each point, ``residual = 1 - z'z`` and ``quadratic = z'A^-1 z`` are stored. Each update uses a matrix identity, and
costs O(P M) for one more observation (Sherman-Morrison), new feature columns (block inverse), or removed directions
(Schur complement).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from adabkb_service.engine.paper.points import Points
from adabkb_service.engine.paper.sketch import Sketch

Array = NDArray[np.float64]

# A variance this far below zero, relative to the prior's, shows that rounding errors have accumulated.
NEGATIVE = 1e-6


@dataclass(frozen=True, slots=True)
class Posterior:
    """A^-1, and the two parts of the variance of all P points. Each operation returns a new object."""

    ridge: float
    inverse: Array
    """(M, M) A^-1 on the range of the sketch's Q, zero on its complement."""
    residual: Array
    """(P,) 1 - z'z."""
    quadratic: Array
    """(P,) z'A^-1 z."""

    def raw_variance(self) -> Array:
        """The variance as computed, (P,). Rounding errors can make it negative."""
        return self.residual / self.ridge + self.quadratic

    def variance(self) -> Array:
        """The variance, clipped at 0, (P,)."""
        return np.maximum(self.raw_variance(), 0.0)

    @property
    def needs_refactorization(self) -> bool:
        """Whether rounding errors require a factorization from scratch."""
        return bool(self.raw_variance().min(initial=0.0) < -NEGATIVE / self.ridge)

    def at(self, features: Array) -> tuple[Array, Array]:
        """Residual and quadratic, (k,) each, of points with features (k, M) in the range of Q."""
        residual = 1.0 - np.einsum("km,km->k", features, features)
        return residual, np.einsum("km,km->k", features @ self.inverse, features)

    def variance_at(self, features: Array) -> Array:
        """The variance, clipped at 0, (k,), of points with features (k, M) in the range of Q."""
        residual, quadratic = self.at(features)
        return np.maximum(residual / self.ridge + quadratic, 0.0)

    def add(self, features: Array) -> Posterior:
        """Add k points with features (k, M)."""
        residual, quadratic = self.at(features)
        return Posterior(
            self.ridge,
            self.inverse,
            np.concatenate([self.residual, residual]),
            np.concatenate([self.quadratic, quadratic]),
        )

    def observe(self, features: Array, point: int) -> Posterior:
        """Condition on one more observation of a point: (A + z z')^-1 = A^-1 - v v' / (1 + z'v), v = A^-1 z.

        Args:
            features: (P, M) of all points.
            point: id of the observed point.
        """
        z = features[point]
        v = self.inverse @ z
        denominator = 1.0 + float(z @ v)
        change = features @ v
        return Posterior(
            self.ridge,
            self.inverse - np.outer(v, v / denominator),
            self.residual,
            self.quadratic - change * change / denominator,
        )

    def widen(self, points: Points, old: Array, new: Array) -> Posterior:
        """Add feature columns.

        The new A has the blocks A, B and D. With T = A^-1 B and the Schur complement H = D - B'T, the quadratic form
        gains |H^(-1/2) (z_new - T'z_old)|^2, and the residual loses |z_new|^2.

        Args:
            points: all points; their counts are used.
            old, new: (P, M) and (P, k) features of all points.

        Raises:
            LinAlgError: H is not positive definite.
        """
        if not new.shape[1]:
            return self
        ids = points.evaluated
        weighted = new[ids] * points.counts[ids, None]
        T = self.inverse @ (old[ids].T @ weighted)
        H = new[ids].T @ weighted - (weighted.T @ old[ids]) @ T
        H[np.diag_indices_from(H)] += self.ridge
        factor = np.linalg.cholesky(H)
        gain = solve_triangular(factor, (new - old @ T).T, lower=True)
        H_inverse = cho_solve((factor, True), np.eye(len(H)))
        TH = T @ H_inverse
        return Posterior(
            self.ridge,
            np.block([[self.inverse + TH @ T.T, -TH], [-TH.T, H_inverse]]),
            self.residual - np.einsum("pk,pk->p", new, new),
            self.quadratic + np.einsum("kp,kp->p", gain, gain),
        )

    def narrow(self, features: Array, lost: Array) -> Posterior:
        """Remove directions from the sketch: A^-1 becomes the inverse of A restricted to their complement.

        Args:
            features: (P, M) of all points.
            lost: (M, k) the orthonormal directions to remove.

        Raises:
            LinAlgError: A^-1 is not positive definite on these directions.
        """
        BD = self.inverse @ lost
        factor = np.linalg.cholesky(lost.T @ BD)
        half = solve_triangular(factor, BD.T, lower=True)
        both = features @ np.hstack([lost, half.T])
        k = lost.shape[1]
        return Posterior(
            self.ridge,
            self.inverse - half.T @ half,
            self.residual + np.einsum("pk,pk->p", both[:, :k], both[:, :k]),
            self.quadratic - np.einsum("pk,pk->p", both[:, k:], both[:, k:]),
        )

    def rotate(self, Q: Array) -> Posterior:
        """Change to the coordinates of the orthonormal columns of Q, (M, m), which span the range of the sketch."""
        return replace(self, inverse=Q.T @ self.inverse @ Q)

    def weights(self, features: Array, points: Points, sums: Array) -> Array:
        """w, shape (M,). The posterior mean at a point is z'w, in model output units.

        Args:
            features: (P, M) of all points.
            points: all points.
            sums: (E,) reward sums Y_i by ordinal, in model output units.
        """
        w: Array = self.inverse @ (sums @ features[points.evaluated])
        return w


def build(sketch: Sketch, points: Points, ridge: float) -> Posterior:
    """The posterior, factorized from scratch at cost O(P M^2 + M^3). The sketch must be newly built, so that Q spans
    all columns."""
    Z = sketch.features.array
    observed = Z[points.evaluated]
    A = (observed * points.counts[points.evaluated, None]).T @ observed
    A[np.diag_indices_from(A)] += ridge
    inverse = cho_solve(cho_factor(A, lower=True), np.eye(len(A))) if len(A) else A
    empty = Posterior(ridge, inverse, np.zeros(0), np.zeros(0))
    return empty.add(Z)
