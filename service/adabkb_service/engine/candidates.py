"""Fixed points to choose from, for the systems that have no tree: a grid (GP-UCB, BKB), or random ones (Random-BKB).

Their order settles ties, and is drawn: far from all results every point is as good as any other, and an order by
coordinates would walk through the box row by row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.space import Axis, ChoiceAxis, IntAxis, Space

Array = NDArray[np.float64]

STEP = -1
"""Of the random numbers; those of the dictionary are drawn at the steps 0, 1, ..."""


@lru_cache(8)
def fixed_points(space: Space, seed: int, grid: int | None, sample: int | None) -> Array | None:
    """The points, shape (P, d), in the unit cube, no two the same.

    Args:
        space: of the study.
        seed: of the study.
        grid: points per axis of a grid; an axis of choices or of fewer values has all of those.
        sample: number of uniform points, of the grid's where both are given; of equal ones one is left.

    Returns:
        None where both are None.
    """
    if sample is not None:
        drawn = uniforms(seed, STEP, sample * space.dimension).reshape(sample, space.dimension)
        return distinct(space.snap(drawn) if grid is None else _on_grid(space, grid, drawn))
    if grid is None:
        return None
    positions = product([_positions(axis, grid) for axis in space.axes])
    return positions[np.argsort(uniforms(seed, STEP, len(positions)))]


def grid_size(space: Space, grid: int) -> float:
    """How many points a grid would have at most; infinite beyond floating point."""
    return math.prod(float(_count(axis, grid)) for axis in space.axes)


def _count(axis: Axis, grid: int) -> int:
    if isinstance(axis, ChoiceAxis):
        return axis.count
    return min(axis.count, grid) if isinstance(axis, IntAxis) else grid


def product(axes: Sequence[Array]) -> Array:
    """All points (P, d) whose coordinates are among those of each axis; the last axis varies fastest."""
    points, repeats = np.empty((math.prod(map(len, axes)), len(axes))), 1
    for k in reversed(range(len(axes))):  # numpy's own would need an array of d + 1 dimensions, and has 64 at most
        points[:, k] = axes[k][np.arange(len(points)) // repeats % len(axes[k])]
        repeats *= len(axes[k])
    return points


def distinct(positions: Array) -> Array:
    """Positions (k, d) without repetitions, in order."""
    return positions[np.sort(np.unique(positions, axis=0, return_index=True)[1])]


def _on_grid(space: Space, grid: int, drawn: Array) -> Array:
    """Points (k, d) of a grid, uniformly, by uniform numbers."""
    axes = [_positions(axis, grid) for axis in space.axes]
    return np.column_stack([values[(u * len(values)).astype(int)] for values, u in zip(axes, drawn.T, strict=True)])


def _positions(axis: Axis, most: int) -> Array:
    """An axis's share of the grid, ascending: all choices, all values of a short one, else evenly spaced ones with both
    ends."""
    if isinstance(axis, ChoiceAxis):
        values = list(axis.choices)
    elif isinstance(axis, IntAxis) and axis.count <= most:
        values = list(range(axis.low, axis.high + 1, axis.step))
    else:
        values = [axis.decode(float(u)) for u in np.linspace(0.0, 1.0, most)]
    return np.unique([axis.encode(value) for value in values])
