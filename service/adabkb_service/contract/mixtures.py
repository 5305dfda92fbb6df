"""Mixtures of a study, field ``mixtures``: parameters that are the shares of a whole."""

from __future__ import annotations

from collections.abc import Sequence
from operator import not_
from typing import Annotated

from pydantic import Field, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from adabkb_service.contract.algorithms import Algorithm
from adabkb_service.contract.context import context_of
from adabkb_service.contract.faults import SPARING
from adabkb_service.contract.parameters import MOST_PARAMETERS, Body, Count, Name, Parameter, Positive
from adabkb_service.engine import mixtures as engine
from adabkb_service.engine.shares import problems

MOST_MIXTURES = 10
NEEDS_AUTO = "cannot be kept by this algorithm; the profile auto can keep them"


class Mixture(Body):
    """Parameters that are the shares of a whole: floats whose values sum to a total."""

    parameters: Annotated[
        list[Name],
        Field(min_length=2, max_length=MOST_PARAMETERS, description="the shares, each a float of 0 or more"),
        SPARING,
    ]
    total: Annotated[Positive, Field(description="what the shares sum to, such as 1 or 100")] = 1.0
    at_most: Annotated[
        Count | None,
        Field(
            description="how many shares may be above 0; by default all of them", exclude_if=lambda most: most is None
        ),
    ] = None
    least: Annotated[
        float,
        Field(
            ge=0,
            allow_inf_nan=False,
            description="a share is 0, or at least this",
            exclude_if=not_,
        ),
    ] = 0.0

    def of_engine(self) -> engine.Mixture:
        """As the engine has it."""
        return engine.Mixture(tuple(self.parameters), self.total, self.at_most, self.least)


Mixtures = Annotated[
    Annotated[list[Mixture], Field(max_length=MOST_MIXTURES), SPARING],
    Field(description="shares of a whole: those of every point sum to the total", exclude_if=not_),
]


def check_mixtures(mixtures: Sequence[Mixture], parameters: Sequence[Parameter], algorithm: Algorithm) -> None:
    """Check that mixtures are of parameters that can be shares, and that there are points of them.

    Raises:
        PydanticCustomError: the algorithm does not keep them.
        ValidationError: one error per fault.
    """
    if not algorithm.takes_mixtures:
        raise PydanticCustomError("mixtures", NEEDS_AUTO)
    conditional = {each.name for each in parameters if each.when}
    given = [each.of_engine() for each in mixtures], [each.axis() for each in parameters]
    found: list[InitErrorDetails] = [
        {"type": PydanticCustomError("mixtures", "{what}", {"what": what}), "loc": place, "input": None}
        for place, what in problems(*given, context_of(parameters), conditional)
    ]
    if found:
        raise ValidationError.from_exception_data("mixtures", found)
