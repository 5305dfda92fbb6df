"""The additive part of the kernel: a sum of functions of one axis each.

    k_w(x, x') = (1 - w) k(x, x') + sum over axes w_k g(r_k)      g(r) = (1 + r + r^2 / 3) exp(-r)      w = sum of w_k
    r_k = sqrt(5) |x_k - x'_k| / a      ordered axes: Matern 5/2 with one lengthscale a for all of them
    r_k = sqrt(5) [x_k != x'_k] / a     categorical axes: choices that differ are a distance of 1 apart

Learned are logit w, log a and t, (d,), with w_k = w exp(t_k) / sum of exp(t_j): normal priors, independent.

With k(x, x) = 1 also k_w(x, x) = 1 (Duvenaud, Nickisch and Rasmussen 2011, first order, beside the full kernel k).

The exponential of a distance is the smaller of two products, exp(-|u - v|) = min(e^u e^-v, e^-u e^v): a table of e^u
and e^-u per axis and point replaces an exponential per axis and pair. Where neighbouring rows have the same coordinate,
the same column is added again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.compiled import inlined

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

SHARES = (0.01, 0.999)
SHARE_PRIOR = 3.0
"""Standard deviation of logit w, around 0."""
LENGTHSCALE_PRIOR = math.log(0.5) + 0.5 * math.log(1.0 / 3.0)
"""Mean of log a, with deviation 1: that of the other lengthscales in one dimension."""
WEIGHT_PRIOR = 1.5
"""Standard deviation of t_k, around 0, ..."""
LARGEST_WEIGHT = 6.0
"""... which is at most so far from it."""
FIRST_SHARE = 0.9
"""Where a search for an additive part begins."""

ROOT = math.sqrt(5.0)

Tables = tuple[float, Array, float, Array, Array]
"""What the compiled functions take: w (0 without an additive part), w_k (d,), a, and e^u and e^-u, (d, m) each, of the
m points on the right, where u = sqrt(5) x_k / a."""
TABLES = "Tuple((f8, f8[::1], f8, f8[:,::1], f8[:,::1]))"
"""Its type, for their signatures."""


@dataclass(frozen=True, slots=True)
class Additive:
    """The additive part of a kernel."""

    shares: Array
    """(d,) w_k, of the variance."""
    lengthscale: float
    """a, in the unit cube."""

    def parameters(self) -> Array:
        """(logit w, log a, t), (d + 2,)."""
        share, weights = self.shares.sum(), np.log(self.shares)
        return np.array([math.log(share / (1.0 - share)), math.log(self.lengthscale), *(weights - weights.mean())])


def of(parameters: Array) -> Additive:
    """The inverse of ``Additive.parameters``."""
    return Additive(_shares(parameters), math.exp(parameters[1]))


def first(dimension: int) -> Additive:
    """Where a search begins."""
    return Additive(np.full(dimension, FIRST_SHARE / dimension), math.exp(LENGTHSCALE_PRIOR))


def _shares(parameters: Array) -> Array:
    """w_k, (d,)."""
    weights = np.exp(parameters[2:])
    shares: Array = weights / weights.sum() / (1.0 + math.exp(-parameters[0]))
    return shares


shares_inlined = inlined(_shares)


@inlined
def bound(low: Array, high: Array) -> None:
    """Set the bounds of (logit w, t), (d + 2,) each; log a keeps those of any lengthscale."""
    low[0], high[0] = math.log(SHARES[0] / (1.0 - SHARES[0])), math.log(SHARES[1] / (1.0 - SHARES[1]))
    low[2:], high[2:] = -LARGEST_WEIGHT, LARGEST_WEIGHT


@inlined
def away_from_prior(parameters: Array, gradient: Array) -> float:
    """The squared distance of (logit w, log a, t) from the prior's centre, in deviations; half of its gradient is
    added."""
    total = 0.0
    for k in range(len(parameters)):
        centre = LENGTHSCALE_PRIOR if k == 1 else 0.0
        deviation = SHARE_PRIOR if k == 0 else 1.0 if k == 1 else WEIGHT_PRIOR
        away = (parameters[k] - centre) / deviation
        gradient[k] += away / deviation
        total += away * away
    return total


@inlined
def tabulated(shares: Array, lengthscale: float, points: Array, lengthscales: Array, categorical: Bools) -> Tables:
    """The tables of scaled points (d, m) under a kernel's lengthscales (d,); without shares, there is no such part."""
    if len(shares) == 0:
        return 0.0, shares, lengthscale, np.empty((0, 0)), np.empty((0, 0))
    rising = np.ones(points.shape)
    for axis in range(len(points)):
        if not categorical[axis]:
            rate = ROOT * lengthscales[axis] / lengthscale
            for j in range(points.shape[1]):
                rising[axis, j] = math.exp(rate * points[axis, j])
    return shares.sum(), shares, lengthscale, rising, 1.0 / rising


@inlined
def mix(tables: Tables, X: Array, Y: Array, lengthscales: Array, categorical: Bools, k: Array) -> None:
    """k_w in place of k, (n m,), between scaled points (n, d) and (d, m)."""
    share, shares, lengthscale, rising, falling = tables
    d, m = Y.shape
    column = np.empty(m)
    for j in range(len(k)):
        k[j] *= 1.0 - share
    for axis in range(d):
        rate = ROOT * lengthscales[axis] / lengthscale
        for i in range(len(X)):
            here, first = X[i, axis], i * m
            if i == 0 or here != X[i - 1, axis]:
                if categorical[axis]:
                    _choices(here, Y[axis], lengthscale, shares[axis], column)
                else:
                    _ordered(rate * here, rate, Y[axis], rising[axis], falling[axis], shares[axis], column)
            for j in range(m):
                k[first + j] += column[j]


@inlined
def _ordered(u: float, rate: float, others: Array, rising: Array, falling: Array, share: float, column: Array) -> None:
    """w_k g between u and ``rate`` times those of the points, (m,)."""
    up, down = math.exp(u), math.exp(-u)
    for j in range(len(others)):
        r = abs(u - rate * others[j])
        column[j] = share * (1.0 + r + r * r / 3.0) * min(up * falling[j], down * rising[j])


@inlined
def _choices(here: float, others: Array, lengthscale: float, share: float, column: Array) -> None:
    """w_k g between a choice and those of the points, (m,)."""
    differing = share * along_axis(ROOT / lengthscale)
    for j in range(len(others)):
        column[j] = share if others[j] == here else differing


@inlined
def along_axis(r: float) -> float:
    """g of one distance."""
    return (1.0 + r + r * r / 3.0) * math.exp(-r)


@inlined
def slopes(tables: Tables, x: Array, Y: Array, lengthscales: Array, categorical: Bools, pulls: Array) -> Array:
    """The gradient in the cube, (d,), of the additive part of sum_j pulls_j k_w(x, y_j): scaled x (d,), Y (d, m).

    dg / dr = -r (1 + r) exp(-r) / 3; zero along categorical axes.
    """
    _, shares, lengthscale, rising, falling = tables
    d, m = Y.shape
    gradient, column = np.zeros(d), np.empty(m)
    for axis in range(d):
        if not categorical[axis]:
            rate = ROOT * lengthscales[axis] / lengthscale
            u = rate * x[axis]
            up, down, others, risen, fallen = math.exp(u), math.exp(-u), Y[axis], rising[axis], falling[axis]
            for j in range(m):
                r = u - rate * others[j]
                column[j] = r * (1.0 + abs(r)) * min(up * fallen[j], down * risen[j])
            gradient[axis] = -shares[axis] * ROOT / (3.0 * lengthscale) * np.dot(pulls, column)
    return gradient


@inlined
def traces(G: Array, X: Array, categorical: Bools, lengthscale: float) -> tuple[Array, Array]:
    """tr(G g_k) and tr(G dg_k / dlog a), (d,) each, with the matrix g_k of cube positions (n, d) along each axis.

    Of the symmetric G, (n, n), only the upper triangle counts; dg / dlog a = r^2 (1 + r) exp(-r) / 3.
    """
    n, d = X.shape
    values, changes = np.zeros(d), np.zeros(d)
    u, rising, falling, g, change = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    r_differing = ROOT / lengthscale
    differing, changing = along_axis(r_differing), r_differing**2 * (1.0 + r_differing) * math.exp(-r_differing) / 3.0
    for axis in range(d):
        for j in range(n):
            u[j] = X[j, axis] * ROOT / lengthscale
            rising[j] = math.exp(u[j])
            falling[j] = 1.0 / rising[j]
        for i in range(n):
            if categorical[axis]:
                for j in range(i, n):
                    g[j] = 1.0 if u[j] == u[i] else differing
                    change[j] = 0.0 if u[j] == u[i] else changing
            else:
                up, down = rising[i], falling[i]
                for j in range(i, n):
                    r = abs(u[i] - u[j])
                    e = min(up * falling[j], down * rising[j])
                    g[j] = (1.0 + r + r * r / 3.0) * e
                    change[j] = r * r * (1.0 + r) / 3.0 * e
            values[axis] += 2.0 * np.dot(G[i, i:], g[i:]) - G[i, i]
            changes[axis] += 2.0 * np.dot(G[i, i:], change[i:])
    return values, changes


@inlined
def weighted(G: Array, A: Array) -> float:
    """tr(G A) of symmetric matrices; of both only the upper triangle counts."""
    total = 0.0
    for i in range(len(G)):
        total += G[i, i] * A[i, i] + 2.0 * np.dot(G[i, i + 1 :], A[i, i + 1 :])
    return total
