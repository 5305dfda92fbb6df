"""Answers about what the model has found out: which parameters matter, slices of it, and its partition."""

from __future__ import annotations

from operator import not_
from typing import Annotated, Any, Literal

from pydantic import Field

from adabkb_service.contract.answers import Answer, Parameters, Prediction
from adabkb_service.contract.model import Cell

NoValidation = Literal["too_few_results", "constant", "not_this_system"]


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


class ValidationItem(Answer):
    """A result, and what the model would predict of it if it were not known."""

    observation: int
    value: Annotated[float, Field(description="measured")]
    mean: Annotated[float, Field(description="predicted from the other results")]
    std: Annotated[float, Field(description="of a result, with its noise")]
    lcb: Annotated[float, Field(description="the 90% interval of a result, from here ...")]
    ucb: Annotated[float, Field(description="... to here")]
    tail: Annotated[float, Field(description="probability of a result that is at least as far out")]
    doubted: Annotated[
        bool,
        Field(description="it weighs less, since the others contradict it (robust studies)", exclude_if=not_),
    ] = False


class Validation(Answer):
    """Leave-one-out: each result as the model would predict it from the others, with lengthscales, noise and warp as
    learned from all."""

    results: Annotated[int, Field(description="that the model rests on")]
    items: Annotated[
        list[ValidationItem],
        Field(
            description="in log order; of more than 800 results the 400 best and 400 others, each predicted from these"
        ),
    ]
    inside: Annotated[float | None, Field(description="share of the items that lie inside their 90% intervals")]
    error: Annotated[float | None, Field(description="mean absolute error of the predictions, in units of the results")]
    error_of_median: Annotated[
        float | None, Field(description="the same where each result is predicted by the median of the others")
    ]
    reason: Annotated[
        NoValidation | None,
        Field(
            description="why there are no items: fewer than 4 results, results that are all equal (or beyond floating "
            "point), or a system other than the profile auto"
        ),
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
