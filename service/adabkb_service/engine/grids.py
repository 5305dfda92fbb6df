"""Positions along some axes of the space, and their combinations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import Axis
from adabkb_service.engine.simplex import given_way
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]


def along(axis: Axis, points: int) -> list[float]:
    """Positions of values along an axis, ascending: all values if there are at most ``points`` (>= 2), else ``points``
    values, evenly spaced in the unit interval, including its ends. Equal values are listed once."""
    if axis.count is not None and axis.count <= points:
        return [axis.encode(axis.value(index)) for index in range(axis.count)]
    spread = np.linspace(0.0, 1.0, points).tolist()
    return list(dict.fromkeys(axis.encode(axis.decode(u)) for u in spread))


def grid(base: Array, axes: Sequence[int], positions: Sequence[Sequence[float]]) -> Array:
    """All combinations of positions along some axes, (k, d). The other coordinates are those of ``base``, (d,). The
    last axis varies fastest."""
    combined = np.stack(np.meshgrid(*positions, indexing="ij"), axis=-1).reshape(-1, len(axes))
    points = np.tile(base, (len(combined), 1))
    points[:, list(axes)] = combined
    return points


class Section(NamedTuple):
    """Points of a grid along some axes."""

    at: Array
    """The point through which the grid goes, (d,)."""
    lines: list[list[float]]
    """The positions along each axis."""
    points: Array
    """The grid, (k, d); the last axis varies fastest."""


def section(
    space: Space, through: Array | None, axes: Sequence[int], points: int, at: Mapping[int, float] | None = None
) -> Section:
    """Points along some axes, with at most ``points`` values of each. If one of the axes is inactive at the point
    through which the grid goes, this point is changed so that all of them are active. If an axis is a share of a
    mixture, the other shares adapt.

    Args:
        space: the space.
        through: the point through which the grid goes, (d,); None for the middle of the space.
        axes: the axes that vary.
        points: the maximum number of values along each of them.
        at: axis -> position, in place of that of ``through``.
    """
    base = space.snap(np.full((1, space.dimension), 0.5))[0] if through is None else through.copy()
    for axis, position in (at or {}).items():
        base[axis] = position
    base = space.made_active(base, [space.axes[axis].name for axis in axes])
    lines = [along(space.axes[axis], points) for axis in axes]
    moved = given_way(space, grid(base, axes, lines), axes)
    return Section(base, lines, space.with_inactive_at_rest(moved))
