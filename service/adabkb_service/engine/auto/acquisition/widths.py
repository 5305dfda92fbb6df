"""The confidence width (beta) of a step of the search or of a restart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition import betas
from adabkb_service.engine.auto.acquisition.issued import Issued, step_of
from adabkb_service.engine.auto.acquisition.untried import has_untried_described
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.auto.state.turns import RESTARTS_PERIOD
from adabkb_service.engine.slices import Slice

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


def width(state: State, out: Issued, untried: Callable[[Array], Bools] | None, within: Slice | None = None) -> float:
    """Return the width of the next step of the search.

    Args:
        state, out: the state and the issued points of the study.
        untried: the result of ``untried_choices`` for this step.
        within: a slice to search, whose width depends neither on restarts nor on descriptors; None for the whole space.
    """
    step, domain = step_of(state, out), state.problem.domain
    if within is None and state.restarted_at is not None:
        return betas.later_beta(step // RESTARTS_PERIOD, has_choices=_has_choices(state))
    if within is None and has_untried_described(state, out):
        return betas.DESCRIBED if domain.is_listed else betas.UNTRIED
    if untried is not None:
        return betas.UNTRIED
    return betas.beta(
        step,
        is_wide=_is_wide(state),
        has_choices=_has_choices(state),
        several=state.problem.has_several,
        of_rows=within is not None and bool(within.catalogues),
    )


def width_of_restart(state: State, size: int) -> float:
    """Return the width of the next step of a restart that has ``size`` points."""
    return betas.beta(size, is_wide=_is_wide(state))


def _is_wide(state: State) -> bool:
    """Return whether the early steps have a larger confidence width, and are fewer: with more than ``FEW`` parameters,
    and without a prior or older studies."""
    config = state.problem.config
    return state.problem.domain.dimension > betas.FEW and config.prior is None and not config.older


def _has_choices(state: State) -> bool:
    """Return whether the confidence widths are those for spaces with categories. With a prior they are not, since the
    prior favors certain choices."""
    return state.problem.domain.most_choices > 0 and state.problem.config.prior is None
