"""The baseline of a study, field ``baseline``: the current settings. Recommendations change few of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from adabkb_service.contract.algorithms import Algorithm, AutoProfile
from adabkb_service.contract.error_limits import LIMIT_ERRORS
from adabkb_service.contract.parameters import MAX_PARAMETERS, Choice, FixedParameter, Name, Parameter
from adabkb_service.engine.space import Space

NEEDS_AUTO = "cannot be used by this algorithm, which recommends evaluated points only; the profile auto can use it"
IS_FIXED = "is a fixed parameter, so it cannot change; leave it out"
NOT_ALL_SHARES = "is a share of a mixture; give all its shares, or none"
IS_CONTEXT = "is a context parameter, which the server does not choose; leave it out"

Baseline = Annotated[dict[Name, Choice], Field(max_length=MAX_PARAMETERS), LIMIT_ERRORS]
"""A value for each parameter, or for some of them."""


def check_baseline(baseline: Baseline, parameters: Sequence[Parameter], space: Space, algorithm: Algorithm) -> None:
    """Check that a baseline has valid values of parameters that the server chooses.

    Raises:
        PydanticCustomError: the algorithm cannot use a baseline.
        ValidationError: one error per parameter that is unknown, out of range, inactive, fixed or context, or a share
            of a mixture that the baseline does not satisfy.
    """
    if not isinstance(algorithm, AutoProfile):
        raise PydanticCustomError("baseline", NEEDS_AUTO)
    problems = {**space.problems(baseline, partial=True), **_not_chosen(baseline, parameters)}
    for mixture in space.mixtures:
        shares = [name for name in mixture.names if name in baseline and name not in problems]
        if shares and len(shares) < len(mixture.names):
            problems |= dict.fromkeys(shares, NOT_ALL_SHARES)
        elif shares and (problem := mixture.problem(baseline)):
            problems[shares[0]] = f"is a share of a mixture ({mixture}): the shares {problem}"
    found: list[InitErrorDetails] = [
        {"type": PydanticCustomError("baseline", "{what}", {"what": what}), "loc": (name,), "input": None}
        for name, what in problems.items()
    ]
    if found:
        raise ValidationError.from_exception_data("baseline", found)


def _not_chosen(baseline: Mapping[str, object], parameters: Sequence[Parameter]) -> dict[str, str]:
    named = [each for each in parameters if each.name in baseline]
    fixed = {each.name: IS_FIXED for each in named if isinstance(each, FixedParameter)}
    context = {each.name: IS_CONTEXT for each in named if not isinstance(each, FixedParameter) and each.context}
    return fixed | context
