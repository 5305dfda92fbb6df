"""Answers about what the model has learned: importance of parameters, slices of the posterior, the partition."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from adabkb_service.contract.answers import Answer, Parameters, Prediction
from adabkb_service.contract.model import Cell
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, Sparse

NoValidation = Literal["too_few_results", "constant", "not_this_algorithm"]
VerdictCode = Literal[NoValidation, "poor_predictions", "wide_intervals", "too_sure", "reliable"]


class ParameterImportance(Answer):
    """Sobol' indices of one parameter, between 0 and 1, with their standard errors; 0 for a fixed parameter."""

    name: str
    first_order: Annotated[float, Field(description="share of the variance that the parameter explains by itself")]
    first_order_error: float
    total: Annotated[
        float, Field(description="share of the variance that it explains, including interactions with other parameters")
    ]
    total_error: float


class Importance(Answer):
    """How much the posterior mean depends on each parameter, over the whole space."""

    results: Annotated[int, Field(description="number of results that the model uses")]
    std: Annotated[
        float | None,
        Field(description="standard deviation of the posterior mean over the space, in the units of the results"),
    ]
    parameters: Annotated[
        list[ParameterImportance], Field(description="in the study's order; empty if reason is given")
    ]
    reason: Annotated[
        Literal["too_few_results", "constant"] | None,
        Field(
            description="why there are no indices: fewer results than the model needs (`outlook.fewest` of the "
            "assessment), or a constant posterior mean"
        ),
    ]


class ValidationItem(Sparse, Answer):
    """A result and the model's prediction of it from the other results."""

    observation: int
    value: Annotated[float, Field(description="measured")]
    mean: Annotated[float, Field(description="predicted from the other results")]
    std: Annotated[float, Field(description="standard deviation of the predicted result, including noise")]
    lcb: Annotated[float, Field(description="lower end of the 90% interval of the result")]
    ucb: Annotated[float, Field(description="upper end of this interval")]
    tail: Annotated[float, Field(description="probability of a result at least as extreme")]
    doubted: Annotated[
        bool,
        Field(description="whether the result has less weight because others contradict it (robust studies)"),
        ABSENT_BY_DEFAULT,
    ] = False
    outlier: Annotated[
        bool,
        Field(
            description="whether the other results contradict it: it is `doubted`, or it has the smallest `tail`, and "
            "this is below 1% divided by the number of results (10% for a value farther from all others than their "
            "range)"
        ),
        ABSENT_BY_DEFAULT,
    ] = False
    repeated: Annotated[
        bool,
        Field(description="whether another item is at the same point, so that it predicts this one"),
        ABSENT_BY_DEFAULT,
    ] = False


class Verdict(Answer):
    """Whether the model can be trusted, judged by predictions of results that it did not know."""

    code: Annotated[
        VerdictCode,
        Field(
            description="too_few_results: fewer results than the model needs, or `counted` is less than 8; constant, "
            "not_this_algorithm: as in validation; poor_predictions: the error is at least 85% of that of the median; "
            "wide_intervals: most intervals are at least 80% as wide as the range of all results; too_sure: the share "
            "of results in their 90% intervals, predicted from the others or with the suggestions, is more than three "
            "standard deviations below 90%; reliable: none of these. The first one that applies"
        ),
    ]
    level: Annotated[Literal["unknown", "low", "medium", "high"], Field(description="how far the model can be trusted")]
    text: Annotated[str, Field(description="the verdict and the numbers behind it in sentences, for display")]
    suggested: Annotated[
        int,
        Field(
            description="number of results whose points were suggested with a reliable prediction; 0 without a verdict"
        ),
    ]
    suggested_inside: Annotated[
        int, Field(description="how many of these lie in the 90% interval that was given with the suggestion")
    ]


class Validation(Answer):
    """Leave-one-out predictions of each result from the others, with lengthscales, noise and warp learned from all."""

    results: Annotated[int, Field(description="number of results that the model uses")]
    items: Annotated[
        list[ValidationItem],
        Field(
            description="in log order; if there are more than 800 results, the 400 best and 400 others, each "
            "predicted from the rest of these"
        ),
    ]
    counted: Annotated[
        int,
        Field(
            description="number of items that the following numbers are about: those that are not `repeated` or, "
            "without any, all"
        ),
    ]
    inside: Annotated[float | None, Field(description="share of these items that lie inside their 90% intervals")]
    error: Annotated[float | None, Field(description="mean absolute error of the predictions, in units of the results")]
    error_of_median: Annotated[
        float | None, Field(description="the same error if each result is predicted by the median of the others")
    ]
    reason: Annotated[
        NoValidation | None,
        Field(
            description="why there are no items: fewer than 4 results, results that are all equal (or too large for "
            "floating point), or an algorithm other than the profile auto"
        ),
    ]
    verdict: Annotated[Verdict, Field(description="whether the model can be trusted")]


class SliceAxis(Answer):
    """A parameter that varies."""

    name: str
    values: Annotated[list[Any], Field(description="values in order; all of them if the parameter has few")]


class Slice(Answer):
    """The posterior along one or two parameters."""

    results: Annotated[int, Field(description="number of results that the model uses")]
    axes: list[SliceAxis]
    at: Annotated[Parameters, Field(description="values of all other parameters")]
    predictions: Annotated[
        list[Prediction],
        Field(description="predictions at all combinations of the values; the last parameter varies fastest"),
    ]


class PartitionCell(Cell):
    """A cell of the partition tree with the model's current prediction."""

    mean: Annotated[float, Field(description="posterior mean at the centroid")]
    std: float
    index: Annotated[
        float | None,
        Field(
            description="upper bound of the objective in the cell: U (auto) or I_t (paper, leaves only); null if the "
            "algorithm has no such bound"
        ),
    ]
