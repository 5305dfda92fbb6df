"""Context: parameters whose values the request of a trial or its result gives, and fields that cannot be combined with
them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from adabkb_service.contract.parameters import FixedParameter, Parameter
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.wording import brief

WITHOUT_CONTEXT_ONLY: Mapping[str, str] = {
    "tolerance": "cannot be combined with context parameters, because the gap depends on the context; use a budget",
    "stop": "cannot be combined with context parameters, because a result may be worse due to its context; use a "
    "budget",
}
"""Fields of a study that cannot be combined with context parameters, with the error message."""
CONDITIONAL = (
    "cannot be combined with a condition (when), because a context value is known at every point; keep one of the two"
)
NOTHING_CHOSEN = "must be left out here: a study needs a parameter that is neither fixed nor context"
MEASURED = "measured"
"""The value of ``context`` of a parameter that is measured with the result."""
PARENT = (
    "cannot be measured, because conditions (when) of other parameters depend on it, and the server must know which "
    "parameters a trial has; use context: true"
)
CONSTRAINED = (
    "names the parameter {name}, which is measured with the result, so no point is sure to satisfy it; "
    "leave the parameter out, or declare it with context: true"
)
ON_A_PLATE = (
    "is measured with each result, so the trials of a plate may differ in it; leave it out, or declare it with "
    "context: true"
)


def context_of(parameters: Sequence[Parameter]) -> list[str]:
    """Return the names of the context parameters, in order."""
    return [each.name for each in parameters if not isinstance(each, FixedParameter) and each.context]


def measured_of(parameters: Sequence[Parameter]) -> list[str]:
    """Return the names of the context parameters that are measured with the result, in order."""
    return [each.name for each in parameters if _is_measured(each)]


def find_errors(parameters: Sequence[Parameter]) -> list[InitErrorDetails]:
    """Return the errors in context parameters."""
    found = [index for index, each in enumerate(parameters) if not isinstance(each, FixedParameter) and each.context]
    errors = {index: CONDITIONAL for index in found if parameters[index].when}
    parents = {parent for each in parameters for parent in each.when or ()}
    errors |= {
        index: PARENT for index in found if _is_measured(parameters[index]) and parameters[index].name in parents
    }
    if found and all(isinstance(each, FixedParameter) or each.context for each in parameters):
        errors.setdefault(found[-1], NOTHING_CHOSEN)
    return [
        {"type": PydanticCustomError("context", "{what}", {"what": what}), "loc": (index, "context"), "input": True}
        for index, what in errors.items()
    ]


def check_goes_with_context(field: str, value: Any, parameters: Sequence[Parameter] | None) -> None:
    """Refuse a field that cannot be combined with context parameters.

    Raises:
        PydanticCustomError: the field is given and there are context parameters.
    """
    if value is not None and value is not False and context_of(parameters or ()):
        raise PydanticCustomError("context", WITHOUT_CONTEXT_ONLY[field])


def check_not_constrained(constraints: Sequence[str], parameters: Sequence[Parameter]) -> None:
    """Refuse constraints on parameters that are measured with the result.

    Raises:
        ValidationError: with one error per such constraint.
    """
    measured, errors = measured_of(parameters), list[InitErrorDetails]()
    for index, text in enumerate(constraints if measured else ()):
        if named := [name for name in measured if name in Constraint(text).names]:
            refused = PydanticCustomError("context", CONSTRAINED, {"name": brief(named[0])})
            errors.append({"type": refused, "loc": (index,), "input": text})
    if errors:
        raise ValidationError.from_exception_data("constraints", errors)


def _is_measured(parameter: Parameter) -> bool:
    return not isinstance(parameter, FixedParameter) and parameter.context == MEASURED
