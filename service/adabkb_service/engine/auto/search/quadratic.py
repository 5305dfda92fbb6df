"""A quadratic model of the results around the best point. Some steps use it to refine the optimum.

With a posterior over the whole space, the search locates an optimum only roughly. A smooth objective is nearly
quadratic there. So some steps (suggestions, counted by ``step_of``) suggest the minimum of a quadratic model of the
loss in a ball around the best point, a trust region as in Powell (2006). Distances are scaled so that a narrow valley
becomes round.

The model has two forms. In the first one, it covers the relevant axes. An axis whose effect is small compared with the
range of all results counts as irrelevant, but may decide the last digits. So the *alternative form* covers all
continuous axes, and its weights decrease faster with the loss: far results of a function that is not quite quadratic
would otherwise outweigh near ones. Each step of the model without a gain changes its form.

The gains of the model determine which steps it gets, and the radius of the ball (``turns``).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq
from scipy.special import ndtri

from adabkb_service.engine.auto.acquisition.issued import Issued, is_known, step_of
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.model.doubts import doubts
from adabkb_service.engine.auto.state.restarts import is_nearest_to_failed
from adabkb_service.engine.auto.state.state import State, are_models, is_models_step
from adabkb_service.engine.auto.state.turns import RADII, coefficients, fewest_for_model
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.simplex import Simplex

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

RESULTS = 1.4
"""A model is fitted to this many results per coefficient, plus two."""
CANDIDATES = 10
"""These results are chosen from the best ones, of which this many are considered per chosen result."""
REACH = 0.25
"""A result at this distance from the best point (or at the ball's radius, if that is larger) has a quarter of the
weight that it would have at the best point."""
ALTERNATIVE_POWER = 2.0
"""In the alternative form, weights by loss are raised to this power."""
SEPARATE = 0.1
"""If a pending point is closer to the minimum than this share of the radius, another point is suggested."""
OTHER_BALLS = (2.0, 0.5, 4.0)
"""This point is the minimum in another ball: the radius is multiplied by these factors in turn. Parallel workers thus
search along the path of minima."""
DIRECTIONS = 20
"""The number of random directions. If the model predicts no gain, or pending points are near its minimum in all these
balls, the one farthest from the results considered and from the pending points is used."""
LAST_DIGITS = 1e-10
"""Spread of a model's results below which no gain is left, as a share of the distance from the median result to the
best one."""
NO_GAIN = 1e-12
"""A predicted gain below this counts as none, in units of the spread of the model's results."""
SINGULAR, FLAT = 1e-10, 1e-14
"""Singular values of the model, and second moments of its results, below this share of the largest are rounding
errors."""
BISECTIONS = 80
"""The number of bisections of the trust region's multiplier."""


def proposal(state: State, out: Issued) -> Array | None:
    """Return the position, (d,), that the model proposes for the next step. Return None if the step does not belong to
    the model, if no model can be fitted (too few results, or results with standard errors or in doubt), if no gain is
    left, or if the point is known (``is_known``) or nearest to a failed one.

    The model covers the axes of its form (``State.model_axes``). Along all others, except shares that mixtures
    determine, its point agrees with the best point. It is fitted to the results that agree with the best point along
    the discrete axes.
    """
    domain, record = state.problem.domain, state.record
    axes = state.model_axes  # their number does not depend on which share of a mixture is omitted
    fewest = fewest_for_model(len(axes))
    if not len(axes) or record.size < fewest or record.errors.any():
        return None
    if doubts(state.problem, record):
        return None
    step, turns = step_of(state, out), state.turns
    shown = are_models(state, out.pending)
    for i in range(len(out.pending)):
        is_models = is_models_step(state, turns, record.size + i) if shown is None else bool(shown[i])
        turns = turns.after(is_models=is_models, gained=None)
    if not is_models_step(state, turns, step):
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
    found = minimum(
        positions, values, pending, turns.radius, spread, (state.problem.seed, step), periodic, turns.is_alternative
    )
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
    """Return the axes of a model around the best point, (d,), and for each mixture the index of the share that the
    others determine. This is the share that is farthest from its bounds at the best point, so that moves rarely exceed
    them."""
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
    is_alternative: bool = False,
) -> Array | None:
    """Return the minimum of the model in its ball, (d,), as a position in the cube; in another ball if a pending point
    is near it. If the model predicts no gain, or pending points are near the minima in all balls, return a point on the
    ball's surface far from the other points. Return None if no gain is left, or if no model can be fitted.

    Args:
        positions: (n, d) positions in the cube, more than the model has coefficients.
        values: (n,) their results; larger is better.
        pending: (k, d) points without a result.
        radius: the radius of the ball.
        spread: if the median loss of the nearby results, relative to the best one, is at most this, no gain is left.
        draw: (seed, step) of the random stream.
        periodic: (d,) whether each axis is periodic, so that the minimum may lie outside the cube; None if none is.
        is_alternative: whether the model has its alternative form.
    """
    d, best = positions.shape[1], int(np.argmax(values))
    count = min(len(values), int(RESULTS * coefficients(d)) + 2)
    nearby = np.argsort(-values, kind="stable")[: CANDIDATES * count]
    offsets, losses = positions[nearby] - positions[best], values[best] - values[nearby]
    scale = float(losses[count // 2])
    if not scale > spread or not offsets[:count].any():  # equal results, or all at one point
        return None
    weights = (1.0 + losses / scale) ** -(ALTERNATIVE_POWER if is_alternative else 1.0)
    directions, widths = _principal(offsets[:count], weights[:count])
    to_cube, to_ball = directions * widths, directions / widths
    known = offsets @ to_ball
    weights /= (1.0 + (known**2).sum(axis=1) / max(radius, REACH) ** 2) ** 2
    rows = np.argsort(-weights, kind="stable")[:count]
    gradient, hessian = _fitted(known[rows], losses[rows] / scale, weights[rows])
    beyond = np.where(np.zeros(d, dtype=np.bool_) if periodic is None else periodic, np.inf, 0.0)
    waiting = (pending - positions[best]) @ to_ball
    move = None
    for size in (radius, *(min(factor * radius, RADII[1]) for factor in OTHER_BALLS)):
        least = _within_box(gradient, hessian, size, positions[best], to_ball, beyond)
        if not -float(gradient @ least + 0.5 * least @ hessian @ least) > NO_GAIN:
            break
        if not (((waiting - least) ** 2).sum(axis=1) < (SEPARATE * size) ** 2).any():
            move = least
            break
    if move is None:
        move = _far(radius, np.concatenate([known, waiting]), draw)
    found: Array = np.clip(positions[best] + to_cube @ move, -beyond, 1.0 + beyond)
    return found


def _far(radius: float, known: Array, draw: tuple[int, int]) -> Array:
    """Return the one of some random points on the ball's surface, (d,), that is farthest from known points, (k, d)."""
    d = known.shape[1]
    moves = ndtri(uniforms(*draw, DIRECTIONS * d).reshape(DIRECTIONS, d))
    moves *= radius / np.linalg.norm(moves, axis=1)[:, None]
    found: Array = moves[np.argmax(((moves[:, None] - known) ** 2).sum(axis=2).min(axis=1))]
    return found


def _within_box(gradient: Array, hessian: Array, radius: float, best: Array, to_ball: Array, beyond: Array) -> Array:
    """Return the minimum in the ball, (d,), as a move in the ball's coordinates.

    Args:
        gradient, hessian: of the model at the best point, in the ball's coordinates.
        radius: the radius of the ball.
        best: (d,) the best point. If it is at an end of the cube along an axis, and the minimum would be outside, there
            is no move along this axis.
        to_ball: (d, d) maps offsets in the cube to the ball's coordinates.
        beyond: (d,) by how much the cube is extended along each axis: 0, or infinity for periodic axes.
    """
    free = np.ones(len(best), dtype=np.bool_)
    while free.any():
        directions, lengths = np.linalg.qr(to_ball[free].T)  # offsets along free axes become moves along ``directions``
        along = smallest_in_ball(directions.T @ gradient, directions.T @ hessian @ directions, radius)
        offset = np.zeros(len(best))
        offset[free] = np.linalg.solve(lengths, along)
        leads_out = free & (((best <= -beyond) & (offset < 0.0)) | ((best >= 1.0 + beyond) & (offset > 0.0)))
        if not leads_out.any():
            return np.asarray(directions @ along)
        free &= ~leads_out
    return np.zeros(len(best))


def smallest_in_ball(gradient: Array, hessian: Array, radius: float) -> Array:
    """Return the minimum in a ball around 0 of the function g'z + z'Hz / 2, (d,), by bisection of the multiplier (More
    and Sorensen 1983)."""
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
    if inside @ inside < radius**2:  # the hard case: move to the surface along the least curvature
        inside[0] = np.copysign(np.sqrt(radius**2 - inside[1:] @ inside[1:]), inside[0])
        return np.asarray(axes @ inside)
    high = low + float(np.linalg.norm(slopes)) / radius + largest
    for _ in range(BISECTIONS):
        middle, before = 0.5 * (low + high), (low, high)
        moved = move(middle)
        low, high = (middle, high) if math.sqrt(moved @ moved) > radius else (low, middle)
        if (low, high) == before:  # no float lies between them
            break
    return np.asarray(axes @ move(high))


def _principal(offsets: Array, weights: Array) -> tuple[Array, Array]:
    """Return the principal directions of weighted offsets (n, d), as columns (d, d), and the weighted standard
    deviations along them, (d,)."""
    moments = (offsets * weights[:, None]).T @ offsets / weights.sum()
    squares, directions = np.linalg.eigh(moments)
    return directions, np.sqrt(np.maximum(squares, FLAT * squares[-1]))


def _fitted(positions: Array, losses: Array, weights: Array) -> tuple[Array, Array]:
    """Return gradient, (d,), and second derivatives, (d, d), at 0 of the quadratic function fitted by weighted least
    squares at positions (n, d)."""
    d = positions.shape[1]
    i, j = np.triu_indices(d)
    products = positions[:, i] * positions[:, j] * np.where(i == j, 0.5, 1.0)
    root = np.sqrt(weights)
    features = np.hstack([np.ones((len(positions), 1)), positions, products]) * root[:, None]
    found = lstsq(features, losses * root, cond=SINGULAR, check_finite=False)[0]
    hessian = np.zeros((d, d))
    hessian[i, j] = hessian[j, i] = found[d + 1 :]
    return found[1 : d + 1], hessian
