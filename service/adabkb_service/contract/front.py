"""Answers about the Pareto front of a study with several objectives."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from adabkb_service.contract.answers import Answer, MetricPrediction, Parameters
from adabkb_service.contract.metrics import Metrics
from adabkb_service.contract.objectives import Direction


class FrontObjective(Answer):
    """One of several objectives, with the value above which volume counts."""

    metric: str
    direction: Direction
    reference: float
    learned: Annotated[
        bool, Field(description="whether the reference is the worst result so far: the study gives none")
    ]


class Growth(Answer):
    """How large the hypervolume was after a result."""

    observation: int
    hypervolume: float


class FrontPoint(Answer):
    """A result that no other one dominates."""

    observation: int
    trial: int | None
    parameters: Parameters
    metrics: Metrics


class FrontEstimate(Answer):
    """An evaluated point of which none has better posterior means than another one."""

    parameters: Parameters
    metrics: Annotated[dict[str, MetricPrediction], Field(description="by the model: the objectives and other metrics")]
    probability: Annotated[float, Field(description="that it is on the front of all evaluated points, by the model")]
    feasible_probability: Annotated[float, Field(description="that it keeps all outcome constraints")]


class Front(Answer):
    """The Pareto front by results and by the model, and the hypervolume over time."""

    objectives: list[FrontObjective]
    results: Annotated[int, Field(description="that count")]
    hypervolume: Annotated[
        float | None,
        Field(description="that the results dominate, up to the reference, in units of all objectives multiplied"),
    ]
    history: Annotated[
        list[Growth], Field(description="where it has grown, with the reference of now; it stays until the next entry")
    ]
    observed: Annotated[
        list[FrontPoint],
        Field(description="in order; of the results that keep the outcome constraints, and empty if none does"),
    ]
    model: Annotated[list[FrontEstimate], Field(description="in order of first observation")]
