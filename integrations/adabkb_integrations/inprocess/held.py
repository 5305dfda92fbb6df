"""Values that the points of a search must have: fixed ones, and those of the context."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from adabkb_integrations.domain import Domain
from adabkb_integrations.inprocess.trials import Evaluated
from adabkb_service.engine import assumed as engine
from adabkb_service.engine.axes import canonical
from adabkb_service.engine.feasibility import has_points
from adabkb_service.engine.slices import Slice


def restriction(domain: Domain, context: Mapping[str, Any] | None, fixed: Mapping[str, Any]) -> Slice | None:
    """Return the points with the values of a context and with fixed values; None for the whole space.

    Raises:
        TypeError: the fixed values are not a mapping.
        ValueError: a value is invalid, fixed values are those of the context or of an inactive parameter, the context
            is not complete, or no point has the values.
    """
    if not isinstance(fixed, Mapping):
        raise TypeError(f'fixed must be a dict of values by parameter, such as {{"x": 0.5}}, not {fixed!r}')
    space, known = domain.space, {} if context is None else domain.context_to_engine(context)
    for name in fixed:
        if name in space.context:
            raise ValueError(f"fixed[{name!r}] is a context parameter; set it in context={{...}}")
    given = {**known, **domain.to_engine("fixed", fixed)}
    # If the given values leave only one value for a parent parameter, it has this value.
    given |= {name: values[0] for name, values in space.activity.values_for(given) if len(values) == 1} | given
    for name, problem in space.problems(given, partial=True).items():
        raise ValueError(f"fixed[{name!r}] {problem}")
    values = {axis.name: canonical(axis, given[axis.name]) for axis in space.axes if axis.name in given}
    if not values:
        return None
    within = Slice(space, values)
    if not has_points(within):
        raise ValueError(f"{'fixed' if fixed else 'context'} leaves no point that satisfies the constraints")
    return within


def assumed(domain: Domain, names: Collection[str], trials: Sequence[Evaluated]) -> dict[str, Any]:
    """Return the values that the next trial is assumed to have of context parameters that are measured with the result,
    as a study does; see ``engine/assumed.py``.

    Args:
        domain: the search space.
        names: the parameters.
        trials: the finished trials.
    """
    results = [trial for trial in trials if trial.has_result][: -engine.LATEST - 1 : -1]
    points = [domain.to_engine("parameters", trial.parameters) for trial in results]
    return engine.assumed(domain.space.axes, names, points)


def with_assumed(
    domain: Domain, context: Mapping[str, Any] | None, measured: Sequence[str], trials: Sequence[Evaluated]
) -> Mapping[str, Any] | None:
    """Return a context with assumed values of the parameters that are measured with the result, unless it has them.

    Args:
        domain: the search space.
        context: the declared values by parameter.
        measured: the parameters that are measured with the result.
        trials: the finished trials.
    """
    unknown = [name for name in measured if name not in (context or {})]
    return {**domain.to_declared(assumed(domain, unknown, trials)), **(context or {})} if unknown else context
