"""Results of an older study, in the space of a new one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import Axis, ChoiceAxis
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Older:
    """Results of an older study, n of them, along s axes of the new study's space."""

    study: str
    """Id of the older study."""
    axes: tuple[int, ...]
    """(s,) shared axes, as indices of the new study's axes."""
    positions: tuple[tuple[float, ...], ...]
    """(n, s) in the unit cube of the new space."""
    outputs: tuple[float, ...]
    """(n,) in model output units: larger is better."""
    metric: str | None = None
    """The objective that they measure; None with a single objective."""

    def moved(self, before: Space, after: Space) -> Older | None:
        """Return the results in an edited space, along the axes that are still shared. Points outside the ranges of
        these axes are left out. None if nothing is left."""
        index = {axis.name: k for k, axis in enumerate(after.axes)}
        kept = [
            (column, k, index[before.axes[k].name])
            for column, k in enumerate(self.axes)
            if before.axes[k].name in index and _are_alike(before.axes[k], after.axes[index[before.axes[k].name]])
        ]
        points = [[_moved(point[column], before, k, after, new) for column, k, new in kept] for point in self.positions]
        inside = [row for row, point in enumerate(points) if None not in point]
        if not kept or not inside:
            return None
        return Older(
            self.study,
            tuple(new for _, _, new in kept),
            tuple(tuple(u for u in points[row] if u is not None) for row in inside),
            tuple(self.outputs[row] for row in inside),
            self.metric,
        )


def holds(axis: Axis, value: Any) -> bool:
    """Return whether a value is a choice of an axis or, on a numerical axis, lies within its range."""
    return axis.problem(value) is None if isinstance(axis, ChoiceAxis) else bool(axis.low <= value <= axis.high)


def chosen(results: Array, count: int) -> list[int]:
    """Return the indices of at most ``count`` results, (n,), to keep, in increasing order. Half of them are the best
    results; the others are evenly spaced among the rest."""
    if len(results) <= count:
        return list(range(len(results)))
    order = np.argsort(-results, kind="stable")
    best, rest = order[: count // 2], np.sort(order[count // 2 :])
    others = rest[np.linspace(0, len(rest) - 1, count - len(best)).astype(int)]
    chosen: list[int] = np.sort(np.concatenate([best, others])).tolist()
    return chosen


def _are_alike(one: Axis, other: Axis) -> bool:
    return isinstance(one, ChoiceAxis) == isinstance(other, ChoiceAxis)


def _moved(u: float, before: Space, k: int, after: Space, new: int) -> float | None:
    """Return a position, converted to an axis of an edited space; None if the new axis does not contain its value. The
    rest position of an inactive axis becomes that of the new axis."""
    was, now = before.axes[k], after.axes[new]
    if was == now:
        return u
    if was.name in before.activity.needs and u == before.activity.rest[k]:
        return float(after.activity.rest[new])
    value = was.decode(u)
    return min(max(now.encode(value), 0.0), 1.0) if holds(now, value) else None
