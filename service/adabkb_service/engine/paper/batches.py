"""Batches as in BBKB (Calandriello et al. 2020): the results between two draws of the dictionary.

The dictionary is kept, and each result is a rank-one update, until some variance may have changed by more than a factor
C since the dictionary was drawn. With the variance s2_fb at that time, divided by lambda, and the points x_s observed
since then, the factor is at most (BBKB, equation 5)

    1 + sum_s s2_fb(x_s) .
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from adabkb_service.engine.paper.points import Points
from adabkb_service.engine.paper.sketch import Sketch

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Batch:
    """The start of a batch, and a bound on the change of the variances since then."""

    start: int
    """Number of earlier results."""
    inverse: Array
    """(M, M) A^-1 when the dictionary was drawn."""
    drift: float
    """Bound on the factor; 1 for a newly drawn dictionary."""

    def observe(self, features: Array, ridge: float) -> Batch:
        """The batch with one more result, at a point with features (M,) in the range of the sketch's Q."""
        return replace(self, drift=self.drift + float(_variance(features[None], self.inverse, ridge)[0]))


def batch_since(start: int, sketch: Sketch, points: Points, ridge: float) -> Batch:
    """The batch that began after ``start`` results, computed from all points. The sketch must be newly built, so that Q
    spans all columns."""
    ids, features = points.evaluated, sketch.features.array
    counts = np.bincount(points.observed[:start], minlength=len(ids))
    observed = features[ids]
    A = (observed * counts[:, None]).T @ observed
    A[np.diag_indices_from(A)] += ridge
    inverse = cho_solve(cho_factor(A, lower=True), np.eye(len(A))) if len(A) else A
    since = ids[points.observed[start:]]
    return Batch(start, inverse, 1.0 + float(_variance(features[since], inverse, ridge).sum()))


def _variance(features: Array, inverse: Array, ridge: float) -> Array:
    """The variance s2, divided by lambda, (k,), at points with features (k, M)."""
    residual = 1.0 - np.einsum("km,km->k", features, features)
    variance: Array = np.maximum(residual / ridge + np.einsum("km,km->k", features @ inverse, features), 0.0)
    return variance
