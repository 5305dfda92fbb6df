"""Learning the hyperparameters: lengthscales per axis, output scale and noise, by maximum a posteriori.

Minimised over the logarithms of the lengthscales l and of the noise ratio nu = noise variance / output variance:

    (n / 2) log sigma_f^2 + (1 / 2) log |K| + sum (log l_k - mu0)^2 / 2 + (log nu - log 1e-4)^2 / (2 * 3^2)

with K = k + MEAN_VARIANCE + diag(nu + extra), sigma_f^2 = z' K^-1 z / n (the output scale, profiled), and the
prior's centre mu0 = log 0.5 + log(d / 3) / 2, d at most the axes that are active together: longer in more dimensions.

With an additive part k is k_w, and its d + 2 parameters follow (``additive``), if it is worth it (``EVIDENCE``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import additive
from adabkb_service.engine.auto.additive import Additive
from adabkb_service.engine.auto.cholesky import factorize, invert, solve
from adabkb_service.engine.auto.kernel import MEAN_VARIANCE, gram_and_radial, transposed
from adabkb_service.engine.auto.surrogate import scaled_by
from adabkb_service.engine.auto.warp import LINEAR, POWERS
from adabkb_service.engine.compiled import compiled, inlined

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

LENGTHSCALES = (0.02, 20.0)
NOISES = (1e-7, 0.5)
NOISE_PRIOR = (math.log(1e-4), 3.0)
SMALLEST_VARIANCE = 1e-4
EVIDENCE = 1e3
"""What the additive part has to raise the posterior density at its maximum by, as a factor, to be kept."""
EVALUATIONS = 60
"""Of the objective, per start."""
SMALL_GAIN = 1e-4
"""In the objective, a log-likelihood: less says nothing about the parameters."""
LONGEST_STEP = 1.0
"""Along any of the parameters, which are logarithms."""
FLAT = 1e-3
"""Largest component of a gradient that counts as 0."""
SUFFICIENT = 1e-4
"""Share of the gain promised by the gradient that a step must have."""
MIN_RESULTS = 4
"""Results before which nothing is learned."""
INDEFINITE = 1e10


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """What is learned: lengthscales (d,) in the unit cube, noise ratio nu and sigma_f^2 in model output units."""

    lengthscales: Array
    noise_ratio: float
    variance: float
    additive: Additive | None = None

    @property
    def powers(self) -> Array:
        """Of the warps that go with them."""
        return POWERS if self.additive is None else LINEAR

    def parameters(self) -> Array:
        """What the objective is minimised over: (d + 1,), or (2 d + 3,) with an additive part."""
        plain: Array = np.log(np.append(self.lengthscales, self.noise_ratio))
        if self.additive is None:
            return plain
        both: Array = np.append(plain, self.additive.parameters())
        return both


def prior_centre(dimension: int) -> float:
    """mu0, of log l."""
    return math.log(0.5) + 0.5 * math.log(dimension / 3.0)


def prior(dimension: int, together: int | None = None) -> Hyperparameters:
    """Before there is enough to learn from; with the number of axes that are active together, unless all are."""
    lengthscales = np.full(dimension, math.exp(prior_centre(together or dimension)))
    return Hyperparameters(lengthscales, math.exp(NOISE_PRIOR[0]), 1.0)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is learned from: positions (n, d), model outputs (n,), known noise ratios (n,), categorical axes (d,)."""

    positions: Array
    outputs: Array
    extra: Array
    categorical: Bools
    log_slopes: float = 0.0
    """Sum over the results of the logarithm of the warp's slope: with it, likelihoods under different warps compare."""
    together: int | None = None  # axes active at once, at most; None for all

    def negative_log_posterior(self, parameters: Array) -> tuple[float, Array]:
        """The objective at log (l_1 .. l_d, nu), with an additive part also its parameters, and its gradient, of the
        same length; huge where K is not definite."""
        value, gradient, _ = _negative_log_posterior(parameters, *self._arrays)
        return value, gradient

    def variance(self, parameters: Array) -> float:
        """sigma_f^2 at these parameters."""
        return _negative_log_posterior(parameters, *self._arrays)[2]

    def maximum(self, start: Array) -> tuple[float, Array, float]:
        """The objective's minimum near some parameters: its value, where it is, and sigma_f^2 there."""
        return _minimized(start, *self._arrays)

    @property
    def _arrays(self) -> tuple[Array, Array, Array, Bools, int]:
        return self.positions, self.outputs, self.extra, self.categorical, self.together or self.positions.shape[1]


def learn(evidence: Evidence, starts: Iterable[Hyperparameters]) -> Hyperparameters:
    """The best of the optima found from these starts; the first start itself if none is found."""
    return _best(evidence, starts)[1]


def with_additive_part(
    warped: Evidence, plain: Hyperparameters, unwarped: Evidence, known: Hyperparameters
) -> Hyperparameters:
    """Those with an additive part, if that is worth it, also beside a form without it for the same unwarped results (or
    what speaks for it may be the missing warp); else the plain ones.

    Args:
        warped: what the plain ones were learned from.
        plain: what was learned without the part.
        unwarped: the same results, for a model with the part.
        known: as of before, with the part or without.
    """
    d = len(plain.lengthscales)
    value, found = _best(unwarped, [known if known.additive else replace(prior(d), additive=additive.first(d))])
    alone = warped.negative_log_posterior(plain.parameters())[0]
    gain = (alone - warped.log_slopes) - (value - unwarped.log_slopes)
    if gain < math.log(EVIDENCE):
        return plain
    rival, _ = _best(unwarped, [plain])
    return found if rival - value >= math.log(EVIDENCE) else plain


def _best(evidence: Evidence, starts: Iterable[Hyperparameters]) -> tuple[float, Hyperparameters]:
    """The smallest of the optima found from these starts, and its value."""
    d = evidence.positions.shape[1]
    found = [evidence.maximum(start.parameters()) for start in starts]
    value, parameters, variance = min(found, key=lambda candidate: candidate[0])
    part = additive.of(parameters[d + 1 :]) if len(parameters) > d + 1 else None
    return value, Hyperparameters(np.exp(parameters[:d]), math.exp(parameters[d]), variance, part)


@inlined
def _objective(
    parameters: Array, positions: Array, outputs: Array, extra: Array, categorical: Bools, together: int
) -> tuple[float, Array, float]:
    """As ``Evidence.negative_log_posterior``, with sigma_f^2.

    With G = (K^-1 - K^-1 z z' K^-1 / sigma_f^2) / 2 the gradient along a parameter is tr(G dK), and
    dK / dlog l_k = 3 ((x_k - x'_k) / l_k)^2 E, or [x_k != x'_k] k / l_k along a categorical axis, times 1 - w. With S =
    sum of w_k g_k, dK / dlogit w = (1 - w) (S - w k), dK / dlog a = dS / dlog a and dK / dt_k = w_k (g_k - S / w).
    """
    n, d = positions.shape
    gradient = np.zeros(len(parameters))
    lengthscales, noise = np.exp(parameters[:d]), math.exp(parameters[d])
    scaled = scaled_by(lengthscales, categorical, positions)
    points = transposed(scaled)
    plain = additive.tabulated(np.empty(0), 1.0, points, lengthscales, categorical)
    covariance, E = gram_and_radial(scaled, points, lengthscales, categorical, plain)
    K = covariance.copy()
    share, part = 0.0, parameters[d + 1 :]
    if len(part):
        tables = additive.tabulated(additive.shares_inlined(part), math.exp(part[1]), points, lengthscales, categorical)
        share = tables[0]
        additive.mix(tables, scaled, points, lengthscales, categorical, K.reshape(-1))
        K += share * MEAN_VARIANCE
    for i in range(n):
        K[i, i] += noise + extra[i]
    if not factorize(K):
        return INDEFINITE, gradient, SMALLEST_VARIANCE
    log_determinant = 0.0
    for i in range(n):
        log_determinant += 2.0 * math.log(K[i, i])
    alpha = solve(K, outputs)
    invert(K)
    variance = np.dot(outputs, alpha) / n
    fit_weight = 1.0 / variance if variance > SMALLEST_VARIANCE else 0.0
    variance = max(variance, SMALLEST_VARIANCE)
    for i in range(n):  # K becomes G, E becomes G E: from the upper triangle, to both
        for j in range(i, n):
            G = 0.5 * (K[i, j] - fit_weight * alpha[i] * alpha[j])
            K[i, j] = G
            E[i, j] *= G
            E[j, i] = E[i, j]
    weighted = np.dot(E, scaled)
    trace = 0.0
    for i in range(n):
        trace += K[i, i]
        row_sum = E[i].sum()
        for axis in range(d):
            gradient[axis] += 6.0 * scaled[i, axis] * (row_sum * scaled[i, axis] - weighted[i, axis])
    for axis in range(d):
        if categorical[axis]:
            gradient[axis] = _weight_of_differing(K, covariance, positions[:, axis]) / lengthscales[axis]
        gradient[axis] *= 1.0 - share
    centre = math.log(0.5) + 0.5 * math.log(together / 3.0)
    value = n * math.log(variance) + log_determinant
    if share > 0.0:
        values, changes = additive.traces(K, positions, categorical, math.exp(part[1]))
        alone = np.dot(tables[1], values)
        gradient[d + 1] = (1.0 - share) * (alone - share * additive.weighted(K, covariance - MEAN_VARIANCE))
        gradient[d + 2] = np.dot(tables[1], changes)
        gradient[d + 3 :] = tables[1] * (values - alone / share)
        value += additive.away_from_prior(part, gradient[d + 1 :])
    for axis in range(d):
        value += (parameters[axis] - centre) ** 2
        gradient[axis] += parameters[axis] - centre
    from_noise = (parameters[d] - NOISE_PRIOR[0]) / NOISE_PRIOR[1]
    gradient[d] = noise * trace + from_noise / NOISE_PRIOR[1]
    return 0.5 * (value + from_noise * from_noise), gradient, variance


@inlined
def _weight_of_differing(G: Array, covariance: Array, choices: Array) -> float:
    """sum of G k over the pairs of rows whose choices, (n,), differ; of G only the upper triangle counts."""
    total = 0.0
    for i in range(len(choices)):
        for j in range(i + 1, len(choices)):
            if choices[i] != choices[j]:
                total += 2.0 * G[i, j] * (covariance[i, j] - MEAN_VARIANCE)
    return total


_DATA = "f8[:,::1], f8[::1], f8[::1], b1[::1], i8"


@compiled(f"Tuple((f8, f8[::1], f8))(f8[::1], {_DATA})")
def _negative_log_posterior(
    parameters: Array, positions: Array, outputs: Array, extra: Array, categorical: Bools, together: int
) -> tuple[float, Array, float]:
    return _objective(parameters, positions, outputs, extra, categorical, together)


@compiled(f"Tuple((f8, f8[::1], f8))(f8[::1], {_DATA})")
def _minimized(
    start: Array, positions: Array, outputs: Array, extra: Array, categorical: Bools, together: int
) -> tuple[float, Array, float]:
    """BFGS within the bounds: variables that are held by a bound are left out of a step, others are stopped by it.

    The inverse Hessian begins as the prior's; a step is halved or better until it gains.
    """
    D = len(start)
    low, high = np.full(D, math.log(LENGTHSCALES[0])), np.full(D, math.log(LENGTHSCALES[1]))
    d = positions.shape[1]
    low[d], high[d] = math.log(NOISES[0]), math.log(NOISES[1])
    if d + 1 < D:
        additive.bound(low[d + 1 :], high[d + 1 :])
    x = np.minimum(np.maximum(start, low), high)
    value, gradient, variance = _objective(x, positions, outputs, extra, categorical, together)
    H = np.eye(D)
    evaluations, fresh = 1, True
    while evaluations < EVALUATIONS:
        held = ((x <= low) & (gradient > 0.0)) | ((x >= high) & (gradient < 0.0))
        free = np.where(held, 0.0, gradient)
        if np.abs(free).max() <= FLAT:
            break
        step = np.where(held, 0.0, -np.dot(H, free))
        if fresh:
            step /= max(1.0, math.sqrt(np.dot(step, step)))
        step /= max(1.0, np.abs(step).max() / LONGEST_STEP)
        moved, found, length = x, value, 1.0
        while evaluations < EVALUATIONS:
            moved = np.minimum(np.maximum(x + length * step, low), high)
            slope = np.dot(gradient, moved - x)
            found, found_gradient, found_variance = _objective(moved, positions, outputs, extra, categorical, together)
            evaluations += 1
            if found <= value + SUFFICIENT * slope:
                break
            curvature = found - value - slope
            length *= min(0.5, max(0.1, -0.5 * slope / curvature)) if curvature > 0.0 else 0.1
        if not found < value:
            if fresh:
                break
            H, fresh = np.eye(D), True
            continue
        s, y = moved - x, found_gradient - gradient
        gain = value - found
        x, value, gradient, variance = moved, found, found_gradient, found_variance
        if gain <= SMALL_GAIN:
            break
        sy = np.dot(s, y)
        if sy > 1e-10 * np.dot(y, y):
            if fresh:
                H *= sy / np.dot(y, y)
                fresh = False
            Hy = np.dot(H, y)
            H += (1.0 + np.dot(y, Hy) / sy) / sy * np.outer(s, s) - (np.outer(Hy, s) + np.outer(s, Hy)) / sy
    return value, x, variance
