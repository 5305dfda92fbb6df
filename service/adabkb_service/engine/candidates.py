"""Fixed candidate points for the algorithms without a tree: a grid (GP-UCB, BKB), or random points (Random-BKB).

The algorithm suggests the candidate with the largest upper confidence bound (or expected improvement); in a tie, the
first one. Far from all results, these values are constant. If the candidates were ordered by coordinates, suggestions
would fill the space row by row. Therefore, the order of a grid is random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import Axis, ChoiceAxis
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]

STEP = -1
"""The step at which the points are drawn (see ``randomness``); dictionaries are drawn at steps 0, 1, ..."""


@lru_cache(8)
def fixed_points(space: Space, seed: int, grid: int | None, sample: int | None) -> Array | None:
    """The candidate points, or None if the configuration has neither a grid nor a sample.

    Args:
        space: the space of the study.
        seed: the seed of the study.
        grid: number of points per axis of a grid. An axis of choices, or one with fewer values than this, contributes
            all its values.
        sample: number of points to draw uniformly, from the grid if there is one, else from the unit cube.

    Returns:
        Distinct positions in the unit cube, shape (P, d). P is less than ``sample`` if points were drawn repeatedly.
    """
    if sample is not None:
        drawn = uniforms(seed, STEP, sample * space.dimension).reshape(sample, space.dimension)
        return distinct(space.snap(drawn) if grid is None else _on_grid(space, grid, drawn))
    if grid is None:
        return None
    positions = product([_positions(axis, grid) for axis in space.axes])
    return positions[np.argsort(uniforms(seed, STEP, len(positions)))]


def grid_size(space: Space, grid: int) -> float:
    """An upper bound on the number of points of a grid; infinite if it exceeds floating point."""
    return math.prod(float(_count(axis, grid)) for axis in space.axes)


def _count(axis: Axis, grid: int) -> int:
    if axis.count is None:
        return grid
    return axis.count if isinstance(axis, ChoiceAxis) else min(axis.count, grid)


def product(axes: Sequence[Array]) -> Array:
    """The Cartesian product of the coordinates of each axis, shape (P, d); the last axis varies fastest."""
    points, repeats = np.empty((math.prod(map(len, axes)), len(axes))), 1
    for k in reversed(range(len(axes))):  # np.meshgrid needs arrays of d dimensions, and numpy allows 64
        points[:, k] = axes[k][np.arange(len(points)) // repeats % len(axes[k])]
        repeats *= len(axes[k])
    return points


def distinct(positions: Array) -> Array:
    """The distinct rows of positions (k, d), in order of first occurrence."""
    return positions[np.sort(np.unique(positions, axis=0, return_index=True)[1])]


def _on_grid(space: Space, grid: int, drawn: Array) -> Array:
    """Points (k, d) of a grid, selected by uniform numbers (k, d) in [0, 1)."""
    axes = [_positions(axis, grid) for axis in space.axes]
    return np.column_stack([values[(u * len(values)).astype(int)] for values, u in zip(axes, drawn.T, strict=True)])


def _positions(axis: Axis, most: int) -> Array:
    """Grid coordinates on an axis, ascending: those of all values if it has choices or at most ``most`` values, else of
    ``most`` evenly spaced values, including both ends."""
    if axis.count is not None and (isinstance(axis, ChoiceAxis) or axis.count <= most):
        return np.unique([axis.encode(axis.value(index)) for index in range(axis.count)])
    return np.unique([axis.encode(axis.decode(float(u))) for u in np.linspace(0.0, 1.0, most)])
