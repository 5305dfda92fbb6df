"""Early stopping in a search: the trial that a function gets with ``pass_trial``, its reports, and the rules.

A search stops the same trials at the same steps as a study on a server with one worker.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, SupportsFloat, SupportsIndex

from adabkb_client import ExpectedValue
from adabkb_client._trial_calls import Active
from adabkb_client._values import finite
from adabkb_client.errors import WrongResult
from adabkb_integrations.inprocess.measured import SIGNS, Measurements
from adabkb_integrations.inprocess.numbers import at_least
from adabkb_service.engine.early_stopping import (
    LIMITS,
    OWN,
    Curve,
    Rule,
    extended,
    extrapolated,
    metric_problem,
    steps_problem,
)

COMMON = {"rule", "max_steps", "min_steps", "metric"}
"""The keys that all rules have."""
EXAMPLE = "MedianRule(max_steps=27)"


def rule_of(given: Mapping[str, Any] | None, measured: Measurements, *, has_model: bool) -> Rule | None:
    """Return the rule of a search; None without one.

    Raises:
        TypeError: it is not a rule, or has unknown keys.
        ValueError: a number is out of its range, or the search cannot have the rule.
    """
    if given is None:
        return None
    name = given.get("rule") if isinstance(given, Mapping) else None
    if not isinstance(given, Mapping) or name not in OWN:
        raise TypeError(f"early_stopping must be a rule such as {EXAMPLE}, not {given!r}")
    numbers = _numbers(name, given)
    goals = {metric.name: metric.goal for metric in measured.metrics if metric.goal}
    metric = given.get("metric")
    if problem := steps_problem(numbers.get("min_steps", 1), numbers["max_steps"]):
        raise ValueError(f"early_stopping['min_steps'] {problem}")
    if problem := metric_problem(metric, list(goals)):
        raise ValueError(f"early_stopping['metric'] {problem}")
    sign = measured.sign if metric is None else SIGNS["maximize" if goals[metric] > 0 else "minimize"]
    rule = Rule(rule=name, sign=sign, metric=metric, **numbers)
    if rule.compares and not has_model:
        raise ValueError(
            f'the rule {name!r} requires the algorithm {{"profile": "auto"}}; the rule "patience" does not'
        )
    return rule


def _numbers(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of a rule by key, with the defaults of the rule."""
    if unknown := given.keys() - COMMON - OWN[name].keys():
        raise TypeError(f"early_stopping: {sorted(unknown)[0]!r} is not a key of the rule {name!r}")
    required = ["max_steps", *(key for key, default in OWN[name].items() if default is None)]
    if missing := [key for key in required if key not in given]:
        raise TypeError(f"early_stopping: the rule {name!r} needs {missing[0]}")
    numbers: dict[str, Any] = dict(OWN[name])
    for key, (least, most) in LIMITS.items():
        if key in given:
            numbers[key] = at_least(f"early_stopping[{key!r}]", given[key], least, most)
    if "min_gain" in given:
        numbers["min_gain"] = finite("early_stopping['min_gain']", given["min_gain"])
        if numbers["min_gain"] < 0:
            raise ValueError(f"early_stopping['min_gain'] must be 0 or more, not {numbers['min_gain']}")
    return numbers


@dataclass(frozen=True)
class Stopped:
    """Why a trial is stopped, and at which report. ``estimate`` is its expected final value, under rules that compare
    trials; otherwise its last value is its result."""

    step: int
    value: float
    reason: str
    estimate: ExpectedValue | None


class RunningTrial:
    """The trial that a function evaluates, with ``pass_trial=True``::

    def train(trial):
        loss = 1.0
        for epoch in range(1, 28):
            loss *= trial.parameters["rate"]
            if trial.report(epoch, loss):
                break
        return loss
    """

    def __init__(
        self,
        number: int,
        parameters: Mapping[str, Any],
        rule: Rule | None,
        judged: Callable[[int, int, Curve], Stopped | None],
        *,
        tells_cost: bool,
        measured: Callable[[Mapping[str, Any] | None], Mapping[str, Any]],
    ) -> None:
        self._number = number
        self._parameters = parameters
        self._rule = rule
        self._judged = judged
        self._tells_cost = tells_cost
        self._checked_values = measured
        self._curve: Curve | None = None
        self._stopped: Stopped | None = None
        self._cost: float | None = None
        self._measured: Mapping[str, Any] = {}
        """The last reported values of the context parameters that are measured with the result."""

    def __repr__(self) -> str:
        return f"<RunningTrial {self.number}: {dict(self.parameters)}>"

    @property
    def number(self) -> int:
        """The trial's number, from 1."""
        return self._number

    @property
    def parameters(self) -> dict[str, Any]:
        """The active parameters by name."""
        return Active(self._parameters)

    @property
    def should_stop(self) -> bool:
        """Whether the search has stopped the trial, which then needs no result."""
        return self._stopped is not None

    def report(
        self,
        step: SupportsIndex,
        value: SupportsFloat,
        *,
        cost: SupportsFloat | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> bool:
        """Report an intermediate value, and return whether the trial is stopped. If it is, end the evaluation. The
        return value of the function is then ignored, except for metrics if the rule "patience" stopped the trial.

        Args:
            step: number of steps done so far; larger than in the previous report.
            value: value of the objective after this step; a finite number.
            cost: what the evaluation has cost so far, in a search with ``cost="told"``.
            parameters: the values so far of the context parameters that are measured with the result. Required with
                ``early_stopping``.

        Raises:
            TypeError, ValueError: the step is not an integer from 0.
            WrongResult: the value is not a number; the step is not larger than before or is above ``max_steps``; or the
                cost or a measured value is missing, not valid or not expected.
            NotFinite: the value is infinite or NaN.
        """
        at, reported, rule, before = at_least("step", step, 0), finite("value", value), self._rule, self._curve
        if self._stopped is not None:
            return True
        if before is not None and (at, reported) == (before["step"], before["value"]):
            return False
        if before is not None and at <= before["step"]:
            raise WrongResult(f"step must be more than {before['step']}, the step reported before, not {at}")
        self._cost = self._checked(cost)
        if rule is not None or parameters is not None:
            self._measured = self._checked_values(parameters)
        if rule is None:
            self._curve = extended(None, at, reported, 1.0)
            return False
        if at > rule.max_steps:
            raise WrongResult(f"step must be at most max_steps of early_stopping ({rule.max_steps}), not {at}")
        self._curve = extended(before, at, reported, rule.sign, rule.min_gain)
        self._stopped = self._judged(self._number, -1 if before is None else before["step"], self._curve)
        return self.should_stop

    def _checked(self, cost: SupportsFloat | None) -> float | None:
        if cost is not None and not self._tells_cost:
            raise WrongResult('cost is only for a search with cost="told"; leave it out')
        if cost is None and self._tells_cost and self._rule is not None and self._rule.compares:
            raise WrongResult("cost is missing; give what the evaluation has cost so far")
        found = None if cost is None else finite("cost", cost)
        if found is not None and not found > 0.0:
            raise WrongResult(f"cost must be positive, not {found}")
        return found


class Marks:
    """The values that the trials of a search have reported at the marks of its rule, which are the steps at which the
    rule compares trials."""

    def __init__(self) -> None:
        self._values: dict[int, dict[int, float]] = {}
        """Mark -> trial -> value, in the order of the reports."""

    def judged(
        self,
        rule: Rule,
        number: int,
        before: int,
        curve: Curve,
        *,
        outside: Collection[int],
        is_comparable: Callable[[int], bool],
        results: Mapping[int, float],
    ) -> Stopped | None:
        """Record the last report of a trial, and return why the trial is stopped; None if it continues.

        Args:
            rule: the rule of the search.
            number: the number of the trial.
            before: the step of its previous report; -1 without one.
            curve: its curve, up to this report.
            outside: the numbers of trials that violate outcome constraints; no other trial is compared with them.
            is_comparable: whether a trial, by number, has the same plate and context.
            results: the final values of completed trials, by number.
        """
        mark = rule.mark(before, curve["step"])
        if mark is not None:
            self._values.setdefault(mark, {})[number] = curve["value"]
        if not rule.may_stop(curve["step"]) or (mark is None and rule.compares):
            return None
        reached = {} if mark is None else self._values[mark]
        values = {trial: value for trial, value in reached.items() if trial not in outside}
        others = [value for trial, value in values.items() if trial != number and is_comparable(trial)]
        if (reason := rule.verdict(curve, others)) is None:
            return None
        estimate = None if mark is None else ExpectedValue(*extrapolated(curve["value"], values, results))
        return Stopped(curve["step"], curve["value"], reason, estimate)
