"""Answers about a study's model: its recommendation, predictions, statistics, cells and dictionary."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from adabkb_service.contract.algorithms import Algorithm
from adabkb_service.contract.answers import (
    Answer,
    Best,
    MetricPrediction,
    ModelSummary,
    Parameters,
    Prediction,
)
from adabkb_service.contract.front import FrontEstimate
from adabkb_service.contract.parameters import Choice
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, Sparse
from adabkb_service.storage.rows import CellStatus

RecommendationReason = Literal[
    "nothing_feasible",
    "nothing_certain",
    "no_results",
    "too_few_results",
    "several_objectives",
    "context_needed",
    "model_loading",
    "model_busy",
    "model_failed",
]


class Change(Answer):
    """A parameter whose value differs from the baseline."""

    parameter: str
    baseline: Choice
    value: Choice
    gain: Annotated[float, Field(description="loss that the model expects if only this value is reset to the baseline")]


class ModelRecommendation(Sparse, Answer):
    """The evaluated point with the best posterior mean; for a context, the point that the model expects to be best.
    With a baseline, an equally good point that changes fewer values. Points for a context or a baseline need not have
    been evaluated."""

    parameters: Parameters
    mean: float
    std: float
    lcb: Annotated[float | None, Field(description="lower bound of the mean, as in predictions"), ABSENT_BY_DEFAULT] = (
        None
    )
    ucb: Annotated[float | None, Field(description="upper bound"), ABSENT_BY_DEFAULT] = None
    metrics: Annotated[
        dict[str, MetricPrediction] | None, Field(description="predictions of each metric"), ABSENT_BY_DEFAULT
    ] = None
    feasible_probability: Annotated[
        float | None,
        Field(description="probability that the point satisfies all outcome constraints; absent if there are none"),
        ABSENT_BY_DEFAULT,
    ] = None
    changes: Annotated[
        list[Change] | None, Field(description="changes from the baseline, in studies with one"), ABSENT_BY_DEFAULT
    ] = None


class Recommendation(Sparse, Answer):
    """The best point according to the model, and the best observation; in a study with context parameters, those for
    the context of the request. Both are null before the first result, with several objectives, and if the request lacks
    the context."""

    model: ModelRecommendation | None
    observed: Best | None
    gap: float | None
    front: Annotated[
        list[FrontEstimate] | None,
        Field(description="the model's front, with several objectives: none of these points is better than another"),
        ABSENT_BY_DEFAULT,
    ] = None
    required_probability: Annotated[
        float | None,
        Field(description="required probability that the model's point satisfies all outcome constraints"),
        ABSENT_BY_DEFAULT,
    ] = None
    reason: Annotated[
        RecommendationReason | None,
        Field(
            description="why `model` is null. no_results: there are no results yet; several_objectives: the study has "
            "a front instead; context_needed: the best point, or the front, depends on the context, which the request "
            "lacks; "
            "model_loading: the server has just started; model_busy: the model did not answer in time; model_failed: "
            "see model.error of the study. Otherwise, why one should not rely on the points, the "
            "first that applies. nothing_feasible: no result satisfies all outcome constraints; too_few_results: there "
            "are fewer results than the model needs, `outlook.fewest` of the assessment; nothing_certain: according to "
            "the model, no evaluated point has the required probability"
        ),
    ] = None


class Predictions(Answer):
    """Predictions, in the order of the points of the request."""

    predictions: list[Prediction]


class Additive(Answer):
    """The additive part of the model: a sum of functions of one parameter each."""

    shares: Annotated[
        list[float], Field(description="share of the objective's variance, per parameter; the rest is not additive")
    ]
    lengthscale: Annotated[
        float, Field(description="lengthscale of each function, as a share of the parameter's range")
    ]


class Learned(Answer):
    """The hyperparameters that the ``auto`` profile has learned so far."""

    count: Annotated[int, Field(description="number of results from which they were learned")]
    lengthscales: Annotated[
        list[float],
        Field(description="per parameter, as a share of its range (log scale: of the range of the logarithm)"),
    ]
    additive: Annotated[
        Additive | None, Field(description="the additive part; ``lengthscales`` belong to the rest")
    ] = None
    noise: Annotated[float, Field(description="noise variance of a result, divided by the variance of the objective")]
    variance: Annotated[float, Field(description="variance of the objective, in model output units")]


class Batch(Answer):
    """The current batch of ``ada-bbkb``."""

    drawn_at: Annotated[int, Field(description="number of results when the dictionary was last drawn")]


class Model(ModelSummary):
    """The statistics of the model."""

    algorithm: Algorithm
    seed: int
    gap: float | None
    beta: Annotated[
        float,
        Field(
            description="confidence width of the pruning bounds, as a multiple of the posterior standard deviation "
            "(paper: of this divided by sqrt(lambda))"
        ),
    ]
    basis: Annotated[int, Field(description="number of dictionary members with independent features")]
    points: Annotated[int, Field(description="number of distinct evaluated points")]
    observations: int
    offset: Annotated[
        float,
        Field(
            description="result = offset + scale * model output (auto: scale * the standardized result to which the "
            "warp is applied)"
        ),
    ]
    scale: float
    clipped: Annotated[
        int,
        Field(
            description="number of times that rounding forced a new factorization (auto: number of factorizations of "
            "the current posterior that needed more noise than the results have)"
        ),
    ]
    learned: Annotated[Learned | Batch | None, Field(description="null if all constants are given")] = None


class Cell(Answer):
    """A cell of the partition tree."""

    key: str
    depth: int
    status: CellStatus
    low: Annotated[Parameters, Field(description="one corner")]
    high: Annotated[Parameters, Field(description="the opposite corner")]
    centroid: Parameters


class DictionaryPoint(Answer):
    """A member of the dictionary."""

    ordinal: Annotated[int, Field(description="0, 1, 2, ... in order of first observation")]
    parameters: Parameters
