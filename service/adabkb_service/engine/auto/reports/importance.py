"""The sensitivity of a model to the parameters, if it has enough results."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.policy import Policy
from adabkb_service.engine.sensitivity import MIN_RESULTS, Sensitivity, sensitivity
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space


def fewest_results(state: Any) -> int | None:
    """Return the number of results that the model of ``auto`` needs; None if the model of another algorithm does not
    depend on their number."""
    return state.problem.domain.fewest_results if isinstance(state, State) else None


def importance(
    policy: Policy[Any, Any], state: Any, space: Space, results: int
) -> Sensitivity | Literal["too_few_results", "constant"]:
    """Return the sensitivity of the posterior mean to each parameter, or the reason why it is unknown.

    Args:
        policy, state: the model of the objective or of a metric.
        space: the search space.
        results: the number of results of the objective or of the metric.
    """
    if results < max(MIN_RESULTS, fewest_results(state) or 0):
        return "too_few_results"
    mean, whole = partial(policy.mean, state), Slice(space, {})
    return sensitivity(lambda positions: mean(whole.put(positions)), space) or "constant"
