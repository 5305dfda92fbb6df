"""The rules of early stopping as users declare them. ``engine/early_stopping.py`` implements them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from adabkb_service.contract.parameters import Body, Name, Whole
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, Sparse
from adabkb_service.engine.early_stopping import LIMITS, metric_problem, steps_problem


def _limits(name: str, description: str | None = None) -> Any:
    least, most = LIMITS[name]
    return Field(ge=least, le=most, description=description)


Steps = Annotated[int, _limits("max_steps"), Whole]
Trials = Annotated[int, _limits("after_trials"), Whole]


class _Rule(Sparse, Body):
    """The common fields of all rules."""

    max_steps: Annotated[Steps, Field(description="number of steps of a full evaluation")]
    min_steps: Annotated[Steps, Field(description="no trial is stopped before this step")] = 1
    metric: Annotated[
        Name | None,
        Field(description="with several objectives: the one whose values are reported"),
        ABSENT_BY_DEFAULT,
    ] = None

    @model_validator(mode="after")
    def _check_min_steps(self) -> Self:
        if problem := steps_problem(self.min_steps, self.max_steps):
            raise PydanticCustomError("min_steps", "{problem}", {"field": "min_steps", "problem": problem})
        return self


class MedianRule(_Rule):
    """Stops a trial whose best value is worse than the median of other trials' values at the same step."""

    rule: Literal["median"]
    after_trials: Annotated[
        Trials, Field(description="a trial is stopped at a step only if this many other trials have reported it")
    ] = 5


class AshaRule(_Rule):
    """Asynchronous successive halving: the steps min_steps, min_steps * eta, min_steps * eta^2, ... are rungs, and the
    best 1 / eta of the trials that have reached a rung continue."""

    rule: Literal["asha"]
    eta: Annotated[int, _limits("eta", "one in this many trials continues from each rung"), Whole] = 3
    after_trials: Annotated[
        Trials, Field(description="a trial is stopped at a rung only if this many other trials have reached it")
    ] = 1


class PatienceRule(_Rule):
    """Stops a trial whose value has not improved for some steps. Its last value is its result."""

    rule: Literal["patience"]
    no_gain_for: Annotated[
        Steps, Field(description="number of steps without an improvement after which a trial is stopped")
    ]
    min_gain: Annotated[
        float, Field(ge=0, allow_inf_nan=False, description="improvements no larger than this do not count")
    ] = 0.0


EarlyStopping = Annotated[MedianRule | AshaRule | PatienceRule, Field(discriminator="rule")]


def check_metric(rule: _Rule, objectives: Sequence[str]) -> None:
    """Check that a rule names an objective if there are several, and none otherwise.

    Raises:
        PydanticCustomError: the name is missing, unknown or not allowed.
    """
    if problem := metric_problem(rule.metric, objectives):
        raise PydanticCustomError("early_stopping", "{problem}", {"field": "metric", "problem": problem})
