"""Error messages for constraints such as kind == 'x' or n in [1, 2]: the parameter does not have the value, or its
values cannot be compared in this way.

Names and values in the messages are as written in the constraint.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence

from adabkb_service.engine.axes import Axis, ChoiceAxis, DiscreteAxis, FloatAxis, Value
from adabkb_service.engine.columns import axis_of_one, index_of
from adabkb_service.engine.constraints.expression import Membership
from adabkb_service.engine.space import Fixed
from adabkb_service.engine.wording import brief, listed, nearest


def incompatibility(
    parameter: Axis | Fixed, membership: Membership, *, requires_all_values: bool
) -> tuple[int, str] | None:
    """Offset of the incompatible part of a membership in the text, and the message; None if it is valid.

    Args:
        parameter: the parameter of the membership.
        membership: the comparison.
        requires_all_values: whether the parameter must have all of the values.
    """
    axis = axis_of_one(parameter) if isinstance(parameter, Fixed) else parameter
    if membership.is_bare and not _is_truth(axis):
        return (
            membership.offset,
            f"{brief(axis.name)!r} alone is neither true nor false; compare it with a value, such as {_example(axis)}",
        )
    if isinstance(axis, FloatAxis):
        return (
            membership.offset,
            f"{brief(axis.name)!r} is a real number, which hardly ever equals a value; use <= or >=",
        )
    for value, offset in zip(membership.values, membership.offsets, strict=True):
        if requires_all_values and index_of(axis, value) is None:
            return offset, _unknown(axis, value)
    return None


def without_numbers(parameter: Axis | Fixed) -> str:
    """The message for a parameter without numeric values in an inequality."""
    axis = axis_of_one(parameter) if isinstance(parameter, Fixed) else parameter
    return f"{brief(axis.name)!r} has values that are not numbers; use the operator == or in, such as {_example(axis)}"


def _is_truth(axis: Axis) -> bool:
    """Whether all values are True or False."""
    return isinstance(axis, ChoiceAxis) and all(isinstance(choice, bool) for choice in axis.choices)


def _example(axis: Axis) -> str:
    """A comparison of a parameter with one of its values."""
    name = axis.name if axis.name.isidentifier() else reprlib.repr(axis.name)
    if isinstance(axis, FloatAxis):
        return f"{name} <= {axis.high:g}"
    return f"{name} == {reprlib.repr(axis.value(0))}"


def _unknown(axis: Axis, value: Value) -> str:
    """The message for a value that a parameter does not have."""
    assert not isinstance(axis, FloatAxis), "a real number is not compared with values"
    found = f"{reprlib.repr(value)} is not a value of {brief(axis.name)!r}"
    if isinstance(axis, ChoiceAxis):
        known = listed(map(reprlib.repr, axis.choices), len(axis.choices))
        return f"{found}{_hint(axis.choices, value)} (known: {known})"
    if isinstance(value, str):
        return f"{found}, which has numbers; leave out the quotes"
    return f"{found}: {_why(axis, value)}"


def _why(axis: DiscreteAxis, value: Value) -> str:
    """The reason why an axis does not have a number."""
    problem = axis.problem(value)
    if problem is None:
        return f"the nearest is {axis.decode(axis.encode(value))}"
    return f"it {problem.replace(f'is {value}, ', 'is ', 1)}"  # the value is already in the message


def _hint(choices: Sequence[Value], value: Value) -> str:
    """A suggested choice, or advice about the quotes."""
    as_text = {str(choice): choice for choice in choices if not isinstance(choice, str)}
    if isinstance(value, list):
        return "; use the operator in to compare with a list" if all(each in choices for each in value) else ""
    if isinstance(value, str):
        if value in as_text:
            return f"; leave out the quotes of {value}"
        near = nearest(value, [choice for choice in choices if isinstance(choice, str)])
        return "" if near is None else f"; did you mean {near!r}?"
    return f"; put {value} in quotes" if str(value) in choices else ""
