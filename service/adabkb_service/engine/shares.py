"""Validate the parameters of mixtures, and check that mixtures have points, with messages for users."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from adabkb_service.engine.axes import Axis, FloatAxis, StepAxis
from adabkb_service.engine.mixtures import Mixture
from adabkb_service.engine.simplex import simplex
from adabkb_service.engine.space import Fixed, Space
from adabkb_service.engine.wording import brief, listed, nearest

FIXED = "is a fixed parameter; leave it out, and subtract its value from the total"
STEPS = "has a step; leave the step out: shares are real numbers"
NO_SHARE = "must be a float: a share is a real number"
LOG_SCALE = "is on a log scale; leave the scale out: shares are on a linear one"
PERIODIC = "is periodic; leave periodic out: the ends of a share are not the same point"
NEGATIVE = "has a negative lower bound; shares are 0 or more"
CONTEXT = "is a context parameter, which the server does not choose; leave it out of the mixture, or leave context out"
CONDITIONAL = "has a condition (when); leave the condition out: an absent component has the share 0"

MixtureProblem = tuple[tuple[str | int, ...], str]
"""The place of the error in the list of mixtures, and the message."""


def problems(
    mixtures: Sequence[Mixture],
    parameters: Sequence[Axis | Fixed],
    context: Collection[str],
    conditional: Collection[str],
) -> list[MixtureProblem]:
    """The errors in mixtures; empty if they are valid and each has points.

    Args:
        mixtures: the mixtures of a space.
        parameters: all parameters of the space.
        context: names of the context parameters.
        conditional: names of the parameters that are not active everywhere.
    """
    by_name, found = {each.name: each for each in parameters}, list[MixtureProblem]()
    taken: set[str] = set()
    for index, mixture in enumerate(mixtures):
        is_invalid = False
        for place, name in enumerate(mixture.names):
            problem = _of_share(name, by_name, taken, context, conditional)
            taken.add(name)
            if problem is not None:
                is_invalid = True
                found.append(((index, "parameters", place), f"{brief(name)!r} {problem}"))
        if not is_invalid:
            found += [((index, *place), what) for place, what in _of_ends(mixture, by_name)]
    return found


def _of_share(
    name: str,
    parameters: Mapping[str, Axis | Fixed],
    taken: Collection[str],
    context: Collection[str],
    conditional: Collection[str],
) -> str | None:
    """The reason why a parameter cannot be a share; None if it can."""
    parameter = parameters.get(name)
    if parameter is None:
        near = nearest(name, parameters)
        hint = f"; did you mean {near}?" if near else ""
        return f"is not a parameter{hint} (known: {listed(map(brief, sorted(parameters)), len(parameters))})"
    if name in taken:
        return "is a share already; name it once, and in one mixture"
    if isinstance(parameter, Fixed):
        return FIXED
    if isinstance(parameter, StepAxis):
        return STEPS
    if not isinstance(parameter, FloatAxis):
        return NO_SHARE
    reasons = (
        (parameter.scale == "log", LOG_SCALE),
        (parameter.periodic, PERIODIC),
        (parameter.low < 0.0, NEGATIVE),
        (name in context, CONTEXT),
        (name in conditional, CONDITIONAL),
    )
    return next((reason for is_one, reason in reasons if is_one), None)


def _of_ends(mixture: Mixture, parameters: Mapping[str, Axis | Fixed]) -> Iterator[MixtureProblem]:
    """The error of a mixture that has no points, although its shares are valid parameters."""
    shares = [each for name in mixture.names if isinstance(each := parameters[name], FloatAxis)]
    lowest, highest = sum(each.low for each in shares), sum(each.high for each in shares)
    always = [each.name for each in shares if each.low > 0.0]
    if mixture.at_most is not None and mixture.at_most < len(always):
        names = listed(map(brief, always), len(always))
        yield ("at_most",), f"must be at least {len(always)}, as the lower bounds of {names} are above 0"
    elif lowest > mixture.total:
        yield ("total",), f"must be at least {lowest:.10g}, the sum of the lower bounds"
    elif highest < mixture.total:
        yield ("total",), f"must be at most {highest:.10g}, the sum of the upper bounds"
    elif mixture.least > mixture.total:
        yield ("least",), f"must be at most {mixture.total:.10g}, the total"
    elif simplex(Space(tuple(shares)), mixture, {}).is_empty:
        yield (), "leaves no point; raise at_most or upper bounds, or reduce least or lower bounds"
