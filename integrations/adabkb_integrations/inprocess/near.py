"""The baseline of a search (the current settings), and a recommended point that changes few of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adabkb_client import Change, Estimate
from adabkb_integrations.domain import Domain
from adabkb_integrations.model import Model
from adabkb_service.engine.axes import canonical
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Fixed


def baseline_of(given: Mapping[str, Any], domain: Domain) -> dict[str, Any]:
    """Return a baseline in the engine's values.

    Raises:
        TypeError: it is not a mapping.
        ValueError: a value is invalid, of a fixed parameter, or of an incomplete mixture.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f'baseline must be a dict of values by parameter, such as {{"x": 0.5}}, not {given!r}')
    space, known = domain.space, domain.to_engine("baseline", given)
    problems = space.problems(known, partial=True)
    fixed = [each.name for each in space.parameters if isinstance(each, Fixed) and each.name in known]
    problems |= dict.fromkeys(fixed, "is a fixed parameter, so it cannot change; leave it out")
    problems |= dict.fromkeys(space.context & known.keys(), "is a context parameter, which is not chosen; leave it out")
    for mixture in space.mixtures:
        shares = [name for name in mixture.names if name in known]
        if shares and len(shares) < len(mixture.names):
            problems[shares[0]] = "is a share of a mixture; give all its shares, or none"
        elif shares and (problem := mixture.problem(known)):
            problems[shares[0]] = f"is a share of a mixture ({mixture}): the shares {problem}"
    for name, problem in problems.items():
        raise ValueError(f"baseline[{name!r}] {problem}")
    return {axis.name: canonical(axis, known[axis.name]) for axis in space.axes if axis.name in known}


def near_baseline(
    model: Model, domain: Domain, baseline: Mapping[str, Any], sign: float, tolerance: float, context: Mapping[str, Any]
) -> Estimate | None:
    """Return a point that is as good as the recommended one, but has fewer changes from the baseline; None before the
    first result.

    Args:
        model: the model of the results.
        domain: the search space.
        baseline: the engine's values by parameter.
        sign: +1 if larger values are better, -1 if smaller ones are.
        tolerance: a difference of values that does not matter.
        context: the engine's values of the context parameters.
    """
    axes = {axis.name: (k, axis) for k, axis in enumerate(domain.space.axes) if axis.name in baseline}
    positions = {k: axis.encode(baseline[name]) for name, (k, axis) in axes.items()}
    found = model.near(positions, tolerance, Slice(domain.space, dict(context)))
    if found is None:
        return None
    values = {**domain.space.measured(found.point), **context}
    gains = {each.axis: each.gain for each in found.changes or ()}
    kept = {name: baseline[name] for name, (k, _) in axes.items() if k not in gains and name in values}
    parameters, reset = domain.to_declared({**values, **kept}), domain.to_declared(baseline)
    changes = [Change(name, reset[name], parameters[name], gains[k]) for name, (k, _) in axes.items() if k in gains]
    return Estimate(parameters, sign * found.mean, found.std, changes=tuple(changes))
