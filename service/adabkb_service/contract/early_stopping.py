"""Early stopping: rules that end trials before their last step, based on their intermediate values.

A rule compares a trial with others at *marks*, so no decision needs the whole curves of other trials: the asha rule has
one mark per rung, the median rule one per step, and the patience rule, which considers only the trial itself, none.
Each decision is a pure function of the trial's own curve and of the values that others reported at the mark.

Sources: median rule: Golovin et al., Google Vizier (2017), section 3.2.2, with values at the same step as in Optuna's
MedianPruner; asha: Li et al., A System for Massively Parallel Hyperparameter Tuning (2020), in its stopping variant.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from statistics import median
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from adabkb_service.contract.parameters import Body, Name, Whole
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, Sparse
from adabkb_service.storage.columns import Curve

MAX_STEPS = 10**9
"""The largest step number."""

Steps = Annotated[int, Field(ge=1, le=MAX_STEPS), Whole]
Trials = Annotated[int, Field(ge=1, le=1_000_000), Whole]


class _Rule(Sparse, Body):
    """The common fields of all rules."""

    compares: ClassVar[bool] = True
    """Whether the rule compares trials. If not, the last value of a stopped trial is its result."""

    max_steps: Annotated[Steps, Field(description="number of steps of a full evaluation")]
    min_steps: Annotated[Steps, Field(description="number of steps that every trial may take")] = 1
    metric: Annotated[
        Name | None,
        Field(description="with several objectives: the one whose values are reported"),
        ABSENT_BY_DEFAULT,
    ] = None

    @model_validator(mode="after")
    def _leaves_room(self) -> Self:
        if self.min_steps >= self.max_steps:
            detail = "must be less than max_steps ({max_steps}), or no trial could be stopped"
            raise PydanticCustomError("min_steps", detail, {"field": "min_steps", "max_steps": self.max_steps})
        return self

    @abstractmethod
    def mark(self, before: int, step: int) -> int | None:
        """Return the mark at which the report of ``step``, after one of step ``before``, is compared; None without
        one."""

    @abstractmethod
    def verdict(self, curve: Curve, others: Sequence[float], sign: float) -> str | None:
        """Return why a trial should stop, in a sentence; None if it should continue.

        Args:
            curve: the trial's curve, up to the current report.
            others: values that other trials reported at the mark of this report.
            sign: +1 if larger values are better, -1 if smaller ones are.
        """

    def may_stop(self, step: int) -> bool:
        """Whether the rule applies at a step: not before ``min_steps``, and not at the end of the evaluation."""
        return self.min_steps <= step < self.max_steps


class MedianRule(_Rule):
    """Stops a trial whose best value is worse than the median of other trials' values at the same step."""

    rule: Literal["median"]
    after_trials: Annotated[Trials, Field(description="number of other trials that must have reported the step")] = 5

    def mark(self, before: int, step: int) -> int | None:  # noqa: ARG002
        """Return the step, since the rule compares values at the same step; None where the rule does not apply."""
        return step if self.may_stop(step) else None

    def verdict(self, curve: Curve, others: Sequence[float], sign: float) -> str | None:
        """See ``_Rule.verdict``."""
        if len(others) < self.after_trials:
            return None
        middle = median(others)
        if sign * curve["best"] >= sign * middle:
            return None
        return (
            f"Its best value up to step {curve['step']}, {curve['best']:.6g}, is worse than {middle:.6g}, the median "
            f"of {len(others)} other trials at that step."
        )


class AshaRule(_Rule):
    """Asynchronous successive halving: the steps min_steps, min_steps * eta, min_steps * eta^2, ... are rungs, and the
    best 1 / eta of the trials that have reached a rung continue."""

    rule: Literal["asha"]
    eta: Annotated[int, Field(ge=2, le=1000, description="one in this many trials continues from each rung"), Whole] = 3
    after_trials: Annotated[Trials, Field(description="number of other trials that must have reached the rung")] = 1

    def mark(self, before: int, step: int) -> int | None:
        """Return the highest rung that this report has reached and the previous one had not; None if there is none."""
        reached, rung = None, self.min_steps
        while rung <= step and self.may_stop(rung):
            reached = rung if rung > before else reached
            rung *= self.eta
        return reached

    def verdict(self, curve: Curve, others: Sequence[float], sign: float) -> str | None:
        """See ``_Rule.verdict``."""
        if len(others) < self.after_trials:
            return None
        better = sum(sign * value > sign * curve["value"] for value in others)
        places = max((len(others) + 1) // self.eta, 1)
        if better < places:
            return None
        return (
            f"At step {curve['step']} it has place {better + 1} of {len(others) + 1} trials, of which the best "
            f"{places} continue."
        )


class PatienceRule(_Rule):
    """Ends a trial whose value has not improved for some steps. Its last value is its result."""

    compares: ClassVar[bool] = False

    rule: Literal["patience"]
    no_gain_for: Annotated[Steps, Field(description="number of steps without an improvement after which a trial ends")]
    min_gain: Annotated[
        float, Field(ge=0, allow_inf_nan=False, description="improvements no larger than this do not count")
    ] = 0.0

    def mark(self, before: int, step: int) -> int | None:  # noqa: ARG002
        """Return None, since the rule ignores other trials."""
        return None

    def verdict(self, curve: Curve, others: Sequence[float], sign: float) -> str | None:  # noqa: ARG002
        """See ``_Rule.verdict``."""
        since = curve["step"] - curve["gain_step"]
        if since < self.no_gain_for:
            return None
        return f"Its value has not improved for {since} steps, since step {curve['gain_step']}."


EarlyStopping = Annotated[MedianRule | AshaRule | PatienceRule, Field(discriminator="rule")]

WHICH = "must name the objective whose values are reported: {names}"
ALONE = "is only for studies with several objectives; leave it out"


def check_metric(rule: _Rule, objectives: Sequence[str]) -> None:
    """Check that a rule names an objective if there are several, and none otherwise.

    Raises:
        PydanticCustomError: the name is missing, unknown or not allowed.
    """
    if objectives and rule.metric not in objectives:
        raise PydanticCustomError("early_stopping", WHICH, {"field": "metric", "names": ", ".join(objectives)})
    if rule.metric is not None and not objectives:
        raise PydanticCustomError("early_stopping", ALONE, {"field": "metric"})


def extended(curve: Curve | None, step: int, value: float, rule: _Rule | None, sign: float) -> Curve:
    """Return a curve with one more report. None means a curve without reports."""
    if curve is None:
        return Curve(reports=1, step=step, value=value, best=value, gain_step=step, gain_value=value)
    least = rule.min_gain if isinstance(rule, PatienceRule) else 0.0
    gains = sign * (value - curve["gain_value"]) > least
    return Curve(
        reports=curve["reports"] + 1,
        step=step,
        value=value,
        best=value if sign * value > sign * curve["best"] else curve["best"],
        gain_step=step if gains else curve["gain_step"],
        gain_value=value if gains else curve["gain_value"],
    )
