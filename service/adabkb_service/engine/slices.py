"""A slice of the search space: the feasible points with given values of some parameters."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import FloatAxis, Value, identity
from adabkb_service.engine.catalogue import CatalogueAxis
from adabkb_service.engine.feasible import Feasible
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Slice:
    """The points of a space with some parameters fixed. If none is fixed, the whole space."""

    space: Space
    fixed: Mapping[str, Value]
    """Axis name -> valid value. With these values, all of these axes are active."""

    @cached_property
    def free(self) -> Bools:
        """(d,) axes that are not fixed."""
        return np.array([axis.name not in self.fixed for axis in self.space.axes])

    @cached_property
    def size(self) -> float:
        """Number of feasible points. Infinite if a free axis is real, or if conditions make counting too expensive. An
        upper bound if there are too many points to examine."""
        if self.feasible is not None and self.feasible.is_listed:
            return len(self.feasible.points)
        axes = enumerate(zip(self.space.axes, self._coordinates.tolist(), strict=True))
        allowed = {k: [axis.bin(u) if axis.count else 0] for k, (axis, u) in axes if not self.free[k]}
        allowed |= {k: axis.table.offered.tolist() for k, axis in self.catalogues.items()}
        count = self.space.activity.fold(allowed, 1.0, _times, operator.add)
        return math.inf if count is None else count

    @cached_property
    def points(self) -> Array:
        """Every feasible point of a finite slice, (size, d)."""
        if self.feasible is not None:
            return self.feasible.points
        rows = self.put(self.space.activity.rest[None])
        for k in self.space.activity.order:
            axis = self.space.axes[k]
            if not self.free[k]:
                continue
            assert not isinstance(axis, FloatAxis), "a real interval cannot be listed"
            if isinstance(axis, CatalogueAxis):
                values = axis.positions(axis.table.offered).tolist()
            else:
                values = [axis.encode(axis.value(index)) for index in range(axis.count)]
            active = self.space.activity.active(rows)[:, k]
            repeats = np.where(active, len(values), 1)
            rows = np.repeat(rows, repeats, axis=0)
            rows[np.repeat(active, repeats), k] = np.tile(values, int(active.sum()))
        return rows

    @cached_property
    def feasible(self) -> Feasible | None:
        """The points of the slice that satisfy the constraints and mixtures; None if the space has neither."""
        return _feasible(self.space, json.dumps(dict(self.fixed))) if self.space.is_restricted else None

    def drawn(self, seed: int, step: int) -> Array:
        """A random feasible point, (d,)."""
        if self.feasible is not None:
            return self.feasible.point((seed, step))
        draws = uniforms(seed, step, self.space.dimension)
        for k, axis in self.catalogues.items():
            if len(offered := axis.table.offered):
                draws[k] = axis.positions(offered[[int(draws[k] * len(offered))]])[0]
        return self.exact(draws)

    @cached_property
    def catalogues(self) -> dict[int, CatalogueAxis]:
        """Axis index -> catalogue, for the catalogues whose row is not fixed. Their tables offer only the rows that may
        be part of a feasible point."""
        axes = enumerate(self.space.axes)
        found = {k: axis for k, axis in axes if isinstance(axis, CatalogueAxis) and self.free[k]}
        if self.feasible is None:
            return found
        return {k: CatalogueAxis(axis.name, self.feasible.tables[k]) for k, axis in found.items()}

    def offers(self, positions: Array) -> Bools:
        """(k,) whether points at positions (k, d) may be suggested: they are in the slice, have no value between two
        steps, and have no row that is withdrawn or cannot be feasible."""
        found = self.holds(positions) & self.space.are_on_steps(positions)
        for k, axis in self.catalogues.items():
            found &= axis.table.is_offered[axis.rows(positions[:, k])]
        return found

    def put(self, positions: Array) -> Array:
        """Positions (k, d) moved into the slice: along the fixed axes, and to the nearest mixtures."""
        found = self.space.with_inactive_at_rest(np.where(self.free, positions, self._coordinates))
        if self.space.mixtures and self.feasible is not None:
            for mixture in self.feasible.mixtures:
                found = mixture.moved(found)
        return found

    def exact(self, position: Array) -> Array:
        """The point (d,) that is issued for a position (d,). Its fixed coordinates are those of the given values, which
        may be more precise than decoded values."""
        if self.space.mixtures and self.feasible is not None:
            return self.feasible.exact(position)
        found: Array = self.put(self.space.rounded(position[None]))[0]
        return found

    def holds(self, positions: Array) -> Bools:
        """(k,) whether the points at positions (k, d) are in the slice."""
        is_there: Bools = (self.free | (positions == self._coordinates)).all(axis=1)
        return is_there

    def agrees(self, parameters: Mapping[str, Value]) -> bool:
        """Whether a point's parameters have the fixed values."""
        return all(
            name in parameters and identity(parameters[name]) == identity(value) for name, value in self.fixed.items()
        )

    @cached_property
    def _coordinates(self) -> Array:
        """(d,) coordinates of the fixed axes; 0 for the others."""
        axes = self.space.axes
        return np.array([axis.encode(self.fixed[axis.name]) if axis.name in self.fixed else 0.0 for axis in axes]) + 0.0


def _times(one: float, other: float) -> float:
    """The product of two counts; 0 if one is 0 and the other infinite."""
    return one * other if one and other else 0.0


@lru_cache(32)
def _feasible(space: Space, fixed: str) -> Feasible:
    """The feasible points of a slice. They are cached, since each request creates its slice again."""
    within = Slice(space, json.loads(fixed))
    return Feasible(space, within.fixed, within.free, within._coordinates)


def are_alike(one: Mapping[str, Value] | None, other: Mapping[str, Value] | None) -> bool:
    """Whether the same parameters are fixed at the same values. Values are compared as JSON, since True == 1 in
    Python."""
    return one is other or json.dumps(one) == json.dumps(other)
