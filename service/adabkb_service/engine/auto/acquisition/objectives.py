"""The objectives of a study with several objectives: their results, and how the search combines them.

The state of a study is that of its first objective; the states of the others are among those of its metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition import pareto
from adabkb_service.engine.auto.acquisition.outcomes import Bounded, View
from adabkb_service.engine.auto.acquisition.prior_weighted import Single
from adabkb_service.engine.auto.acquisition.scalarised import Objective, Scalarised
from adabkb_service.engine.auto.model.feasible_results import best_feasible_rows, violations
from adabkb_service.engine.auto.state.state import CONTENDERS, State, incumbent, within_reach
from adabkb_service.engine.candidates import distinct
from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.record import Record
from adabkb_service.engine.slices import Slice

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


class ObjectiveSummary(NamedTuple):
    """A summary of the results, in the units of the objectives and with their signs."""

    reference: Array
    """(K,) reference point, declared or learned."""
    front: Array
    """(n, K) results on the front."""

    @property
    def best(self) -> Array:
        """The best value of each objective on the front, (K,); before the first result, the reference plus 1."""
        found: Array = self.front.max(axis=0) if len(self.front) else self.reference + 1.0
        return found


def objectives(state: State) -> list[tuple[State, Metric]]:
    """Return the objectives of a study, in order, each with the state that models it; empty with a single objective."""
    first, metrics = state.problem.config.objective, state.problem.config.metrics
    if first is None:
        return []
    others = [(each, metric) for each, metric in zip(state.metrics, metrics, strict=True) if metric.goal]
    return [(state, first), *others]


def results(state: State) -> Array:
    """Return the values of the objectives in each result, (n, K); NaN for a value that is not known yet."""
    record, metrics = state.record, state.problem.config.metrics
    others = [measured.values for measured, metric in zip(record.metrics, metrics, strict=True) if metric.goal]
    return np.column_stack([record.values, *others])


def front_rows(metrics: tuple[Metric, ...], record: Record, values: Array) -> Ints:
    """Return the rows, in increasing order, of the results, (n, K), that no other dominates. Only results that have all
    objectives and satisfy the bounds of metrics are considered. If none satisfies the bounds, return the row with the
    smallest violation."""
    whole = np.flatnonzero(~np.isnan(values).any(axis=1))
    if not len(whole):
        return whole
    beyond = violations(metrics, record)[whole]
    rows: Ints = whole[beyond == 0.0]
    if not len(rows):
        return np.array([whole[np.argmin(beyond)]])
    found: Ints = rows[pareto.front(values[rows])]
    return found


def contenders(state: State) -> Ints:
    """Return the rows of the best results, in increasing order; with several objectives, the front."""
    metrics = state.problem.config.metrics
    if not state.problem.has_several:
        return best_feasible_rows(metrics, state.record, CONTENDERS)
    return front_rows(metrics, state.record, results(state))


def best_row(state: State, view: View) -> int | None:
    """Return ``incumbent`` or, with several objectives, the row of the front that is best under the view of this
    step."""
    if not state.problem.has_several:
        return incumbent(state)
    rows = contenders(state)
    return int(rows[np.argmax(view.mean(state.record.positions[rows]))]) if len(rows) else None


def best_within(state: State, view: View, within: Slice) -> Array | None:
    """Return the position, (d,), with the best posterior mean among the best results moved into a slice (in a context
    and with several objectives, among all results); None before the first result."""
    rows = np.arange(state.record.size) if _is_front_of(state, within) else contenders(state)
    if not len(rows):
        return None
    moved = within.put(state.record.positions[rows])
    best: Array = moved[np.argmax(view.mean(moved))]
    return best


def _is_front_of(state: State, within: Slice) -> bool:
    """Return whether a slice is a context, which has its own front."""
    return state.problem.has_several and bool(state.problem.space.context & within.fixed.keys())


def summary(state: State) -> ObjectiveSummary:
    """Return the summary of a study with several objectives. If no reference is declared, it is the worst value so far
    of each objective. It is not the worst value on the front: if one point dominates all others, that would be the
    point's own value, and no point that is worse in any objective would increase the hypervolume."""
    values = results(state)
    rows = front_rows(state.problem.config.metrics, state.record, values)
    known = [column[~np.isnan(column)] for column in values.T]
    learned = [float(column.min()) if len(column) else 0.0 for column in known]
    given = zip((metric for _, metric in objectives(state)), learned, strict=True)
    reference = [own if metric.reference is None else metric.sign * metric.reference for metric, own in given]
    return ObjectiveSummary(np.array(reference), values[rows])


def middle(state: State) -> int | None:
    """Return the row of the front for which the smallest of its shares is largest; None before the first result. A
    share is the distance of an objective from the reference, divided by that of the best result."""
    rows = contenders(state)
    if not len(rows):
        return None
    found = summary(state)
    span = found.best - found.reference
    shares = (found.front - found.reference) / np.where(span > 0.0, span, 1.0)
    return int(rows[np.argmax(shares.min(axis=1))])


def scalarised(
    state: State,
    view: Callable[[State, Metric], Single],
    context: Slice | None = None,
    bounded: tuple[Bounded, ...] = (),
) -> Scalarised:
    """Return the scalarization of the objectives, each with a view of its state. Its directions are drawn later.

    Args:
        state: the state of the study.
        view: returns the view of an objective, given its state.
        context: a slice. The front then consists of predictions for the evaluated points, moved into the slice. With
            None, it is the front of the results.
        bounded: the metrics with bounds, which the predicted points must satisfy.
    """
    found, measured = summary(state), objectives(state)
    views = [view(each, metric) for each, metric in measured]
    if context is not None:
        found = _summary_within(state, found, views, context, bounded)
    pairs = zip(measured, views, found.reference.tolist(), found.best.tolist(), strict=True)
    each = tuple(_objective(of_one, through, *ends) for (of_one, _), through, *ends in pairs)
    shares = (found.front - found.reference) / np.array([objective.span for objective in each])
    return Scalarised(each, shares, np.ones((1, len(each))), np.zeros(1))


def _summary_within(
    state: State, whole: ObjectiveSummary, views: Sequence[Single], context: Slice, bounded: tuple[Bounded, ...]
) -> ObjectiveSummary:
    """Return the summary of a context: the reference of the study, and the front of the predictions."""
    points = distinct(context.put(state.record.positions))
    if context.feasible is not None:
        points = points[context.feasible.mask(points)]
    for metric in bounded:
        points = points[metric.violation(points, 0.0) == 0.0]
    columns = [
        each.warp.inverse(np.clip(view.mean(points), *within_reach(each)))
        for (each, _), view in zip(objectives(state), views, strict=True)
    ]
    values = np.column_stack(columns)
    return ObjectiveSummary(whole.reference, values[pareto.front(values)])


def _objective(state: State, view: Single, reference: float, best: float) -> Objective:
    span = best - reference if best > reference else 1.0  # no result is better than the reference yet
    noise_ratio = state.checkpoint.hyperparameters.noise_ratio
    return Objective(view, state.warp, within_reach(state), reference, span, noise_ratio)
