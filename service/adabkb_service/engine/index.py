"""The index of the leaves, what is pruned by it, and the certificate.

    I(x_hi) = min(f~(x_hi), f~(x_parent) + V_{h-1}) + V_h          (paper, eq. 9; the root: f~ + V_0)

The parent's value is the current model's. (The authors' code never uses the parent; the paper's form is taken.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.leaves import TIE, Bools, Leaves

Array = NDArray[np.float64]


def indices(tree: Leaves, ucb: Array) -> Array:
    """I of every leaf, shape (L,), from the upper bounds f~ of all points, shape (P,)."""
    leaves = tree.leaves
    parents = tree.parent[leaves]
    above = ucb[tree.point[parents]] + tree.variation[parents]
    above[parents < 0] = np.inf
    own: Array = np.minimum(ucb[tree.point[leaves]], above) + tree.variation[leaves]
    return own


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
