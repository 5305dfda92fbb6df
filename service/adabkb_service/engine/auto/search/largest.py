"""The free point with the largest upper confidence bound, outside known plateaus."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition import betas
from adabkb_service.engine.auto.acquisition.issued import Issued, is_taken, step_of
from adabkb_service.engine.auto.acquisition.outcomes import View
from adabkb_service.engine.auto.acquisition.plateaus import Plateaus
from adabkb_service.engine.auto.acquisition.untried import untried_branches
from adabkb_service.engine.auto.search.search import Search, maximize_ucb
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.slices import Slice

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


def largest(
    state: State,
    view: View,
    beta: float,
    around: Array | None,
    out: Issued,
    within: Slice | None = None,
    untried: Callable[[Array], Bools] | None = None,
) -> Array:
    """Return the position with the largest upper confidence bound, among free points outside known plateaus.

    In the first ``EARLY_STEPS`` steps, as long as some branches of conditions have no points, only these are searched.

    Args:
        state, view, out: the state, the view and the issued points of the study.
        beta: the confidence width.
        around: (d,) the best point so far.
        within: a slice to search; None for the whole space.
        untried: returns which positions have an untried choice. In one of ``betas.UNTRIED_CHOICES_EVERY`` steps, only
            these are considered, unless their largest bound is below the mean at the best point.
    """
    problem, record, step = state.problem, state.record, step_of(state, out)
    is_taken_already = is_taken(out.positions) if state.declares_noise else is_taken(record.positions, out.positions)
    early = within is None and step < betas.EARLY_STEPS
    is_in_untried = untried_branches(state, out) if early else None
    is_excluded = (
        is_taken_already if is_in_untried is None else lambda point: is_taken_already(point) or not is_in_untried(point)
    )
    only = untried if step % betas.UNTRIED_CHOICES_EVERY == 0 else None
    draw = (problem.seed, step)
    search = Search(problem.domain, within or problem.domain.whole, view, beta, around, draw, is_excluded, only)
    found = _off_plateaus(search, out.plateaus)
    if only is None or around is None or search.ucb(found[None])[0] >= view.ucb(around[None], 0.0)[0]:
        return found
    return _off_plateaus(replace(search, only=None), out.plateaus)


def _off_plateaus(search: Search, known: Plateaus) -> Array:
    """Return the position that a search finds outside known plateaus or, if it finds none, anywhere."""
    if not known.are_found:
        return maximize_ucb(search)
    _, step = search.draw

    def is_on(positions: Array) -> Bools:
        return known.hold(positions, step)

    def is_off(positions: Array) -> Bools:
        return ~is_on(positions)

    def taken(point: Array) -> bool:
        return search.taken(point) or bool(is_on(point[None])[0])

    found = maximize_ucb(replace(search, taken=taken, only=search.only or is_off, surely_taken=is_on))
    return found if is_off(found[None])[0] else maximize_ucb(search)
