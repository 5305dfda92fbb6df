"""Mixtures of a study, field ``mixtures``: parameters that are shares of a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from adabkb_service.contract.algorithms import Algorithm
from adabkb_service.contract.context import context_of
from adabkb_service.contract.error_limits import LIMIT_ERRORS
from adabkb_service.contract.parameters import MAX_PARAMETERS, Body, Count, Name, Parameter, Positive
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, Sparse
from adabkb_service.engine import mixtures as engine
from adabkb_service.engine.shares import problems

MAX_MIXTURES = 10
NEEDS_AUTO = "are not supported by this algorithm; the profile auto supports them"


class Mixture(Sparse, Body):
    """Parameters that are shares of a whole: floats whose values sum to a total."""

    parameters: Annotated[
        list[Name],
        Field(
            min_length=2,
            max_length=MAX_PARAMETERS,
            description="names of the shares, each a number (float) of 0 or more",
        ),
        LIMIT_ERRORS,
    ]
    total: Annotated[Positive, Field(description="sum of the shares, such as 1 or 100")] = 1.0
    at_most: Annotated[
        Count | None,
        Field(description="maximum number of shares above 0; by default all of them"),
        ABSENT_BY_DEFAULT,
    ] = None
    least: Annotated[
        float,
        Field(ge=0, allow_inf_nan=False, description="a share is 0, or at least this"),
        ABSENT_BY_DEFAULT,
    ] = 0.0

    def of_engine(self) -> engine.Mixture:
        """Return the engine's mixture."""
        return engine.Mixture(tuple(self.parameters), self.total, self.at_most, self.least)


Mixtures = Annotated[list[Mixture], Field(max_length=MAX_MIXTURES), LIMIT_ERRORS]


def check_mixtures(mixtures: Sequence[Mixture], parameters: Sequence[Parameter], algorithm: Algorithm) -> None:
    """Check that the parameters of mixtures can be shares, and that some point satisfies the mixtures.

    Raises:
        PydanticCustomError: the algorithm does not support mixtures.
        ValidationError: one error per violation.
    """
    if not algorithm.supports_mixtures:
        raise PydanticCustomError("mixtures", NEEDS_AUTO)
    conditional = {each.name for each in parameters if each.when}
    given = [each.of_engine() for each in mixtures], [each.axis() for each in parameters]
    found: list[InitErrorDetails] = [
        {"type": PydanticCustomError("mixtures", "{what}", {"what": what}), "loc": place, "input": None}
        for place, what in problems(*given, context_of(parameters), conditional)
    ]
    if found:
        raise ValidationError.from_exception_data("mixtures", found)
