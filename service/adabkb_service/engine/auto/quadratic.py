"""The end game: a quadratic model of the results around the best point chooses a part of the points.

A posterior of the whole box finds the valley of an optimum, but not its last digits, and there a smooth objective is
all but quadratic. So some steps go to the minimum of a quadratic model in a ball around the best point: a trust region,
as in Powell (2006), with a metric of its own, in which a narrow valley is round.

Which steps are the model's, and how large the ball is, follows from the gains that it brings (``turns``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq
from scipy.special import ndtri

from adabkb_service.engine.auto.domain import Domain
from adabkb_service.engine.auto.doubts import doubts
from adabkb_service.engine.auto.handed_out import HandedOut, is_known, step_of
from adabkb_service.engine.auto.restarts import is_nearest_to_failed
from adabkb_service.engine.auto.state import State
from adabkb_service.engine.auto.turns import coefficients, fewest_for_model, is_restarts
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.simplex import Simplex

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

RESULTS = 1.4
"""Results that a model is fitted to, per coefficient, and two more."""
CANDIDATES = 10
"""The best results, in multiples of these, among which they are chosen."""
REACH = 0.25
"""Distance from the best point, or the ball's radius if that is more, at which a result weighs a quarter."""
SEPARATE = 0.1
"""Of the radius: a pending point within this distance stands for the minimum."""
DIRECTIONS = 20
"""Random directions of which the one that leads farthest from all results is taken where the model sees no gain."""
LAST_DIGITS = 1e-10
"""Spread of a model's results below which nothing is left to gain, as a share of the way from the median result to the
best one."""
NO_GAIN = 1e-12
"""In units of the spread of a model's results."""
SINGULAR, FLAT = 1e-10, 1e-14
"""Singular values of the model, and second moments of its results, below this share of the largest one are rounding."""
BISECTIONS = 80
"""Of the interval of the trust region's multiplier."""


def proposal(state: State, out: HandedOut) -> Array | None:
    """The position, (d,), that the model proposes for the next step; None if the step is not the model's.

    The model is one of the continuous axes that matter. Along all others its point is the best one's, as are those of
    the results that it is fitted to.
    """
    domain, record = state.problem.domain, state.record
    axes = state.model_axes  # of which there are as many whichever share of a mixture the others leave
    fewest = fewest_for_model(len(axes))
    if not len(axes) or record.size < fewest or record.errors.any():
        return None
    if doubts(state.problem, record):
        return None
    step, turns = step_of(state, out), state.turns
    for each in range(record.size, step):
        turns = turns.after(len(axes), is_restarts=is_restarts(state.restarted_at, each), gained=None)
    if is_restarts(state.restarted_at, step) or not turns.is_models(len(axes)):
        return None
    best = record.positions[int(np.argmax(record.values))]
    axes, remainders = _without_remainders(domain, axes, best)
    discrete = list(domain.discrete)
    alike = np.flatnonzero((record.positions[:, discrete] == best[discrete]).all(axis=1))
    with np.errstate(over="ignore"):
        best_minus_worst = record.values.max() - record.values.min()
    if len(alike) < fewest or not np.isfinite(best_minus_worst):
        return None
    positions, values = domain.beside(record.positions[alike], best)[:, axes], record.values[alike]
    pending, periodic = domain.beside(out.pending, best)[:, axes], domain.periodic[axes]
    spread = LAST_DIGITS * float(values.max() - np.median(record.values))
    found = minimum(positions, values, pending, turns.radius, spread, (state.problem.seed, step), periodic)
    if found is None:
        return None
    moved = best.copy()
    moved[axes] = found
    for mixture, remainder in zip(_mixtures(domain), remainders, strict=True):
        values = mixture.values(moved[None])[0]
        values[remainder] += mixture.mixture.total - values.sum()
        moved = mixture.put(moved[None], mixture.projected(values[None]))[0]
    point = domain.exact(domain.in_cube(moved[None])[0])
    is_failing = is_nearest_to_failed(domain, point, record.positions, out.failed)
    return None if is_known(state, out)(point) or is_failing else point


def _mixtures(domain: Domain) -> tuple[Simplex, ...]:
    return () if domain.whole.feasible is None else domain.whole.feasible.mixtures


def _without_remainders(domain: Domain, axes: Ints, best: Array) -> tuple[Ints, list[int]]:
    """The axes of a model around the best point, (d,), and of each mixture the number of the share that the others
    leave: the one that is farthest from its bounds there, so that it does not meet them first."""
    found, remainders = axes, []
    for mixture in _mixtures(domain):
        values = mixture.values(best[None])[0]
        remainders.append(int(np.argmax(np.minimum(values - mixture.low, mixture.high - values))))
        others = np.delete(np.array(mixture.axes, dtype=np.int64), remainders[-1])
        found = np.union1d(np.setdiff1d(found, mixture.axes), others)
    return found, remainders


def minimum(
    positions: Array,
    values: Array,
    pending: Array,
    radius: float,
    spread: float,
    draw: tuple[int, int],
    periodic: Bools | None = None,
) -> Array | None:
    """Where the model's losses are smallest within its ball, (d,); a point of its surface far from all others where it
    sees no gain, or that point is pending; None if there is nothing to gain, or nothing to fit.

    Args:
        positions: (n, d) in the cube, more than the model has coefficients.
        values: (n,) their results, larger is better.
        pending: (k, d) points without a result.
        radius: of the ball.
        spread: of the model's results, at least.
        draw: (seed, step) of random numbers.
        periodic: (d,) axes along which nothing ends at the faces of the cube; None: there are none.
    """
    d, best = positions.shape[1], int(np.argmax(values))
    count = min(len(values), int(RESULTS * coefficients(d)) + 2)
    nearby = np.argsort(-values, kind="stable")[: CANDIDATES * count]
    offsets, losses = positions[nearby] - positions[best], values[best] - values[nearby]
    scale = float(losses[count // 2])
    if not scale > spread or not offsets[:count].any():  # equal results, or all of one point
        return None
    weights = 1.0 / (1.0 + losses / scale)
    directions, widths = _principal(offsets[:count], weights[:count])
    to_cube, to_ball = directions * widths, directions / widths
    known = offsets @ to_ball
    weights /= (1.0 + (known**2).sum(axis=1) / max(radius, REACH) ** 2) ** 2
    rows = np.argsort(-weights, kind="stable")[:count]
    gradient, hessian = _fitted(known[rows], losses[rows] / scale, weights[rows])
    beyond = np.where(np.zeros(d, dtype=np.bool_) if periodic is None else periodic, np.inf, 0.0)
    move = _within_box(gradient, hessian, radius, positions[best], to_ball, beyond)
    gain = -float(gradient @ move + 0.5 * move @ hessian @ move)
    waiting = (pending - positions[best]) @ to_ball
    if not gain > NO_GAIN or (((waiting - move) ** 2).sum(axis=1) < (SEPARATE * radius) ** 2).any():
        known = np.concatenate([known, waiting])
        moves = ndtri(uniforms(*draw, DIRECTIONS * d).reshape(DIRECTIONS, d))
        moves *= radius / np.linalg.norm(moves, axis=1)[:, None]
        move = moves[np.argmax(((moves[:, None] - known) ** 2).sum(axis=2).min(axis=1))]
    found: Array = np.clip(positions[best] + to_cube @ move, -beyond, 1.0 + beyond)
    return found


def _within_box(gradient: Array, hessian: Array, radius: float, best: Array, to_ball: Array, beyond: Array) -> Array:
    """As ``smallest_in_ball``, without a move along the axes of the cube where the best point, (d,), is on a face and
    the move leads out of the cube, farther than is allowed beyond it, (d,); (d, d) ``to_ball`` leads from offsets in
    the cube to the ball."""
    free = np.ones(len(best), dtype=np.bool_)
    while free.any():
        directions, lengths = np.linalg.qr(to_ball[free].T)  # offsets along free axes are (lengths) moves along these
        along = smallest_in_ball(directions.T @ gradient, directions.T @ hessian @ directions, radius)
        offset = np.zeros(len(best))
        offset[free] = np.linalg.solve(lengths, along)
        leads_out = free & (((best <= -beyond) & (offset < 0.0)) | ((best >= 1.0 + beyond) & (offset > 0.0)))
        if not leads_out.any():
            return np.asarray(directions @ along)
        free &= ~leads_out
    return np.zeros(len(best))


def smallest_in_ball(gradient: Array, hessian: Array, radius: float) -> Array:
    """Where in a ball around 0 the function g'z + z'Hz / 2 is smallest, (d,), by bisection of the multiplier (More and
    Sorensen 1983)."""
    curvatures, axes = np.linalg.eigh(hessian)
    slopes = axes.T @ gradient

    def move(multiplier: float) -> Array:
        found: Array = -slopes / (curvatures + multiplier)
        return found

    if curvatures[0] > 0.0 and np.linalg.norm(move(0.0)) <= radius:
        return np.asarray(axes @ move(0.0))
    largest = float(np.abs(curvatures).max())
    low = max(0.0, -float(curvatures[0])) + NO_GAIN * max(1.0, largest)
    inside = move(low)
    if inside @ inside < radius**2:  # the hard case: on to the surface along the least curvature
        inside[0] = np.copysign(np.sqrt(radius**2 - inside[1:] @ inside[1:]), inside[0])
        return np.asarray(axes @ inside)
    high = low + float(np.linalg.norm(slopes)) / radius + largest
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.linalg.norm(move(middle)) > radius else (low, middle)
    return np.asarray(axes @ move(high))


def _principal(offsets: Array, weights: Array) -> tuple[Array, Array]:
    """The principal directions, (d, d) columns, of weighted offsets (n, d), and the weighted deviations along them,
    (d,)."""
    moments = (offsets * weights[:, None]).T @ offsets / weights.sum()
    squares, directions = np.linalg.eigh(moments)
    return directions, np.sqrt(np.maximum(squares, FLAT * squares[-1]))


def _fitted(positions: Array, losses: Array, weights: Array) -> tuple[Array, Array]:
    """Gradient, (d,), and second derivatives, (d, d), at 0 of the quadratic function with the least weighted squares of
    residuals at positions (n, d)."""
    d = positions.shape[1]
    i, j = np.triu_indices(d)
    products = positions[:, i] * positions[:, j] * np.where(i == j, 0.5, 1.0)
    root = np.sqrt(weights)
    features = np.hstack([np.ones((len(positions), 1)), positions, products]) * root[:, None]
    found = lstsq(features, losses * root, cond=SINGULAR)[0]
    hessian = np.zeros((d, d))
    hessian[i, j] = hessian[j, i] = found[d + 1 :]
    return found[1 : d + 1], hessian
