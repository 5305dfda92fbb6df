"""Constraints on parameters as users declare them: texts in the grammar of the engine, checked against a space."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import StringConstraints, ValidationError
from pydantic_core import PydanticCustomError

from adabkb_service.engine.axes import Axis
from adabkb_service.engine.constraints.grammar import LONGEST
from adabkb_service.engine.feasibility import misfits
from adabkb_service.engine.space import Fixed

MOST_CONSTRAINTS = 20
ConstraintText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST)]


def check_constraints(texts: Sequence[str], parameters: Iterable[Axis | Fixed]) -> None:
    """Check that constraints are of the grammar and about numbers of the space. ``StudyDefinition.exclusions`` says
    whether they leave points of it, which takes longer.

    Raises:
        ValidationError: they do not; one error per constraint that is at fault.
    """
    if found := misfits(texts, parameters):
        raise ValidationError.from_exception_data(
            "constraints",
            [
                {"type": PydanticCustomError("constraint", "{fault}", {"fault": fault}), "loc": (index,), "input": None}
                for index, fault in found.items()
            ],
        )
