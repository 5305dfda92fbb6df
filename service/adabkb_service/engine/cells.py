"""Cells of the partition tree: boxes of the unit cube, their keys, splits and radii (paper, section 3).

A cell's key is its path from the root: "0" is the root, "0.2" the third child of the root, and "0.2.1" the second child
of that cell. N is the number of children of a cell. In the paper's (h, i), h is ``key.count(".")`` and i is the path
read as a number in base N. A cell's centroid is the middle of its box, or the valid position nearest to it. With an odd
N, the middle child has the same centroid and point as its parent; its key shows this, so coordinates need not be
compared.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROOT = "0"
NEW_TREE = {ROOT: "leaf"}
"""The cells of a new study, key -> status."""
# Longest key: PostgreSQL indexes at most 2700 bytes.
MAX_KEY_LENGTH = 2000

# Sides count as equally long if their lengths differ by less than this, relatively. The first of them is cut.
SIDE_TIE = 1e-9


def depth_of(key: str) -> int:
    """The depth h of a cell: 0 for the root."""
    return key.count(".")


def path_of(key: str) -> tuple[int, ...]:
    """The path of a cell as integers. Cells of the same depth are ordered by their paths."""
    return tuple(map(int, key.split(".")))


def child_keys(key: str, branching: int) -> list[str]:
    """Keys of the N children."""
    return [f"{key}.{i}" for i in range(branching)]


def own_centroids(branching: int) -> NDArray[np.bool_]:
    """Mask (N,) of the children whose centroid differs from their parent's. With an odd N, all but the middle one."""
    own: NDArray[np.bool_] = np.arange(branching) * 2 != branching - 1
    return own


def split(lows: Array, highs: Array, branching: int, side_scale: Array) -> tuple[Array, Array]:
    """Cut boxes into N equal parts along their longest sides.

    Args:
        lows, highs: corners of the boxes in the unit cube, shape (k, d).
        branching: N >= 2.
        side_scale: shape (d,); sides are multiplied by it before they are compared, which expresses them in
            lengthscales.

    Returns:
        The children's low and high corners, each of shape (k, N, d), in path order. The children tile the box exactly:
        neighbors share the same floating-point edge.
    """
    sides = (highs - lows) * side_scale
    axis = np.argmax(sides >= sides.max(axis=1, keepdims=True) * (1.0 - SIDE_TIE), axis=1)
    boxes = np.arange(len(lows))
    start, end = lows[boxes, axis], highs[boxes, axis]
    edges = start[:, None] + (end - start)[:, None] * (np.arange(branching + 1) / branching)
    edges[:, -1] = end
    child_lows, child_highs = np.repeat(lows[:, None], branching, axis=1), np.repeat(highs[:, None], branching, axis=1)
    child_lows[boxes, :, axis], child_highs[boxes, :, axis] = edges[:, :-1], edges[:, 1:]
    return child_lows, child_highs


def radius(low: Array, high: Array, centroid: Array, side_scale: Array) -> Array:
    """Distance from the centroid of each cell to the cell's farthest corner, in lengthscales.

    Args:
        low, high, centroid: shape (k, d), unit cube; the centroid may be off the middle (rounded to an integer).
        side_scale: shape (d,), factors that convert lengths in the unit cube to lengthscales.

    Returns:
        The distances, shape (k,): half the diagonal if the centroid is the middle.
    """
    reach = np.maximum(centroid - low, high - centroid) * side_scale
    distances: Array = np.sqrt(np.einsum("kd,kd->k", reach, reach))
    return distances


def box_of(key: str, branching: int, side_scale: Array) -> tuple[Array, Array]:
    """Corners (low, high), each (d,), of the cell with this key, found by splits from the root downwards."""
    low, high = np.zeros((1, len(side_scale))), np.ones((1, len(side_scale)))
    for index in path_of(key)[1:]:
        lows, highs = split(low, high, branching, side_scale)
        low, high = lows[:, index], highs[:, index]
    return low[0], high[0]
