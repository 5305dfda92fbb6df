"""Constraints on parameters: texts in the engine's grammar, checked against a space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, StringConstraints, ValidationError
from pydantic_core import PydanticCustomError

from adabkb_service.contract.error_limits import LIMIT_ERRORS
from adabkb_service.engine.constraints.grammar import LONGEST
from adabkb_service.engine.feasibility import incompatible
from adabkb_service.engine.space import Space

MAX_CONSTRAINTS = 20
ConstraintText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST)]
Constraints = Annotated[list[ConstraintText], Field(max_length=MAX_CONSTRAINTS), LIMIT_ERRORS]


def check_constraints(texts: Sequence[str], space: Space, *, was_edited: bool = False) -> None:
    """Check that constraints parse and fit the parameters. ``StudyDefinition.exclusions`` checks whether any point
    satisfies them, which takes longer.

    Args:
        texts: the constraints.
        space: the space without them.
        was_edited: whether an edit may have removed values that the constraints name.

    Raises:
        ValidationError: with one error per invalid constraint.
    """
    if found := incompatible(texts, space, was_edited=was_edited):
        raise ValidationError.from_exception_data(
            "constraints",
            [
                {
                    "type": PydanticCustomError("constraint", "{message}", {"message": message}),
                    "loc": (index,),
                    "input": None,
                }
                for index, message in found.items()
            ],
        )
