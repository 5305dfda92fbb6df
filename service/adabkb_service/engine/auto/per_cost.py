"""The index per cost: what the search maximises where evaluations differ in what they cost.

With b the posterior mean at the best point, c(x) the predicted cost at x and c* a usual one (the median of those seen),

    index(x) = b + (f~(x) - b) / (c(x) / c*)^a    where f~(x) > b, and f~(x) elsewhere:

the gain that is possible at x per cost. a is the share of the budget of cost that is left, or 1 without such a budget:
what is cheap comes first, and the last evaluations are the best whatever they cost (Lee et al. 2020, "Cost-aware
Bayesian optimization"). With several objectives f~ is their index (``scalarised``), whose positive values are gains:
b = 0. c(x) is the median of the cost metric's own model, and within the costs seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import lbfgs
from adabkb_service.engine.auto.prior_weighted import Single
from adabkb_service.engine.auto.scalarised import Scalarised
from adabkb_service.engine.auto.surrogate import Surrogate
from adabkb_service.engine.auto.warp import Warp

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

ITERATIONS = 20
DIFFERENCE = 1e-6
"""Of a position, for the slope of the index."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What evaluations are predicted to cost."""

    posterior: Surrogate
    warp: Warp
    lowest: float
    """Of the costs seen; positive."""
    usual: float
    highest: float

    def relative(self, positions: Array) -> Array:
        """Costs at cube positions (k, d), as shares of the usual one, shape (k,)."""
        costs = self.warp.inverse(self.posterior.mean(positions))
        found: Array = np.clip(costs, self.lowest, self.highest) / self.usual
        return found


@dataclass(frozen=True, slots=True)
class PerCost:
    """A posterior whose upper confidence bound is the index per cost. It has the methods of ``Surrogate`` that the
    search needs; the mean is the posterior's, the deviation is divided as the gain is."""

    objective: Single | Scalarised
    cost: Cost
    share: float
    """a."""
    best: float
    """b, in model output units; 0 with several objectives."""

    def mean(self, positions: Array) -> Array:
        """As ``Surrogate.mean``."""
        return self.objective.mean(positions)

    def mean_and_std(self, positions: Array) -> tuple[Array, Array]:
        """As ``Surrogate.mean_and_std``."""
        mean, deviation = self.objective.mean_and_std(positions)
        return mean, deviation * self._weight(positions)

    def ucb(self, positions: Array, beta: float) -> Array:
        """The index at cube positions (k, d), shape (k,)."""
        gain = self.objective.ucb(positions, beta) - self.best
        return self.best + np.where(gain > 0.0, gain * self._weight(positions), gain)

    def ucb_and_gradient(self, positions: Array, beta: float) -> tuple[Array, Array]:
        """The index, (k,), and its gradient in the cube, (k, d), by differences."""
        steps = DIFFERENCE * np.eye(positions.shape[1])
        around = np.clip(positions[:, None, :] + np.concatenate([steps, -steps]), 0.0, 1.0)
        values = self.ucb(around.reshape(-1, positions.shape[1]), beta).reshape(len(positions), 2, -1)
        ends = around.reshape(len(positions), 2, *steps.shape)
        widths = np.diagonal(ends[:, 0] - ends[:, 1], axis1=1, axis2=2)
        return self.ucb(positions, beta), (values[:, 0] - values[:, 1]) / widths

    def condition(self, positions: Array, outputs: Array | None, noise_ratios: Array) -> PerCost:
        """As ``Surrogate.condition``; the cost of what is pending stays as predicted."""
        return replace(self, objective=self.objective.condition(positions, outputs, noise_ratios))

    def ascend(self, starts: Array, beta: float, free: Bools) -> Array:
        """Maxima near some positions, (k, d), along the free axes of each, (k, d): see ``lbfgs.maxima``."""
        return lbfgs.maxima(lambda positions: self.ucb_and_gradient(positions, beta), starts, free, ITERATIONS)

    def _weight(self, positions: Array) -> Array:
        weight: Array = self.cost.relative(positions) ** -self.share
        return weight
