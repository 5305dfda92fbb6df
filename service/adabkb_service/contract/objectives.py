"""Several objectives of a study, and fields that cannot be combined with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from adabkb_service.contract.error_limits import LIMIT_ERRORS
from adabkb_service.contract.parameters import Body, Name, NotNegative, Number
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, Sparse

MIN_OBJECTIVES, MAX_OBJECTIVES = 2, 4

Direction = Literal["minimize", "maximize"]

SINGLE_OBJECTIVE_ONLY: Mapping[str, str] = {
    "direction": "belongs to each objective; leave it out here",
    "noise_std": "belongs to each objective; leave it out here",
    "tolerance": "cannot be combined with several objectives, which have no gap; use a budget",
    "baseline": "cannot be combined with several objectives, which have a front and no single best point; leave it out",
}
"""Fields of a study that cannot be combined with several objectives, with the error message."""


class Objective(Sparse, Body):
    """One of several objectives: a metric of the results."""

    metric: Name
    direction: Direction
    reference: Annotated[
        Number | None,
        Field(
            description="a result must be better than this to count in the hypervolume; by default the worst result so "
            "far"
        ),
        ABSENT_BY_DEFAULT,
    ] = None
    noise_std: Annotated[
        NotNegative | None,
        Field(
            description="standard deviation of one measured value, in the objective's units; 0 if values are exact; by "
            "default learned"
        ),
        ABSENT_BY_DEFAULT,
    ] = None


def _distinct(objectives: list[Objective]) -> list[Objective]:
    names = [each.metric for each in objectives]
    if twice := next((name for index, name in enumerate(names) if name in names[:index]), None):
        sentence = "has {name} twice; name each objective once"
        raise PydanticCustomError("duplicate", sentence, {"name": repr(twice)})
    return objectives


Objectives = Annotated[
    list[Objective],
    Field(min_length=MIN_OBJECTIVES, max_length=MAX_OBJECTIVES),
    LIMIT_ERRORS,
    AfterValidator(_distinct),
]
"""The objectives of one study, each with a different metric."""


def check_single_objective_field(field: str, value: Any, objectives: Sequence[Objective] | None) -> None:
    """Refuse a field that cannot be combined with several objectives.

    Raises:
        PydanticCustomError: the field is given and there are several objectives.
    """
    if objectives and value and field in SINGLE_OBJECTIVE_ONLY:
        raise PydanticCustomError("objectives", SINGLE_OBJECTIVE_ONLY[field])


def check_not_objectives(names: Sequence[str], objectives: Sequence[Objective] | None) -> None:
    """Refuse objectives among the names of metrics or of metrics with bounds.

    Raises:
        PydanticCustomError: one of them is an objective.
    """
    for each in objectives or ():
        if each.metric in names:
            sentence = (
                "has {name}, which is an objective; leave it out here ('reference' is its worst acceptable value)"
            )
            raise PydanticCustomError("objectives", sentence, {"name": repr(each.metric)})
