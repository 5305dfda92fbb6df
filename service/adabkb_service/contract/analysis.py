"""Answers about what the model has found out: which parameters matter, slices of it, and its partition."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from adabkb_service.contract.answers import Answer, Parameters, Prediction
from adabkb_service.contract.model import Cell


class ParameterImportance(Answer):
    """Sobol' indices of one parameter, between 0 and 1, with their standard errors; 0 for a fixed parameter."""

    name: str
    first_order: Annotated[float, Field(description="share of the variance that the parameter explains by itself")]
    first_order_error: float
    total: Annotated[float, Field(description="share that it explains together with all others")]
    total_error: float


class Importance(Answer):
    """Which parameters the posterior mean depends on, over the whole space."""

    results: Annotated[int, Field(description="that the model rests on")]
    std: Annotated[
        float | None, Field(description="standard deviation of the posterior mean over the space, in its units")
    ]
    parameters: Annotated[
        list[ParameterImportance], Field(description="in the order of the study; empty if there is a reason")
    ]
    reason: Annotated[
        Literal["too_few_results", "constant"] | None,
        Field(description="why there are no indices: fewer than 4 results, or a posterior mean that is constant"),
    ]


class SliceAxis(Answer):
    """A parameter that varies."""

    name: str
    values: Annotated[list[Any], Field(description="in order; of a parameter of few values, all of them")]


class Slice(Answer):
    """The posterior along one or two parameters."""

    results: Annotated[int, Field(description="that the model rests on")]
    axes: list[SliceAxis]
    at: Annotated[Parameters, Field(description="all other parameters")]
    predictions: Annotated[
        list[Prediction], Field(description="at all combinations of the values; the last parameter varies fastest")
    ]


class PartitionCell(Cell):
    """A cell of the partition tree, and what the model says of it now."""

    mean: Annotated[float, Field(description="posterior mean at the centroid")]
    std: float
    index: Annotated[
        float | None,
        Field(
            description="what the objective may reach in the cell at best: U (auto) or I_t (paper, leaves only); "
            "null where the system has no such bound"
        ),
    ]
