"""A search space as the search sees it: which axes are continuous, ordered or categorical, and their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import choices
from adabkb_service.engine.auto.components import Components, components, places_of, principal
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis
from adabkb_service.engine.catalogue import CatalogueAxis
from adabkb_service.engine.cells import LONGEST_KEY
from adabkb_service.engine.conditions import Activity
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Discrete axes of more values than this are searched as if continuous; the tree still knows every value.
LISTED = 4096
LISTED_POINTS = 4096
"""Finite spaces up to this size are looked at as a whole."""


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
        """Number of values per axis; None for a real interval."""
        return tuple(axis.count for axis in self.space.axes)

    @cached_property
    def discrete(self) -> tuple[int, ...]:
        """Axes of finitely many values."""
        return tuple(axis for axis, size in enumerate(self.sizes) if size is not None)

    @cached_property
    def categorical(self) -> Bools:
        """(d,) axes whose values have no order: they differ or they do not."""
        return np.array([isinstance(axis, ChoiceAxis) and not axis.ordered for axis in self.space.axes])

    @cached_property
    def periodic(self) -> Bools:
        """(d,) axes whose ends are the same point."""
        return np.array([isinstance(axis, FloatAxis) and axis.periodic for axis in self.space.axes])

    def beside(self, positions: Array, origin: Array) -> Array:
        """Positions (k, d), moved by whole turns along periodic axes so that they are next to one, (d,): up to half a
        turn beyond the cube."""
        if not self.periodic.any():
            return positions
        found = positions.copy()
        found[:, self.periodic] -= np.rint((positions - origin)[:, self.periodic])
        return found

    def differences(self, positions: Array, origin: Array) -> Array:
        """Positions (k, d) minus one, (d,): along periodic axes by the shorter way."""
        found: Array = self.beside(positions, origin) - origin
        return found

    def in_cube(self, positions: Array) -> Array:
        """Positions (k, d) beyond the cube, moved into it: along periodic axes they go on at the other end."""
        found = np.clip(positions, 0.0, 1.0)
        if self.periodic.any():
            found[:, self.periodic] = positions[:, self.periodic] % 1.0
        return found

    @cached_property
    def components(self) -> Components:
        """Where choices lie by their descriptors."""
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
    def choices(self) -> dict[int, int]:
        """Number of choices of each categorical axis that is active everywhere. Of a catalogue most rows are never
        tried."""
        is_choice = self.categorical & [not isinstance(axis, CatalogueAxis) for axis in self.space.axes]
        return {
            axis: size
            for axis, size in enumerate(self.sizes)
            if size is not None and is_choice[axis] and axis not in self.activity.conditional
        }

    @cached_property
    def most_choices(self) -> int:
        """The largest of these numbers; 0 if there is no such axis."""
        return max(self.choices.values(), default=0)

    @cached_property
    def described(self) -> frozenset[int]:
        """These axes, as far as descriptors say how their choices differ."""
        return frozenset(self.choices.keys() & set(self.components.axes.tolist()))

    def untried_choices(self, positions: Array, axes: Iterable[int] | None = None) -> Callable[[Array], Bools] | None:
        """Which positions, (m, d), have a choice of such an axis that none of some positions, (k, d), has; None if all
        choices are tried. With ``axes`` only these of them count."""
        tried = {axis: np.unique(positions[:, axis]) for axis in (self.choices if axes is None else axes)}
        open_axes = [axis for axis, found in tried.items() if len(found) < self.choices[axis]]
        if not open_axes:
            return None
        return lambda others: np.any([~np.isin(others[:, axis], tried[axis]) for axis in open_axes], axis=0)

    @cached_property
    def values(self) -> tuple[Array | None, ...]:
        """Per axis, the positions of its values in order; None where it is searched as continuous."""
        return tuple(
            None if size is None or size > LISTED else np.array([self._position(k, i) for i in range(size)])
            for k, size in enumerate(self.sizes)
        )

    @cached_property
    def whole(self) -> Slice:
        """The whole space, in which no parameter is fixed."""
        return Slice(self.space, {})

    @cached_property
    def is_listed(self) -> bool:
        """Whether the space has so few points that a search looks at all of them."""
        return self.whole.size <= LISTED_POINTS

    @property
    def activity(self) -> Activity:
        """Which axes are active where."""
        return self.space.activity

    @cached_property
    def together(self) -> int:
        """Largest number of axes that are active together, without one share of each mixture and those of components
        that have to be absent: d without conditions and mixtures."""
        most = self.activity.fold({}, 0, lambda active, _: active + 1, max)
        return (self.dimension if most is None else most) - sum(
            len(each.names) + 1 - min(each.at_most or len(each.names), len(each.names)) for each in self.space.mixtures
        )

    def movable(self, positions: Array) -> Bools:
        """(k, d) along which axes positions (k, d) may be moved so that the same axes stay active: not along those that
        are inactive, and not along those that others depend on."""
        found: Bools = self.activity.active(positions) & ~self.activity.parents
        return found

    @cached_property
    def deepest(self) -> int:
        """Cuts on the way to a cell, at most, so that its key stays within ``LONGEST_KEY``."""
        kinds = zip(self.sizes, self.categorical, strict=True)
        parts = max([2, *(choices.most_parts(size) for size, is_choice in kinds if is_choice and size)])
        return (LONGEST_KEY - 1) // len(f".{self.dimension - 1}-{parts - 1}")

    def position(self, axis: int, index: int) -> float:
        """Of a discrete axis's value by its index."""
        values = self.values[axis]
        return self._position(axis, index) if values is None else float(values[index])

    def _position(self, axis: int, index: int) -> float:
        """As ``position``, of an axis that is not listed."""
        discrete = self.space.axes[axis]
        assert not isinstance(discrete, FloatAxis)
        return discrete.encode(discrete.value(index))

    def index(self, axis: int, position: float) -> int:
        """Of the value at (or whose bin holds) a position of a discrete axis."""
        discrete = self.space.axes[axis]
        assert not isinstance(discrete, FloatAxis)
        return discrete.bin(position)

    def snap(self, positions: Array) -> Array:
        """Positions (k, d) with listed axes moved to the nearest value, inactive ones included."""
        snapped = positions.copy()
        for k, values in enumerate(self.values):
            if values is not None:
                edges = (values[1:] + values[:-1]) / 2
                snapped[:, k] = values[np.searchsorted(edges, positions[:, k])]
        return snapped

    def exact_along(self, axis: int, position: float) -> float:
        """``exact`` of one coordinate."""
        along = self.space.axes[axis]
        return along.encode(along.decode(position))

    @cached_property
    def shares(self) -> Bools:
        """(d,) axes that are shares of a mixture."""
        names = {name for mixture in self.space.mixtures for name in mixture.names}
        return np.array([axis.name in names for axis in self.space.axes])

    @cached_property
    def remainders(self) -> tuple[int, ...]:
        """Of each mixture the axis of one share, which the others leave."""
        order = [axis.name for axis in self.space.axes]
        return tuple(order.index(mixture.names[-1]) for mixture in self.space.mixtures)

    @cached_property
    def spreads(self) -> Array | None:
        """(d,) standard deviation along each axis over random points, as a share of that of a uniform number; None
        without mixtures, where it is 1. Shares of many components differ by little."""
        if not self.space.mixtures or self.whole.feasible is None:
            return None
        found = np.ones(self.dimension)
        for mixture in self.whole.feasible.mixtures:
            found[list(mixture.axes)] = mixture.spread
        return found

    def exact(self, position: Array) -> Array:
        """The point (d,) that a position stands for: ``encode(decode(u))``, of the nearest mixtures."""
        if self.space.mixtures:
            return self.whole.exact(position)
        found: Array = self.space.snap(position[None])[0]
        return found
