"""Pareto fronts and hypervolumes of 2 to 4 objectives, where larger values are better.

A point dominates another if it is not worse in any objective and better in at least one. The front is the set of points
that no other point dominates. The hypervolume of points is the volume that they dominate above a reference point. It is
computed exactly: in two dimensions along the staircase of the points, otherwise by slices along the last dimension
(While et al. 2006, "A faster algorithm for calculating hypervolume"). The computing time grows at most like n^2 in 2
and 3 dimensions, and like n^3 in 4.
"""

from __future__ import annotations

from ctypes import byref, c_double

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.native.library import COUNT, POINTER, flags, reals, routine

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


_front = routine("front", COUNT, COUNT, POINTER, POINTER)
_volume = routine("volume", COUNT, COUNT, POINTER, POINTER)
_volume_growth = routine("volume_growth", COUNT, COUNT, POINTER, POINTER)
_on_front_probability = routine("on_front_probability", COUNT, COUNT, COUNT, POINTER, POINTER, POINTER, POINTER)


def front(values: Array) -> Bools:
    """Return which of some points, (n, K), no other point dominates, (n,)."""
    points, found = np.ascontiguousarray(values), np.empty(len(values), dtype=np.bool_)
    _front(*points.shape, reals(points), flags(found))
    return found


def hypervolume(values: Array, reference: Array) -> float:
    """Return the volume that points, (n, K), dominate above a reference point, (K,)."""
    inside, found = np.maximum(values - reference, 0.0), c_double()
    best = np.ascontiguousarray(inside[front(inside)])
    _volume(*best.shape, reals(best), byref(found))
    return found.value


def growth(values: Array, reference: Array) -> Array:
    """Return the hypervolume after each result, (n,), of the points, (n, K), up to it."""
    inside, found = np.ascontiguousarray(np.maximum(values - reference, 0.0)), np.empty(len(values))
    _volume_growth(*inside.shape, reals(inside), reals(found))
    return found


def on_front_probability(means: Array, deviations: Array, normals: Array) -> Array:
    """Return the probability of each point to be on the front, (n,), if all values are independent and normal.

    Args:
        means, deviations: (n, K) means and standard deviations of the values.
        normals: (draws, n, K) standard normal numbers.
    """
    given, found = [np.ascontiguousarray(each) for each in (means, deviations, normals)], np.empty(len(means))
    _on_front_probability(*means.shape, len(normals), *map(reals, given), reals(found))
    return found
