"""Constraints on parameters as users declare them: texts in the grammar of the engine, checked against a space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import StringConstraints, ValidationError
from pydantic_core import PydanticCustomError

from adabkb_service.engine.constraints.grammar import LONGEST
from adabkb_service.engine.feasibility import incompatible
from adabkb_service.engine.space import Space

MOST_CONSTRAINTS = 20
ConstraintText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST)]


def check_constraints(texts: Sequence[str], space: Space, *, was_edited: bool = False) -> None:
    """Check that constraints are of the grammar and fit the parameters. ``StudyDefinition.exclusions`` says whether
    they leave points of the space, which takes longer.

    Args:
        texts: of the constraints.
        space: the space without them.
        was_edited: whether the space may have lost values that they name.

    Raises:
        ValidationError: they do not; one error per constraint that is at fault.
    """
    if found := incompatible(texts, space, was_edited=was_edited):
        raise ValidationError.from_exception_data(
            "constraints",
            [
                {"type": PydanticCustomError("constraint", "{fault}", {"fault": fault}), "loc": (index,), "input": None}
                for index, fault in found.items()
            ],
        )
