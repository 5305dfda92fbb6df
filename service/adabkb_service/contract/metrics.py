"""Metrics besides the objective: their declaration, their bounds, and the violations of a result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from adabkb_service.contract.cost import COST
from adabkb_service.contract.error_limits import LIMIT_ERRORS
from adabkb_service.contract.parameters import Body, Name, Number
from adabkb_service.engine.metrics import Metric

MAX_METRICS = 16

Metrics = dict[str, float]
"""Values by the names of metrics."""


class OutcomeConstraint(Body):
    """One or two bounds that a metric of the results must satisfy."""

    metric: Name
    lower: Annotated[Number | None, Field(description="the metric must be at least this")] = None
    upper: Annotated[Number | None, Field(description="the metric must be at most this")] = None

    @model_validator(mode="after")
    def _some_bound(self) -> Self:
        if self.lower is None and self.upper is None:
            raise PydanticCustomError("outcome_constraint", "must have lower, upper or both, as finite numbers")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise PydanticCustomError("outcome_constraint", "must have a lower bound no larger than the upper one")
        return self

    def allows(self, value: float) -> bool:
        """Return whether a value of the metric satisfies the bounds."""
        return (self.lower is None or value >= self.lower) and (self.upper is None or value <= self.upper)


MetricNames = Annotated[list[Name], Field(max_length=MAX_METRICS), LIMIT_ERRORS]
OutcomeConstraints = Annotated[list[OutcomeConstraint], Field(max_length=MAX_METRICS), LIMIT_ERRORS]


def metrics_of(definition: Mapping[str, Any]) -> tuple[Metric, ...]:
    """Return the metrics of a stored definition in this order: the objectives if there are several, the listed metrics,
    other metrics with bounds, the cost."""
    objectives = [
        Metric(
            each["metric"],
            goal=1.0 if each["direction"] == "maximize" else -1.0,
            reference=each.get("reference"),
            noise_std=each.get("noise_std"),
        )
        for each in definition.get("objectives", ())
    ]
    constraints = {each["metric"]: each for each in definition.get("outcome_constraints", ())}
    cost = [COST] if definition.get("cost") else []
    others = (
        Metric(name, *_bounds(constraints.get(name, {})), is_cost=name in cost)
        for name in dict.fromkeys([*definition.get("metrics", ()), *constraints, *cost])
    )
    return (*objectives, *others)


def violations(metrics: tuple[Metric, ...], values: Metrics) -> Metrics:
    """Return how far values are beyond their bounds, by the names of the metrics that violate one."""
    found = {each.name: each.violation(values[each.name]) for each in metrics if each.name in values}
    return {name: amount for name, amount in found.items() if amount > 0.0}


def total_violation(metrics: tuple[Metric, ...], values: Metrics) -> float:
    """Return the sum of the relative violations; 0 for a feasible result."""
    return math.fsum(each.relative_violation(values[each.name]) for each in metrics if each.name in values)


def missing(metrics: tuple[Metric, ...], value: float | None, values: Metrics | None) -> list[str]:
    """Return the names of the numbers that a result lacks: ``value``, unless the study has several objectives, and
    metrics."""
    several = any(metric.goal for metric in metrics)
    lacking = [] if several or value is not None else ["value"]
    return [*lacking, *(metric.name for metric in metrics if metric.name not in (values or {}))]


def is_decided(metrics: tuple[Metric, ...], value: float | None, values: Metrics | None) -> bool:
    """Return whether a result can be ranked: it has its value or all objectives, and each metric with bounds."""
    others = {metric.name for metric in metrics if not (metric.goal or metric.is_bounded)}
    return others.issuperset(missing(metrics, value, values))


def _bounds(constraint: Mapping[str, Any]) -> tuple[float, float]:
    lower, upper = constraint.get("lower"), constraint.get("upper")
    return -math.inf if lower is None else lower, math.inf if upper is None else upper
