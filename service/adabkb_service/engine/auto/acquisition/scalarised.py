"""The posteriors of several objectives, combined into one index: the contribution of a point to the hypervolume.

With directions theta that are uniform on the positive part of the unit sphere, the hypervolume of points y above a
reference point r is, up to a constant, the mean over theta of

    max_y s(y, theta)^K,    s(y, theta) = min_k (y_k - r_k)+ / theta_k

(Zhang and Golovin 2020, "Random hypervolume scalarizations for provable multi-objective black box optimization"). So
each step draws directions, and the index of x is the amount that the upper confidence bounds f~ at x would add to that
mean,

    index(x) = mean over theta of max(s(f~(x), theta)^K - max_y s(y, theta)^K, 0).

Where this mean is 0, the index is instead the largest difference s(f~(x), theta) - max_y s(y, theta) over theta, which
is at most 0. The bounds are in the objectives' own units, since warps would distort the volume. Each is given as a
share: its distance from r, divided by that of the best result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from adabkb_service.engine.auto.acquisition.prior_weighted import Single
from adabkb_service.engine.auto.ascent import slsqp
from adabkb_service.engine.auto.model.surrogate import Surrogate
from adabkb_service.engine.auto.model.warp import Warp
from adabkb_service.engine.randomness import uniforms

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

DIRECTIONS = 128
LEAST = 0.01
"""The minimum component of a direction, so that every objective has weight."""
APART = 1 << 40
"""Distance between the random streams of directions and of candidates."""


@dataclass(frozen=True, slots=True)
class Objective:
    """One of several objectives."""

    posterior: Single
    warp: Warp
    ends: tuple[float, float]
    """Range in which the warp can be inverted. Bounds are clipped to it."""
    reference: float
    """r_k, in the user's units."""
    span: float
    """Distance from the reference to the best result, in the user's units; positive."""
    noise_ratio: float

    def of_step(self, step: int) -> Objective:
        """Return the objective with the posterior for a step, counted from 0."""
        if isinstance(self.posterior, Surrogate):
            return self
        return replace(self, posterior=self.posterior.of_step(step))

    def share(self, outputs: Array) -> Array:
        """Return (f~ - r) / span of bounds in model output units, of any shape."""
        values: Array = (self.warp.inverse(np.clip(outputs, *self.ends)) - self.reference) / self.span
        return values

    def share_and_gradient(self, positions: Array, beta: float) -> tuple[Array, Array]:
        """Return the share of the bound at cube positions (k, d), (k,), and its gradient, (k, d)."""
        bounds, gradients = self.posterior.ucb_and_gradient(positions, beta)
        outputs = np.clip(bounds, *self.ends)
        slope = np.where(outputs == bounds, 1.0 / self.warp.slope(self.warp.inverse(outputs)), 0.0)
        return self.share(bounds), gradients * (slope / self.span)[:, None]


@dataclass(frozen=True, slots=True)
class Scalarised:
    """The posteriors of several objectives, combined into one index. It has the methods of ``Surrogate`` that the
    search needs, all of which refer to the index."""

    objectives: tuple[Objective, ...]
    front: Array
    """(n, K) shares of the results on the front, which may be negative."""
    directions: Array
    """(M, K) theta."""
    known: Array
    """(M,) max_y s(y, theta), at least 0."""

    def mean(self, positions: Array) -> Array:
        """Return the index of the posterior means at cube positions (k, d), shape (k,)."""
        return self.ucb(positions, 0.0)

    def mean_and_std(self, positions: Array) -> tuple[Array, Array]:
        """Return the index of the posterior means at cube positions (k, d), and its increase for a beta of 1, (k,)
        each."""
        mean = self.mean(positions)
        return mean, self.ucb(positions, 1.0) - mean

    def ucb(self, positions: Array, beta: float) -> Array:
        """Return the index at cube positions (k, d), shape (k,)."""
        shares = np.column_stack([each.share(each.posterior.ucb(positions, beta)) for each in self.objectives])
        return self._index(self._lengths(shares))

    def ucb_and_gradient(self, positions: Array, beta: float) -> tuple[Array, Array]:
        """Return the index at cube positions (k, d), (k,), and its gradient, (k, d)."""
        found = [each.share_and_gradient(positions, beta) for each in self.objectives]
        shares, gradients = np.column_stack([value for value, _ in found]), np.stack([slope for _, slope in found])
        ratios = shares[:, None, :] / self.directions
        least = ratios.argmin(axis=2)
        lengths = np.take_along_axis(ratios, least[..., None], axis=2)[..., 0]
        slopes = self._slopes(lengths) / np.take_along_axis(self.directions[None], least[..., None], axis=2)[..., 0]
        pulls = np.stack([np.where(least == k, slopes, 0.0).sum(axis=1) for k in range(len(self.objectives))])
        return self._index(lengths), np.einsum("kn,knd->nd", pulls, gradients)

    def condition(self, positions: Array, outputs: Array | None, noise_ratios: Array) -> Scalarised:  # noqa: ARG002
        """See ``Surrogate.condition``, without outputs; each objective has its own noise ratio."""
        assert outputs is None, "points are pending in all objectives"
        conditioned = tuple(
            replace(
                each, posterior=each.posterior.condition(positions, None, np.full(len(positions), each.noise_ratio))
            )
            for each in self.objectives
        )
        return replace(self, objectives=conditioned)

    def towards(self, seed: int, step: int) -> Scalarised:
        """Return the posteriors with the directions, and the weight of the prior, for a step of the search."""
        count = len(self.objectives)
        drawn = uniforms(seed, APART + step, DIRECTIONS * count).reshape(DIRECTIONS, count)
        normals = ndtri(0.5 + drawn / 2.0)
        theta = np.maximum(normals / np.linalg.norm(normals, axis=1, keepdims=True), LEAST)
        theta /= np.linalg.norm(theta, axis=1, keepdims=True)
        known = (self.front[:, None, :] / theta).min(axis=2).max(axis=0, initial=0.0)
        return replace(
            self, objectives=tuple(each.of_step(step) for each in self.objectives), directions=theta, known=known
        )

    def ascend(self, starts: Array, beta: float, free: Bools) -> Array:
        """Return maxima near positions (k, d), within the cube and along the free axes of each, (k, d)."""
        return slsqp.maxima(lambda x: self.ucb_and_gradient(x, beta), starts, free)

    def _lengths(self, shares: Array) -> Array:
        """Return s of shares (k, K) along all directions, (k, M). It is negative if a share is negative."""
        found: Array = (shares[:, None, :] / self.directions).min(axis=2)
        return found

    def _index(self, lengths: Array) -> Array:
        power = len(self.objectives)
        added = np.maximum(np.maximum(lengths, 0.0) ** power - self.known**power, 0.0).mean(axis=1)
        found: Array = np.where(added > 0.0, added, (lengths - self.known).max(axis=1))
        return found

    def _slopes(self, lengths: Array) -> Array:
        """Return the derivative of the index with respect to each s, (k, M)."""
        power = len(self.objectives)
        adds: Bools = lengths > self.known
        slopes = np.where(adds, power * np.maximum(lengths, 0.0) ** (power - 1), 0.0) / lengths.shape[1]
        nearest = (lengths - self.known).argmax(axis=1)[:, None] == np.arange(lengths.shape[1])
        found: Array = np.where(adds.any(axis=1, keepdims=True), slopes, nearest)
        return found
