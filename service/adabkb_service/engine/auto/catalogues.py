"""Which row of a catalogue to evaluate, with the values of the other parameters.

A catalogue is too long to look at every row for each suggestion. Rows that are alike by their numbers form a *group*
(a k-d tree cut down to groups of at most ``LARGEST``). One row of each group is looked at, drawn anew for each
suggestion, then all rows of the groups with the largest bounds and of those next to them. So the work hardly depends on
the length of the catalogue.

Before there are results to learn from, rows are spread: each is drawn with a probability in proportion to its squared
distance from the rows so far.

Source: D. Arthur and S. Vassilvitskii, SODA 2007, k-means++.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.components import places_of
from adabkb_service.engine.auto.domain import Domain
from adabkb_service.engine.candidates import distinct
from adabkb_service.engine.catalogue import Table
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.slices import Slice

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST = 64
"""The most rows of a group."""
DRAWN = 1024
"""The fewest rows that are examined first, one of each group in turn."""
OPENED, NEXT = 6, 3
"""Number of groups whose rows are all examined first, and number of neighbors of each."""
NEARBY = 8
"""Number of groups next to the best row that are examined last."""
MOST_VALUES = 64
"""Values of another discrete parameter up to which all are tried with the best row."""
SPREAD = 2048
"""Number of rows from which a first row is drawn."""
STREAM = 1 << 58
"""Keeps random numbers apart from those of the search."""


@dataclass(frozen=True)
class Groups:
    """The offered rows of a table in groups."""

    rows: Ints
    """Numbers of the rows, one group after the other."""
    ends: Ints
    """(g + 1,) where the groups begin; the last one is the number of rows."""
    centres: Array
    """(g, p) middle of each."""

    def members(self, groups: Ints) -> Ints:
        """The rows of some groups."""
        return np.concatenate([self.rows[self.ends[group] : self.ends[group + 1]] for group in groups.tolist()])

    def drawn(self, shares: Array) -> Ints:
        """(k,) rows, one of each group in turn, by numbers, (k,), in [0, 1)."""
        groups = np.arange(len(shares)) % len(self.centres)
        sizes = np.diff(self.ends)[groups]
        found: Ints = self.rows[self.ends[groups] + (shares * sizes).astype(np.int64)]
        return found

    def nearest(self, place: Array, count: int) -> Ints:
        """The groups whose centres are nearest to a place, (p,)."""
        squares = ((self.centres - place) ** 2).sum(axis=1)
        return np.argsort(squares, kind="stable")[:count]


@lru_cache(8)
def groups_of(table: Table) -> Groups:
    """The groups of a table, one row of which is offered at least: cut at the median of the longest side."""
    places, waiting, found = places_of(table), [table.offered], []
    while waiting:
        rows = waiting.pop()
        if len(rows) <= LARGEST:
            found.append(rows)
            continue
        middle = len(rows) // 2
        if places.shape[1]:
            here = places[rows]
            along = here[:, int(np.argmax(np.ptp(here, axis=0)))]
            rows = rows[np.argpartition(along, middle)]
        waiting += [rows[middle:], rows[:middle]]
    centres = np.array([places[rows].mean(axis=0) for rows in found]).reshape(len(found), -1)
    ends = np.concatenate([[0], np.cumsum([len(rows) for rows in found])]).astype(np.int64)
    return Groups(np.concatenate(found), ends, centres)


@dataclass(frozen=True)
class Lookup:
    """A search for the largest bound over the rows of catalogues and the values of the other parameters."""

    domain: Domain
    within: Slice
    bound: Callable[[Array], Array]
    """(k,) at positions (k, d)."""
    ascended: Callable[[Array], Array]
    """Positions (k, d), moved uphill along the parameters that can be moved."""
    around: Array | None
    """(d,) the best point so far."""
    draw: tuple[int, int]
    """(seed, step) of the random numbers."""

    def candidates(self) -> Array:
        """Points, (k, d), at some of which the bound is as large as was found, the largest first."""
        seed, step = self.draw
        found = self._first()
        for number, k in enumerate(self.within.catalogues):
            groups = groups_of(self.within.catalogues[k].table)
            rows = groups.drawn(uniforms(seed ^ STREAM, step + number, max(DRAWN, len(groups.centres))))
            # The other parameters of each point are those of one of the first points, in turn.
            drawn = self._with_rows(found[np.arange(len(rows)) % len(found)], k, rows)
            kept = self._best(drawn, OPENED)
            around = [] if self.around is None else [self.around]
            opened = [self._opened(point, k, NEXT + 1) for point in [*kept, *around]]
            best = self._best(distinct(np.concatenate([kept, *opened])), OPENED)
            found = np.concatenate([self.ascended(best), best])
        best = self._best(found, 1)[0]
        last = [self._opened(best, k, NEARBY) for k in self.within.catalogues]
        values = [self._with_values(best, k) for k in self.domain.discrete if k not in self.within.catalogues]
        found = distinct(np.concatenate([found, *last, *values]))
        return self._best(found, len(found))

    def with_any_row(self, point: Array) -> Iterator[Array]:
        """A point, (d,), with one offered row after the other in place of its own."""
        for k, axis in self.within.catalogues.items():
            for place in axis.positions(axis.table.offered).tolist():
                found = point.copy()
                found[k] = place
                yield found

    def _first(self) -> Array:
        """Points, (k, d), scattered over the slice, every second one with all but the row of the best point so far."""
        d, (seed, step) = self.domain.dimension, self.draw
        scattered = uniforms(seed, step, SPREAD * d).reshape(SPREAD, d)
        if self.around is not None:
            scattered[::2] = self.around
        for k, axis in self.within.catalogues.items():
            offered = axis.table.offered
            scattered[:, k] = axis.positions(offered[(uniforms(seed, step, SPREAD) * len(offered)).astype(np.int64)])
        return self.within.put(self.domain.snap(scattered))

    def _opened(self, point: Array, k: int, count: int) -> Array:
        """A point with each of the rows of the groups nearest to its own."""
        axis = self.within.catalogues[k]
        groups = groups_of(axis.table)
        (row,) = axis.rows(point[[k]])
        rows = groups.members(groups.nearest(places_of(axis.table)[row], count))
        return self._with_rows(np.repeat(point[None], len(rows), axis=0), k, rows)

    def _with_rows(self, points: Array, k: int, rows: Ints) -> Array:
        found = points.copy()
        found[:, k] = self.within.catalogues[k].positions(rows)
        return found

    def _with_values(self, point: Array, k: int) -> Array:
        """A point with each of the values of a discrete parameter, where these are few."""
        values = self.domain.values[k]
        if values is None or len(values) > MOST_VALUES or not self.within.free[k]:
            return point[None]
        found = np.repeat(point[None], len(values), axis=0)
        found[:, k] = values
        return found

    def _best(self, points: Array, count: int) -> Array:
        best: Array = points[np.argsort(-self.bound(points), kind="stable")[:count]]
        return best


def spread(within: Slice, known: Array, draw: tuple[int, int], taken: Callable[[Array], bool]) -> Array | None:
    """A point, (d,), whose rows are far from those of points so far, (k, d); None if none is found that is not taken.

    Args:
        within: where to look.
        known: positions of the points so far.
        draw: (seed, step) of the random numbers.
        taken: whether a point is out of the question.
    """
    seed, step = draw
    d = within.space.dimension
    numbers = uniforms(seed ^ STREAM, step, SPREAD * (d + 1)).reshape(SPREAD, d + 1)
    points = numbers[:, :d].copy()
    squares = np.zeros(SPREAD)
    for k, axis in within.catalogues.items():
        offered, places = axis.table.offered, places_of(axis.table)
        rows = offered[(numbers[:, k] * len(offered)).astype(np.int64)]
        points[:, k] = axis.positions(rows)
        if len(known):
            here, nearest = places[rows], np.full(SPREAD, np.inf)
            for other in places[axis.rows(known[:, k])]:
                nearest = np.minimum(nearest, ((here - other) ** 2).sum(axis=1))
            squares += nearest
    # The largest of u^(1 / w) is a draw in proportion to w.
    with np.errstate(divide="ignore"):
        order = np.argsort(np.log(numbers[:, d]) / squares) if squares.any() else np.arange(SPREAD)
    if squares.any():
        order = order[::-1]
    points = within.put(points)
    return next((point for point in map(within.exact, points[order]) if not taken(point)), None)
