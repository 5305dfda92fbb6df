"""The index of the leaves, what is pruned by it, and the certificate.

    I(x_hi) = min(f~(x_hi), f~(x_parent) + V_{h-1}) + V_h          (paper, eq. 9; the root: f~ + V_0)

The parent's value is the current model's. (The authors' code never uses the parent; the paper's form is taken.)

The paper's outlook names expected improvement as another index. Here it is that of the best value in the cell that the
model thinks likely, mean + V_h; only the choice of the leaf is its, all bounds stay the paper's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from adabkb_service.engine.paper.leaves import TIE, Bools, Leaves

Array = NDArray[np.float64]

SMALLEST = 1e-100
"""Instead of a deviation of 0; its inverse has a square."""
FAR = -1e5
"""Standard deviations from which on the leading term of the improvement's expansion is exact enough."""


def indices(tree: Leaves, ucb: Array) -> Array:
    """I of every leaf, shape (L,), from the upper bounds f~ of all points, shape (P,)."""
    leaves = tree.leaves
    parents = tree.parent[leaves]
    above = ucb[tree.point[parents]] + tree.variation[parents]
    above[parents < 0] = np.inf
    own: Array = np.minimum(ucb[tree.point[leaves]], above) + tree.variation[leaves]
    return own


def expected_improvements(tree: Leaves, mean: Array, std: Array, best_mean: float) -> Array:
    """ln E[max(0, y - best)] of every leaf, y normal with mean + V_h and the posterior's variance; shape (L,).

    The logarithm, since the expectation itself is 0 in floating point nearly everywhere (Ament et al. 2023).

    Args:
        tree: the leaves.
        mean, std: (P,) of all points, in model output units; std is not divided by sqrt(lambda).
        best_mean: the largest mean of an evaluated point.
    """
    points = tree.point[tree.leaves]
    deviation = np.maximum(std[points], SMALLEST)
    u = (mean[points] + tree.variation[tree.leaves] - best_mean) / deviation
    low = np.minimum(u, -1.0)
    # For u < -1: phi(u) + u Phi(u) = phi(u) (1 - |u| sqrt(pi / 2) erfcx(|u| / sqrt 2)); 1 / u^2 where that cancels.
    tail = 1.0 + low * np.sqrt(np.pi / 2) * erfcx(-low / np.sqrt(2))
    log_tail = np.where(low < FAR, -2.0 * np.log(-low), np.log(np.maximum(tail, SMALLEST)))
    far = -low * low / 2 - np.log(2 * np.pi) / 2 + log_tail
    high = np.maximum(u, -1.0)
    near = np.log(np.exp(-high * high / 2) / np.sqrt(2 * np.pi) + high * ndtr(high))
    values: Array = np.log(deviation) + np.where(u < -1.0, far, near)
    return values


def best(tree: Leaves, values: Array, allowed: Bools | None = None) -> int:
    """The cell (position) of the largest index, ties by the stated order.

    Args:
        values: (L,) indices.
        allowed: (L,) leaves to choose among; all when None.
    """
    if allowed is not None:
        values = np.where(allowed, values, -np.inf)
    top = values.max()
    candidates = np.flatnonzero(values >= top - TIE * abs(top))
    return tree.first_of(tree.leaves[candidates])


def prunable(tree: Leaves, ucb: Array, best_lcb: float, incumbent: Array | None) -> Bools:
    """Which leaves cannot hold an optimum: er(x_hi) of the paper, f~(x_hi) + V_h < l*; mask of shape (L,).

    Args:
        ucb: (P,) f~ by the observations alone (no pending ones: those would make the bound invalid).
        best_lcb: l*.
        incumbent: (d,) cube position of the point that attains l*; the cell that holds it is never pruned.
    """
    bound = ucb[tree.point[tree.leaves]] + tree.variation[tree.leaves]
    mask: Bools = bound < best_lcb - TIE * abs(best_lcb)
    if incumbent is not None and mask.any():
        mask &= ~tree.holding(incumbent)
    return mask


def gap(tree: Leaves, ucb: Array, best_lcb: float) -> float:
    """The certificate max I - l*, in model output units: with probability 1 - delta the incumbent is that good."""
    return max(float(indices(tree, ucb).max()) - best_lcb, 0.0) if tree.count else 0.0
