"""Where in the whole box the upper confidence bound f~ = mean + beta s is largest.

Random positions over the box and around the best point, then gradient ascent from the best few. Where the kernel has an
additive part, also one axis after the other, as the optimum of a sum is found axis by axis. In a small finite space
every point is looked at. Draws are functions of (seed, step).
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from adabkb_service.engine.auto import mixed
from adabkb_service.engine.auto.catalogues import Lookup
from adabkb_service.engine.auto.constrained import (
    FINELY,
    feasible_candidates,
    feasible_ends,
    first_admitted,
    slides,
    spread,
)
from adabkb_service.engine.auto.domain import LISTED_POINTS, Domain
from adabkb_service.engine.auto.outcomes import Constrained, View, extra_candidates, objective_of
from adabkb_service.engine.auto.surrogate import Surrogate
from adabkb_service.engine.candidates import distinct
from adabkb_service.engine.feasible import Feasible
from adabkb_service.engine.native.library import COUNT, NUMBER, POINTER, flags, reals, routine
from adabkb_service.engine.native.structures import Ascent
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.slices import Slice

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

SCATTERED = 400
"""Random positions over the whole box."""
LOCAL = 100
"""Random positions around the best point."""
STARTS = 6
"""Of these positions, those with the largest bounds, from each of which an ascent starts."""
FEWER_STARTS = 3
"""Of these where there are several objectives under constraints or in mixtures, or metrics with bounds in mixtures."""
EVALUATIONS = 60
"""Evaluations of f~ in one ascent, at most."""
SMALL_GAIN = 1e-4
"""Gain of f~ in a step below which an ascent ends."""
FIRST_STEP = 0.3
"""Length of the first step of an ascent, in lengthscales."""
FAILURES = 4
"""Steps in a row without a gain, after which an ascent ends."""
POSITIONS = 24
"""Positions along an axis in the search axis by axis."""
ATTEMPTS = 20
"""Attempts to find a free point, each among as many random ones."""

_ascend = routine("ascend", POINTER, POINTER, COUNT, POINTER, NUMBER, POINTER)
_ASCENT = Ascent(EVALUATIONS, SMALL_GAIN, FIRST_STEP, FAILURES)
_axis_by_axis = routine("axis_by_axis", POINTER, POINTER, COUNT, POINTER, NUMBER)


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for: where in a slice of a space the f~ of a posterior is largest."""

    domain: Domain
    """The space."""
    within: Slice
    """Where to look."""
    view: View
    """The posterior, with what is pending."""
    beta: float
    """Confidence width."""
    around: Array | None
    """(d,) the best point so far."""
    draw: tuple[int, int]
    """(seed, step) of the random numbers."""
    taken: Callable[[Array], bool]
    """Whether a point is not to be suggested. This is ignored if all candidates are taken."""
    only: Callable[[Array], Bools] | None = None
    """Which positions, (k, d), to choose from, if there are such candidates; None for all."""
    known: Callable[[Array], Bools] | None = None
    """Which positions, (k, d), are taken in any case: many are looked at together, since nearly all may be."""

    def ucb(self, positions: Array) -> Array:
        """f~ at positions (k, d), shape (k,)."""
        return self.view.ucb(positions, self.beta)

    def best(self, positions: Array, count: int) -> Array:
        """The positions, (count, d) at most, of (k, d) with the largest f~, the best first."""
        return positions[np.argsort(-self.ucb(positions), kind="stable")[:count]]

    def to_choose_from(self, positions: Array) -> Array:
        """Those positions, of (k, d), to choose from."""
        if self.only is None or not (chosen := self.only(positions)).any():
            return positions
        return positions[chosen]

    def not_known(self, positions: Array) -> Array:
        """Those positions, of (k, d), that are not taken in any case."""
        return positions if self.known is None else positions[~self.known(positions)]


def maximize_ucb(search: Search) -> Array:
    """The position, (d,), with the largest f~ found."""
    domain, within, view, taken = search.domain, search.within, search.view, search.taken
    if within.size <= LISTED_POINTS:
        points = search.to_choose_from(within.points)
        values = search.ucb(points)
        free = _first_free(points, values, taken)
        return _best(points, values) if free is None else free
    if within.catalogues:
        return _maximize_over_rows(search)
    if within.feasible is not None:
        return _maximize_feasible(search, within.feasible)
    found = within.put(_all_candidates(search))
    if domain.activity.conditional:  # many differ in inactive axes only
        found = distinct(found)
    found = search.to_choose_from(found)
    starts = search.best(found, STARTS)
    objective = None if isinstance(view, Constrained) else objective_of(view)
    if objective is not None and objective.kernel.additive:
        starts = np.vstack([starts, axis_by_axis(search, objective, starts[0])])
    movable = within.free & domain.movable(starts)
    ends = np.concatenate([domain.snap(ascend(view, starts, search.beta, movable)), starts])
    for attempt in range(ATTEMPTS):
        new = search.not_known(ends)
        free = _first_free(new, search.ucb(new), lambda point: taken(within.exact(point)))
        if free is not None:
            return free
        random = domain.snap(uniforms(search.draw[0], -1 - attempt, found.size).reshape(found.shape))
        ends, found = found, within.put(random)
    return _best(ends, search.ucb(ends))


def _maximize_over_rows(search: Search) -> Array:
    """As ``maximize_ucb``, where a parameter is a row of a catalogue."""
    domain, within = search.domain, search.within

    def ascended(points: Array) -> Array:
        movable = within.free & domain.movable(points) & ~domain.categorical
        return domain.snap(ascend(search.view, points, search.beta, movable)) if movable.any() else points

    lookup = Lookup(domain, within, search.ucb, ascended, search.around, search.draw)
    points = lookup.candidates()
    free = (point for point in points if not search.taken(within.exact(point)))
    rest = (point for point in lookup.with_any_row(points[0]) if not search.taken(within.exact(point)))
    found: Array = next(chain(free, rest), points[0])
    return found


def _maximize_feasible(search: Search, feasible: Feasible) -> Array:
    """As ``maximize_ucb``, among the points that satisfy the constraints."""
    if feasible.mixtures:
        return _maximize_mixed(search, feasible)
    domain, within, view = search.domain, search.within, search.view
    scattered = within.put(_all_candidates(search))
    found = search.to_choose_from(feasible_candidates(feasible, scattered, search.around, search.draw))
    starts = search.best(found, STARTS)
    objective = objective_of(view)
    if objective is None:
        starts = starts[:FEWER_STARTS]
    if objective is None or isinstance(view, Constrained):
        ends = feasible.pulled(starts, slides(domain, view, search.beta, feasible, starts), FINELY)
        return _first_feasible(search, feasible, np.concatenate([ends, starts, feasible.anchors]), len(found))
    if objective.kernel.additive:
        along = axis_by_axis(search, objective, starts[0])
        starts = np.vstack([starts, along[feasible.mask(along)]])
    movable = within.free & domain.movable(starts)
    ascended = domain.snap(ascend(view, starts, search.beta, movable))
    ends = feasible_ends(domain, view, search.beta, feasible, starts, ascended)
    return _first_feasible(search, feasible, np.concatenate([ends, starts, feasible.anchors]), len(found))


def _maximize_mixed(search: Search, feasible: Feasible) -> Array:
    """As ``maximize_ucb``, among the points of mixtures that satisfy the constraints."""
    domain, within, view = search.domain, search.within, search.view
    parts = [mixed.middle(domain), _all_candidates(search)]
    if search.around is not None:
        parts.append(mixed.exchanges(feasible, search.around, search.draw))
    moved = within.put(np.concatenate(parts))
    found = distinct(feasible_candidates(feasible, moved, search.around, search.draw))
    found = search.to_choose_from(found)
    starts = mixed.start_points(feasible, search.best(found, len(found)), STARTS)
    objective = None if isinstance(view, Constrained) else objective_of(view)
    if objective is not None and objective.kernel.additive:
        along = within.put(axis_by_axis(search, objective, starts[0]))
        starts = np.vstack([starts, along[feasible.mask(along)]])
    if objective is None:
        starts = starts[:FEWER_STARTS]
    rounds = FINELY if feasible.space.constraints else 1
    ends = feasible.pulled(starts, slides(domain, view, search.beta, feasible, starts), rounds)
    return _first_feasible(search, feasible, np.concatenate([ends, starts, feasible.anchors]), len(found))


def _first_feasible(search: Search, feasible: Feasible, points: Array, count: int) -> Array:
    """The point, (d,), of the largest f~ among positions (k, d) that is feasible and free; or a random one of so many,
    if none is."""
    for attempt in range(ATTEMPTS):
        if feasible.mixtures:
            points = search.not_known(points)
        free = first_admitted(feasible, points, search.ucb(points), search.taken)
        if free is not None:
            return free
        points = feasible.sample((search.draw[0], -1 - attempt), count)
    best = first_admitted(feasible, feasible.anchors, search.ucb(feasible.anchors), lambda _: False)
    assert best is not None, "an anchor is feasible exactly"
    return best


def scattered(domain: Domain, draw: tuple[int, int], taken: Callable[[Array], bool]) -> Array | None:
    """A random position, (d,), that is not taken, by turns at the edges of the feasible set if there are constraints;
    None if none is found.

    Args:
        domain: the space.
        draw: (seed, step) of the random numbers.
        taken: whether a point is out of the question.
    """
    feasible = domain.whole.feasible
    if feasible is not None:
        points = [feasible.exact(position) for position in spread(feasible, draw, ATTEMPTS)]
        return next((point for point in points if not taken(point) and feasible.admits(point)), None)
    drawn = uniforms(*draw, ATTEMPTS * domain.dimension).reshape(ATTEMPTS, domain.dimension)
    found = domain.whole.put(domain.snap(drawn))
    return next((point for point in found if not taken(domain.exact(point))), None)


def candidates(domain: Domain, around: Array | None, draw: tuple[int, int]) -> Array:
    """Positions scattered over the box and, if there is one, around a point, (d,)."""
    d = domain.dimension
    draws = uniforms(*draw, SCATTERED * d + LOCAL * (1 + 3 * d))
    scattered = draws[: SCATTERED * d].reshape(SCATTERED, d)
    if around is None:
        return domain.snap(scattered)
    rest = draws[SCATTERED * d :].reshape(LOCAL, 1 + 3 * d)
    radius = 0.3 * np.exp(-6.0 * rest[:, :1])
    which, normal, fresh = rest[:, 1 : d + 1], ndtri(rest[:, d + 1 : 2 * d + 1]), rest[:, 2 * d + 1 :]
    inactive = ~domain.activity.active(around[None])[0]  # if a move makes them active, they may have any value
    moved = np.where(domain.categorical | inactive, fresh, around + radius * normal)
    local = np.where((which < min(1.0, 2.0 / d + 0.3)) | inactive, domain.in_cube(moved), around)
    return domain.snap(np.concatenate([scattered, local]))


def _all_candidates(search: Search) -> Array:
    """Those of every study and, where there is a prior, those that it favours."""
    found = candidates(search.domain, search.around, search.draw)
    return np.concatenate([found, *map(search.domain.snap, extra_candidates(search.view, search.draw))])


def axis_by_axis(search: Search, view: Surrogate, start: Array) -> Array:
    """The best position, (1, d), found from a start, (d,), by moving along one axis at a time: to even positions along
    it, displaced by a random number."""
    offsets = uniforms(*search.draw, search.domain.dimension)
    even = (np.arange(POSITIONS)[:, None] + offsets) / POSITIONS
    positions = search.within.put(search.domain.snap(even))
    along, found = np.ascontiguousarray(positions.T), start.copy()
    _axis_by_axis(view.native.address, reals(found), POSITIONS, reals(along), search.beta)
    return found[None]


def ascend(view: View, starts: Array, beta: float, free: Bools) -> Array:
    """Projected gradient ascent of f~ from positions (k, d) within the cube, all at once, along the free axes, (d,), or
    those of each, (k, d).

    The gradient is preconditioned by the squared lengthscales; a step grows while it succeeds and shrinks while it
    does not.
    """
    free = np.broadcast_to(free, starts.shape)
    if isinstance(view, Surrogate):
        ends, movable = starts.copy(), np.ascontiguousarray(free)
        _ascend(view.native.address, byref(_ASCENT), len(ends), reals(ends), beta, flags(movable))
        return ends
    return view.ascend(starts, beta, free)


def _best(points: Array, values: Array) -> Array:
    best: Array = points[np.argmax(values)]
    return best


def _first_free(points: Array, values: Array, taken: Callable[[Array], bool]) -> Array | None:
    return next((point for point in points[np.argsort(-values, kind="stable")] if not taken(point)), None)
