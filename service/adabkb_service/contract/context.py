"""Context: parameters whose values each request gives, and fields that cannot be combined with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import InitErrorDetails, PydanticCustomError

from adabkb_service.contract.parameters import FixedParameter, Parameter

ALONE: Mapping[str, str] = {
    "tolerance": "cannot be combined with context parameters, because the gap depends on the context; use a budget",
    "stop": "cannot be combined with context parameters, because a result may be worse due to its context; use a "
    "budget",
}
"""Fields of a study that cannot be combined with context parameters, with the error message."""
CONDITIONAL = (
    "cannot be combined with a condition (when), because a context value is known at every point; keep one of the two"
)
NOTHING_CHOSEN = "must be left out here: a study needs a parameter that is neither fixed nor context"


def context_of(parameters: Sequence[Parameter]) -> list[str]:
    """Return the names of the context parameters, in order."""
    return [each.name for each in parameters if not isinstance(each, FixedParameter) and each.context]


def find_errors(parameters: Sequence[Parameter]) -> list[InitErrorDetails]:
    """Return the errors in context parameters."""
    found = [index for index, each in enumerate(parameters) if not isinstance(each, FixedParameter) and each.context]
    errors = {index: CONDITIONAL for index in found if parameters[index].when}
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
        raise PydanticCustomError("context", ALONE[field])
