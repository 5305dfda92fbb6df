"""Batches as in BBKB (Calandriello et al. 2020): results between two draws of the dictionary.

While the variances cannot have changed by more than a factor C since the dictionary was drawn, it is kept and a result
is a rank-one update. With s2_fb the variance when it was drawn and x_s the points observed since, their factor is at
most (BBKB, equation 5; ridge-scaled variances)

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
    """Where the batch began, and how far it is."""

    start: int
    """Results before it."""
    inverse: Array
    """(M, M) A^-1 when the dictionary was drawn."""
    drift: float
    """The bound: 1 when the dictionary has just been drawn."""

    def observe(self, features: Array, ridge: float) -> Batch:
        """With one more result, at a point of these features, (M,), in the range of the sketch's Q."""
        return replace(self, drift=self.drift + float(_variance(features[None], self.inverse, ridge)[0]))


def batch_since(start: int, sketch: Sketch, points: Points, ridge: float) -> Batch:
    """The batch that began after so many results, from scratch; the sketch is fresh (range of Q = everything)."""
    ids, features = points.evaluated, sketch.features.array
    counts = np.bincount(points.observed[:start], minlength=len(ids))
    observed = features[ids]
    A = (observed * counts[:, None]).T @ observed
    A[np.diag_indices_from(A)] += ridge
    inverse = cho_solve(cho_factor(A, lower=True), np.eye(len(A))) if len(A) else A
    since = ids[points.observed[start:]]
    return Batch(start, inverse, 1.0 + float(_variance(features[since], inverse, ridge).sum()))


def _variance(features: Array, inverse: Array, ridge: float) -> Array:
    """s2, (k,), at points of these features, (k, M)."""
    residual = 1.0 - np.einsum("km,km->k", features, features)
    variance: Array = np.maximum(residual / ridge + np.einsum("km,km->k", features @ inverse, features), 0.0)
    return variance
