"""The constants of the paper's algorithms, and the quantities derived from them for a search space."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine import confidence
from adabkb_service.engine.candidates import fixed_points
from adabkb_service.engine.cells import radius
from adabkb_service.engine.paper import variation
from adabkb_service.engine.paper.kernels import Gaussian, Kernel, Matern, distance
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Config:
    """Constants of Ada-BKB and its variants. Lengths are in model coordinates, outputs in model output units.

    Model coordinates are those of the unit cube, or with ``coordinates="raw"`` the user's (logarithms if log-scaled).
    Model outputs are the results standardized by the mean and standard deviation of all results so far, or with
    ``outputs="raw"`` the results themselves. The defaults were chosen on shifted test functions; see
    docs/decisions/0004-defaults-of-the-paper-profile.md.
    """

    kernel: Literal["gaussian", "matern"] = "matern"
    smoothness: float = 2.5
    """nu of the Matern kernel: 0.5, 1.5 or 2.5."""
    lengthscale: float | tuple[float, ...] | None = None
    """One for all axes, or one per axis. Default: 0.2 sqrt(d) times the width of the axis."""
    ridge: float = 1e-4
    """lambda, the ridge of the regression and the noise variance of the Gaussian process."""
    noise_std: float = 0.01
    """xi, the standard deviation of the noise, in model output units. Only beta depends on it."""
    output_noise_std: float | None = None
    """xi in the user's output units; replaces ``noise_std`` after division by the current scale."""
    norm_bound: float = 2.0
    """F, a bound on the norm of the objective in the RKHS, in model output units."""
    delta: float = 0.05
    """The confidence bounds hold with probability 1 - delta."""
    epsilon: float = 0.5
    """Accuracy of the sketch. Only beta depends on it."""
    qbar: float = 3.0
    """Oversampling: a point enters the dictionary with probability min(1, qbar n s2). If infinite, the dictionary
    contains all evaluated points, and the posterior is exact."""
    batch_drift: float | None = None
    """C: the dictionary is redrawn once variances may have changed by this factor since it was drawn (BBKB). If None,
    it is redrawn with each result."""
    points_per_axis: int | None = None
    """Points per axis of a fixed grid, which replaces the tree."""
    points: int | None = None
    """Number of random fixed points, which replace the tree; drawn from the grid if there is one, else from the box."""
    branching: int = 2
    """N, the number of children of a cell."""
    max_depth: int | None = None
    """h_max, the depth at which cells are no longer expanded. Default: 10 d."""
    beta: confidence.Beta = "theory"
    """Form of the confidence width: "theory", "authors", or the width itself as a number."""
    v1: float | None = None
    rho: float | None = None
    """If given, V_h = F g(v1 rho^h). Otherwise V_h = F g(radius of the cell)."""
    chaining: variation.Chaining | None = None
    """If given, V_h is that of Ada-GP-UCB, with the same g."""
    prunes: bool = True
    """Whether leaves that cannot contain the optimum are pruned."""
    index: Literal["ucb", "ei"] = "ucb"
    """What the chosen leaf maximizes: its upper bound (paper, eq. 9), or the expected improvement."""
    coordinates: Literal["unit", "raw"] = "unit"
    """Model coordinates: the unit cube, or the user's coordinates."""
    outputs: Literal["standardized", "raw"] | None = None
    """Model outputs: standardized, or the user's. Default: raw if the coordinates are raw."""


@dataclass(frozen=True)
class Problem:
    """A search space with a configuration: the immutable part of a study."""

    space: Space
    config: Config
    seed: int

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel, as a function of positions divided by the lengthscales."""
        return Gaussian() if self.config.kernel == "gaussian" else Matern(self.config.smoothness)

    @cached_property
    def lengthscales(self) -> Array:
        """The lengthscale of each axis, shape (d,), in model coordinates."""
        if self.config.lengthscale is None:
            low, high = self._bounds
            default: Array = 0.2 * math.sqrt(self.space.dimension) * (high - low)
            return default
        return np.zeros(self.space.dimension) + self.config.lengthscale

    @cached_property
    def max_depth(self) -> int:
        """h_max; 0 if the points are fixed."""
        if self.fixed is not None:
            return 0
        return 10 * self.space.dimension if self.config.max_depth is None else self.config.max_depth

    @cached_property
    def fixed(self) -> Array | None:
        """The fixed points, shape (P, d), in the unit cube; None for an algorithm with a tree."""
        return fixed_points(self.space, self.seed, self.config.points_per_axis, self.config.points)

    @cached_property
    def standardizes(self) -> bool:
        """Whether model outputs are standardized."""
        outputs = self.config.outputs
        return self.config.coordinates == "unit" if outputs is None else outputs == "standardized"

    @cached_property
    def _bounds(self) -> Array:
        """Model coordinates of the cube's corners, shape (2, d)."""
        if self.config.coordinates == "unit":
            return np.stack([np.zeros(self.space.dimension), np.ones(self.space.dimension)])
        bounds = [axis.raw_bounds for axis in self.space.axes]
        if None in bounds:
            raise ValueError("raw coordinates need numeric or ordinal parameters")
        return np.array(bounds, dtype=float).T

    @cached_property
    def side_scale(self) -> Array:
        """Factors that convert lengths in the unit cube to lengthscales, shape (d,)."""
        scale: Array = (self._bounds[1] - self._bounds[0]) / self.lengthscales
        return scale

    def scaled(self, positions: Array) -> Array:
        """Cube positions (k, d) in scaled coordinates: model coordinates divided by the lengthscales, shape (k, d)."""
        origin: Array = self._bounds[0] / self.lengthscales
        return origin + positions * self.side_scale

    def variation(self, lows: Array, highs: Array, centroids: Array, depth: int) -> Array:
        """V_h of k cells of one depth, shape (k,), in model output units.

        Args:
            lows, highs, centroids: (k, d) corners and centroids in the unit cube.
            depth: h of the cells.
        """
        config = self.config
        if config.v1 is not None and config.rho is not None:
            shortest = float(self.lengthscales.min())
            at_depth = variation.distance_at_depth(self.kernel, config.v1, config.rho, shortest, depth)
            g = np.full(len(lows), at_depth)
        else:
            g = distance(self.kernel, radius(lows, highs, centroids, self.side_scale))
        if config.chaining is None:
            return config.norm_bound * g
        return variation.variation_by_chaining(
            config.chaining,
            g,
            dimension=self.space.dimension,
            depth=depth,
            max_depth=self.max_depth,
            branching=config.branching,
            delta=config.delta,
        )
