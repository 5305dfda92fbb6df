"""Context: parameters that are not chosen but known when a trial is asked for, and what does not go with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import InitErrorDetails, PydanticCustomError

from adabkb_service.contract.early_stopping import EarlyStopping
from adabkb_service.contract.parameters import FixedParameter, Parameter

ALONE: Mapping[str, str] = {
    "tolerance": "cannot go with context parameters: what is left to gain depends on the context; use a budget",
    "stop": "cannot go with context parameters: a result may be worse because its context is; use a budget",
    "per_cost": "cannot go with context parameters yet, as a gain is counted from the best result of all contexts",
}
"""Fields of a study that do not go with context parameters, and why."""
COMPARES = (
    "cannot compare trials in a study with context parameters: a trial may be worse because its context is; the rule "
    "patience looks at each trial alone"
)
SEVERAL = (
    "cannot go with several objectives yet, as their front would be one of all contexts; leave it out, or keep one "
    "objective"
)
CONDITIONAL = "must be left out with when: what is known is known at every point; keep one of the two"
NOTHING_CHOSEN = "must be left out here: a study needs a parameter that is neither fixed nor context"


def context_of(parameters: Sequence[Parameter]) -> list[str]:
    """The names of the context parameters, in order."""
    return [each.name for each in parameters if not isinstance(each, FixedParameter) and each.context]


def faults(parameters: Sequence[Parameter], *, has_several: bool) -> list[InitErrorDetails]:
    """The errors in the declaration of context, each at its parameter.

    Args:
        parameters: of the study.
        has_several: whether it has several objectives.
    """
    found = [index for index, each in enumerate(parameters) if not isinstance(each, FixedParameter) and each.context]
    told = {index: SEVERAL for index in found[:1] if has_several}
    told |= {index: CONDITIONAL for index in found if parameters[index].when}
    if found and all(isinstance(each, FixedParameter) or each.context for each in parameters):
        told.setdefault(found[-1], NOTHING_CHOSEN)
    return [
        {"type": PydanticCustomError("context", "{what}", {"what": what}), "loc": (index, "context"), "input": True}
        for index, what in told.items()
    ]


def check_goes_with_context(field: str, value: Any, parameters: Sequence[Parameter] | None) -> None:
    """Refuse a field that does not go with context parameters.

    Raises:
        PydanticCustomError: it is given, and there are some.
    """
    if value is not None and value is not False and context_of(parameters or ()):
        raise PydanticCustomError("context", ALONE[field])


def check_rule(rule: EarlyStopping | None, parameters: Sequence[Parameter] | None) -> None:
    """Refuse a rule that compares trials of different contexts.

    Raises:
        PydanticCustomError: it is one, and there are context parameters.
    """
    if rule is not None and rule.compares and context_of(parameters or ()):
        raise PydanticCustomError("context", COMPARES)
