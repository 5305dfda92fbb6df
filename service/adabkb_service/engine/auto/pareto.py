"""Pareto fronts and hypervolumes of 2 to 4 objectives, larger values being better.

A point dominates another one if it is nowhere worse and somewhere better; the front is what nothing dominates. The
hypervolume of points is the volume that they dominate above a reference point. It is computed exactly: in two
dimensions along the staircase of the points, in more by slices along the last one (While et al. 2006, "A faster
algorithm for calculating hypervolume"): n log n, n^2 and n^3 steps in 2, 3 and 4 dimensions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.compiled import compiled, inlined

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


def front(values: Array) -> Bools:
    """Which of some points, (n, K), no other one dominates, (n,)."""
    return _front(np.ascontiguousarray(values))


def hypervolume(values: Array, reference: Array) -> float:
    """The volume that points, (n, K), dominate above a reference point, (K,)."""
    inside = np.ascontiguousarray(np.maximum(values - reference, 0.0))
    return float(_volume(inside[_front(inside)]))


def growth(values: Array, reference: Array) -> Array:
    """The hypervolume after each of some results, (n,): of all points, (n, K), up to it."""
    return _growth(np.ascontiguousarray(np.maximum(values - reference, 0.0)))


def on_front_probability(means: Array, deviations: Array, normals: Array) -> Array:
    """(n,) with which points are on the front of all of them, if their values are independent normal variables.

    Args:
        means, deviations: (n, K) of the values.
        normals: (draws, n, K) standard normal numbers.
    """
    return _on_front_probability(*(np.ascontiguousarray(each) for each in (means, deviations, normals)))


@inlined
def _dominates(one: Array, other: Array) -> bool:
    better = False
    for k in range(len(one)):
        if one[k] < other[k]:
            return False
        better |= one[k] > other[k]
    return better


@compiled("b1[::1](f8[:,::1])")
def _front(values: Array) -> Bools:
    return _mask(values)


@inlined
def _mask(values: Array) -> Bools:
    found = np.ones(len(values), dtype=np.bool_)
    for i in range(len(values)):
        for j in range(len(values)):
            if found[j] and _dominates(values[j], values[i]):
                found[i] = False
                break
    return found


@compiled("f8(f8[:,::1])")
def _volume(points: Array) -> float:
    return _above_zero(points)


@compiled("f8[::1](f8[:,::1])")
def _growth(points: Array) -> Array:
    found, volume = np.zeros(len(points)), 0.0
    known = np.empty(points.shape)
    count = 0
    for i in range(len(points)):
        point = points[i]
        is_new = point.min() > 0.0
        for j in range(count):
            is_new = is_new and not (known[j] >= point).all()
        if is_new:
            volume += _added(known[:count], point)
            kept = 0
            for j in range(count):
                if not _dominates(point, known[j]):
                    known[kept] = known[j]
                    kept += 1
            known[kept] = point
            count = kept + 1
        found[i] = volume
    return found


@inlined
def _added(known: Array, point: Array) -> float:
    """What a point adds to the volume of others: its own, but for what they dominate of it."""
    shared = np.minimum(known, point)
    own = 1.0
    for k in range(len(point)):
        own *= point[k]
    return own - _above_zero(shared[_mask(shared)])


@inlined
def _above_zero(points: Array) -> float:
    if points.shape[1] == 2:
        return _area(points)
    return _in_slices(points) if points.shape[1] == 3 else _in_slices_of_slices(points)


@inlined
def _area(points: Array) -> float:
    return _below_staircase(points[np.argsort(-points[:, 0])])


@inlined
def _below_staircase(points: Array) -> float:
    """The area that points, (n, 2), dominate; the first coordinate falls."""
    area, height = 0.0, 0.0
    for i in range(len(points)):
        if points[i, 1] > height:
            area += points[i, 0] * (points[i, 1] - height)
            height = points[i, 1]
    return area


@inlined
def _in_slices(points: Array) -> float:
    """Of three objectives: from the top of the last one down, each slice is as wide as the points above it."""
    total, n = 0.0, len(points)
    order = np.argsort(-points[:, 2])
    above = np.empty((n, 2))  # the first two coordinates, the first of which falls
    for count in range(n):
        point = points[order[count]]
        place = count
        while place > 0 and above[place - 1, 0] < point[0]:
            above[place] = above[place - 1]
            place -= 1
        above[place, 0], above[place, 1] = point[0], point[1]
        below = points[order[count + 1], 2] if count + 1 < n else 0.0
        total += _below_staircase(above[: count + 1]) * (point[2] - below)
    return total


@inlined
def _in_slices_of_slices(points: Array) -> float:
    """Of four objectives."""
    total, n = 0.0, len(points)
    order = np.argsort(-points[:, 3])
    ranked = points[order]
    for index in range(n):
        below = ranked[index + 1, 3] if index + 1 < n else 0.0
        height = ranked[index, 3] - below
        if height > 0.0:
            upper = np.ascontiguousarray(ranked[: index + 1, :3])
            total += _in_slices(upper[_mask(upper)]) * height
    return total


@compiled("f8[::1](f8[:,::1], f8[:,::1], f8[:,:,::1])")
def _on_front_probability(means: Array, deviations: Array, normals: Array) -> Array:
    found = np.zeros(len(means))
    for draw in range(len(normals)):
        found += _mask(means + deviations * normals[draw])
    return found / len(normals)
