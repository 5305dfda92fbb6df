"""A search space in the form that the search uses: continuous, ordered and categorical axes with their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.domain import choices
from adabkb_service.engine.auto.domain.components import Components, components, places_of, principal
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis
from adabkb_service.engine.catalogue import CatalogueAxis
from adabkb_service.engine.cells import MAX_KEY_LENGTH
from adabkb_service.engine.conditions import Activity
from adabkb_service.engine.sensitivity import MIN_RESULTS
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

RESULTS_PER_PARAMETER = 3
"""A model is considered reliable with at least this many results per axis, plus as many for the constant mean."""
LISTED = 4096
"""The maximum number of values of a discrete axis that are searched one by one. An axis with more values is searched as
if continuous; the tree still distinguishes all its values."""
LISTED_POINTS = 4096
"""Finite spaces up to this size are searched exhaustively."""
LONGER = 2.0
"""Factor of the prior's lengthscales of shares, since the objective is expected to be a smooth function of them."""


@dataclass(frozen=True)
class Domain:
    """The axes of a space by kind. Positions are those of ``Space``, in the unit cube."""

    space: Space

    @property
    def dimension(self) -> int:
        """d."""
        return self.space.dimension

    @cached_property
    def sizes(self) -> tuple[int | None, ...]:
        """The number of values per axis; None for a real interval."""
        return tuple(axis.count for axis in self.space.axes)

    @cached_property
    def discrete(self) -> tuple[int, ...]:
        """The axes with finitely many values."""
        return tuple(axis for axis, size in enumerate(self.sizes) if size is not None)

    @cached_property
    def categorical(self) -> Bools:
        """Which axes have unordered values, (d,)."""
        return np.array([isinstance(axis, ChoiceAxis) and not axis.ordered for axis in self.space.axes])

    @cached_property
    def periodic(self) -> Bools:
        """Which axes are periodic, (d,)."""
        return np.array([isinstance(axis, FloatAxis) and axis.periodic for axis in self.space.axes])

    def beside(self, positions: Array, origin: Array) -> Array:
        """Return positions (k, d), shifted by whole periods along periodic axes so that they are as near as possible to
        an origin, (d,). They may lie up to half a period outside the cube."""
        if not self.periodic.any():
            return positions
        found = positions.copy()
        found[:, self.periodic] -= np.rint((positions - origin)[:, self.periodic])
        return found

    def differences(self, positions: Array, origin: Array) -> Array:
        """Return positions (k, d) minus an origin, (d,). Along periodic axes, the difference is along the shorter
        way."""
        found: Array = self.beside(positions, origin) - origin
        return found

    def in_cube(self, positions: Array) -> Array:
        """Move positions (k, d) into the cube: along periodic axes they wrap around."""
        found = np.clip(positions, 0.0, 1.0)
        if self.periodic.any():
            found[:, self.periodic] = positions[:, self.periodic] % 1.0
        return found

    @cached_property
    def components(self) -> Components:
        """The coordinates of choices with descriptors."""
        described = [
            (number, principal(np.array(axis.descriptors).T))
            for number, axis in enumerate(self.space.axes)
            if isinstance(axis, ChoiceAxis) and axis.descriptors
        ]
        rows = self.whole.catalogues
        return components([*described, *((k, places_of(axis.table)) for k, axis in rows.items())], rows)

    @property
    def has_catalogue(self) -> bool:
        """Whether a parameter is a row of a table."""
        return bool(self.whole.catalogues)

    @cached_property
    def choices(self) -> dict[int, Array]:
        """Axis -> positions of its choices, for each categorical axis that is always active. Choices that the
        constraints are proved to exclude are left out. Catalogues are left out, since most of their rows are never
        tried."""
        is_choice = self.categorical & [not isinstance(axis, CatalogueAxis) for axis in self.space.axes]
        return {
            axis: self._possible(axis, size)
            for axis, size in enumerate(self.sizes)
            if size is not None and is_choice[axis] and axis not in self.activity.conditional
        }

    def _possible(self, axis: int, size: int) -> Array:
        """Return the positions of the choices of an axis that may have feasible points."""
        positions = np.array([self.position(axis, index) for index in range(size)])
        if self.whole.feasible is None:
            return positions
        lows, highs = np.zeros((size, self.dimension)), np.ones((size, self.dimension))
        lows[:, axis] = highs[:, axis] = positions
        return positions[self.whole.feasible.may_hold(lows, highs)]

    @cached_property
    def most_choices(self) -> int:
        """The largest number of choices of an axis in ``choices``; 0 without such an axis."""
        return max(map(len, self.choices.values()), default=0)

    @cached_property
    def described(self) -> frozenset[int]:
        """The axes of ``choices`` whose choices have descriptors."""
        return frozenset(self.choices.keys() & set(self.components.axes.tolist()))

    def untried_choices(self, positions: Array, axes: Iterable[int] | None = None) -> Callable[[Array], Bools] | None:
        """Return a function that returns which positions, (m, d), have a choice that none of the given positions,
        (k, d), has. None if all of ``choices`` are tried. If ``axes`` is given, only these axes count."""
        tried = {axis: np.unique(positions[:, axis]) for axis in (self.choices if axes is None else axes)}
        open_axes = [axis for axis, found in tried.items() if not np.isin(self.choices[axis], found).all()]
        if not open_axes:
            return None
        return lambda others: np.any([~np.isin(others[:, axis], tried[axis]) for axis in open_axes], axis=0)

    @cached_property
    def values(self) -> tuple[Array | None, ...]:
        """The positions of the values of each axis, in order; None for axes that are searched as continuous."""
        return tuple(
            None if size is None or size > LISTED else np.array([self._position(k, i) for i in range(size)])
            for k, size in enumerate(self.sizes)
        )

    @cached_property
    def whole(self) -> Slice:
        """The whole space as a slice without fixed parameters."""
        return Slice(self.space, {})

    @cached_property
    def is_listed(self) -> bool:
        """Whether the space has so few points that they are searched exhaustively."""
        return self.whole.size <= LISTED_POINTS

    @property
    def activity(self) -> Activity:
        """Which axes are active where."""
        return self.space.activity

    @cached_property
    def together(self) -> int:
        """The maximum number of axes that are active together, minus 1 for each mixture, and minus 1 for each component
        that must be absent. Without conditions and mixtures, it is d."""
        most = self.activity.fold({}, 0, lambda active, _: active + 1, max)
        return (self.dimension if most is None else most) - sum(
            len(each.names) + 1 - min(each.at_most or len(each.names), len(each.names)) for each in self.space.mixtures
        )

    @property
    def fewest_results(self) -> int:
        """The minimum number of results for a reliable model: ``RESULTS_PER_PARAMETER`` for the constant mean and for
        each axis (of those active together), but no more than the space has points, and at least ``MIN_RESULTS``."""
        active = self.together or self.dimension
        return max(MIN_RESULTS, int(min(RESULTS_PER_PARAMETER * (active + 1), self.whole.size)))

    def movable(self, positions: Array) -> Bools:
        """Return along which axes positions (k, d) may be moved without changing which axes are active, (k, d):
        inactive axes, and axes on which conditions depend, are excluded."""
        found: Bools = self.activity.active(positions) & ~self.activity.parents
        return found

    @cached_property
    def deepest(self) -> int:
        """The maximum number of cuts on the path to a cell, which keeps its key within ``MAX_KEY_LENGTH``."""
        kinds = zip(self.sizes, self.categorical, strict=True)
        parts = max([2, *(choices.most_parts(size) for size, is_choice in kinds if is_choice and size)])
        return (MAX_KEY_LENGTH - 1) // len(f".{self.dimension - 1}-{parts - 1}")

    def position(self, axis: int, index: int) -> float:
        """Return the position of a value of a discrete axis, by its index."""
        values = self.values[axis]
        return self._position(axis, index) if values is None else float(values[index])

    def _position(self, axis: int, index: int) -> float:
        """Compute ``position``."""
        discrete = self.space.axes[axis]
        assert not isinstance(discrete, FloatAxis)
        return discrete.encode(discrete.value(index))

    def index(self, axis: int, position: float) -> int:
        """Return the index of the value of a discrete axis whose bin contains a position."""
        discrete = self.space.axes[axis]
        assert not isinstance(discrete, FloatAxis)
        return discrete.bin(position)

    def snap(self, positions: Array) -> Array:
        """Move positions (k, d) to the nearest value along listed axes, including inactive ones."""
        snapped = positions.copy()
        for k, values in enumerate(self.values):
            if values is not None:
                edges = (values[1:] + values[:-1]) / 2
                snapped[:, k] = values[np.searchsorted(edges, positions[:, k])]
        return snapped

    def exact_along(self, axis: int, position: float) -> float:
        """Return the coordinate, along one axis, of the point that a position represents."""
        along = self.space.axes[axis]
        return along.encode(along.decode(position))

    @cached_property
    def resolutions(self) -> Array:
        """How far a position can be from the nearest point of the space along each axis, (d,); infinity along discrete
        axes."""
        return np.array([axis.resolution if isinstance(axis, FloatAxis) else np.inf for axis in self.space.axes])

    @cached_property
    def shares(self) -> Bools:
        """Which axes are shares of a mixture, (d,)."""
        names = {name for mixture in self.space.mixtures for name in mixture.names}
        return np.array([axis.name in names for axis in self.space.axes])

    @cached_property
    def remainders(self) -> tuple[int, ...]:
        """For each mixture, the axis of the share that the other shares determine."""
        order = [axis.name for axis in self.space.axes]
        return tuple(order.index(mixture.names[-1]) for mixture in self.space.mixtures)

    @cached_property
    def spreads(self) -> Array | None:
        """The standard deviation along each axis over random points, (d,), relative to that of a uniform number;
        None without mixtures, where it is 1. Shares of many components vary little."""
        if not self.space.mixtures or self.whole.feasible is None:
            return None
        found = np.ones(self.dimension)
        for mixture in self.whole.feasible.mixtures:
            found[list(mixture.axes)] = mixture.spread
        return found

    @cached_property
    def is_smooth(self) -> bool:
        """Whether the objective is expected to be smooth, as properties of mixtures usually are: whether the space has
        mixtures, all of them convex (``Mixture.is_convex``)."""
        return bool(self.space.mixtures) and all(mixture.is_convex for mixture in self.space.mixtures)

    @cached_property
    def lengths(self) -> Array | None:
        """The lengthscale that the prior expects along each axis, (d,), relative to that of a plain parameter; None
        without mixtures, where it is 1."""
        if self.spreads is None or not self.is_smooth:
            return self.spreads
        return np.where(self.shares, LONGER * self.spreads, self.spreads)

    def exact(self, position: Array) -> Array:
        """Return the point, (d,), that a position u represents: ``encode(decode(u))``, with the nearest shares of
        mixtures."""
        if self.space.mixtures:
            return self.whole.exact(position)
        found: Array = self.space.snap(position[None])[0]
        return found
