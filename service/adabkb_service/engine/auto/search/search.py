"""The search for the position in the box with the largest upper confidence bound f~ = mean + beta s.

It evaluates random positions over the box and around the best point, and starts gradient ascents from the best of them.
If the kernel has an additive part, it also moves along one axis after the other, which suits a sum over axes. Small
finite spaces are searched exhaustively. Random numbers are functions of (seed, step).
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from adabkb_service.engine.auto.acquisition.outcomes import (
    Constrained,
    View,
    extra_candidates,
    favored_rows,
    objective_of,
    trust_of,
)
from adabkb_service.engine.auto.domain.domain import LISTED_POINTS, Domain
from adabkb_service.engine.auto.model.surrogate import Surrogate
from adabkb_service.engine.auto.search import mixed
from adabkb_service.engine.auto.search.catalogues import Lookup
from adabkb_service.engine.auto.search.constrained import (
    FINELY,
    feasible_candidates,
    feasible_ends,
    first_admitted,
    slides,
    spread,
)
from adabkb_service.engine.candidates import distinct
from adabkb_service.engine.feasible import Feasible
from adabkb_service.engine.native.library import COUNT, NUMBER, POINTER, flags, reals, routine
from adabkb_service.engine.native.structures import Ascent
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.slices import Slice

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

SCATTERED = 400
"""The number of random positions over the whole box."""
LOCAL = 100
"""The number of random positions around the best point."""
STARTS = 6
"""The number of ascents, which start from the positions with the largest bounds."""
FEWER_STARTS = 3
"""The number of ascents with several objectives in a constrained space or a mixture, and with bounded metrics in a
mixture."""
EVALUATIONS = 60
"""The maximum number of evaluations of f~ in one ascent."""
SMALL_GAIN = 1e-4
"""Gain of f~ per step below which an ascent ends."""
FIRST_STEP = 0.3
"""Length of the first step of an ascent, in lengthscales."""
FAILURES = 4
"""The number of consecutive steps without a gain after which an ascent ends."""
POSITIONS = 24
"""The number of positions along an axis in the search axis by axis."""
ATTEMPTS = 20
"""The number of attempts to find a free point, each with as many new random points as there were candidates."""
LARGEST_RADIUS = 0.3
"""The largest standard deviation of a move around the best point, in the unit cube."""
RADIUS_DECAY = 6.0
"""The logarithm of the largest radius over the smallest one."""
MOVED_AXES, MOVED_SHARE = 2.0, 0.3
"""A position around the best point moves along this many axes plus this share of all axes, on average."""

_ascend = routine("ascend", POINTER, POINTER, COUNT, POINTER, NUMBER, POINTER)
_ASCENT = Ascent(EVALUATIONS, SMALL_GAIN, FIRST_STEP, FAILURES)
_axis_by_axis = routine("axis_by_axis", POINTER, POINTER, COUNT, POINTER, NUMBER)


@dataclass(frozen=True, slots=True)
class Search:
    """A search for the largest f~ in a slice of a space."""

    domain: Domain
    """The space."""
    within: Slice
    """The slice to search."""
    view: View
    """The posterior, conditioned on pending points."""
    beta: float
    """Confidence width."""
    around: Array | None
    """(d,) the best point so far."""
    draw: tuple[int, int]
    """(seed, step) of the random stream."""
    taken: Callable[[Array], bool]
    """Returns whether a point must not be suggested. It is ignored if all candidates are taken."""
    only: Callable[[Array], Bools] | None = None
    """Returns which positions, (k, d), to choose from. It is ignored if no candidate is among them. None for all."""
    surely_taken: Callable[[Array], Bools] | None = None
    """A fast check of many positions, (k, d), nearly all of which may be taken: returns which are certainly taken."""

    def ucb(self, positions: Array) -> Array:
        """Return f~ at positions (k, d), shape (k,)."""
        return self.view.ucb(positions, self.beta)

    def best(self, positions: Array, count: int) -> Array:
        """Return up to ``count`` positions of (k, d) with the largest f~, best first, (count, d)."""
        return positions[np.argsort(-self.ucb(positions), kind="stable")[:count]]

    def to_choose_from(self, positions: Array) -> Array:
        """Return the positions, of (k, d), to choose from."""
        if self.only is None or not (chosen := self.only(positions)).any():
            return positions
        return positions[chosen]

    def not_surely_taken(self, positions: Array) -> Array:
        """Return the positions, of (k, d), that are not certainly taken."""
        return positions if self.surely_taken is None else positions[~self.surely_taken(positions)]


def maximize_ucb(search: Search) -> Array:
    """Return the position, (d,), with the largest f~ found."""
    domain, within, taken = search.domain, search.within, search.taken
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
    if domain.activity.conditional:  # many differ only in inactive axes
        found = distinct(found)
    found = search.to_choose_from(found)
    starts = _with_end_along_axes(search, search.best(found, STARTS))
    ends = np.concatenate([_ascended(search, starts), starts])
    for attempt in range(ATTEMPTS):
        new = search.not_surely_taken(ends)
        free = _first_free(new, search.ucb(new), lambda point: taken(within.exact(point)))
        if free is not None:
            return free
        random = domain.snap(uniforms(search.draw[0], -1 - attempt, found.size).reshape(found.shape))
        ends, found = found, within.put(random)
    return _best(ends, search.ucb(ends))


def _maximize_over_rows(search: Search) -> Array:
    """Perform ``maximize_ucb`` in a space with a catalogue."""
    domain, within, feasible = search.domain, search.within, search.within.feasible

    def ascended(points: Array) -> Array:
        if feasible is not None:
            starts = points[:FEWER_STARTS] if objective_of(search.view) is None else points
            return feasible.pulled(starts, slides(domain, search.view, search.beta, feasible, starts), FINELY)
        movable = within.free & domain.movable(points) & ~domain.categorical
        return domain.snap(ascend(search.view, points, search.beta, movable)) if movable.any() else points

    def is_free(point: Array) -> bool:
        exact = within.exact(point)
        return not search.taken(exact) and (feasible is None or feasible.admits(exact))

    lookup = Lookup(domain, within, search.ucb, ascended, search.around, search.draw, _favored(search))
    points = lookup.candidates()
    anywhere = () if feasible is None else (feasible.point((search.draw[0], -1 - each)) for each in range(ATTEMPTS))
    others = chain(lookup.with_any_row(points[0]), anywhere)
    last = points[0] if feasible is None else feasible.anchors[0]
    found: Array = next(filter(is_free, chain(points, others)), last)
    return found


def _favored(search: Search) -> Array | None:
    """Return points, (k, d), in the slice: the best ones of older studies, and the rows that a prior favors, each with
    other values that the prior favors. None if there is neither."""
    favored = favored_rows(search.view, search.within.catalogues)
    if not trust_of(search.view) and not favored:
        return None
    found = np.concatenate(extra_candidates(search.view, search.draw))
    for k, rows in favored.items():
        beside = found[np.arange(len(rows)) % len(found)]
        beside[:, k] = search.within.catalogues[k].positions(np.array(rows))
        found = np.concatenate([found, beside])
    for k, axis in search.within.catalogues.items():
        found[:, k] = axis.positions(axis.rows(found[:, k]))
    found = search.within.put(search.domain.snap(found))
    return found[search.within.offers(found)]


def _maximize_feasible(search: Search, feasible: Feasible) -> Array:
    """Perform ``maximize_ucb`` among the points that satisfy the constraints and mixtures."""
    if feasible.mixtures:
        return _maximize_mixed(search, feasible)
    domain, view = search.domain, search.view
    scattered = search.within.put(_all_candidates(search))
    found = search.to_choose_from(feasible_candidates(feasible, scattered, search.around, search.draw))
    starts = search.best(found, STARTS)
    objective = objective_of(view)
    if objective is None:
        starts = starts[:FEWER_STARTS]
    if objective is None or isinstance(view, Constrained):
        ends = feasible.pulled(starts, slides(domain, view, search.beta, feasible, starts), FINELY)
    else:
        starts = _with_end_along_axes(search, starts)
        ends = feasible_ends(domain, view, search.beta, feasible, starts, _ascended(search, starts))
    return _first_feasible(search, feasible, np.concatenate([ends, starts, feasible.anchors]), len(found))


def _maximize_mixed(search: Search, feasible: Feasible) -> Array:
    """Perform ``maximize_ucb`` in a space with mixtures, and perhaps constraints."""
    domain, view = search.domain, search.view
    parts = [mixed.middle(domain), _all_candidates(search)]
    if search.around is not None:
        parts.append(mixed.exchanges(feasible, search.around, search.draw))
    moved = search.within.put(np.concatenate(parts))
    found = distinct(feasible_candidates(feasible, moved, search.around, search.draw))
    found = search.to_choose_from(found)
    starts = mixed.start_points(feasible, search.best(found, len(found)), STARTS)
    if isinstance(view, Constrained) or objective_of(view) is None:
        starts = starts[:FEWER_STARTS]
    starts = _with_end_along_axes(search, starts)
    rounds = FINELY if feasible.space.constraints else 1
    ends = feasible.pulled(starts, slides(domain, view, search.beta, feasible, starts), rounds)
    return _first_feasible(search, feasible, np.concatenate([ends, starts, feasible.anchors]), len(found))


def _with_end_along_axes(search: Search, starts: Array) -> Array:
    """Return starts, (k, d), followed, if the kernel has an additive part and no metric has bounds, by the end of
    ``axis_by_axis`` from the first one, provided that it is feasible."""
    objective = None if isinstance(search.view, Constrained) else objective_of(search.view)
    if objective is None or not objective.kernel.additive:
        return starts
    along, feasible = search.within.put(axis_by_axis(search, objective, starts[0])), search.within.feasible
    return np.vstack([starts, along if feasible is None else along[feasible.mask(along)]])


def _ascended(search: Search, starts: Array) -> Array:
    """Return the ends, (k, d), of ascents from starts, (k, d), in the cube."""
    movable = search.within.free & search.domain.movable(starts)
    return search.domain.snap(ascend(search.view, starts, search.beta, movable))


def _first_feasible(search: Search, feasible: Feasible, points: Array, count: int) -> Array:
    """Return the feasible free point, (d,), with the largest f~ among positions (k, d). If there is none, try up to
    ``ATTEMPTS`` times ``count`` random points. If none of these is free, return a known feasible point."""
    for attempt in range(ATTEMPTS):
        if feasible.mixtures:
            points = search.not_surely_taken(points)
        free = first_admitted(feasible, points, search.ucb(points), search.taken)
        if free is not None:
            return free
        points = feasible.sample((search.draw[0], -1 - attempt), count)
    best = first_admitted(feasible, feasible.anchors, search.ucb(feasible.anchors), lambda _: False)
    assert best is not None, "an anchor is feasible exactly"
    return best


def random_free_position(domain: Domain, draw: tuple[int, int], taken: Callable[[Array], bool]) -> Array | None:
    """Return a random free position, (d,); None if none is found. If there are constraints, it is at an edge of the
    feasible set in two of three steps (``spread``).

    Args:
        domain: the space.
        draw: (seed, step) of the random stream.
        taken: returns whether a point is excluded.
    """
    feasible = domain.whole.feasible
    if feasible is not None:
        points = [feasible.exact(position) for position in spread(feasible, draw, ATTEMPTS)]
        return next((point for point in points if not taken(point) and feasible.admits(point)), None)
    drawn = uniforms(*draw, ATTEMPTS * domain.dimension).reshape(ATTEMPTS, domain.dimension)
    found = domain.whole.put(domain.snap(drawn))
    return next((point for point in found if not taken(domain.exact(point))), None)


def candidates(domain: Domain, around: Array | None, draw: tuple[int, int]) -> Array:
    """Return positions scattered over the box and, if a point, (d,), is given, around it."""
    d = domain.dimension
    draws = uniforms(*draw, SCATTERED * d + LOCAL * (1 + 3 * d))
    scattered = draws[: SCATTERED * d].reshape(SCATTERED, d)
    if around is None:
        return domain.snap(scattered)
    rest = draws[SCATTERED * d :].reshape(LOCAL, 1 + 3 * d)
    radius = LARGEST_RADIUS * np.exp(-RADIUS_DECAY * rest[:, :1])
    which, normal, fresh = rest[:, 1 : d + 1], ndtri(rest[:, d + 1 : 2 * d + 1]), rest[:, 2 * d + 1 :]
    inactive = ~domain.activity.active(around[None])[0]  # axes that a move makes active may have any value
    moved = np.where(domain.categorical | inactive, fresh, around + radius * normal)
    share = min(1.0, MOVED_AXES / d + MOVED_SHARE)
    local = np.where((which < share) | inactive, domain.in_cube(moved), around)
    return domain.snap(np.concatenate([scattered, local]))


def _all_candidates(search: Search) -> Array:
    """Return ``candidates``, and those that a prior or older studies favor."""
    found = candidates(search.domain, search.around, search.draw)
    return np.concatenate([found, *map(search.domain.snap, extra_candidates(search.view, search.draw))])


def axis_by_axis(search: Search, view: Surrogate, start: Array) -> Array:
    """Return the best position, (1, d), found from a start, (d,), by moving along one axis at a time, to evenly spaced
    positions with a random offset."""
    offsets = uniforms(*search.draw, search.domain.dimension)
    even = (np.arange(POSITIONS)[:, None] + offsets) / POSITIONS
    positions = search.within.put(search.domain.snap(even))
    along, found = np.ascontiguousarray(positions.T), start.copy()
    _axis_by_axis(view.native.address, reals(found), POSITIONS, reals(along), search.beta)
    return found[None]


def ascend(view: View, starts: Array, beta: float, free: Bools) -> Array:
    """Return the ends, (k, d), of ascents of f~ within the cube from positions (k, d), along the free axes, (d,), or
    those of each position, (k, d).

    The gradient of a plain posterior is preconditioned by the squared lengthscales, and projected to the cube. The step
    size grows after a success and shrinks after a failure. Other views have methods of their own.
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
