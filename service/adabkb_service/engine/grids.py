"""Positions along some axes of the space, and their combinations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import Axis

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
