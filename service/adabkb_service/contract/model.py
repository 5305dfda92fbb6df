"""Answers about what a study's model says: its recommendation, predictions, figures, cells and dictionary."""

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
    of_metrics,
)
from adabkb_service.contract.front import FrontEstimate
from adabkb_service.contract.parameters import Choice
from adabkb_service.storage.rows import CellStatus

RecommendationReason = Literal[
    "nothing_feasible",
    "nothing_certain",
    "no_results",
    "several_objectives",
    "context_needed",
    "model_loading",
    "model_busy",
    "model_failed",
]


class Change(Answer):
    """A parameter whose value is not that of the baseline."""

    parameter: str
    baseline: Choice
    value: Choice
    gain: Annotated[float, Field(description="what the model expects to lose if this value alone is put back")]


class ModelRecommendation(Answer):
    """The evaluated point with the best posterior mean; for a context, the point that is best there by the model. With
    a baseline, a point that is as good and changes fewer of its values. The last two need not have been evaluated."""

    parameters: Parameters
    mean: float
    std: float
    metrics: Annotated[dict[str, MetricPrediction] | None, of_metrics("of each metric")] = None
    feasible_probability: Annotated[float | None, of_metrics("that it keeps all outcome constraints")] = None
    changes: Annotated[list[Change] | None, of_metrics("from the baseline, in studies that have one")] = None


class Recommendation(Answer):
    """The best point according to the model, and the best observation, in a context if there is one; both null before
    the first result, where there are several objectives, and while a context is missing."""

    model: ModelRecommendation | None
    observed: Best | None
    gap: float | None
    front: Annotated[
        list[FrontEstimate] | None, of_metrics("of several objectives, by the model: none is better than another one")
    ] = None
    required_probability: Annotated[
        float | None, of_metrics("of keeping all outcome constraints, which the point of the model should have")
    ] = None
    reason: Annotated[
        RecommendationReason | None,
        Field(
            description="why `model` is null: no_results yet; several_objectives, which have a front; context_needed, "
            "the best point depends on the context, which the request lacks; model_loading, the server has just "
            "started; model_busy, the model did not answer in time; model_failed, model.error of the study says why. "
            "Or why it is not what it should be: nothing_feasible, no result keeps all outcome constraints, so both "
            "points are those that come closest; nothing_certain, the model gives no evaluated point the required "
            "probability"
        ),
    ] = None


class Predictions(Answer):
    """Predictions, in the order of the points of the request."""

    predictions: list[Prediction]


class Additive(Answer):
    """A sum of functions of one parameter each, as a part of the model."""

    shares: Annotated[list[float], Field(description="per parameter, of the objective's variance; the rest is no sum")]
    lengthscale: Annotated[float, Field(description="of each of them, as a share of the parameter's range")]


class Learned(Answer):
    """The hyperparameters that the ``auto`` profile has learned so far."""

    count: Annotated[int, Field(description="results it was learned from")]
    lengthscales: Annotated[
        list[float], Field(description="per parameter, as a share of its range (log scale: of the logarithm's)")
    ]
    additive: Annotated[Additive | None, Field(description="part that is a sum; lengthscales are the rest's")] = None
    noise: Annotated[float, Field(description="noise variance of a result over the variance of the objective")]
    variance: Annotated[float, Field(description="of the objective, in model output units")]


class Batch(Answer):
    """The current batch of ``ada-bbkb``."""

    drawn_at: Annotated[int, Field(description="results when the dictionary was last drawn")]


class Model(ModelSummary):
    """The model in numbers."""

    algorithm: Algorithm
    seed: int
    gap: float | None
    beta: Annotated[
        float,
        Field(
            description="confidence width of the bounds that prune, per standard deviation (paper: a ridge-scaled one)"
        ),
    ]
    basis: Annotated[int, Field(description="members of the dictionary with independent features")]
    points: Annotated[int, Field(description="distinct evaluated points")]
    observations: int
    offset: Annotated[float, Field(description="result = offset + scale * model output (auto: before the warp)")]
    scale: float
    clipped: Annotated[
        int,
        Field(
            description="how often rounding forced a factorisation from scratch (auto: how many factorisations of the "
            "current posterior needed more noise than results have)"
        ),
    ]
    learned: Annotated[Learned | Batch | None, Field(description="null where all constants are given")] = None


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
