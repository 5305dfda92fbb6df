"""The conditions of parameters, field ``when``, checked against each other."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_core import InitErrorDetails, PydanticCustomError

from adabkb_service.contract.parameters import Parameter
from adabkb_service.engine import dependence
from adabkb_service.engine.conditions import Condition


def conditions(parameters: Sequence[Parameter]) -> tuple[Condition, ...]:
    """Return the conditions of all parameters."""
    return dependence.conditions(_whens(parameters))


def find_errors(parameters: Sequence[Parameter]) -> list[InitErrorDetails]:
    """Return the errors in the conditions of a study's parameters, whose names must be distinct."""
    if not _whens(parameters):
        return []
    indices = {parameter.name: index for index, parameter in enumerate(parameters)}
    return [
        {
            "type": PydanticCustomError("condition", "{what}", {"what": what}),
            "loc": (indices[name], "when", *place),
            "input": None,
        }
        for name, place, what in dependence.problems([each.axis() for each in parameters], _whens(parameters))
    ]


def _whens(parameters: Sequence[Parameter]) -> dict[str, dependence.When]:
    return {parameter.name: parameter.when for parameter in parameters if parameter.when}
