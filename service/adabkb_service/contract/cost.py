"""The cost of evaluations: its source, a budget of it, and the search by gain per cost.

The cost of a result is the metric ``cost``, so that it is stored, shown, exported and predicted like any metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from adabkb_service.contract.parameters import Body, Positive

COST = "cost"
"""The name of the metric that has the cost."""
MAX_COST = 1e30
"""The highest cost of one result: the sum over all results must be a finite number."""
NEEDS_COST = 'also needs the field cost: "told" (each result gives it) or "measured" (the seconds of its attempt)'
NEEDS_AUTO = "needs the profile auto, since other algorithms model only the value"
IS_OBJECTIVE = "cannot be combined with an objective of this name; give the objective another name"


class CostBudget(Body):
    """A budget in the units of the cost."""

    cost: Annotated[Positive, Field(description="no trial is issued once the results have cost this much")]


CostSource = Literal["told", "measured"]


def incompatibility_of_cost(definition: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the field that the cost settings of a definition do not allow, with the error message; None if all fields
    are valid.

    Args:
        definition: the validated fields.
    """
    has_budget = isinstance(definition["budget"], CostBudget)
    if definition["cost"] is None:
        field = "budget" if has_budget else "per_cost"
        return (field, NEEDS_COST) if has_budget or definition["per_cost"] else None
    if not definition["algorithm"].supports_metrics:
        return "cost", NEEDS_AUTO
    if any(each.metric == COST for each in definition["objectives"]):
        return "cost", IS_OBJECTIVE
    return None


def cost_of(definition: Mapping[str, Any], metrics: Mapping[str, float] | None) -> float:
    """Return the cost of a result with these metrics; 0 in a study without costs, and while the cost is unknown."""
    return metrics.get(COST, 0.0) if metrics is not None and definition.get("cost") else 0.0
