"""The posterior of the objective under bounds of metrics, in the form that the search uses.

The search is optimistic about the objective and the metrics (Xu et al. 2023, "Constrained efficient global optimization
of expensive black-box functions"). It maximizes f~ = mean + beta s of the objective where each metric, w standard
deviations to its better side, satisfies its bounds,

    g~ = mean + w s >= lower,    mean - w s <= upper,

and if no point does, it minimizes the violation. For the search and for the tree, both are one number, the index:

    index(x) = f~(x) - PENALTY * sum of the violations at x,

with each violation in the units of the metric's model outputs. w cycles through ``WIDTHS``: a large w explores whether
a region is feasible, and a negative w leaves a margin to the bounds. The best feasible points are often at the
boundary. Without the margin, points would approach it from outside.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition.per_cost import PerCost
from adabkb_service.engine.auto.acquisition.prior_weighted import PriorWeighted, Single
from adabkb_service.engine.auto.acquisition.scalarised import Scalarised
from adabkb_service.engine.auto.ascent import slsqp
from adabkb_service.engine.auto.model.surrogate import Surrogate
from adabkb_service.engine.auto.model.transferred import Transferred

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

PENALTY = 100.0
"""Penalty for a violation of one standard deviation of the metric's results, in standard deviations of the
objective."""
WIDTHS = (-1.0, 0.0, 1.0, 3.0)
"""Values of w, in turn."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A metric, with its bounds in model output units."""

    posterior: Surrogate
    lower: float
    upper: float
    noise_ratio: float

    def violation(self, positions: Array, width: float) -> Array:
        """Return the violation at cube positions (k, d), shape (k,)."""
        mean, deviation = self.posterior.mean_and_std(positions)
        low = np.maximum(self.lower - (mean + width * deviation), 0.0)
        high = np.maximum(mean - width * deviation - self.upper, 0.0)
        found: Array = low + high
        return found

    def margins(self, position: Array, width: float) -> tuple[list[float], list[Array]]:
        """Return the slack of each bound at a position, (1, d), and the gradients, (d,) each."""
        values, gradients = [], []
        if np.isfinite(self.lower):
            value, gradient = self.posterior.ucb_and_gradient(position, width)
            values, gradients = [float(value[0]) - self.lower], [gradient[0]]
        if np.isfinite(self.upper):
            value, gradient = self.posterior.ucb_and_gradient(position, -width)
            values, gradients = [*values, self.upper - float(value[0])], [*gradients, -gradient[0]]
        return values, gradients


@dataclass(frozen=True, slots=True)
class Constrained:
    """A posterior of the objective under bounds of metrics. It has the methods of ``Surrogate`` that the search needs:
    mean and standard deviation are those of the objective, and the upper confidence bound is the index."""

    objective: Single | PerCost | Scalarised
    bounded: tuple[Bounded, ...]
    width: float = WIDTHS[0]
    """w."""

    def mean(self, positions: Array) -> Array:
        """See ``Surrogate.mean``."""
        return self.objective.mean(positions)

    def mean_and_std(self, positions: Array) -> tuple[Array, Array]:
        """See ``Surrogate.mean_and_std``."""
        return self.objective.mean_and_std(positions)

    def ucb(self, positions: Array, beta: float) -> Array:
        """Return the index at cube positions (k, d), shape (k,)."""
        violation = sum(metric.violation(positions, self.width) for metric in self.bounded)
        return self.objective.ucb(positions, beta) - PENALTY * violation

    def condition(self, positions: Array, outputs: Array | None, noise_ratios: Array) -> Constrained:
        """See ``Surrogate.condition``; the outputs are those of the objective alone."""
        bounded = tuple(
            replace(
                each, posterior=each.posterior.condition(positions, None, np.full(len(positions), each.noise_ratio))
            )
            for each in self.bounded
        )
        return replace(self, objective=self.objective.condition(positions, outputs, noise_ratios), bounded=bounded)

    def ascend(self, starts: Array, beta: float, free: Bools) -> Array:
        """Return constrained maxima near positions (k, d), within the cube and along the free axes of each, (k, d)."""
        return slsqp.maxima(lambda x: self.objective.ucb_and_gradient(x, beta), starts, free, self.margins)

    def margins(self, position: Array) -> tuple[Array, Array]:
        """Return the slack of all bounds at a position, (d,), shape (m,), and the gradients, (m, d)."""
        each = [metric.margins(position[None], self.width) for metric in self.bounded]
        values, gradients = [v for found, _ in each for v in found], [g for _, found in each for g in found]
        return np.array(values), np.array(gradients)


View = Single | PerCost | Scalarised | Constrained
"""A posterior in the form that the search uses, called a view."""


def for_step(view: View, seed: int, step: int) -> View:
    """Return the view for one step. The width for bounds of metrics, the directions of several objectives, and the
    weight of the prior and of older studies depend on the step."""
    match view:
        case Constrained():
            objective = for_step(view.objective, seed, step)
            assert not isinstance(objective, Constrained)
            return replace(view, objective=objective, width=WIDTHS[step % len(WIDTHS)])
        case PerCost():
            own = for_step(view.objective, seed, step)
            assert isinstance(own, Surrogate | PriorWeighted | Transferred | Scalarised)
            return replace(view, objective=own)
        case PriorWeighted() | Transferred():
            return view.of_step(step)
        case Scalarised():
            return view.towards(seed, step)
    return view


def objective_of(view: View) -> Surrogate | None:
    """Return the posterior of the single objective; None if there are several."""
    own = _without_bounds_and_cost(view)
    if isinstance(own, Scalarised):
        return None
    while not isinstance(own, Surrogate):
        own = own.posterior
    return own


def extra_candidates(view: View, draw: tuple[int, int]) -> list[Array]:
    """Return positions, (k, d) each, that a prior or older studies favor, drawn with (seed, step)."""
    own = _without_bounds_and_cost(view)
    if not isinstance(own, Scalarised):
        return [own.candidates(draw)] if isinstance(own, PriorWeighted | Transferred) else []
    first, *others = (each.posterior for each in own.objectives)  # the prior is the same for all
    others = [each.posterior if isinstance(each, PriorWeighted) else each for each in others]
    favored = [first] if isinstance(first, PriorWeighted | Transferred) else []
    return [each.candidates(draw) for each in (*favored, *(each for each in others if isinstance(each, Transferred)))]


def favored_rows(view: View, axes: Container[int]) -> dict[int, list[int]]:
    """Return the indices of the rows to which a prior in use gives weights above 1, by axis.

    Args:
        view: the view of a step.
        axes: the axes of catalogues.
    """
    own = _without_bounds_and_cost(view)
    posterior = own.objectives[0].posterior if isinstance(own, Scalarised) else own  # the prior is the same for all
    if not isinstance(posterior, PriorWeighted) or not posterior.weight:
        return {}
    found = {
        each.axis: [number for number, weight in each.given if weight > 1.0]
        for each in posterior.prior.weighted
        if each.axis in axes
    }
    return {axis: rows for axis, rows in found.items() if rows}


def trust_of(view: View) -> dict[str, float]:
    """Return the trust in each older study; empty if none is used. With several objectives, the mean over them."""
    own = _without_bounds_and_cost(view)
    each = [objective.posterior for objective in own.objectives] if isinstance(own, Scalarised) else [own]
    found: dict[str, float] = {}
    for posterior in each:
        single = posterior.posterior if isinstance(posterior, PriorWeighted) else posterior
        if isinstance(single, Transferred):
            for mean, trust in zip(single.older, single.trust.tolist(), strict=True):
                found[mean.study] = found.get(mean.study, 0.0) + trust / len(each)
    return found


def _without_bounds_and_cost(view: View) -> Single | Scalarised:
    sought = view.objective if isinstance(view, Constrained) else view
    return sought.objective if isinstance(sought, PerCost) else sought


@dataclass(frozen=True, slots=True)
class IndexBound:
    """The index in the form of ``refine.Bound``."""

    view: PriorWeighted | Transferred | PerCost | Scalarised | Constrained
    beta: float

    def value(self, x: Array) -> float:
        """Return the index at one position, (d,)."""
        return float(self.view.ucb(x[None], self.beta)[0])

    def moved_towards_centroid(self, target: Array, centroid: Array, floor: float) -> Array:
        """See ``refine.Bound``."""
        x = target
        while len(axes := np.flatnonzero(x != centroid)):
            single = np.where(np.eye(len(x), dtype=bool)[axes], centroid, x)
            order = axes[np.argsort(-self.view.ucb(single, self.beta), kind="stable")]
            together = np.repeat(x[None], len(axes), axis=0)
            for row, axis in enumerate(order):
                together[row:, axis] = centroid[axis]
            good = np.flatnonzero(self.view.ucb(together, self.beta) >= floor)
            if not len(good):
                break
            x = together[good[-1]]
        return x

    def axis_to_cut(self, x: Array, centroid: Array, axes: NDArray[np.int64]) -> int:
        """See ``refine.Bound``."""
        one = np.eye(len(x), dtype=bool)[axes]
        values = self.view.ucb(np.concatenate([np.where(one, x, centroid), np.where(one, centroid, x)]), self.beta)
        return int(axes[np.argmax(values[: len(axes)] - values[len(axes) :])])
