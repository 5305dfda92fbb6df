"""The budget of a study: a number of trials, a total cost, or a number of plates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from adabkb_service.contract.cost import CostBudget
from adabkb_service.contract.parameters import Body, Count

IN_COSTS = (
    "is a cost budget, which cannot become another kind while the study runs, since the trials so far were limited by "
    'their costs; give another cost, such as {"cost": 7200}'
)
NOT_IN_COSTS = (
    "is a cost, but the budget of this study is not; give a number of trials or, in a study with plates, of plates; or "
    "create another study with a cost budget, and import the results of this one"
)
NEEDS_PLATES = "counts plates, and this study has none; give a number of trials, or declare plates"


class PlateBudget(Body):
    """A budget in plates."""

    plates: Annotated[Count, Field(description="no plate is begun after this many; begun plates are still filled")]


def _kind(budget: object) -> str:
    if isinstance(budget, PlateBudget) or (isinstance(budget, Mapping) and "plates" in budget):
        return "plates"
    return "cost" if isinstance(budget, Mapping | CostBudget) else "trials"


Budget = Annotated[
    Annotated[Count, Tag("trials")] | Annotated[CostBudget, Tag("cost")] | Annotated[PlateBudget, Tag("plates")],
    Discriminator(_kind),
]


def cost_budget_of(definition: Mapping[str, Any]) -> float | None:
    """Return the cost budget of a stored definition; None without one."""
    budget = definition.get("budget")
    return budget.get("cost") if isinstance(budget, Mapping) else None
