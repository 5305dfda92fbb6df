"""Reference implementations of the inner loops in plain numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from adabkb_service.engine.auto.model.kernel import MEAN_VARIANCE, Kernel
from adabkb_service.engine.auto.model.likelihood import (
    COMPONENT_PRIOR,
    MIN_VARIANCE,
    NAME_PRIOR,
    NOISE_PRIOR,
    Evidence,
    prior_center,
)
from adabkb_service.engine.auto.model.surrogate import PRIOR_VARIANCE, Surrogate
from adabkb_service.engine.auto.search.search import EVALUATIONS, FAILURES, FIRST_STEP, SMALL_GAIN

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


def kernel_and_radial(kernel: Kernel, X: Array, Y: Array) -> tuple[Array, Array]:
    """k and E, (n, m) each, between scaled points: the slope of k along an ordered axis is -3 (x_k - y_k) / l_k E."""
    ordered = np.append(~kernel.categorical, np.ones(len(kernel.components), dtype=np.bool_))
    r = cdist(X[:, ordered], Y[:, ordered]) if ordered.any() else np.zeros((len(X), len(Y)))
    r *= np.sqrt(5.0 if kernel.smooth else 3.0)
    q = np.zeros_like(r)
    for axis in np.flatnonzero(kernel.categorical):
        q += (X[:, axis, None] != Y[None, :, axis]) / kernel.lengthscales[axis]
    E = np.exp(-r - q)
    if kernel.smooth:
        return (1.0 + r + r**2 / 3.0) * E, 5.0 / 9.0 * (1.0 + r) * E
    return (1.0 + r) * E, E


def distances_along(kernel: Kernel, X: Array, Y: Array) -> Array:
    """sqrt(5) (x_k - y_k) / a with its sign, (d, n, m), between scaled points; of choices that differ sqrt(5) / a."""
    assert kernel.additive is not None
    d = len(kernel.lengthscales)
    away = (X[:, None, :d] - Y[None, :, :d]) * kernel.units
    away[:, :, kernel.categorical] = away[:, :, kernel.categorical] != 0.0
    r: Array = np.moveaxis(np.sqrt(5.0) * away / kernel.additive.lengthscale, 2, 0)
    return r


def full_kernel(kernel: Kernel, X: Array, Y: Array) -> Array:
    """k between scaled points, with the additive part; shape (n, m)."""
    k = kernel_and_radial(kernel, X, Y)[0]
    if kernel.additive is None:
        return k
    shares, r = kernel.additive.shares, np.abs(distances_along(kernel, X, Y))
    mixed: Array = (1.0 - shares.sum()) * k + np.tensordot(shares, (1.0 + r + r**2 / 3.0) * np.exp(-r), 1)
    return mixed


def mean_and_std(view: Surrogate, positions: Array) -> tuple[Array, Array]:
    K = full_kernel(view.kernel, view.kernel.scaled(positions), view.inducing) + MEAN_VARIANCE
    V = K @ view.factor.T
    return K @ view.weights, np.sqrt(view.variance * np.maximum(PRIOR_VARIANCE - (V**2).sum(axis=1), 0.0))


def ucb(view: Surrogate, positions: Array, beta: float) -> Array:
    mean, deviation = mean_and_std(view, positions)
    return mean + beta * deviation


def ucb_and_gradient(view: Surrogate, positions: Array, beta: float) -> tuple[Array, Array]:
    scaled = view.kernel.scaled(positions)
    _, E = kernel_and_radial(view.kernel, scaled, view.inducing)
    K = full_kernel(view.kernel, scaled, view.inducing) + MEAN_VARIANCE
    V = K @ view.factor.T
    deviation = mean_and_std(view, positions)[1]
    pulls = view.weights - (beta * view.variance / np.maximum(deviation, 1e-12))[:, None] * (V @ view.factor)
    G, part = E * pulls, view.kernel.additive
    d = len(view.kernel.lengthscales)
    gradient = -3.0 * (scaled * G.sum(axis=1)[:, None] - G @ view.inducing)[:, :d] / view.kernel.lengthscales
    if part is not None:
        r = distances_along(view.kernel, scaled, view.inducing)
        slope = -r * (1.0 + np.abs(r)) * np.exp(-np.abs(r)) / 3.0 * np.sqrt(5.0) / part.lengthscale
        gradient = (1.0 - part.shares.sum()) * gradient + part.shares * np.einsum("knm,nm->nk", slope, pulls)
    gradient[:, view.kernel.categorical] = 0.0
    return K @ view.weights + beta * deviation, gradient


def ascend(view: Surrogate, starts: Array, beta: float) -> Array:
    """Ascend from all starts at once."""
    shortest = np.inf if view.kernel.additive is None else view.kernel.additive.lengthscale
    reach = np.minimum(view.kernel.lengthscales, np.where(view.kernel.categorical, 1.0, min(shortest, 1.0)))
    x = starts.copy()
    value, gradient = ucb_and_gradient(view, x, beta)
    length, failures = np.full(len(x), FIRST_STEP), np.zeros(len(x), dtype=np.int64)
    active = np.arange(len(x))
    for _ in range(EVALUATIONS):
        direction = gradient[active] * reach**2
        outward = ((x[active] <= 0.0) & (direction < 0.0)) | ((x[active] >= 1.0) & (direction > 0.0))
        direction[outward] = 0.0
        norm = np.sqrt(((direction / reach) ** 2).sum(axis=1))
        moving = norm > 0.0
        active, direction, norm = active[moving], direction[moving], norm[moving]
        if not len(active):
            break
        trial = np.clip(x[active] + (length[active] / norm)[:, None] * direction, 0.0, 1.0)
        trial_value, trial_gradient = ucb_and_gradient(view, trial, beta)
        gain = trial_value - value[active]
        better = gain > 0.0
        up, down = active[better], active[~better]
        x[up], value[up], gradient[up] = trial[better], trial_value[better], trial_gradient[better]
        length[up], failures[up] = length[up] * 1.6, 0
        length[down], failures[down] = length[down] * 0.3, failures[down] + 1
        active = active[~((better & (gain < SMALL_GAIN)) | (failures[active] >= FAILURES))]
    return x


@dataclass(frozen=True)
class AnyBound:
    """The interface that a refinement needs, for any f~ that is a function of positions (k, d)."""

    of: Callable[[Array], Array]

    def value(self, x: Array) -> float:
        return float(self.of(x[None])[0])

    def moved_towards_centroid(self, target: Array, centroid: Array, floor: float) -> Array:
        x = target
        while len(axes := np.flatnonzero(x != centroid)):
            single = np.repeat(x[None], len(axes), axis=0)
            single[np.arange(len(axes)), axes] = centroid[axes]
            order = axes[np.argsort(-self.of(single), kind="stable")]
            together = np.repeat(x[None], len(axes), axis=0)
            for count, axis in enumerate(order):
                together[count:, axis] = centroid[axis]
            good = np.flatnonzero(self.of(together) >= floor)
            if not len(good):
                return x
            x = together[good[-1]]
        return x

    def axis_to_cut(self, x: Array, centroid: Array, axes: NDArray[np.int64]) -> int:
        count = len(axes)
        mixed = np.concatenate([np.repeat(centroid[None], count, axis=0), np.repeat(x[None], count, axis=0)])
        mixed[np.arange(count), axes] = x[axes]
        mixed[count + np.arange(count), axes] = centroid[axes]
        values = self.of(mixed)
        return int(axes[np.argmax(values[:count] - values[count:])])


def negative_log_posterior(evidence: Evidence, parameters: Array) -> tuple[float, Array]:
    n, d = evidence.positions.shape
    columns = d + len(evidence.components)
    lengthscales, noise_ratio = np.exp(parameters[:columns]), np.exp(parameters[columns])
    described = evidence.components, lengthscales[d:]
    kernel = Kernel(lengthscales[:d], evidence.categorical, None, *described, evidence.smooth)
    scaled = kernel.scaled(evidence.positions)
    k, E = kernel_and_radial(kernel, scaled, scaled)
    K = k + MEAN_VARIANCE + np.diag(noise_ratio + evidence.extra)
    inverse = np.linalg.inv(K)
    alpha = inverse @ evidence.outputs
    variance = float(evidence.outputs @ alpha) / n
    fit_weight = 1.0 / variance if variance > MIN_VARIANCE else 0.0
    variance = max(variance, MIN_VARIANCE)
    G = 0.5 * (inverse - fit_weight * np.outer(alpha, alpha))
    along = np.zeros(columns)
    for axis in range(columns):
        x = scaled[:, axis]
        if axis < d and evidence.categorical[axis]:
            along[axis] = (G * k * (x[:, None] != x[None])).sum() / lengthscales[axis]
        else:
            along[axis] = 3.0 * (G * E * (x[:, None] - x[None]) ** 2).sum()
    centres = np.append(np.full(d, prior_center(d)), np.full(columns - d, COMPONENT_PRIOR))
    centres[evidence.components.axes] = NAME_PRIOR
    from_centre = parameters[:columns] - centres
    from_noise = (parameters[columns] - NOISE_PRIOR[0]) / NOISE_PRIOR[1]
    value = n * np.log(variance) + np.linalg.slogdet(K)[1] + float(from_centre @ from_centre) + from_noise**2
    gradient = np.append(along + from_centre, noise_ratio * np.trace(G) + from_noise / NOISE_PRIOR[1])
    return 0.5 * float(value), gradient
