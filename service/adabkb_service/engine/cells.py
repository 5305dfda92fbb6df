"""Cells of the partition tree: boxes of the unit cube, their keys, splits and radii (paper, section 3).

A cell's key is its path from the root: "0" is the root, "0.2" its third child, "0.2.1" that one's second. The
paper's (h, i) is ``h = key.count(".")`` and i the path read as a number to the base N. A cell's centroid is the
middle of its box. With an odd N the middle child has its parent's centroid, and shares the parent's point by
identity, never by comparing coordinates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROOT = "0"
# Characters of a key, at most: PostgreSQL indexes no more than 2700 bytes.
LONGEST_KEY = 2000

# Sides that differ by rounding only are equally long: the tie goes to the first axis.
SIDE_TIE = 1e-9


def depth_of(key: str) -> int:
    """h of a cell: 0 for the root."""
    return key.count(".")


def path_of(key: str) -> tuple[int, ...]:
    """The path as integers, whose order is the stated order of cells of one depth."""
    return tuple(map(int, key.split(".")))


def child_keys(key: str, branching: int) -> list[str]:
    """Keys of the N children."""
    return [f"{key}.{i}" for i in range(branching)]


def own_centroids(branching: int) -> NDArray[np.bool_]:
    """Which children, (N,), have a centroid of their own: all but the middle one of an odd split."""
    own: NDArray[np.bool_] = np.arange(branching) * 2 != branching - 1
    return own


def split(lows: Array, highs: Array, branching: int, side_scale: Array) -> tuple[Array, Array]:
    """Cut boxes into N equal parts along their longest sides.

    Args:
        lows, highs: corners of the boxes in the unit cube, shape (k, d).
        branching: N >= 2.
        side_scale: shape (d,); sides are compared after multiplication by it (the kernel's metric).

    Returns:
        The children's corners, each of shape (k, N, d), in path order; they tile the box exactly: neighbours share
        the same floating-point edge.
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
    """Scaled distance from a point of each cell to the cell's farthest corner.

    Args:
        low, high, centroid: shape (k, d), unit cube; the centroid may be off the middle (rounded to an integer).
        side_scale: shape (d,), unit-cube lengths to the kernel's metric.

    Returns:
        shape (k,): half the diagonal where the centroid is the middle.
    """
    reach = np.maximum(centroid - low, high - centroid) * side_scale
    distances: Array = np.sqrt(np.einsum("kd,kd->k", reach, reach))
    return distances


def box_of(key: str, branching: int, side_scale: Array) -> tuple[Array, Array]:
    """Corners (low, high), each (d,), of the cell with this key, by walking down from the root."""
    low, high = np.zeros((1, len(side_scale))), np.ones((1, len(side_scale)))
    for index in path_of(key)[1:]:
        lows, highs = split(low, high, branching, side_scale)
        low, high = lows[:, index], highs[:, index]
    return low[0], high[0]
