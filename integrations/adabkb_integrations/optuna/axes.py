"""Convert Optuna's distributions to axes of the engine, and values to positions on them.

Choices are represented by their indices, since a choice may be any object. An axis has the choices themselves if
constraints compare them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from adabkb_integrations.model import Array, Position
from adabkb_service.engine.axes import Axis, ChoiceAxis, FloatAxis, IntAxis, Scale, StepAxis
from adabkb_service.engine.space import Fixed, Space

Values = Mapping[str, Any]
"""Values of parameters; choices by index."""


def axis(
    name: str, distribution: BaseDistribution, *, named: bool = False, periodic: Container[str] = ()
) -> Axis | Fixed:
    """Return the axis of a parameter's distribution, or its value if it has only one. If ``named``, an axis of choices
    has the choices themselves instead of their indices.

    Raises:
        TypeError: the distribution is of an unknown kind.
        ValueError: a periodic parameter is not a float on a linear scale, or has a step.
    """
    is_periodic = name in periodic
    if is_periodic and not (
        isinstance(distribution, FloatDistribution) and not distribution.log and not distribution.step
    ):
        raise ValueError(
            f"periodic: parameter {name!r} must be a float without log and step, not {distribution}; leave it out"
        )
    match distribution:
        case CategoricalDistribution():
            choices = tuple(distribution.choices if named else range(len(distribution.choices)))
            return ChoiceAxis(name, choices) if len(choices) > 1 else Fixed(name, 0)
        case FloatDistribution() | IntDistribution() if distribution.single():
            return Fixed(name, distribution.low)
        case FloatDistribution(step=None):
            return FloatAxis(name, distribution.low, distribution.high, _scale(distribution), is_periodic)
        case FloatDistribution(step=float(step)):
            return StepAxis(name, distribution.low, distribution.high, step)
        case IntDistribution():
            return IntAxis(name, distribution.low, distribution.high, _scale(distribution), distribution.step)
        case _:
            raise TypeError(f"parameter {name!r}: {distribution} is not a distribution that AdaBKBSampler supports")


def plain(parameters: Mapping[str, Any], distributions: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """Return the values of the parameters that have a distribution; choices by index."""
    return {
        name: int(distributions[name].to_internal_repr(value))
        if isinstance(distributions[name], CategoricalDistribution)
        else value
        for name, value in parameters.items()
        if name in distributions
    }


def external(values: Values, distributions: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """Return values as users of Optuna have them, with choices instead of their indices: the inverse of ``plain``."""
    return {name: distributions[name].to_external_repr(value) for name, value in values.items()}


def checked(name: str, value: Any, distribution: BaseDistribution) -> Any:
    """Return a value of the context, in the form of ``external``.

    Raises:
        ValueError: the parameter does not have the value.
    """
    try:
        internal = distribution.to_internal_repr(value)
        is_known = distribution._contains(internal)
    except (TypeError, ValueError):
        is_known = False
    if not is_known:
        raise ValueError(f"context[{name!r}] is {value!r}, which is not a value of {distribution}")
    return distribution.to_external_repr(internal)


def position(space: Space, values: Values) -> Position | None:
    """Return the position of a point, which may have values of further parameters; None if a value is missing or
    outside the space, or the shares of a mixture have another sum."""
    found: dict[str, Any] = {}
    for each in space.parameters:
        if each.name not in values:
            return None
        value = values[each.name]
        if isinstance(each, ChoiceAxis):
            if not 0 <= value < each.count:
                return None
            value = each.choices[value]
        elif each.problem(value):
            return None
        found[each.name] = value
    return None if space.unmixed(found) else tuple(space.encode(found).tolist())


def decoded(space: Space, point: Array) -> dict[str, Any]:
    """Return the values at a position, (d,); choices by index."""
    along = zip(space.axes, point.tolist(), strict=True)
    return {**space.decode(point), **{axis.name: axis.bin(u) for axis, u in along if isinstance(axis, ChoiceAxis)}}


def _scale(distribution: FloatDistribution | IntDistribution) -> Scale:
    return "log" if distribution.log else "linear"
