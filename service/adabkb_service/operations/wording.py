"""Labels, and short phrases about a study, for the web interface and reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adabkb_service.contract.algorithms import AutoProfile
from adabkb_service.contract.answers import Observation, Study, Trial
from adabkb_service.contract.context import context_of
from adabkb_service.contract.cost import COST
from adabkb_service.contract.metrics import OutcomeConstraint
from adabkb_service.contract.parameters import Parameter
from adabkb_service.contract.quantities import OBJECTIVE, UNNAMED, Quantity, titled, with_unit
from adabkb_service.engine.auto.config import CONFIDENCE
from adabkb_service.operations.digits import Digits
from adabkb_service.operations.naming import within_reach
from adabkb_service.operations.values_in_words import figure
from adabkb_service.storage.result_table import NOT_IN_PATHS

STATES: Mapping[str, str] = {
    "running": "running",
    "paused": "paused",
    "complete": "complete",
    "active": "being evaluated",
    "queued": "queued",
    "released": "given back",
    "expired": "lease expired",
    "completed": "completed",
    "failed": "failed",
    "stopped": "stopped early",
}
PHASES: Mapping[str, str] = {
    "start": "first points",
    "search": "search",
    "polish": "polish",
    "repeat": "repeat",
    "explore": "explore",
    "restart": "restart",
    "sample": "baseline",
}
ORIGINS: Mapping[str, str] = {"policy": "search", "fallback": "quasi-random", "queued": "own point"}
"""The purpose of trials that have no phase, by origin."""
KINDS: Mapping[str, str] = {
    "": "everything",
    "counting": "results that count",
    "partial": "results with missing numbers",
    "own": "results of no trial",
    "repeated": "repeated points",
    "corrected": "corrected results",
    "excluded": "excluded results",
    "open": "trials without a result yet",
    "failed": "failed trials",
    "stopped": "trials stopped early",
}
"""Rows of which the table of results may be."""
FINEST = 15
"""Decimals of what the model expects, at most; its standard deviation says how many there are."""
SPANS = ((86400, "d"), (3600, "h"), (60, "min"))
"""Of a duration: seconds, and the name."""
NOTIFICATIONS: Mapping[str, str] = {
    "trial.reserved": "a trial is issued",
    "trial.overdue": "a trial is overdue: its lease expired",
    "trial.done": "a trial is completed, has failed or was stopped",
    "study.ended": "the study is complete",
    "study.needs_attention": "the study needs attention: it paused after failures, or its model failed",
}
RIGHTS: Mapping[str, str] = {"read": "read", "work": "ask for points and store results"}


def context(study: Study) -> list[str]:
    """The names of the parameters that are not chosen but known."""
    return context_of(study.parameters)


def chosen(study: Study) -> list[str]:
    """The names of the parameters that are chosen."""
    known = {*context(study), *(each.name for each in study.parameters if each.kind == "fixed")}
    return [each.name for each in study.parameters if each.name not in known]


def confidence(study: Study) -> str | None:
    """Return the probability of the gap in percent; None if the algorithm has no gap."""
    if isinstance(study.algorithm, AutoProfile):
        return f"{100.0 * CONFIDENCE:.4g}%"
    delta = getattr(study.algorithm, "delta", None)
    return None if delta is None else f"{100.0 * (1.0 - delta):.4g}%"


def measured(study: Study) -> list[str]:
    """The names of the metrics of each result, several objectives first."""
    return [*(each.metric for each in study.objectives), *study.metrics]


def described(study: Study) -> list[str]:
    """The quantities with a name and a unit: the single objective, and the metrics."""
    return [*([] if study.objectives else [OBJECTIVE]), *measured(study)]


def quantities(study: Study) -> dict[str, Any]:
    """The words of what is measured, as the API takes them."""
    return {name: each.model_dump(mode="json") for name, each in study.quantities.items()}


def reworded(study: Study) -> list[dict[str, Any]]:
    """The parameters, as the API takes them."""
    return [each.model_dump(mode="json") for each in study.parameters]


def typed(value: object) -> str:
    """A text or a number as a person types it in; empty for none."""
    if value is None:
        return ""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def duration(seconds: float) -> str:
    """A time with the largest unit that it is a whole number of; the page takes it in this form."""
    size, name = next(((size, name) for size, name in SPANS if seconds >= size and seconds % size == 0), (1, "s"))
    return f"{seconds / size:.10g} {name}"


def is_sortable(name: str) -> bool:
    """Whether a table can be sorted by the values of this name."""
    return NOT_IN_PATHS not in name


def quantity(study: Study, name: str | None = None) -> Quantity:
    """The quantity of a metric, or of the single objective."""
    return study.quantities.get(name or OBJECTIVE, UNNAMED)


def title(study: Study, name: str | None = None) -> str:
    """The title of a metric's column, with its unit; without a name, that of the single objective."""
    known = quantity(study, name)
    return titled(name or "Result", known.label, known.unit)


def number(study: Study, name: str | None, value: float | None) -> str:
    """A number of a metric, or of the objective, with as many digits as the study says."""
    digits = quantity(study, name).digits
    if digits is None or value is None:
        return figure(value, 6)
    return f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def in_unit(study: Study, name: str | None, value: float | None) -> str:
    """The same with its unit."""
    return number(study, name, value) if value is None else with_unit(number(study, name, value), unit(study, name))


def gap(study: Study) -> str:
    """The gap in words, limited to the room that the natural bounds leave above the best result."""
    return figure(within_reach(study, study.gap), 3)


def difference(study: Study, value: float) -> str:
    """A difference of the objective, with its unit."""
    return with_unit(figure(value, 3), unit(study))


def estimate(study: Study, name: str | None, mean: float, std: float) -> str:
    """A prediction of a metric or of the objective, clipped to its natural bounds, with its unit."""
    known = quantity(study, name)
    return Digits(mean, mean, FINEST, known).estimate(mean, std)


def interval(study: Study, low: float, high: float) -> str:
    """Between which values the objective is expected, cut to its natural bounds."""
    known = quantity(study)
    told = f"{figure(known.within(low), 4)} and {figure(known.within(high), 4)}"
    return with_unit(told, known.unit)


def unit(study: Study, name: str | None = None) -> str | None:
    """The unit of a metric, or of the objective; None if none is known."""
    return quantity(study, name).unit


def parameter_title(parameter: Parameter) -> str:
    """The title of a parameter's column, with its unit."""
    return titled(parameter.name, parameter.label, parameter.unit)


def uncertain(study: Study) -> list[str]:
    """The names of the metrics that may have a standard error: what an experiment costs is known."""
    return [name for name in measured(study) if name != COST]


def errors(study: Study, result: Observation) -> dict[str, float | None]:
    """The standard errors of a result's metrics, None for those that are not known."""
    return {name: (result.std_errors or {}).get(name) for name in uncertain(study)}


def result(payload: Mapping[str, Any]) -> str:
    """The result that an event tells: its value; of several objectives each by its name."""
    if payload.get("value") is not None:
        return figure(payload["value"], 6)
    return ", ".join(f"{name} {figure(value, 6)}" for name, value in payload.get("metrics", {}).items())


def missing(study: Study, result: Observation) -> str:
    """The titles of the numbers that a result lacks; empty if it has all."""
    return ", ".join(title(study, None if name == OBJECTIVE else name) for name in result.missing)


def added(payload: Mapping[str, Any]) -> str:
    """The numbers that an event adds to a result which lacked them."""
    was = payload["was"]
    before = was.get("metrics") or {}
    metrics = {name: value for name, value in payload.get("metrics", {}).items() if name not in before}
    value = {"value": payload["value"]} if "value" in was else {}
    told = {**value, **(metrics if "metrics" in was else {})}
    return ", ".join(f"{name} {figure(number, 6)}" for name, number in told.items())


def purpose(trial: Trial) -> str:
    """The purpose of a trial."""
    return PHASES[trial.phase] if trial.phase else ORIGINS[trial.origin]


def bounds(study: Study, metric: str) -> str:
    """The bounds of a metric, in words; empty if it has none."""
    found = _constraint(study, metric)
    if found is None:
        return ""
    ends = [(found.lower, "at least"), (found.upper, "at most")]
    return " and ".join(f"{words} {end:g}" for end, words in ends if end is not None)


def beyond(study: Study, told: Trial | Observation, metric: str) -> bool:
    """Whether a result, or that of a trial, is beyond the bounds of a metric."""
    found = _constraint(study, metric)
    value = (told.metrics or {}).get(metric)
    return found is not None and value is not None and not found.allows(value)


def condition(parameter: Parameter) -> str:
    """When a parameter is active; empty if always."""
    if not parameter.when:
        return ""
    parts = (f"{name} is {' or '.join(map(str, values))}" for name, values in parameter.when.items())
    return " and ".join(parts)


def _constraint(study: Study, metric: str) -> OutcomeConstraint | None:
    return next((each for each in study.outcome_constraints if each.metric == metric), None)
