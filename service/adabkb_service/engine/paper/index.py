"""The index of the leaves, the leaves to prune, and the certificate.

    I(x_hi) = min(f~(x_hi), f~(x_parent) + V_{h-1}) + V_h          (paper, eq. 9; for the root f~ + V_0)

The parent's upper bound f~ is that of the current model. (The authors' code omits the parent.)

The paper's outlook names expected improvement as another index. Here it is computed for a normal value with mean
mu(x_hi) + V_h and the posterior variance at x_hi. It affects only the choice of the leaf: pruning and certificate
always use the paper's bounds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from adabkb_service.engine.paper.leaves import TIE, Bools, Leaves

Array = NDArray[np.float64]

SMALLEST = 1e-100
"""Replaces a standard deviation of 0; its inverse square is still finite."""
FAR = -1e5
"""Below this u, the leading term of the asymptotic expansion of the expected improvement is exact enough."""


def indices(tree: Leaves, ucb: Array) -> Array:
    """The index I of every leaf, shape (L,), from the upper bounds f~ of all points, shape (P,) (paper, eq. 9)."""
    leaves = tree.leaves
    parents = tree.parent[leaves]
    above = ucb[tree.point[parents]] + tree.variation[parents]
    above[parents < 0] = np.inf
    own: Array = np.minimum(ucb[tree.point[leaves]], above) + tree.variation[leaves]
    return own


def expected_improvements(tree: Leaves, mean: Array, std: Array, best_mean: float) -> Array:
    """ln E[max(0, y - best_mean)] of every leaf, shape (L,), with y ~ N(mean + V_h, std^2).

    In logarithms, because the expectation underflows nearly everywhere (Ament et al. 2023).

    Args:
        tree: the leaves.
        mean, std: (P,) posterior of all points, in model output units; std is not divided by sqrt(lambda).
        best_mean: the largest mean of an evaluated point.
    """
    points = tree.point[tree.leaves]
    deviation = np.maximum(std[points], SMALLEST)
    u = (mean[points] + tree.variation[tree.leaves] - best_mean) / deviation
    low = np.minimum(u, -1.0)
    # For u < -1: phi(u) + u Phi(u) = phi(u) (1 - |u| sqrt(pi / 2) erfcx(|u| / sqrt 2)). If the difference cancels, it
    # is 1 / u^2.
    tail = 1.0 + low * np.sqrt(np.pi / 2) * erfcx(-low / np.sqrt(2))
    log_tail = np.where(low < FAR, -2.0 * np.log(-low), np.log(np.maximum(tail, SMALLEST)))
    far = -low * low / 2 - np.log(2 * np.pi) / 2 + log_tail
    high = np.maximum(u, -1.0)
    near = np.log(np.exp(-high * high / 2) / np.sqrt(2 * np.pi) + high * ndtr(high))
    values: Array = np.log(deviation) + np.where(u < -1.0, far, near)
    return values


def best(tree: Leaves, values: Array, allowed: Bools | None = None) -> int:
    """The leaf with the largest index, as a position in the tree's arrays. Ties are broken by ``Leaves.first_of``.

    Args:
        tree: the leaves.
        values: (L,) indices.
        allowed: (L,) mask of the leaves to choose among; None for all.
    """
    if allowed is not None:
        values = np.where(allowed, values, -np.inf)
    top = values.max()
    candidates = np.flatnonzero(values >= top - TIE * abs(top))
    return tree.first_of(tree.leaves[candidates])


def prunable(tree: Leaves, ucb: Array, best_lcb: float, incumbent: Array | None) -> Bools:
    """Mask (L,) of the leaves that cannot contain an optimum: those with f~(x_hi) + V_h < l* (the paper's er(x_hi)).

    Args:
        tree: the leaves.
        ucb: (P,) f~ given the observations only. With pending points in the posterior, the bound would not be valid.
        best_lcb: l*, the largest lower bound of an evaluated point.
        incumbent: (d,) cube position of the point that attains l*. The cell containing it is never pruned.
    """
    bound = ucb[tree.point[tree.leaves]] + tree.variation[tree.leaves]
    mask: Bools = bound < best_lcb - TIE * abs(best_lcb)
    if incumbent is not None and mask.any():
        mask &= ~tree.holding(incumbent)
    return mask


def gap(tree: Leaves, ucb: Array, best_lcb: float) -> float:
    """The certificate max I - l*, in model output units; 0 without leaves. With probability 1 - delta, the optimum
    exceeds the incumbent by at most this."""
    return max(float(indices(tree, ucb).max()) - best_lcb, 0.0) if tree.count else 0.0
