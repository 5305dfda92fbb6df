"""Answers about the Pareto front of a study with several objectives."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from adabkb_service.contract.answers import Answer, MetricPrediction, Parameters
from adabkb_service.contract.metrics import Metrics
from adabkb_service.contract.objectives import Direction
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, Sparse


class FrontObjective(Answer):
    """One of several objectives, with its reference for the hypervolume."""

    metric: str
    direction: Direction
    reference: float
    learned: Annotated[
        bool, Field(description="true: the study gives no reference, so the worst result so far is used")
    ]


class Growth(Answer):
    """The hypervolume after a result."""

    observation: int
    hypervolume: float


class FrontPoint(Answer):
    """A result that no other result dominates."""

    observation: int
    trial: int | None
    parameters: Parameters
    metrics: Metrics


class FrontEstimate(Sparse, Answer):
    """An evaluated point on the model's front: no other evaluated point dominates it in the posterior means."""

    parameters: Parameters
    metrics: Annotated[
        dict[str, MetricPrediction], Field(description="the model's predictions of objectives and other metrics")
    ]
    probability: Annotated[
        float, Field(description="the model's probability that the point is on the front of all evaluated points")
    ]
    feasible_probability: Annotated[
        float | None,
        Field(description="probability that the point satisfies all outcome constraints; absent if there are none"),
        ABSENT_BY_DEFAULT,
    ] = None


class Front(Answer):
    """The Pareto front of the results and of the model, and the hypervolume over time."""

    objectives: list[FrontObjective]
    results: Annotated[int, Field(description="number of results, without excluded ones and those outside the space")]
    hypervolume: Annotated[
        float | None,
        Field(
            description="volume that the results dominate, up to the reference, in the product of all objectives' units"
        ),
    ]
    history: Annotated[
        list[Growth],
        Field(
            description="an entry for each result that increased the hypervolume, computed with the current reference"
        ),
    ]
    observed: Annotated[
        list[FrontPoint],
        Field(
            description="in log order, only results that satisfy the outcome constraints, so empty if none does; if "
            "any of them are better than all references that the study gives, only these"
        ),
    ]
    model: Annotated[list[FrontEstimate], Field(description="in order of first observation")]
