"""The index per cost, which the search maximizes if evaluations differ in cost.

With the posterior mean b at the best point, the predicted cost c(x) at x and a typical cost c* (the median so far),

    index(x) = b + (f~(x) - b) / (c(x) / c*)^a    where f~(x) > b, and f~(x) elsewhere.

So the possible gain is divided by the cost. The exponent a is the remaining share of the cost budget, or 1 without such
a budget: cheap points come first, and the last evaluations ignore cost (Lee et al. 2020, "Cost-aware Bayesian
optimization"). With several objectives, f~ is their index (``scalarised``), whose positive values are gains, and b = 0.
c(x) is the median predicted by the cost metric's own model, limited to the range of costs so far.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition.prior_weighted import Single
from adabkb_service.engine.auto.acquisition.scalarised import Scalarised
from adabkb_service.engine.auto.ascent import lbfgs
from adabkb_service.engine.auto.model.surrogate import Surrogate
from adabkb_service.engine.auto.model.warp import Warp

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

ITERATIONS = 20
DIFFERENCE = 1e-6
"""Step of a position for the gradient of the index."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Predicted costs of evaluations."""

    posterior: Surrogate
    warp: Warp
    lowest: float
    """The lowest cost so far; positive."""
    usual: float
    """c*, the typical cost."""
    highest: float

    def relative(self, positions: Array) -> Array:
        """Return costs at cube positions (k, d), relative to the typical cost, shape (k,)."""
        costs = self.warp.inverse(self.posterior.mean(positions))
        found: Array = np.clip(costs, self.lowest, self.highest) / self.usual
        return found


@dataclass(frozen=True, slots=True)
class PerCost:
    """A posterior whose upper confidence bound is the index per cost. It has the methods of ``Surrogate`` that the
    search needs. The mean is that of the posterior; the standard deviation is divided by cost like the gain."""

    objective: Single | Scalarised
    cost: Cost
    share: float
    """The exponent a."""
    best: float
    """b, in model output units; 0 with several objectives."""

    def mean(self, positions: Array) -> Array:
        """See ``Surrogate.mean``."""
        return self.objective.mean(positions)

    def mean_and_std(self, positions: Array) -> tuple[Array, Array]:
        """See ``Surrogate.mean_and_std``."""
        mean, deviation = self.objective.mean_and_std(positions)
        return mean, deviation * self._weight(positions)

    def ucb(self, positions: Array, beta: float) -> Array:
        """Return the index at cube positions (k, d), shape (k,)."""
        gain = self.objective.ucb(positions, beta) - self.best
        return self.best + np.where(gain > 0.0, gain * self._weight(positions), gain)

    def ucb_and_gradient(self, positions: Array, beta: float) -> tuple[Array, Array]:
        """Return the index, (k,), and its gradient in the cube, (k, d), by finite differences."""
        steps = DIFFERENCE * np.eye(positions.shape[1])
        around = np.clip(positions[:, None, :] + np.concatenate([steps, -steps]), 0.0, 1.0)
        values = self.ucb(around.reshape(-1, positions.shape[1]), beta).reshape(len(positions), 2, -1)
        ends = around.reshape(len(positions), 2, *steps.shape)
        widths = np.diagonal(ends[:, 0] - ends[:, 1], axis1=1, axis2=2)
        return self.ucb(positions, beta), (values[:, 0] - values[:, 1]) / widths

    def condition(self, positions: Array, outputs: Array | None, noise_ratios: Array) -> PerCost:
        """See ``Surrogate.condition``. The predicted costs do not change."""
        return replace(self, objective=self.objective.condition(positions, outputs, noise_ratios))

    def ascend(self, starts: Array, beta: float, free: Bools) -> Array:
        """Return maxima near positions (k, d), along the free axes of each, (k, d): see ``lbfgs.maxima``."""
        return lbfgs.maxima(lambda positions: self.ucb_and_gradient(positions, beta), starts, free, ITERATIONS)

    def _weight(self, positions: Array) -> Array:
        weight: Array = self.cost.relative(positions) ** -self.share
        return weight
