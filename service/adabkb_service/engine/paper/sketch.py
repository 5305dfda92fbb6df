"""The dictionary and its Nystrom features (paper, eq. 4: k~(x, x') = k_S(x)' K_SS^+ k_S(x')).

    S    the dictionary: ids of evaluated points, in the order in which they were added
    m    size of the basis, the part of S whose features are linearly independent in floating point (m <= |S|)
    M    number of feature columns; m <= M, since columns of removed members stay until ``compact``
    z    features of a point, shape (M,):  z(x)'z(x') = k~(x, x') after projection on the range of Q

The paper's features are Lambda^(-1/2) U' k_S(x). Any Z with Z_S Z_S' = K_SS gives the same k~; here Z grows by block
Cholesky steps, so a change of the dictionary costs O(P M) for P points instead of O(P M^2):

* include s:  add the column ``(k(x, s) - z(x)'z(s)) / pivot``;
* exclude s:  keep all columns, and remove from the range of Q the one direction that only s spanned.

With E the (m, M) features of the basis, ``E' = Q R`` (Q has orthonormal columns, R is upper triangular). So the
features of a new point, the solution of E z = k_S(x) in the range of E', are z = Q R'^-1 k_S(x). This avoids E E',
whose condition number is the square of that of E. Members whose pivot is below ``PIVOT``, such as near-duplicates,
depend numerically on the others. They stay in S but add no column, as if eigenvalues below m * eps * max were dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dpstrf, dtrtrs

from adabkb_service.engine.paper.growable import GrowableMatrix
from adabkb_service.engine.paper.kernels import Kernel

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

PIVOT = 1e-10
"""A feature that adds less than this to k~(x, x) consists of rounding errors. Among the values from 1e-14 to 1e-9, this
one brings the posterior with a full dictionary closest to the exact one when features are most dependent (Gaussian
kernel, one dimension)."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """The dictionary S, and the features of all P points. Each operation returns a new object."""

    kernel: Kernel
    dictionary: Ints
    """(|S|,) ids of the members."""
    basis: Ints
    """(m,) ids of the members with independent features."""
    basis_points: Array
    """(m, d) scaled positions of the basis."""
    features: GrowableMatrix
    """(P, M) z of every point; components outside the range of Q are meaningless."""
    Q: Array
    """(M, m) with orthonormal columns."""
    R: Array
    """(m, m) upper triangular."""

    @property
    def width(self) -> int:
        """M, the number of feature columns."""
        return len(self.Q)

    def embed(self, scaled: Array) -> Array:
        """Features, (k, M), of new points at scaled positions (k, d)."""
        if not len(self.basis):
            return np.zeros((len(scaled), self.width))
        solution, _ = dtrtrs(self.R, self.kernel(self.basis_points, scaled), trans=1)
        Z: Array = (self.Q @ solution).T
        return Z

    def projected(self, point: int) -> Array:
        """The features (M,) of a known point, given its id, projected on the range of Q."""
        z: Array = self.Q @ (self.Q.T @ self.features.array[point])
        return z

    def add(self, features: Array) -> Sketch:
        """Add k points with features (k, M)."""
        return replace(self, features=self.features.append_rows(features))

    def include(self, ids: Ints, scaled: Array) -> tuple[Sketch, Array]:
        """Add points to the dictionary.

        Args:
            ids: (k,) ids of points that are not in it.
            scaled: (P, d) scaled positions of all points.

        Returns:
            The sketch, and its new columns (P, k'), k' <= k: the features of all points in the new directions.
        """
        Z = self.features.array
        coordinates = self.Q.T @ Z[ids].T
        cross = self.kernel(scaled, scaled[ids]) - Z @ (self.Q @ coordinates)
        factor, order, rank, _ = dpstrf(cross[ids], tol=PIVOT)
        if cross[ids, np.arange(len(ids))].max() <= PIVOT:  # LAPACK accepts the first pivot whatever its size
            rank = 0
        kept = order[:rank] - 1
        C = np.triu(factor[:rank, :rank])
        columns = solve_triangular(C, cross[:, kept].T, trans=1).T if rank else np.zeros((len(Z), 0))
        m, M = len(self.basis), self.width
        Q, R = np.zeros((M + rank, m + rank)), np.zeros((m + rank, m + rank))
        Q[:M, :m], Q[M:, m:] = self.Q, np.eye(rank)
        R[:m, :m], R[:m, m:], R[m:, m:] = self.R, coordinates[:, kept], C
        sketch = replace(
            self,
            dictionary=np.concatenate([self.dictionary, ids]),
            basis=np.concatenate([self.basis, ids[kept]]),
            basis_points=np.concatenate([self.basis_points, scaled[ids[kept]]]),
            features=self.features.append_columns(columns),
            Q=Q,
            R=R,
        )
        return sketch, columns

    def exclude(self, ids: Ints) -> tuple[Sketch, Array]:
        """Remove members from the dictionary.

        The dictionary must not have dependent members (``has_dependents``): one of them might have to replace a removed
        member in the basis. In this case, rebuild the sketch.

        Args:
            ids: (k,) ids of members.

        Returns:
            The sketch, and the orthonormal directions (M, k) that only the removed members spanned.
        """
        removed = np.isin(self.basis, ids)
        unit = np.zeros((len(self.basis), int(removed.sum())))
        unit[np.flatnonzero(removed), np.arange(unit.shape[1])] = 1.0
        lost, _ = qr(self.Q @ solve_triangular(self.R, unit, trans=1), mode="economic")
        rotation, R = qr(self.R[:, ~removed], mode="economic")
        sketch = replace(
            self,
            dictionary=self.dictionary[~np.isin(self.dictionary, ids)],
            basis=self.basis[~removed],
            basis_points=self.basis_points[~removed],
            Q=self.Q @ rotation,
            R=R,
        )
        return sketch, lost

    def compact(self) -> Sketch:
        """Remove the columns left by removed members: the features become Z Q, and Q the identity."""
        return replace(self, features=GrowableMatrix(self.features.array @ self.Q), Q=np.eye(len(self.basis)))

    @property
    def has_dependents(self) -> bool:
        """Whether the features of some members depend on those of others."""
        return len(self.basis) < len(self.dictionary)


def build(kernel: Kernel, dictionary: Ints, scaled: Array) -> Sketch:
    """The sketch with this dictionary, computed from scratch at cost O(P m^2).

    Args:
        kernel: a function of scaled positions.
        dictionary: (|S|,) ids of the members; may be empty.
        scaled: (P, d) scaled positions of all points.
    """
    nothing = Sketch(
        kernel,
        dictionary=np.zeros(0, dtype=np.int64),
        basis=np.zeros(0, dtype=np.int64),
        basis_points=np.zeros((0, scaled.shape[1])),
        features=GrowableMatrix(np.zeros((len(scaled), 0))),
        Q=np.zeros((0, 0)),
        R=np.zeros((0, 0)),
    )
    return nothing.include(dictionary, scaled)[0] if len(dictionary) else nothing
