"""Points as users give them: checked, and in the one form that is stored."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from adabkb_service.engine.axes import Axis, FloatAxis, IntAxis
from adabkb_service.engine.space import Fixed, Space
from adabkb_service.errors import MOST_ERRORS, FieldError, Invalid, json_pointer


def checked_point(space: Space, parameters: Mapping[str, Any], pointer: str) -> dict[str, Any]:
    """The point with each value in its parameter's type, in the order of the space.

    Args:
        space: of the study.
        parameters: name -> value.
        pointer: JSON pointer to the point in the request.

    Raises:
        Invalid: one error per parameter that is missing, unknown or out of range.
    """
    problems = space.problems(parameters)
    if problems:
        raise _invalid(problems, pointer)
    return {
        each.name: each.value if isinstance(each, Fixed) else _canonical(each, parameters[each.name])
        for each in space.parameters
    }


def checked_fixed(space: Space, fixed: Mapping[str, Any], pointer: str) -> dict[str, Any]:
    """Values that some parameters are to have, as ``checked_point`` has them, without those that never vary.

    Args:
        space: of the study.
        fixed: name -> value.
        pointer: JSON pointer to them in the request.

    Raises:
        Invalid: one error per parameter that is unknown or out of range.
    """
    problems = {name: sentence for name, sentence in space.problems(fixed).items() if name in fixed}
    if problems:
        raise _invalid(problems, pointer)
    return {axis.name: _canonical(axis, fixed[axis.name]) for axis in space.axes if axis.name in fixed}


def _invalid(problems: Mapping[str, str], pointer: str) -> Invalid:
    faults = [
        FieldError(f"{pointer}{json_pointer(name)}", sentence, "invalid_point")
        for name, sentence in islice(problems.items(), MOST_ERRORS)
    ]
    return Invalid(faults, len(problems) - len(faults))


def _canonical(axis: Axis, value: Any) -> Any:
    """1 for a float parameter is 1.0, 1.0 for an integer one is 1."""
    match axis:
        case FloatAxis():
            return float(value)
        case IntAxis():
            return int(value)
        case _:
            return axis.decode(axis.encode(value))
