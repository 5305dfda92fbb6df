"""How issued points without a result affect the posterior.

A pending point counts as if its posterior mean had been observed. A failed point counts as a bad result with much
noise: the bounds around it decrease, but a single failure does not exclude the region.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine import record as records
from adabkb_service.engine.auto.acquisition.failing import finishing
from adabkb_service.engine.auto.acquisition.objectives import best_within, contenders, scalarised
from adabkb_service.engine.auto.acquisition.outcomes import Bounded, Constrained, View
from adabkb_service.engine.auto.acquisition.per_cost import Cost, PerCost
from adabkb_service.engine.auto.acquisition.plateaus import Plateaus, plateaus
from adabkb_service.engine.auto.acquisition.prior_weighted import PriorWeighted, Single, best_quarter, is_trusted
from adabkb_service.engine.auto.acquisition.scalarised import Scalarised
from adabkb_service.engine.auto.failures import are_many
from adabkb_service.engine.auto.model.feasible_results import ranked
from adabkb_service.engine.auto.model.surrogate import Surrogate
from adabkb_service.engine.auto.model.transferred import Transferred, transferred
from adabkb_service.engine.auto.model.warp import Warp
from adabkb_service.engine.auto.state.state import State, incumbent
from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.record import Record
from adabkb_service.engine.slices import Slice

Array = NDArray[np.float64]
V = TypeVar("V", Surrogate, View)
W = TypeVar("W", Surrogate, Surrogate | Transferred)

FAILED_QUANTILE = 0.25
"""The quantile of the results so far that stands for the value of a failed point."""
FAILED_NOISE = 0.1
"""The noise ratio nu of a failed point (see ``Hyperparameters``): its noise variance over sigma_f^2."""


@dataclass(frozen=True)
class Issued:
    """Issued points, as cube positions, and plateaus, where a result would be uninformative."""

    pending: Array
    """(k, d) points without a result yet."""
    failed: Array
    """(f, d) points that could not be evaluated."""
    replaced: Array
    """(m, d) suggested points that a worker replaced by another point."""
    plateaus: Plateaus
    """The plateaus of the results so far."""

    @cached_property
    def positions(self) -> Array:
        """All points, (k + f + m, d)."""
        return np.concatenate([self.pending, self.failed, self.replaced])

    def with_pending(self, point: Array) -> Issued:
        """Return the points with one more pending point, (d,)."""
        return replace(self, pending=np.concatenate([self.pending, point[None]]))


def issued(state: State, pending: Array, failed: Array | None, replaced: Array | None) -> Issued:
    """Return the issued points of a study, (k, d) each; None stands for no point."""
    none = np.zeros((0, state.problem.space.dimension))
    return Issued(pending, none if failed is None else failed, none if replaced is None else replaced, plateaus(state))


def step_of(state: State, out: Issued) -> int:
    """Return the index of the next decision: the number of results, pending and failed points so far."""
    return state.record.size + len(out.pending) + len(out.failed)


def is_taken(*positions: Array) -> Callable[[Array], bool]:
    """Return a function that returns whether a point, (d,), is among these positions, (k, d) each."""
    return lambda point: any(records.holds(each, point) for each in positions)


def is_known(state: State, out: Issued) -> Callable[[Array], bool]:
    """Return a function that returns whether a point, (d,), was evaluated or issued, or is on a plateau."""
    taken, step = is_taken(state.record.positions, out.positions), step_of(state, out)
    return lambda point: taken(point) or bool(out.plateaus.hold(point[None], step)[0])


@dataclass(frozen=True, slots=True)
class SearchView:
    """The posterior that the search uses, with and without pending points. Pending points count as if their means had
    been observed, so the variance decreases and the mean stays. Suggestions are the same, bit for bit, whether they
    were requested together or one by one."""

    given: View
    """The posterior conditioned on failed points only."""
    view: View
    """The posterior conditioned on pending points, too."""

    def with_pending(self, state: State, pending: Array) -> SearchView:
        """Return the view with one more pending point, given all of them, (k, d)."""
        return replace(self, view=_fantasized(self.given, state, pending))


def search_view(
    state: State, objective: Surrogate, warp: Warp, values: Array, out: Issued, within: Slice | None = None
) -> SearchView:
    """Return the view for results, (n,), under a warp. It combines, as far as the study has them, several objectives,
    older studies, the prior on the optimum, metrics with bounds, failures, and cost.

    Gains are relative to the best results. In a study with context parameters, if ``within`` gives their values, gains
    are relative to the predictions for the points of these results in this context.
    """
    context = within if state.problem.space.context else None
    bounded = tuple(
        _bounded(state, measured, metric, out)
        for measured, metric in state.bounded
        if measured.record.size or not state.record.size  # else the metric has no result
    )
    if are_many(state.record.size, len(out.failed)):
        bounded = (*bounded, finishing(state.problem, state.record.positions, out.failed))
    own: Single | Scalarised
    if state.problem.has_several:
        weighted = _is_prior_trusted(state)

        def objective_of(measured: State, metric: Metric) -> Single:
            posterior = _with_older(state, measured, metric.name)
            return _with_prior(state, _of_metric(state, measured, posterior, out), weighted)

        own = scalarised(state, objective_of, context, bounded)
    else:
        known = _with_older(state, state) if objective is state.surrogate else objective  # not in a restart
        own = _with_prior(state, _with_failures_imputed(known, warp, values, out.failed), _is_prior_trusted(state))
    sought: Single | PerCost | Scalarised = own
    has_results = state.problem.has_several or state.record.size > 0  # a partial result may have only a cost
    if state.problem.config.per_cost and _cost_of(state).record.size and has_results:
        sought = _per_cost(state, own, context)
    given: View = Constrained(sought, bounded) if bounded else sought
    return SearchView(given, _fantasized(given, state, out.pending))


def _with_older(state: State, measured: State, metric: str | None = None) -> Surrogate | Transferred:
    """Return the posterior of an objective, combined with older studies as long as it has no dictionary.

    Args:
        state: the state of the study.
        measured: the state of the objective.
        metric: the name of the objective, if there are several.
    """
    record, older = measured.record, state.problem.older_of(metric)
    if not older or measured.checkpoint.dictionary is not None:
        return measured.surrogate
    return transferred(measured.surrogate, record.positions, measured.warp.forward(record.values), older)


def _is_prior_trusted(state: State) -> bool:
    """Return whether there is a prior on the optimum that the results support, or are too few to judge."""
    config = state.problem.config
    if config.prior is None or not state.record.size:
        return config.prior is not None
    of_front = state.problem.has_several
    best = contenders(state) if of_front else best_quarter(ranked(config.metrics, state.record))
    return not len(best) or is_trusted(state.problem.space, config.prior, state.record.positions, best)


def _with_prior(state: State, posterior: W, is_prior_trusted: bool) -> W | PriorWeighted:
    """Return the posterior with the prior on the optimum, if the results support it."""
    prior = state.problem.config.prior
    return PriorWeighted(posterior, state.problem.space, prior) if is_prior_trusted and prior else posterior


def _per_cost(state: State, view: Single | Scalarised, context: Slice | None) -> PerCost:
    """Return the view per cost, given at least one cost and, with a single objective, one result."""
    config, measured = state.problem.config, _cost_of(state)
    costs = measured.record.values
    cost = Cost(measured.surrogate, measured.warp, float(costs.min()), float(np.median(costs)), float(costs.max()))
    spent = float(costs.sum()) + state.spent
    left = 1.0 if config.cost_budget is None else max(1.0 - spent / config.cost_budget, 0.0)
    if isinstance(view, Scalarised):
        return PerCost(view, cost, left, 0.0)
    best = state.record.positions[incumbent(state)] if context is None else best_within(state, view, context)
    assert best is not None, "there is a result"
    return PerCost(view, cost, left, float(view.mean(best[None])[0]))


def _cost_of(state: State) -> State:
    """Return the state of the metric cost."""
    (found,) = (
        each for each, metric in zip(state.metrics, state.problem.config.metrics, strict=True) if metric.is_cost
    )
    return found


def _bounded(state: State, measured: State, metric: Metric, out: Issued) -> Bounded:
    """Return a metric with bounds, with the posterior of ``_of_metric``."""
    lower, upper = measured.in_model_outputs(metric)
    noise_ratio = measured.checkpoint.hyperparameters.noise_ratio
    return Bounded(_of_metric(state, measured, measured.surrogate, out), lower, upper, noise_ratio)


def _of_metric(state: State, measured: State, posterior: W, out: Issued) -> W:
    """Return a posterior of a metric, conditioned on failed points. At evaluated points where the metric is not known
    yet, it is conditioned as if its mean had been observed."""
    awaited = _without(state.record, measured.record)
    imputed = _with_failures_imputed(posterior, measured.warp, measured.record.values, out.failed)
    if not len(awaited):
        return imputed
    return imputed.condition(awaited, None, np.full(len(awaited), measured.checkpoint.hyperparameters.noise_ratio))


def _without(record: Record, known: Record) -> Array:
    """Return the positions of a record, (k, d), at which the record ``known`` has no result."""
    if np.array_equal(known.positions, record.positions):
        return record.positions[:0]
    there = {position.tobytes() for position in known.positions}
    return record.positions[[position.tobytes() not in there for position in record.positions]]


def _fantasized(view: V, state: State, points: Array) -> V:
    """Return the posterior conditioned on points, (k, d), as if their means had been observed, all at once."""
    noise = state.checkpoint.hyperparameters.noise_ratio
    return view.condition(points, None, np.full(len(points), noise)) if len(points) else view


def _with_failures_imputed(view: W, warp: Warp, values: Array, failed: Array) -> W:
    """Return the posterior in which failed points count as noisy results at the quantile ``FAILED_QUANTILE`` of the
    results, (n,)."""
    if not len(failed):
        return view
    imputed = np.quantile(values, FAILED_QUANTILE, keepdims=True) if len(values) else np.array([-1.0])
    outputs = np.repeat(warp.forward(imputed), len(failed))
    return view.condition(failed, outputs, np.full(len(failed), FAILED_NOISE))
