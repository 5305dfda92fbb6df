"""Plates of a study, field ``plates``: trials that share some values and an offset of their results."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated

from pydantic import Field, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from adabkb_service.contract.algorithms import Algorithm
from adabkb_service.contract.context import ON_A_PLATE, measured_of
from adabkb_service.contract.error_limits import LIMIT_ERRORS
from adabkb_service.contract.mixtures import Mixture
from adabkb_service.contract.parameters import MAX_PARAMETERS, Body, FixedParameter, Name, Parameter, Whole
from adabkb_service.engine.wording import nearest

MAX_PLATE = 10_000
MAX_NUMBER = 10**9
"""The largest number of a plate that a user may give. The study's own plates get larger numbers than all given ones."""
NEEDS_AUTO = "are not supported by this algorithm; leave the algorithm out: auto supports them"
UNKNOWN = "is not a parameter of this study"
WHICH = "name the parameters whose values are equal on a plate"
TWICE = "is named twice; name each parameter once"
IS_FIXED = "is a fixed parameter, so it is the same on all plates; leave it out"
HAS_CONDITION = "has a condition (when), so some trials of a plate may lack it; leave out one of the two"
IS_SHARE = "is a share of a mixture, which may differ between the trials of a plate; leave it out"
NOTHING_DIFFERS = "leaves no parameter that can differ between the trials of a plate; leave one out"


class Plates(Body):
    """How trials form plates."""

    size: Annotated[int, Field(ge=2, le=MAX_PLATE, description="number of trials on a plate, such as its wells"), Whole]
    shared: Annotated[
        list[Name],
        Field(
            max_length=MAX_PARAMETERS,
            description="parameters whose values are equal in all trials of a plate, by name",
        ),
        LIMIT_ERRORS,
    ] = Field(default_factory=list)


def check_plates(
    plates: Plates,
    parameters: Sequence[Parameter],
    algorithm: Algorithm,
    mixtures: Sequence[Mixture],
) -> None:
    """Check that trials can share these parameters, and that the algorithm supports plates.

    Raises:
        PydanticCustomError: the algorithm does not support plates.
        ValidationError: one error per parameter that cannot be shared.
    """
    if not algorithm.supports_slices:
        raise PydanticCustomError("plates", NEEDS_AUTO)
    known = {each.name: each for each in parameters}
    shares = {name for mixture in mixtures for name in mixture.parameters}
    found: list[InitErrorDetails] = [
        {"type": PydanticCustomError("plates", "{what}", {"what": what}), "loc": ("shared", index), "input": name}
        for index, name in enumerate(plates.shared)
        if (what := _error(name, plates.shared[:index], known, shares))
    ]
    varying = {each.name for each in parameters if not isinstance(each, FixedParameter)}
    if not found and varying <= set(plates.shared):
        field_error = PydanticCustomError("plates", NOTHING_DIFFERS)
        found = [{"type": field_error, "loc": ("shared",), "input": plates.shared}]
    if found:
        raise ValidationError.from_exception_data("plates", found)


def _error(
    name: str, before: Sequence[str], parameters: Mapping[str, Parameter], shares: Collection[str]
) -> str | None:
    parameter = parameters.get(name)
    if parameter is None:
        near = nearest(name, parameters)
        return UNKNOWN + (f"; did you mean {near}?" if near else f"; {WHICH}")
    if name in before:
        return TWICE
    if isinstance(parameter, FixedParameter):
        return IS_FIXED
    if name in shares:
        return IS_SHARE
    if parameter.name in measured_of([parameter]):
        return ON_A_PLATE
    return HAS_CONDITION if parameter.when else None
