"""The feasible points of a slice of the space: those that satisfy all constraints and mixtures.

Interval arithmetic covers them with boxes. Random feasible points are drawn from these boxes by rejection or, if few
points are feasible, by a hit-and-run walk.

Source: R. L. Smith, Operations Research 32 (1984), hit-and-run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import ChoiceAxis, DiscreteAxis, FloatAxis, Value
from adabkb_service.engine.candidates import distinct, product
from adabkb_service.engine.catalogue import CatalogueAxis, Table
from adabkb_service.engine.columns import AxisColumn, AxisExtent, axis_of_one
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.cover import NARROWEST, Cover, cover
from adabkb_service.engine.magnitudes import beginning, bins_between, moved_to_values
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.simplex import Simplex, simplex
from adabkb_service.engine.space import Fixed, Space

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TRIED = 65_536
"""The maximum number of random points that are examined to find feasible ones."""
AT_ONCE = 4096
"""The number of random points that are examined at a time."""
ANCHORS = 256
"""The number of feasible points that are kept."""
WALKS, SHRINKS = 3, 24
"""Steps of a hit-and-run walk, and attempts per step."""
MIXING = 10
"""The number of consecutive walks if few feasible points are known."""
LISTED = 2**17
"""All points of a finite slice are examined if there are at most this many."""
EXACTLY = 4096
"""The points of a finite slice are checked exactly, instead of up to rounding, if there are at most this many."""
ROWS_AT_ONCE = 8192
"""The number of rows of a catalogue that are compared with the constraints at a time."""
EXACT_WORK = 2_000_000
"""Limit on the number of exact checks, times the size of the constraints."""
SALT = 1 << 60
"""Combined with the seed (XOR), so that these random numbers differ from those of the search, which uses the same seeds
and steps."""
SALT_OF_MIXTURES = 1 << 61
"""Combined with the seed (XOR) for the random numbers of mixtures."""
SECTIONS = 16
"""To find the boundary of the feasible set, a segment is divided into this many sections in each round."""


@dataclass(frozen=True, eq=False)
class Feasible:
    """The feasible points of a slice."""

    space: Space
    fixed: Mapping[str, Value]
    """Axis name -> value."""
    free: Bools
    """(d,) axes that are not fixed."""
    coordinates: Array
    """(d,) positions of the fixed axes."""

    def admits(self, point: Array) -> bool:
        """Whether a point (d,) satisfies the constraints and mixtures exactly, that is, with the parameters that would
        be issued."""
        parameters = {**self.space.decode(point), **self.fixed}
        return self.space.admits(parameters)

    @cached_property
    def mixtures(self) -> tuple[Simplex, ...]:
        """The mixtures of the space, with the fixed shares."""
        return tuple(simplex(self.space, each, self.fixed) for each in self.space.mixtures)

    @cached_property
    def tables(self) -> dict[int, Table]:
        """Axis index of each free catalogue -> its table, which offers only the rows that may be feasible."""
        return {k: self._table(k, axis) for k, axis in self._catalogues}

    @cached_property
    def _catalogues(self) -> list[tuple[int, CatalogueAxis]]:
        """The free catalogues, with the indices of their axes."""
        axes = enumerate(self.space.axes)
        return [(k, axis) for k, axis in axes if isinstance(axis, CatalogueAxis) and self.free[k]]

    def _table(self, k: int, axis: CatalogueAxis) -> Table:
        rows = axis.table.offered
        if axis.name not in self._named or not len(rows):
            return axis.table
        found = np.zeros(len(axis.table.names), dtype=np.bool_)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[start : start + ROWS_AT_ONCE]
            lows, highs = (
                np.repeat(np.where(self.free, end, self.coordinates)[None], len(some), axis=0) for end in (0, 1)
            )
            lows[:, k] = highs[:, k] = axis.positions(some)
            found[some] = self.may_hold(lows, highs)
        return axis.table if found.sum() == len(rows) else axis.table.offering(found)

    def moved(self, positions: Array) -> Array:
        """Positions (k, d), moved into the slice and to the nearest mixtures; along axes with at most
        ``magnitudes.LISTED`` values, to the nearest value."""
        found = self._at_values(positions)
        for mixture in self.mixtures:
            found = mixture.moved(found)
        return self.space.with_inactive_at_rest(found)

    def mask(self, positions: Array) -> Bools:
        """(k,) whether positions (k, d) satisfy the constraints and mixtures, up to rounding, and use rows of
        ``tables`` that are offered."""
        columns = self._columns(positions)
        found = np.ones(len(positions), dtype=np.bool_)
        for constraint in self._constraints:
            found &= constraint.hold_at(columns)
        for mixture in self.mixtures:
            found &= mixture.holds(positions)
        for k, axis in self._catalogues:
            found &= self.tables[k].is_offered[axis.rows(positions[:, k])]
        return found

    def slack(self, positions: Array) -> Array:
        """(k, m) slack of positions (k, d) in each of the m numeric constraints: negative where the constraint is
        violated, infinite where it does not depend on numbers."""
        columns, found = self._columns(positions), np.empty((len(positions), len(self._of_numbers)))
        for column, constraint in enumerate(self._of_numbers):
            found[:, column] = constraint.slack(columns)
        return found

    def may_hold(self, lows: Array, highs: Array) -> Bools:
        """(k,) whether boxes with these corners, (k, d) each, may contain feasible points; False is a proof."""
        extents = self._extents(lows, highs)
        found = np.ones(len(lows), dtype=np.bool_)
        for constraint in self._constraints:
            found &= constraint.may_hold(extents)
        for mixture in self.mixtures:
            found &= mixture.may_hold(lows, highs)
        return found

    def exact(self, position: Array) -> Array:
        """The point (d,) that is issued for a position (d,)."""
        found: Array = np.where(self.free, self.space.snap(position[None])[0], self.coordinates)
        for mixture in self.mixtures:
            shares = mixture.exact(mixture.projected(mixture.values(found[None]))[0])
            found[list(mixture.axes)] = [axis.encode(shares[axis.name]) for axis in mixture.shares]
        return found

    @property
    def is_empty(self) -> bool:
        """Whether it is proved that no point is feasible."""
        if self._has_nothing:
            return True
        return not len(self.points if self.is_listed else self.cover.lows)

    @property
    def _has_nothing(self) -> bool:
        """Whether a mixture has no point, or a catalogue no row."""
        no_rows = any(not len(table.offered) for table in self.tables.values())
        return no_rows or any(mixture.is_empty for mixture in self.mixtures)

    @cached_property
    def work(self) -> int:
        """Cost of finding anchors, in the units of ``Cover.work``. A point costs an eighth of a box, an exact check 25
        boxes."""
        if self.is_listed:
            return self.size * LISTED // 8
        _, exactly = self._drawn
        return self.cover.work + (0 if self.is_empty else self.size * (TRIED // 8 + 25 * exactly))

    @cached_property
    def scales(self) -> Array:
        """(m,) largest finite size of each slack at the anchors, or 1 if that is 0."""
        found = np.abs(self.slack(self.anchors))
        largest = np.where(np.isfinite(found), found, 0.0).max(axis=0)
        return np.where(largest > 0.0, largest, 1.0)

    @cached_property
    def is_listed(self) -> bool:
        """Whether there are so few points that all are examined."""
        axes = [axis for axis, is_free in zip(self.space.axes, self.free, strict=True) if is_free]
        return math.prod(math.inf if axis.count is None else float(axis.count) for axis in axes) <= LISTED

    @cached_property
    def points(self) -> Array:
        """All feasible points, (k, d), up to rounding if there are many. Requires ``is_listed``."""
        listed = []
        for k, (axis, is_free, coordinate) in enumerate(zip(self.space.axes, self.free, self.coordinates, strict=True)):
            if k in self.tables:
                assert isinstance(axis, CatalogueAxis)
                listed.append(axis.positions(self.tables[k].offered))
            elif is_free:
                assert not isinstance(axis, FloatAxis), "a real interval cannot be listed"
                listed.append(np.array([axis.encode(axis.value(index)) for index in range(axis.count)]))
            else:
                listed.append(np.array([coordinate]))
        points = product(listed)
        if self.space.activity.conditional:  # many points differ only in inactive parameters
            points = distinct(self.space.with_inactive_at_rest(points))
        most = min(EXACTLY, self._most_exactly)
        if len(points) > most:
            points = points[self.mask(points)]
        if len(points) > most:
            return points
        return points[np.array([self.admits(point) for point in points], dtype=np.bool_)]

    @cached_property
    def cover(self) -> Cover:
        """Boxes that contain all feasible points."""
        low, high = np.where(self.free, 0.0, self.coordinates), np.where(self.free, 1.0, self.coordinates)
        return cover(low, high, self._cuts, self._compared, self.size)

    @cached_property
    def anchors(self) -> Array:
        """(a, d) exactly feasible points, at most ``ANCHORS`` + 1; empty if none is found."""
        if self._has_nothing:
            return np.zeros((0, self.space.dimension))
        if self.is_listed:
            return self._admitted(self._candidates(self.points))[:ANCHORS]
        lows, highs, _ = self.cover
        found, exactly = self._drawn
        if not len(lows) or len(found) == ANCHORS:
            return found
        corners = self._candidates(self.moved(np.concatenate([(lows + highs) / 2.0, lows, highs])))
        found = np.concatenate([found, self._admitted(corners[: self._most_exactly - exactly])])[:ANCHORS]
        if not len(found):
            return found
        positions = found[np.arange(ANCHORS) % len(found)]
        for step in range(MIXING):
            positions = self._walked(positions, (0, -1 - step))
        return np.concatenate([self._admitted(self._candidates(positions)), found[:1]])

    @cached_property
    def _drawn(self) -> tuple[Array, int]:
        """(a, d) random feasible points of the cover, at most ``ANCHORS``, and the number of exact checks."""
        found, exactly = np.zeros((0, self.space.dimension)), 0
        at_once = AT_ONCE if self.space.constraints else ANCHORS
        for step in range(TRIED // AT_ONCE if len(self.cover.lows) else 0):
            candidates = self._candidates(self._scattered((0, step), at_once))[: self._most_exactly - exactly]
            exactly += len(candidates)
            found = np.concatenate([found, self._admitted(candidates)])[:ANCHORS]
            if len(found) == ANCHORS:
                break
        return found, exactly

    @property
    def _most_exactly(self) -> int:
        """The maximum number of points that may be checked exactly."""
        return EXACT_WORK // self.size

    def sample(self, draw: tuple[int, int], count: int) -> Array:
        """Random positions (count, d), feasible up to rounding. Requires anchors.

        Args:
            draw: (seed, step) of the random numbers.
            count: number of positions.
        """
        found = self._scattered(draw, 2 * count)
        found = found[self.mask(found)][:count]
        missing = count - len(found)
        if not missing:
            return found
        start = uniforms(draw[0] ^ SALT, draw[1], missing)
        walkers = self.anchors[(start * len(self.anchors)).astype(int)]
        return np.concatenate([found, self._walked(walkers, draw)])

    def point(self, draw: tuple[int, int]) -> Array:
        """A random feasible point, (d,)."""
        found = (self.exact(position) for position in self.sample(draw, 8))
        return next((point for point in found if self.admits(point)), self.anchors[0])

    def pulled(self, inside: Array, outside: Array, rounds: int) -> Array:
        """Positions (k, d) on the segments from feasible positions, (d,) or (k, d), to others, (k, d). Each is the
        last one before its segment first leaves the feasible set, to within ``SECTIONS ** -rounds`` of the segment's
        length."""
        inside, way = np.broadcast_to(inside, outside.shape), outside - inside
        low, width = np.zeros(len(way)), np.ones(len(way))
        for _ in range(rounds):
            lengths = low[:, None] + width[:, None] * (np.arange(SECTIONS) + 1.0) / SECTIONS
            tried = (inside[:, None] + lengths[:, :, None] * way[:, None]).reshape(-1, way.shape[1])
            holds = self.mask(self.moved(tried)).reshape(lengths.shape)
            count = np.where(holds.all(axis=1), SECTIONS, holds.argmin(axis=1))
            low += width * count / SECTIONS
            width = np.where(count == SECTIONS, 0.0, width / SECTIONS)
        return self.moved(inside + low[:, None] * way)

    def _candidates(self, positions: Array) -> Array:
        """The positions among (k, d) that are feasible up to rounding, at most 2 * ANCHORS."""
        return positions[self.mask(positions)][: 2 * ANCHORS]

    def _admitted(self, positions: Array) -> Array:
        """The exactly feasible points, (a, d), of positions (k, d)."""
        found = [self.exact(position) for position in positions]
        return np.array([point for point in found if self.admits(point)]).reshape(-1, self.space.dimension)

    def _scattered(self, draw: tuple[int, int], count: int) -> Array:
        """Random positions of the cover, (count, d)."""
        lows, highs, _ = self.cover
        d = self.space.dimension
        draws = uniforms(draw[0] ^ SALT, draw[1], count * (d + 1)).reshape(count, d + 1)
        sizes = np.log(np.where(highs > lows, highs - lows, 1.0)).sum(axis=1)
        shares = np.cumsum(np.exp(sizes - sizes.max()))
        which = np.minimum(np.searchsorted(shares, draws[:, d] * shares[-1]), len(lows) - 1)
        found = self._at_values(lows[which] + (highs[which] - lows[which]) * draws[:, :d])
        for number, mixture in enumerate(self.mixtures):
            shares = mixture.drawn((draw[0] ^ (SALT_OF_MIXTURES + number), draw[1]), count)
            found = mixture.put(found, shares)
        return self.space.with_inactive_at_rest(found)

    def _walked(self, positions: Array, draw: tuple[int, int]) -> Array:
        """Hit-and-run walks from feasible positions (k, d). Each step draws a random line and a random position on it,
        within the cube. While this is infeasible, a nearer one is drawn."""
        k, d = positions.shape
        draws = uniforms(draw[0] ^ SALT, draw[1], k * (1 + WALKS * (2 * d + SHRINKS)))[k:]
        for step in draws.reshape(WALKS, k, 2 * d + SHRINKS):
            chosen = (step[:, d : 2 * d] < min(1.0, 2.0 / d + 0.3)) & self.free
            line = np.where(chosen, 2.0 * step[:, :d] - 1.0, 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                ends = np.sort(np.where(line != 0.0, [-positions / line, (1.0 - positions) / line], np.inf), axis=0)
            low = np.where(line != 0.0, ends[0], -np.inf).max(axis=1)
            high = np.where(line != 0.0, ends[1], np.inf).min(axis=1)
            low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
            after = positions.copy()
            waiting = np.ones(k, dtype=np.bool_)
            for attempt in range(SHRINKS):
                length = low + (high - low) * step[:, 2 * d + attempt]
                trial = self.moved(np.clip(positions + length[:, None] * line, 0.0, 1.0))
                holds = waiting & self.mask(trial)
                after[holds] = trial[holds]
                waiting &= ~holds
                if not waiting.any():
                    break
                low, high = np.where(length < 0.0, length, low), np.where(length < 0.0, high, length)
            positions = after
        return positions

    def _at_values(self, positions: Array) -> Array:
        """Positions (k, d), moved into the slice and, on axes with at most ``magnitudes.LISTED`` values, to the nearest
        value; on those of catalogues, to the nearest row that may be feasible."""
        columns = [moved_to_values(axis, column) for axis, column in zip(self.space.axes, positions.T, strict=True)]
        for k, axis in self._catalogues:
            columns[k] = axis.positions(_nearest(axis.rows(positions[:, k]), self.tables[k].offered))
        found: Array = np.where(self.free, np.column_stack(columns), self.coordinates)
        return found

    def _cuts(self, lows: Array, highs: Array) -> tuple[Array, Array]:
        """(k, d) where to cut boxes along each axis, and (k, d) their widths; 0 along axes that are not cut."""
        places, widths = (lows + highs) / 2.0, highs - lows
        widths = np.where(widths > self._smallest, widths, 0.0)
        for axis, k in self._compared_with_values:
            first, last = bins_between(axis, lows[:, k], highs[:, k])
            places[:, k] = beginning(axis, (first + last + 1) // 2)
            widths[first == last, k] = 0.0
        return places, widths

    @cached_property
    def _smallest(self) -> Array:
        """(d,) widths below which boxes are not cut."""
        found = np.full(self.space.dimension, np.inf)
        for k in self._named.values():
            count = self.space.axes[k].count
            found[k] = NARROWEST if count is None else 1.0 / count
        for _, k in self._compared_with_values:
            found[k] = 0.0
        return found

    @cached_property
    def _compared_with_values(self) -> list[tuple[DiscreteAxis, int]]:
        """The axes that constraints compare with values, and their indices. They are cut between values."""
        names = {each.name for constraint in self._constraints for each in constraint.memberships}
        names |= {name for constraint in self._constraints for name, _ in constraint.where}
        axes = ((axis, k) for k, axis in enumerate(self.space.axes) if axis.name in names)
        return [(axis, k) for axis, k in axes if not isinstance(axis, FloatAxis)]

    def _compared(self, lows: Array, highs: Array) -> tuple[Bools, Bools]:
        """(k,) each: whether boxes may contain feasible points (False is a proof), and whether all their points are
        feasible."""
        extents = self._extents(lows, highs)
        may, surely = np.ones((2, len(lows)), dtype=np.bool_)
        for constraint in self._constraints:
            one_may, one_surely = constraint.compared(extents)
            may &= one_may
            surely &= one_surely
        for mixture in self.mixtures:
            may &= mixture.may_hold(lows, highs)
        return may, surely

    def _columns(self, positions: Array) -> dict[str, AxisColumn]:
        """Name -> column of the parameters in constraints, at positions (k, d)."""
        varying = {name: AxisColumn(self.space.axes[k], positions[:, k]) for name, k in self._named.items()}
        return {**{axis.name: AxisColumn(axis, np.zeros(1)) for axis in self._constants}, **varying}

    def _extents(self, lows: Array, highs: Array) -> dict[str, AxisExtent]:
        """Name -> extent of the parameters in constraints, over boxes."""
        varying = {name: AxisExtent(self.space.axes[k], lows[:, k], highs[:, k]) for name, k in self._named.items()}
        return {**{axis.name: AxisExtent(axis, np.zeros(1), np.zeros(1)) for axis in self._constants}, **varying}

    @cached_property
    def size(self) -> int:
        """Number of values and operations in the constraints, and of shares."""
        shares = sum(len(mixture.names) for mixture in self.space.mixtures)
        return sum(constraint.size for constraint in self.space.constraints) + shares

    @cached_property
    def _of_numbers(self) -> list[Constraint]:
        """The numeric constraints; the others have no slack."""
        return [constraint for constraint in self._constraints if constraint.numbers]

    @property
    def _constraints(self) -> tuple[Constraint, ...]:
        return self.space.conditional_constraints

    @cached_property
    def _named(self) -> dict[str, int]:
        """Name -> index of the axes on which constraints depend."""
        named = {name for constraint in self._constraints for name in constraint.names}
        named |= {name for constraint in self._constraints for name, _ in constraint.where}
        return {axis.name: k for k, axis in enumerate(self.space.axes) if axis.name in named}

    @cached_property
    def _constants(self) -> list[ChoiceAxis]:
        """The constant parameters, as axes."""
        return [axis_of_one(each) for each in self.space.parameters if isinstance(each, Fixed)]


def _nearest(numbers: Ints, among: Ints) -> Ints:
    """(k,) the member of ``among``, which is ascending, that is nearest to each number."""
    after = np.minimum(np.searchsorted(among, numbers), len(among) - 1)
    before = np.maximum(after - 1, 0)
    found: Ints = np.where(numbers - among[before] < among[after] - numbers, among[before], among[after])
    return found
