"""Check points given by users, and convert them to the stored form."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from adabkb_service.engine.axes import canonical
from adabkb_service.engine.feasibility import conflict
from adabkb_service.engine.simplex import simplex
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Fixed, Space
from adabkb_service.errors import FieldError, Invalid, json_pointer

NOT_CONTEXT = "is not a context parameter of this study; to choose its value for one request, set it in the field fixed"
CONTEXT_MISSING = "is missing; give a value for each context parameter"
MEASURED_MISSING = "is missing: its value is measured with the result; give the measured value"
NOT_MEASURED_WITH_RESULT = "is not a parameter that is measured with the result; leave it out"
WITHDRAWN = "is a row that was withdrawn from the catalogue; restore it first, or give another one"
IS_CONTEXT = "is a context parameter of this study; set it in the field context"


def checked_point(space: Space, parameters: Mapping[str, Any], pointer: str, *, is_measured: bool) -> dict[str, Any]:
    """Return the point, each value converted to its parameter's type, in the order of the space.

    Args:
        space: the space of the study.
        parameters: name -> value.
        pointer: JSON pointer to the point in the request.
        is_measured: whether values between the steps of a parameter are allowed, as for measured values.

    Raises:
        Invalid: one error per parameter that is missing, unknown, inactive or out of range.
    """
    problems = space.problems(parameters, is_measured=is_measured)
    if problems:
        raise _invalid(problems, pointer)
    return {
        each.name: each.value if isinstance(each, Fixed) else canonical(each, parameters[each.name])
        for each in space.parameters
        if space.is_active(each.name, parameters)
    }


def feasible_point(space: Space, parameters: Mapping[str, Any], pointer: str, *, is_measured: bool) -> dict[str, Any]:
    """Return a point as ``checked_point`` does. It must also satisfy the study's constraints and mixtures.

    Raises:
        Invalid: as ``checked_point`` does, or one error per violated constraint and mixture.
    """
    point = checked_point(space, parameters, pointer, is_measured=is_measured)
    errors = [
        FieldError(pointer, _violates(space, index, is_measured), "constraint_violated")
        for index in space.violated(point)
    ]
    for index, problem in space.unmixed(point).items():
        errors.append(FieldError(pointer, f"{_shares(space, index)} {problem}", "mixture_violated"))
    if errors:
        raise Invalid(errors)
    return point


def checked_fixed(space: Space, fixed: Mapping[str, Any], pointer: str) -> dict[str, Any]:
    """Return the values that a request fixes, converted as by ``checked_point``. Parameters that never vary are left
    out. Parents in conditions, and shares of mixtures, are added if the other values determine them.

    Args:
        space: the space of the study.
        fixed: name -> value.
        pointer: JSON pointer to the values in the request.

    Raises:
        Invalid: one error per parameter that is unknown, out of range, or inactive given the other values, or per
            mixture that the shares cannot complete.
    """
    fixed = {**_implied_parents(space, fixed), **fixed}
    problems = space.problems(fixed, partial=True)
    if problems:
        raise _invalid(problems, pointer)
    found = {axis.name: canonical(axis, fixed[axis.name]) for axis in space.axes if axis.name in fixed}
    return {**found, **_last_shares(space, found, pointer)}


def _implied_parents(space: Space, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return name -> value of each parent parameter for which the conditions of the fixed parameters allow only one
    value."""
    return {name: values[0] for name, values in space.activity.values_for(fixed) if len(values) == 1}


def _last_shares(space: Space, fixed: Mapping[str, Any], pointer: str) -> dict[str, float]:
    """Return name -> share of the last component, for each mixture of which all components but one are fixed.

    Raises:
        Invalid: no share of the last component completes the fixed shares.
    """
    found, errors = {}, []
    for index, mixture in enumerate(space.mixtures):
        others = [name for name in mixture.names if name not in fixed]
        if len(others) != 1:
            continue
        remaining = simplex(space, mixture, fixed)
        if remaining.is_empty:
            errors.append(FieldError(pointer, _leaves_none(space, index), "mixture_violated"))
            continue
        found[others[0]] = remaining.exact(remaining.projected(np.zeros((1, len(mixture.names))))[0])[others[0]]
    if errors:
        raise Invalid(errors)
    return found


def checked_context(
    space: Space, context: Mapping[str, Any], pointer: str, *, optional: Collection[str] = ()
) -> dict[str, Any]:
    """Return the values of the context parameters, converted as by ``checked_point``.

    Args:
        space: the space of the study.
        context: name -> value.
        pointer: JSON pointer to the values in the request.
        optional: the parameters that may be missing.

    Raises:
        Invalid: one error per parameter that is missing, out of range, unknown, or not a context parameter.
    """
    problems = {name: NOT_CONTEXT for name in context if name in space.names - space.context}
    problems |= space.problems({name: value for name, value in context.items() if name not in problems}, partial=True)
    problems |= dict.fromkeys(space.context - context.keys() - set(optional), CONTEXT_MISSING)
    if problems:
        raise _invalid(problems, pointer)
    given = space.context & context.keys()
    return {axis.name: canonical(axis, context[axis.name]) for axis in space.axes if axis.name in given}


def check_measured(names: Collection[str], parameters: Mapping[str, Any] | None, pointer: str) -> None:
    """Refuse a result without the values that are measured with it.

    Args:
        names: the context parameters that are measured with the result.
        parameters: the values that the result gives, by name; None for none.
        pointer: JSON pointer to the values in the request.

    Raises:
        Invalid: one error per missing value.
    """
    problems = {name: MEASURED_MISSING for name in names if name not in (parameters or {})}
    if problems:
        raise _invalid(problems, pointer)


def checked_measured(
    space: Space, names: Collection[str], parameters: Mapping[str, Any], pointer: str
) -> dict[str, Any]:
    """Return the values that are measured with the result, converted as by ``checked_point``.

    Args:
        space: the space of the study.
        names: the context parameters that are measured with the result.
        parameters: name -> value.
        pointer: JSON pointer to the values in the request.

    Raises:
        Invalid: one error per parameter that is missing, out of range or not among ``names``.
    """
    problems = {name: NOT_MEASURED_WITH_RESULT for name in parameters if name not in names}
    problems |= {name: MEASURED_MISSING for name in names if name not in parameters}
    known = {name: value for name, value in parameters.items() if name not in problems}
    problems |= space.problems(known, partial=True, is_measured=True)
    if problems:
        raise _invalid(problems, pointer)
    return {axis.name: canonical(axis, known[axis.name]) for axis in space.axes if axis.name in known}


def check_not_context(space: Space, fixed: Mapping[str, Any], pointer: str) -> None:
    """Refuse to fix a context parameter.

    Args:
        space: the space of the study.
        fixed: name -> value.
        pointer: JSON pointer to the values in the request.

    Raises:
        Invalid: one error per context parameter.
    """
    problems = {name: IS_CONTEXT for name in fixed if name in space.context}
    if problems:
        raise _invalid(problems, pointer)


def check_offered(space: Space, parameters: Mapping[str, Any], pointer: str) -> None:
    """Refuse a point that uses a withdrawn row of a catalogue.

    Args:
        space: the space of the study.
        parameters: checked values by name.
        pointer: JSON pointer to the values in the request.

    Raises:
        Invalid: one error per catalogue whose row is withdrawn.
    """
    problems = dict.fromkeys(space.withdrawn(parameters), WITHDRAWN)
    if problems:
        raise _invalid(problems, pointer)


def check_slice(within: Slice, pointer: str) -> None:
    """Refuse a slice without feasible points.

    Args:
        within: the slice.
        pointer: JSON pointer to the fixed values in the request.

    Raises:
        Invalid: no feasible point was found; one error per mixture or constraint that excludes them.
    """
    if within.feasible is not None:
        empty = [index for index, each in enumerate(within.feasible.mixtures) if each.is_empty]
        if empty:
            raise Invalid(
                [FieldError(pointer, _leaves_none(within.space, index), "mixture_violated") for index in empty]
            )
    if within.feasible is not None and (indices := conflict(within.feasible)):
        raise Invalid(
            [
                FieldError(pointer, f"leaves no point that {_satisfies(within.space, index)}", "constraint_violated")
                for index in indices
            ]
        )


def _violates(space: Space, index: int, is_measured: bool) -> str:
    problem = f"violates the study's constraint {space.constraints[index].text}"
    if is_measured:
        return f"{problem}, which holds for results, too; correct the point, or change the constraint first"
    return f"{problem}; give a point that satisfies it"


def _shares(space: Space, index: int) -> str:
    return f"has shares of the study's mixture ({space.mixtures[index]}) that"


def _leaves_none(space: Space, index: int) -> str:
    mixture = space.mixtures[index]
    return (
        f"leaves no possible shares for the study's mixture ({mixture}), whose sum must be "
        f"{mixture.total:.10g}; give other values"
    )


def _satisfies(space: Space, index: int) -> str:
    return f"satisfies the study's constraint {space.constraints[index].text}; give other values"


def _invalid(problems: Mapping[str, str], pointer: str) -> Invalid:
    return Invalid(
        [FieldError(pointer + json_pointer(name), sentence, "invalid_point") for name, sentence in problems.items()]
    )
