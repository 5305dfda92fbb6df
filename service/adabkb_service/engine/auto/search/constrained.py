"""The search under constraints: the largest f~ among feasible points, and the cells without feasible points.

Candidates are random feasible points, and the candidates of the unconstrained search. Infeasible ones of the latter are
moved towards the best point, up to the boundary. Ascents that leave the feasible set are repeated with sequential
quadratic programming (scipy's SLSQP), which follows the boundary. Only points whose parameters satisfy the constraints
exactly are returned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy  # imports its subpackages on first use
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition.outcomes import Constrained, View
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.domain.tree import INFEASIBLE, Tree, box_of
from adabkb_service.engine.feasible import Feasible
from adabkb_service.engine.randomness import uniforms

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

STEPS = 33
"""Points on the line from a centroid to a target."""
ITERATIONS = 30
"""The maximum number of iterations of sequential quadratic programming."""
MARGIN = 1e-9
"""Margin to the boundary, relative to the typical slack of a constraint."""
DIFFERENCE = 1e-6
"""Step for finite differences of constraints."""
OUTWARD = 100
"""The number of random positions from which the outermost ones are selected."""
ROUGHLY, FINELY = 2, 8
"""Bisection rounds to the boundary, for candidates and for the end of an ascent."""


def feasible_candidates(feasible: Feasible, found: Array, around: Array | None, draw: tuple[int, int]) -> Array:
    """Return positions, (k, d), that are feasible up to rounding.

    Args:
        feasible: the feasible points of the slice.
        found: (n, d) positions in the mixtures of the slice, not necessarily feasible.
        around: (d,) the best point so far, not necessarily feasible.
        draw: (seed, step) of the random stream.
    """
    holds = feasible.mask(found)
    parts = [found[holds], feasible.sample(draw, len(found))]
    if around is not None and feasible.mask(around[None])[0]:
        parts.append(feasible.pulled(around, found[~holds], ROUGHLY))
    positions = np.concatenate(parts)
    return positions[feasible.mask(positions)]


def feasible_ends(domain: Domain, view: View, beta: float, feasible: Feasible, starts: Array, ends: Array) -> Array:
    """Return ends of ascents, (k, d): the feasible ones, and ends of ascents along the boundary in place of the others.

    Args:
        domain: the space.
        view, beta: the view and the confidence width that define f~.
        feasible: the feasible points of the slice.
        starts: (k, d) feasible positions.
        ends: (k, d) ends of the unconstrained ascents.
    """
    holds = feasible.mask(ends)
    starts = starts[~holds]
    if not len(starts):
        return ends[holds]
    slid = slides(domain, view, beta, feasible, starts)
    positions = np.concatenate([ends[holds], feasible.pulled(starts, slid, FINELY)])
    return positions[feasible.mask(positions)]


def slides(domain: Domain, view: View, beta: float, feasible: Feasible, starts: Array) -> Array:
    """Return the ends, (k, d), of ascents of f~ from feasible starts, (k, d), within the constraints and the
    mixtures."""
    along = feasible.free & ~domain.categorical & np.array([values is None for values in domain.values])
    moving = along & domain.movable(starts)
    each = zip(starts, moving, strict=True)
    return np.array([_slide(view, beta, feasible, *one) if one[1].any() else one[0] for one in each])


def spread(feasible: Feasible, draw: tuple[int, int], count: int) -> Array:
    """Return random feasible positions, (count, d). Of three consecutive steps, one gets positions anywhere in the
    feasible set, one gets the ends of random rays in it, and one gets the outermost positions in a random direction,
    since optima are often at edges and corners.

    Args:
        feasible: the feasible points of the space.
        draw: (seed, step) of the random stream.
        count: the number of positions, at most ``OUTWARD``.
    """
    positions = feasible.sample(draw, OUTWARD)
    turn, shape = draw[1] % 3, positions.shape
    if turn == 0:
        return positions[:count]
    direction = 2.0 * uniforms(*draw, positions.size).reshape(shape) - 1.0
    if turn == 1:
        return _outer(feasible, positions[:count], direction[:count])
    outer = _outer(feasible, positions, np.broadcast_to(direction[0], shape))
    return outer[np.argsort(-outer @ direction[0], kind="stable")[:count]]


def _outer(feasible: Feasible, positions: Array, direction: Array) -> Array:
    """Return where rays from feasible positions, (k, d), in directions, (k, d), leave the feasible set."""
    reach = np.sqrt(positions.shape[1]) / np.linalg.norm(direction, axis=1, keepdims=True)
    return feasible.pulled(positions, np.clip(positions + reach * direction, 0.0, 1.0), FINELY)


def first_admitted(feasible: Feasible, points: Array, values: Array, taken: Callable[[Array], bool]) -> Array | None:
    """Return the point, (d,), with the largest value that is exactly feasible and free; None if there is none."""
    for position in points[np.argsort(-values, kind="stable")]:
        point = feasible.exact(position)
        if not taken(point) and feasible.admits(point):
            return point
    return None


def representative(domain: Domain, feasible: Feasible, centroid: Array, target: Array) -> Array:
    """Return the point that represents a cell: its centroid, or the first feasible point on the line from the centroid
    to a feasible target, (d,), in the cell."""
    if feasible.admits(centroid):
        return centroid
    way = centroid + np.linspace(0.0, 1.0, STEPS)[:, None] * (target - centroid)
    way[:, domain.categorical] = target[domain.categorical]
    points = (domain.exact(position) for position in way[feasible.mask(way)])
    return next((point for point in points if feasible.admits(point)), target)


def without_infeasible(domain: Domain, tree: Tree, keys: Sequence[str]) -> tuple[Tree, list[str]]:
    """Mark the leaves, given by their keys, that are proved to have no feasible point as INFEASIBLE. Return the tree,
    and the keys of the leaves that were marked."""
    feasible = domain.whole.feasible
    if feasible is None or not keys:
        return tree, []
    ends = [box_of(domain, key).ends() for key in keys]
    may_hold = feasible.may_hold(np.array([low for low, _ in ends]), np.array([high for _, high in ends]))
    infeasible = [key for key, may in zip(keys, may_hold.tolist(), strict=True) if not may]
    return tree.mark(np.array([tree.cell(key) for key in infeasible], dtype=np.int32), INFEASIBLE), infeasible


def _slide(view: View, beta: float, feasible: Feasible, start: Array, moving: Bools) -> Array:
    """Return the end, (d,), of an ascent of f~ from a feasible start along the moving axes. It stays, up to the
    accuracy of SLSQP, within numerical constraints, bounds of metrics and mixtures. If a mixture is not
    convex (``Mixture.is_convex``), its absent components stay absent."""
    margins = MARGIN * feasible.scales
    low, high, sums = np.zeros(len(start)), np.ones(len(start)), []
    for mixture in feasible.mixtures:
        low, high, spans = mixture.around(start, low, high)
        sums.append(spans)
    moving &= high > low
    own = view.objective if isinstance(view, Constrained) else view
    if not moving.any():
        return start

    def whole(x: Array) -> Array:
        position = start.copy()
        position[moving] = np.clip(x, 0.0, 1.0)
        return position

    def falling(x: Array) -> tuple[float, Array]:
        value, gradient = own.ucb_and_gradient(whole(x)[None], beta)
        return -float(value[0]), -gradient[0][moving]

    def slack(x: Array) -> Array:
        return _finite((feasible.slack(whole(x)[None])[0] - margins) / feasible.scales)

    def slopes(x: Array) -> Array:
        steps = DIFFERENCE * np.eye(len(x))
        around = np.array([whole(each) for each in np.concatenate([x + steps, x - steps])])
        slacks = _finite(feasible.slack(around) / feasible.scales)
        widths = (around[: len(x)] - around[len(x) :])[:, moving].sum(axis=1)
        found: Array = ((slacks[: len(x)] - slacks[len(x) :]) / widths[:, None]).T
        return found

    restrictions: list[dict[str, Any]] = []
    if len(margins):
        restrictions.append({"type": "ineq", "fun": slack, "jac": slopes})
    if isinstance(view, Constrained):
        inside = view.margins
        restrictions.append(
            {
                "type": "ineq",
                "fun": lambda x: inside(whole(x))[0],
                "jac": lambda x: inside(whole(x))[1][:, moving],
            }
        )
    if sums:
        parts = np.array(sums)
        restrictions.append(
            {"type": "eq", "fun": lambda x: parts @ (whole(x) - start), "jac": lambda _: parts[:, moving]}
        )
    end = scipy.optimize.minimize(
        falling,
        start[moving],
        jac=True,
        method="SLSQP",
        bounds=list(zip(low[moving].tolist(), high[moving].tolist(), strict=True)),
        constraints=restrictions,
        options={"maxiter": ITERATIONS, "ftol": 1e-7},
    ).x
    return whole(end) if np.isfinite(end).all() else start


def _finite(slack: Array) -> Array:
    return np.clip(np.nan_to_num(slack), -1e6, 1e6)
