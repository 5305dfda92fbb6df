"""Untried choices: in early steps, the search prefers choices and branches of conditions without any point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition import betas
from adabkb_service.engine.auto.acquisition.issued import Issued, step_of
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.slices import Slice

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


def untried_choices(state: State, out: Issued, within: Slice | None = None) -> Callable[[Array], Bools] | None:
    """Return a function that returns which positions, (k, d), have an untried choice. None if all choices are tried, or
    if untried choices do not affect this step. In a slice, only its free axes count.

    In the first steps, choices with descriptors are ignored, since the descriptors predict which of them are good.
    """
    domain, step = state.problem.domain, step_of(state, out)
    has_stalled = within is None and state.restarted_at is not None  # a slice has no restarts
    within = within or domain.whole
    if has_stalled or within.catalogues or not _looks_for_choices(state, step):
        return None
    is_unrestricted = step < (betas.EARLY_STEPS if domain.is_listed else betas.UNRESTRICTED_STEPS)
    axes = [axis for axis in domain.choices if within.free[axis] and not (is_unrestricted and axis in domain.described)]
    return domain.untried_choices(np.concatenate([state.record.positions, out.positions]), axes)


def untried_branches(state: State, out: Issued) -> Callable[[Array], bool] | None:
    """Return a function that returns whether a point, (d,), is in a branch of conditions without evaluated or issued
    points. None if each branch has such a point, or if no feasible point is known in the others."""
    domain = state.problem.domain
    untried = domain.activity.untried(np.concatenate([state.record.positions, out.positions]))
    feasible = domain.whole.feasible
    if untried is None or feasible is None or any(map(untried, feasible.anchors)):
        return untried
    return None


def has_untried_described(state: State, out: Issued) -> bool:
    """Return whether a choice with descriptors is untried, in a step that untried choices affect."""
    domain = state.problem.domain
    if not (domain.described and _looks_for_choices(state, step_of(state, out))):
        return False
    known = np.concatenate([state.record.positions, out.positions])
    return domain.untried_choices(known, domain.described) is not None


def _looks_for_choices(state: State, step: int) -> bool:
    """Return whether untried choices affect a step: only early steps after the first one, with a single objective."""
    most = state.problem.domain.most_choices
    last = max(betas.EARLY_STEPS, betas.STEPS_PER_CHOICE * most)
    return most > 0 and not state.problem.has_several and 0 < step < last
