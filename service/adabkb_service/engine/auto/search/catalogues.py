"""The search for a row of a catalogue, with the values of the other parameters.

A catalogue is too long to evaluate every row for each suggestion. Rows with similar numbers form a *group* (a leaf of a
k-d tree, of at most ``LARGEST`` rows). The search evaluates at least one random row of each group, then all rows of the
groups with the largest bounds and of their neighbors. So the computing time hardly depends on the length of the
catalogue.

The first rows are spread over the catalogue: each is drawn with a probability proportional to its squared distance from
the nearest of the rows before it.

Under constraints and in mixtures, rows that cannot be part of a feasible point are left out, the other parameters come
from random feasible points, and only feasible points are kept.

Source: D. Arthur and S. Vassilvitskii, SODA 2007, k-means++.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.domain.components import places_of
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.search.mixed import exchanges
from adabkb_service.engine.candidates import distinct
from adabkb_service.engine.catalogue import Table
from adabkb_service.engine.feasible import Feasible
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.slices import Slice

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST = 64
"""The maximum number of rows of a group."""
DRAWN = 1024
"""The minimum number of rows that are evaluated first, one of each group in turn."""
OPENED, NEXT = 6, 3
"""The number of groups whose rows are all evaluated next, and the number of neighbors of each."""
NEARBY = 8
"""The number of groups near the best row that are evaluated last."""
MAX_VALUES = 64
"""The maximum number of values of another discrete parameter for which all values are tried with the best row."""
SPREAD = 2048
"""The number of random points with which a search begins, and from which one of the first rows is drawn."""
STREAM = 1 << 58
"""Combined with the seed (XOR), for a separate random stream."""


@dataclass(frozen=True)
class Groups:
    """The offered rows of a table, in groups."""

    rows: Ints
    """Indices of the rows, group after group."""
    ends: Ints
    """(g + 1,) start index of each group; the last entry is the number of rows."""
    centers: Array
    """(g, p) center of each group."""

    def members(self, groups: Ints) -> Ints:
        """Return the rows of some groups."""
        return np.concatenate([self.rows[self.ends[group] : self.ends[group + 1]] for group in groups.tolist()])

    def drawn(self, shares: Array) -> Ints:
        """Draw rows, (k,), one of each group in turn, using numbers (k,) in [0, 1)."""
        groups = np.arange(len(shares)) % len(self.centers)
        sizes = np.diff(self.ends)[groups]
        found: Ints = self.rows[self.ends[groups] + (shares * sizes).astype(np.int64)]
        return found

    def nearest(self, place: Array, count: int) -> Ints:
        """Return the groups whose centers are nearest to a place, (p,)."""
        squares = ((self.centers - place) ** 2).sum(axis=1)
        return np.argsort(squares, kind="stable")[:count]


@lru_cache(8)
def groups_of(table: Table) -> Groups:
    """Return the groups of a table with at least one offered row. Groups are cut at the median of their longest
    side."""
    rows = table.offered
    waiting = [(rows, np.ascontiguousarray(places_of(table)[rows].T))]
    found: list[Ints] = []
    centers: list[Array] = []
    while waiting:
        rows, places = waiting.pop()  # (n,) and (p, n): a side is one block of memory
        if len(rows) <= LARGEST:
            found.append(rows)
            centers.append(np.ascontiguousarray(places.T).mean(axis=0))
            continue
        middle = len(rows) // 2
        if len(places):
            longest = int(np.argmax(places.max(axis=1) - places.min(axis=1)))
            order = np.argpartition(places[longest], middle)
            rows, places = rows[order], np.take(places, order, axis=1)
        waiting += [(rows[middle:], places[:, middle:]), (rows[:middle], places[:, :middle])]
    ends = np.concatenate([[0], np.cumsum([len(rows) for rows in found])]).astype(np.int64)
    return Groups(np.concatenate(found), ends, np.array(centers).reshape(len(found), -1))


@dataclass(frozen=True)
class Lookup:
    """A search for the largest bound over the rows of catalogues and the values of the other parameters."""

    domain: Domain
    within: Slice
    bound: Callable[[Array], Array]
    """Returns the bound, (k,), at positions (k, d)."""
    ascended: Callable[[Array], Array]
    """Returns feasible positions (k, d), moved uphill along the continuous and ordered parameters."""
    around: Array | None
    """(d,) the best point so far; None without one."""
    draw: tuple[int, int]
    """(seed, step) of the random stream."""
    favored: Array | None = None
    """(k, d) further points to evaluate."""

    def candidates(self) -> Array:
        """Return points, (k, d), with the largest bounds that were found, best first."""
        seed, step = self.draw
        found = self._first()
        for number, k in enumerate(self.within.catalogues):
            groups = groups_of(self.within.catalogues[k].table)
            rows = groups.drawn(uniforms(seed ^ STREAM, step + number, max(DRAWN, len(groups.centers))))
            # The other parameters are those of the first points, in turn.
            drawn = self._with_rows(found[np.arange(len(rows)) % len(found)], k, rows)
            if self.favored is not None:
                drawn = np.concatenate([drawn, self.favored])
            kept = self._best(self._feasible(drawn, found), OPENED)
            around = [] if self.around is None else [self.around]
            opened = [self._opened(point, k, NEXT + 1) for point in [*kept, *around]]
            best = self._best(distinct(self._feasible(np.concatenate([kept, *opened]))), OPENED)
            found = np.concatenate([self.ascended(best), best])
        best = self._best(found, 1)[0]
        last = [self._opened(best, k, NEARBY) for k in self.within.catalogues]
        values = [self._with_values(best, k) for k in self.domain.discrete if k not in self.within.catalogues]
        found = distinct(self._feasible(np.concatenate([found, *last, *values])))
        return self._best(found, len(found))

    def with_any_row(self, point: Array) -> Iterator[Array]:
        """Yield a point, (d,), with its row replaced by each offered row."""
        for k, axis in self.within.catalogues.items():
            for place in axis.positions(axis.table.offered).tolist():
                found = point.copy()
                found[k] = place
                yield self.domain.space.with_inactive_at_rest(found[None])[0]

    def _first(self) -> Array:
        """Return points, (k, d), scattered over the slice. Every second one differs from the best point only in its
        row."""
        if self.within.feasible is not None:
            return self._first_feasible(self.within.feasible)
        d, (seed, step) = self.domain.dimension, self.draw
        scattered = uniforms(seed, step, SPREAD * d).reshape(SPREAD, d)
        if self.around is not None:
            scattered[::2] = self.around
        for k, axis in self.within.catalogues.items():
            offered = axis.table.offered
            scattered[:, k] = axis.positions(offered[(uniforms(seed, step, SPREAD) * len(offered)).astype(np.int64)])
        return self.within.put(self.domain.snap(scattered))

    def _first_feasible(self, feasible: Feasible) -> Array:
        """Return the points of ``_first`` under constraints or in mixtures."""
        found = feasible.sample(self.draw, SPREAD)
        if self.around is None:
            return found
        beside = np.repeat(self.around[None], SPREAD // 2, axis=0)
        for k in self.within.catalogues:
            beside[:, k] = found[: SPREAD // 2, k]
        moved = [exchanges(feasible, self.around, self.draw)] if feasible.mixtures else []
        beside = self.within.put(np.concatenate([beside, *moved]))
        return np.concatenate([beside[feasible.mask(beside)], found])

    def _feasible(self, points: Array, others: Array | None = None) -> Array:
        """Return those of the points, (k, d), and of ``others`` that are feasible. Without constraints and mixtures,
        return the points alone."""
        if self.within.feasible is None:
            return points
        points = points if others is None else np.concatenate([points, others])
        return points[self.within.feasible.mask(points)]

    def _opened(self, point: Array, k: int, count: int) -> Array:
        """Return a point with each row of the groups nearest to its own row."""
        axis = self.within.catalogues[k]
        groups = groups_of(axis.table)
        (row,) = axis.rows(point[[k]])
        rows = groups.members(groups.nearest(places_of(axis.table)[row], count))
        return self._with_rows(np.repeat(point[None], len(rows), axis=0), k, rows)

    def _with_rows(self, points: Array, k: int, rows: Ints) -> Array:
        found = points.copy()
        found[:, k] = self.within.catalogues[k].positions(rows)
        return self.domain.space.with_inactive_at_rest(found)

    def _with_values(self, point: Array, k: int) -> Array:
        """Return a point with each value of a discrete parameter that has few values."""
        values = self.domain.values[k]
        if values is None or len(values) > MAX_VALUES or not self.within.free[k]:
            return point[None]
        found = np.repeat(point[None], len(values), axis=0)
        found[:, k] = values
        return self.domain.space.with_inactive_at_rest(found)

    def _best(self, points: Array, count: int) -> Array:
        best: Array = points[np.argsort(-self.bound(points), kind="stable")[:count]]
        return best


def spread(within: Slice, known: Array, draw: tuple[int, int], taken: Callable[[Array], bool]) -> Array | None:
    """Return a point, (d,), whose rows are far from those of known points, (k, d); None if no free point is found.

    Args:
        within: the slice to search.
        known: positions of the known points.
        draw: (seed, step) of the random stream.
        taken: returns whether a point is excluded.
    """
    seed, step = draw
    d = within.space.dimension
    numbers = uniforms(seed ^ STREAM, step, SPREAD * (d + 1)).reshape(SPREAD, d + 1)
    feasible = within.feasible
    points = numbers[:, :d].copy() if feasible is None else feasible.sample((seed ^ STREAM, step), SPREAD)
    squares = np.zeros(SPREAD)
    for k, axis in within.catalogues.items():
        offered, places = axis.table.offered, places_of(axis.table)
        if feasible is None:
            points[:, k] = axis.positions(offered[(numbers[:, k] * len(offered)).astype(np.int64)])
        rows = axis.rows(points[:, k])
        if len(known):
            here, nearest = places[rows], np.full(SPREAD, np.inf)
            for other in places[axis.rows(known[:, k])]:
                nearest = np.minimum(nearest, ((here - other) ** 2).sum(axis=1))
            squares += nearest
    # The index with the largest u^(1 / w) is a draw with probability proportional to w.
    with np.errstate(divide="ignore"):
        order = np.argsort(np.log(numbers[:, d]) / squares) if squares.any() else np.arange(SPREAD)
    if squares.any():
        order = order[::-1]
    exact = map(within.exact, within.put(points)[order])
    free = (point for point in exact if not taken(point))
    return next((point for point in free if feasible is None or feasible.admits(point)), None)
