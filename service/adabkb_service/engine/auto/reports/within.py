"""The best point of a slice of the space, such as a context, according to the model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.answers import Recommendation
from adabkb_service.engine.auto.acquisition.issued import issued, search_view, step_of
from adabkb_service.engine.auto.acquisition.objectives import best_within
from adabkb_service.engine.auto.acquisition.outcomes import for_step
from adabkb_service.engine.auto.reports.report import feasible_probability, predict
from adabkb_service.engine.auto.search.search import Search, maximize_ucb
from adabkb_service.engine.auto.state.state import CONTENDERS, State
from adabkb_service.engine.candidates import distinct
from adabkb_service.engine.metrics import FEASIBLE
from adabkb_service.engine.slices import Slice

Array = NDArray[np.float64]


def recommend_within(state: State, within: Slice, feasible: float = FEASIBLE) -> Recommendation | None:
    """Return the point of a slice with the best mean of the averaged posterior; None before the first result.
    Candidates are the points of the best results, moved into the slice, and the maximum of the search's posterior mean
    in it. The point need not have been evaluated.

    If metrics have bounds, only candidates that satisfy them with at least the probability ``feasible`` count. If there
    are none, return the candidate with the largest probability.
    """
    if not state.record.size:
        return None
    points = _candidates(state, within)
    found = predict(state, points)
    values = found.mean
    if state.metrics:
        probabilities = feasible_probability(state, points)
        kept = probabilities >= feasible
        values = np.where(kept, values, -np.inf) if kept.any() else probabilities
    best = int(np.argmax(values))
    return Recommendation(points[best], float(found.mean[best]), float(found.std[best]))


def _candidates(state: State, within: Slice) -> Array:
    """Return points of the slice, (k, d)."""
    problem, record = state.problem, state.record
    best = np.argsort(-record.values, kind="stable")[:CONTENDERS]
    moved = [within.exact(position) for position in within.put(record.positions[best])]
    if within.feasible is not None:
        moved = [point for point in moved if within.feasible.admits(point)]
    out = issued(state, np.zeros((0, problem.space.dimension)), None, None)
    step = step_of(state, out)
    found = search_view(state, state.surrogate, state.warp, record.values, out, within)
    view = for_step(found.view, problem.seed, step)
    around = best_within(state, view, within)
    search = Search(problem.domain, within, view, 0.0, around, (problem.seed, step), lambda _: False)
    return distinct(np.array([*moved, within.exact(maximize_ucb(search))]))
