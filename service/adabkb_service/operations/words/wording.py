"""Labels and short phrases about a study, for the web interface and for reports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, get_args

from adabkb_service.contract.algorithms import AutoProfile
from adabkb_service.contract.answers import MetricPrediction, Observation, Prediction, Study, Trial
from adabkb_service.contract.budget import PlateBudget
from adabkb_service.contract.context import context_of, measured_of
from adabkb_service.contract.cost import COST, CostBudget
from adabkb_service.contract.curves import Estimate
from adabkb_service.contract.metrics import OutcomeConstraint
from adabkb_service.contract.model import ModelRecommendation
from adabkb_service.contract.parameters import FloatParameter, Parameter
from adabkb_service.contract.quantities import OBJECTIVE, UNNAMED, Quantity, in_points, titled, with_unit
from adabkb_service.engine.answers import INTERVAL
from adabkb_service.engine.ending import EndReason
from adabkb_service.operations.words import digits, rounding
from adabkb_service.operations.words.digits import Digits
from adabkb_service.operations.words.reasons import LATE, of_event
from adabkb_service.operations.words.values_in_words import as_typed, figure, fixed, shown
from adabkb_service.storage.overview import ListedStudy
from adabkb_service.storage.result_table import NOT_IN_PATHS, AtPoint, Repeats
from adabkb_service.storage.rows import UNFINISHED, TrialRow

STATES: Mapping[str, str] = {
    "running": "open",
    "paused": "paused",
    "ending": "ending",
    "complete": "complete",
    "active": "running",
    "queued": "queued",
    "released": "to try again",
    "expired": "overdue",
    "completed": "completed",
    "failed": "failed",
    "stopped": "stopped early",
    "withdrawn": "withdrawn",
}
PHASES: Mapping[str, str] = {
    "start": "first points",
    "search": "promising",
    "polish": "near the best",
    "repeat": "repetition",
    "explore": "uncertain region",
    "restart": "elsewhere",
    "sample": "without a model",
}
"""Phase of a trial -> its purpose."""
ORIGINS: Mapping[str, str] = {
    "policy": PHASES["search"],
    "fallback": "quasi-random",
    "queued": "queued by a user",
    "own": "chosen by a user",
}
"""Origin -> purpose, for trials without a phase."""
TESTS_BOUND = "tests a bound"
"""Purpose of a trial of the search that the model expected to violate the bounds."""
PROBABLE = 0.5
OWN_POINT = "own point"
"""Purpose of a result without a trial, and of a failed trial that was never issued."""
PURPOSES: Mapping[str, str] = {**PHASES, "fallback": ORIGINS["fallback"], "own": "own or queued"}
"""The purposes by which the chart groups results."""
KINDS: Mapping[str, str] = {
    "": "everything",
    "counting": "results that count",
    "partial": "results with missing numbers",
    "own": "results without a trial",
    "repeated": "repeated points",
    "corrected": "corrected results",
    "excluded": "excluded results",
    "open": "trials without a result yet",
    "failed": "failed trials",
    "stopped": "trials stopped early",
    "withdrawn": "withdrawn trials",
}
"""The kinds of rows by which the table of results can be filtered."""
FINAL: tuple[EndReason, ...] = get_args(EndReason)
"""The reasons for which a study issues no more new points while it has unfinished trials."""
IDLE = "No trial is running."
"""The sentence about a study that has results and no running trial. Pages leave it out."""
RESULTS_PER_PARAMETER = 3
"""About how many results the model needs for each parameter. The engine, which takes long to load, has the number."""
FINEST = 15
"""The maximum number of decimals of a prediction. The number depends on its standard deviation."""
FEW_DIGITS = 4
"""A number with at most this many significant digits is shown as it is."""
FINENESS = 3
"""The value of a parameter is shown with a resolution of a thousandth of its range, which is first rounded up to a
power of ten."""
MAX_VALUES = 12
"""The maximum number of values of a point in a sentence."""
TIMES: Mapping[int, str] = {3600: "1 hour", 28800: "8 hours", 86400: "1 day", 259200: "3 days"}
"""Seconds -> words, for the times for which a person may reserve a trial."""
SPANS = ((86400, "d"), (3600, "h"), (60, "min"))
"""Units of a duration: the size in seconds, and the abbreviation."""
NOTIFICATIONS: Mapping[str, str] = {
    "trial.reserved": "a trial is issued",
    "trial.overdue": "a trial is overdue: its reservation ended",
    "trial.done": "a trial is completed, has failed or was stopped",
    "study.ended": "the study is complete",
    "study.needs_attention": "the study needs attention: it paused after failures, or its model failed",
}
RIGHTS: Mapping[str, str] = {"read": "read", "work": "ask for points and store results"}


def name_of(study: Study | ListedStudy) -> str:
    """Return the title of a study or, without one, its id."""
    return study.title or study.id


def state(study: Study) -> str:
    """Return the state of a study: a key of ``STATES``. A study that issues no more new points, but whose last trials
    have no result yet, is ending."""
    return "ending" if study.state == "running" and study.reason in FINAL else study.state


def can_ask(study: Study) -> bool:
    """Return whether the study may issue a trial: a new point, or one that waits to be issued."""
    counts = study.counts
    return study.state == "running" and (
        state(study) != "ending" or counts.queued + counts.released + counts.expired > 0
    )


def context(study: Study) -> list[str]:
    """Return the names of the context parameters."""
    return context_of(study.parameters)


def given_context(study: Study) -> dict[str, str]:
    """Return the labels of the context parameters that requests for trials give, by name."""
    names = set(context(study)) - set(measured_context(study))
    return {each.name: each.label or each.name for each in study.parameters if each.name in names}


def measured_context(study: Study) -> list[str]:
    """Return the names of the context parameters that are measured with the result."""
    return measured_of(study.parameters)


def set_by_trial(study: Study) -> list[str]:
    """Return the names of the parameters whose values a trial gives: all but those measured with the result."""
    return [each.name for each in study.parameters if each.name not in measured_context(study)]


def is_as_suggested(study: Study, trial: Trial, evaluated: Mapping[str, Any]) -> bool:
    """Return whether a trial was evaluated as suggested, whatever was measured with the result."""
    measured = measured_context(study)
    return {name: value for name, value in evaluated.items() if name not in measured} == trial.parameters


def chosen(study: Study) -> list[str]:
    """Return the names of the parameters that the optimizer chooses: neither fixed nor context parameters."""
    known = {*context(study), *(each.name for each in study.parameters if each.kind == "fixed")}
    return [each.name for each in study.parameters if each.name not in known]


def measured(study: Study) -> list[str]:
    """Return the names of the metrics of each result; several objectives come first."""
    return [*(each.metric for each in study.objectives), *study.metrics]


def labelled(study: Study) -> list[str]:
    """Return the names of the quantities that may have a label and a unit: the single objective, and the metrics."""
    return [*([] if study.objectives else [OBJECTIVE]), *measured(study)]


def budget(study: Study) -> int | dict[str, Any] | None:
    """Return the budget in the format of the API."""
    given = study.budget
    return given.model_dump(mode="json") if isinstance(given, CostBudget | PlateBudget) else given


def cost_budget(study: Study) -> float | None:
    """Return the budget of cost; None without one."""
    return study.budget.cost if isinstance(study.budget, CostBudget) else None


def plate_budget(study: Study) -> int | None:
    """Return the budget of plates; None without one."""
    return study.budget.plates if isinstance(study.budget, PlateBudget) else None


def trial_budget(study: Study) -> int | None:
    """Return the number of trials that the budget allows; None without a budget of trials."""
    return study.budget if isinstance(study.budget, int) else None


def counted_plates(plates: int) -> str:
    """Return a number of plates in words."""
    return "1 plate" if plates == 1 else f"{figure(plates)} plates"


def quantities(study: Study) -> dict[str, Any]:
    """Return labels and units of the quantities, in the format of the API."""
    return {name: each.model_dump(mode="json") for name, each in study.quantities.items()}


def bounded(study: Study) -> list[str]:
    """Return the names of the metrics that may have bounds."""
    return [name for name in study.metrics if name not in {each.metric for each in study.objectives}]


def outcome_constraints(study: Study) -> list[dict[str, Any]]:
    """Return the bounds of metrics, in the format of the API."""
    return [each.model_dump(mode="json") for each in study.outcome_constraints]


def bounds_of(study: Study, metric: str) -> dict[str, Any]:
    """Return the bounds of a metric, in the format of the API; empty without any."""
    return next((each for each in outcome_constraints(study) if each["metric"] == metric), {})


def early_stopping(study: Study) -> dict[str, Any] | None:
    """Return the rule of early stopping, in the format of the API; None without one."""
    return None if study.early_stopping is None else study.early_stopping.model_dump(mode="json")


def are_lines(tags: Mapping[str, str]) -> bool:
    """Return whether a form can show tags as lines such as ``owner: Ada`` and read the same tags from these lines."""
    texts = [*tags, *tags.values()]
    return not any(":" in name for name in tags) and all(
        text == text.strip() and "\n" not in text and "\r" not in text for text in texts
    )


def has_rules(study: Study) -> bool:
    """Return whether the study has bounds of metrics or early stopping that can be changed."""
    return bool(bounded(study)) or study.early_stopping is not None


def parameters(study: Study) -> list[dict[str, Any]]:
    """Return the parameters in the format of the API."""
    return [each.model_dump(mode="json") for each in study.parameters]


def typed(value: object) -> str:
    """Format a text or a number as a user would type it; None becomes empty."""
    if value is None:
        return ""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def duration(seconds: float) -> str:
    """Format a duration in the largest unit of which it is a multiple. The web interface reads this format."""
    size, name = next(((size, name) for size, name in SPANS if seconds >= size and seconds % size == 0), (1, "s"))
    return f"{seconds / size:.10g} {name}"


def elapsed(seconds: float) -> str:
    """Format the duration of an evaluation in its two largest units, such as 7 h 40 min; below a minute, in seconds
    with two digits."""
    left, units = round(seconds), (*SPANS, (1, "s"))
    if left < SPANS[-1][0]:
        return f"{figure(seconds, 2)} s"
    largest = next(index for index, (size, _) in enumerate(units) if left >= size)
    found = []
    for size, name in units[largest : largest + 2]:
        count, left = divmod(left, size)
        found += [f"{count} {name}"] if count else []
    return " ".join(found)


def is_sortable(name: str) -> bool:
    """Return whether a table can be sorted by the values with this name."""
    return NOT_IN_PATHS not in name


def quantity(study: Study, name: str | None = None) -> Quantity:
    """Return the quantity of a metric, or of the single objective."""
    return study.quantities.get(name or OBJECTIVE, UNNAMED)


def label(study: Study, name: str) -> str:
    """Return the label of a metric or, without one, its name."""
    return quantity(study, name).label or name


def labels(study: Study) -> dict[str, str]:
    """Return name -> label of each quantity of a result, for sentences."""
    known = {name: label(study, name) for name in labelled(study)}
    return known if study.objectives or quantity(study).label else {**known, OBJECTIVE: "Result"}


def units(study: Study) -> dict[str, str]:
    """Return name -> unit of each quantity of a result that has a unit."""
    found = {name: unit(study, name) for name in labelled(study)}
    return {name: each for name, each in found.items() if each}


def title(study: Study, name: str | None = None) -> str:
    """Return the title of the column of a metric or, without a name, of the single objective, with its unit."""
    known = quantity(study, name)
    return titled(name or "Result", known.label, known.unit)


def number(study: Study, name: str | None, value: float | None) -> str:
    """Format a number of a metric, or of the objective, with the digits that the study specifies, by default five
    significant ones. ``measured`` in ``assets/words.js`` does the same."""
    return _number(quantity(study, name), value)


def best_listed(study: ListedStudy, repeated: Repeats | None = None) -> str:
    """Format the best result of a study in a list, with its unit; if its point was repeated, the mean there."""
    known = Quantity.model_validate(study.objective or {})
    if repeated is not None and repeated.mean is not None:
        return with_unit(digits.mean(known, repeated.mean), known.unit)
    return _number(known, None) if study.best is None else written(known, study.best)


def may_recommend(study: Study) -> bool:
    """Return whether the model probably recommends a point: it has enough results for the parameters that vary. The
    model itself may need fewer, as in a small space."""
    if study.best is None or not study.algorithm.has_model or context(study):
        return False
    varying = sum(each.kind != "fixed" for each in study.parameters)
    is_auto = isinstance(study.algorithm, AutoProfile)
    return study.counts.observations >= (RESULTS_PER_PARAMETER * (varying + 1) if is_auto else 1)


def written(known: Quantity, value: float | None) -> str:
    """Format a number of a quantity with its unit."""
    return with_unit(_number(known, value), known.unit)


def in_unit(study: Study, name: str | None, value: float | None) -> str:
    """Format a number of a metric, or of the objective, with its unit."""
    return number(study, name, value) if value is None else written(quantity(study, name), value)


def observed(study: Study, name: str | None, value: float, error: float | None) -> str:
    """Format a measured number with its unit and, if it is known, its standard error, both with as many decimals as
    the error has with two digits."""
    return estimate(study, name, value, error) if error else in_unit(study, name, value)


def setting(parameter: Parameter, value: object) -> str:
    """Format a value of a parameter for people: a number to a thousandth of its
    range or, on a log scale, with three significant digits. Whole numbers, values of parameters with steps, and numbers
    of at most four digits, which a person may have entered, are kept as they are. ``Scale.setting`` in
    ``assets/scale.js`` does the same."""
    if not isinstance(parameter, FloatParameter) or parameter.step or not isinstance(value, int | float):
        return shown(value)
    if figure(float(value), FEW_DIGITS) == figure(float(value), 12):
        return figure(float(value), 12)
    if parameter.scale == "log":
        return figure(float(value), 3)
    return figure(rounding.rounded(float(value), _places(parameter)), 12)


def _places(parameter: FloatParameter) -> int:
    """Return the number of decimals of a thousandth of a range, which is first rounded up to a power of ten."""
    return FINENESS - math.ceil(math.log10(parameter.high - parameter.low))


def as_shown(study: Study, point: Mapping[str, Any]) -> dict[str, Any]:
    """Return a point in which the shares of mixtures are rounded. The rounded shares, which a person weighs in, sum to
    the total. Shares with a step are not changed. ``asShown`` in ``assets/scale.js`` does the same."""
    found, known = dict(point), {each.name: each for each in study.parameters}
    for mixture in study.mixtures:
        shares = [
            each for name in mixture.parameters if name in point and isinstance(each := known[name], FloatParameter)
        ]
        free = [each for each in shares if not each.step]
        left = mixture.total - sum(point[each.name] for each in shares if each.step)
        is_whole = math.isclose(left, sum(point[each.name] for each in free), rel_tol=1e-6, abs_tol=1e-9)
        if not is_whole or not any(is_rounded(each, point[each.name]) for each in free):
            continue
        most = FEW_DIGITS - max(math.ceil(math.log10(mixture.total)), 0)  # more digits would be rounded again
        places = min(max(map(_places, free)), most)
        rounded = digits.apportioned([point[each.name] for each in free], left, places)
        found.update(zip((each.name for each in free), rounded, strict=True))
    return found


def is_rounded(parameter: Parameter, value: object) -> bool:
    """Return whether ``setting`` shows a number with fewer digits than it has."""
    return isinstance(value, float) and setting(parameter, value) != figure(value, 12)


def typed_setting(parameter: Parameter, value: object) -> str:
    """Format a value of a parameter as a user would type it, with the digits of ``setting``."""
    return as_typed(setting(parameter, value))


def setting_in_unit(parameter: Parameter, value: object) -> str:
    """Format a value of a parameter with its unit."""
    return with_unit(setting(parameter, value), parameter.unit)


def has_values_between(parameter: Parameter) -> bool:
    """Return whether a measured value may lie between two ordered values of a parameter."""
    return parameter.kind == "ordinal" and parameter.axis().ascending is not None


def note_on_rounding(study: Study, point: Mapping[str, object]) -> str:
    """Return what a person may do about values that are shown with fewer digits than they have; empty if there are no
    such values."""
    short = [each for each in study.parameters if setting(each, point.get(each.name)) != shown(point.get(each.name))]
    if not short:
        return ""
    sentences = ["The values are rounded. If you evaluate different ones, enter them with the result."]
    if any(each.kind == "float" and each.scale == "linear" for each in short):
        sentences.append("With a step, a parameter gets only values that you can set (Edit parameters and rules).")
    if any(each.kind == "float" and each.scale == "log" for each in short):
        sentences.append("A log scale has no step, so its values have three digits.")
    return " ".join(sentences)


def difference(study: Study, value: float) -> str:
    """Format a difference of the objective, with its unit."""
    return in_points(digits.difference(value), unit(study))


def estimate(study: Study, name: str | None, mean: float, std: float) -> str:
    """Format a prediction of a metric or of the objective, clipped to its natural bounds, with its unit."""
    known = quantity(study, name)
    return Digits(mean, mean, FINEST, known).estimate(mean, std)


def expected(
    study: Study,
    name: str | None,
    found: MetricPrediction | Prediction | ModelRecommendation,
    *,
    has_unit: bool = True,
) -> str:
    """Format a prediction of a metric or of the objective, with its central 90% interval or, if the algorithm has other
    bounds, with its standard deviation; clipped to the natural bounds, with its unit if ``has_unit``."""
    mean, std = found.mean or 0.0, found.std or 0.0
    known = quantity(study, name)
    digits = Digits(mean, mean, FINEST, known if has_unit else known.model_copy(update={"unit": None}))
    if not isinstance(study.algorithm, AutoProfile) or found.lcb is None or found.ucb is None:
        return digits.estimate(mean, std)
    return digits.expected(mean, found.lcb, found.ucb, std)


def extrapolated(study: Study, found: Estimate) -> str:
    """Format what is expected of a stopped trial at its last step, with its 90% interval and its unit."""
    value, margin = found.value, INTERVAL * found.std_error
    digits = Digits(value, value, FINEST, quantity(study))
    return digits.expected(value, value - margin, value + margin, found.std_error)


def mean(study: Study, value: float) -> str:
    """Format the mean of several results of the objective, without its unit."""
    return digits.mean(quantity(study), value)


def interval(study: Study, low: float, high: float, std: float) -> str:
    """Format a prediction interval of the objective, clipped to its natural bounds, with the decimals of the
    prediction."""
    return Digits(low, high, FINEST, quantity(study)).interval(low, high, std)


def unit(study: Study, name: str | None = None) -> str | None:
    """Return the unit of a metric, or of the objective; None without one."""
    return quantity(study, name).unit


def parameter_title(parameter: Parameter) -> str:
    """Return the title of a parameter's column, with its unit."""
    return titled(parameter.name, parameter.label, parameter.unit)


def parameter_labels(study: Study, names: Iterable[str]) -> list[str]:
    """Return the labels of parameters; without one, the name."""
    known = {each.name: each.label for each in study.parameters}
    return [known.get(name) or name for name in names]


def uncertain(study: Study) -> list[str]:
    """Return the names of the metrics that may have a standard error; costs have none."""
    return [name for name in measured(study) if name != COST]


def errors(study: Study, result: Observation) -> dict[str, float | None]:
    """Return the standard errors of a result's metrics; None for unknown ones."""
    return {name: (result.std_errors or {}).get(name) for name in uncertain(study)}


def result(quantities: Mapping[str, Quantity], payload: Mapping[str, Any]) -> str:
    """Format the result in an event, with units: its value or, with several objectives, each value with its name."""
    if payload.get("value") is not None:
        return written(quantities.get(OBJECTIVE, UNNAMED), payload["value"])
    return _metrics_in_words(quantities, payload.get("metrics") or {})


def missing(study: Study, result: Observation) -> str:
    """Return the titles of the numbers that a result lacks; empty if it lacks none."""
    return ", ".join(title(study, None if name == OBJECTIVE else name) for name in result.missing)


def former(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the former values in an event. Invalid ones, which an imported event may have, are left out."""
    was = payload.get("was")
    return {name: each for name, each in was.items() if _is_valid(name, each)} if isinstance(was, Mapping) else {}


def _is_valid(name: str, former: object) -> bool:
    """Return whether metrics and their errors are numbers by name, and another field is a number. None stands for what
    was missing."""
    if name in ("metrics", "std_errors") and former is not None:
        return isinstance(former, Mapping) and all(isinstance(each, int | float | None) for each in former.values())
    return former is None or isinstance(former, int | float)


def added(quantities: Mapping[str, Quantity], payload: Mapping[str, Any]) -> str:
    """Return the numbers that an event adds to a result that lacked them."""
    was = former(payload)
    before = was.get("metrics") or {}
    metrics = {name: value for name, value in payload.get("metrics", {}).items() if name not in before}
    value = [written(quantities.get(OBJECTIVE, UNNAMED), payload["value"])] if "value" in was else []
    return ", ".join(value + ([_metrics_in_words(quantities, metrics)] if metrics and "metrics" in was else []))


def purpose(trial: Trial | TrialRow, *, is_repeat: bool = False) -> str:
    """Return the purpose of a trial; ``is_repeat`` if a user queued it at the point of an earlier result."""
    if is_repeat:
        return PHASES["repeat"]
    if trial.state == "failed" and trial.attempt == 0:
        return OWN_POINT
    if trial.phase == "search" and _is_probably_infeasible(trial.expected):
        return TESTS_BOUND
    return PHASES[trial.phase] if trial.phase else ORIGINS[trial.origin]


def _is_probably_infeasible(expected: Prediction | Mapping[str, Any] | None) -> bool:
    """Return whether the model expected that the point of a trial probably violates the bounds."""
    if expected is None:
        return False
    known = expected.get if isinstance(expected, Mapping) else partial(getattr, expected)
    probability = known("feasible_probability", None)
    return probability is not None and probability < PROBABLE


def bounds(study: Study, metric: str) -> str:
    """Return the bounds of a metric as text, with its unit; empty without bounds."""
    found = _constraint(study, metric)
    if found is None:
        return ""
    ends = [(found.lower, "at least"), (found.upper, "at most")]
    return " and ".join(
        f"{words} {with_unit(shown(end), unit(study, metric))}" for end, words in ends if end is not None
    )


def beyond(study: Study, result: Trial | Observation, metric: str) -> bool:
    """Return whether a result, or the result of a trial, violates the bounds of a metric."""
    found = _constraint(study, metric)
    value = (result.metrics or {}).get(metric)
    return found is not None and value is not None and not found.allows(value)


def point(study: Study, parameters: Mapping[str, Any]) -> str:
    """Return the values of the parameters that vary, with their units."""
    varying = [each for each in study.parameters if each.kind != "fixed" and each.name in parameters]
    rounded = as_shown(study, parameters)
    settings = [f"{each.label or each.name} {setting_in_unit(each, rounded[each.name])}" for each in varying]
    return ", ".join(settings[:MAX_VALUES]) + (", …" if len(settings) > MAX_VALUES else "")


def beyond_natural_bounds(study: Study, result: Observation) -> str:
    """Return a sentence per number of a result that is beyond its natural bounds."""
    sentences = []
    for name in result.beyond_natural_bounds:
        known = study.quantities[name]
        number = (result.value if name == OBJECTIVE else (result.metrics or {}).get(name)) or 0.0
        is_low = known.low is not None and number < known.low
        bound = written(known, known.low if is_low else known.high)
        label = known.label or ("The result" if name == OBJECTIVE else name)
        sentences.append(f"{label} is {'below' if is_low else 'above'} the natural bound of {bound}: check the number.")
    return " ".join(sentences)


def whose(result: Observation) -> str:
    """Return a name of a result for sentences: by its trial or, without one, by its number."""
    return f"own result R{result.seq}" if result.trial is None else f"the result of trial {result.trial}"


def at_point(study: Study, results: Sequence[AtPoint]) -> str:
    """Return what results at the same point gave, such as: trial 16 gave 116.9 s."""
    own = [f"own result R{each.seq}" for each in results if each.trial is None]
    found = [str(each.trial) for each in results if each.trial is not None]
    trials = [f"{'trial' if len(found) == 1 else 'trials'} {_join(found)}"] if found else []
    named = _join([*trials, *own])
    values = [each.value for each in results if each.value is not None]
    if len(values) == 1:
        return f"{named} gave {in_unit(study, None, values[0])}"
    return f"{named} gave {with_unit(mean(study, sum(values) / len(values)), unit(study))} on average"


def reason(trial: Trial) -> str:
    """Return why a trial failed, was stopped, was withdrawn or was released; empty if no reason is known."""
    return of_event(trial.state, trial.reason)


def takes_result(trial: Trial) -> bool:
    """Return whether a person can enter the first result of a trial: it is unfinished, or failed only because its
    result did not arrive in time."""
    is_late = trial.state == "failed" and trial.reason == LATE
    return is_late or trial.state in UNFINISHED


def condition(parameter: Parameter) -> str:
    """Return the condition under which a parameter is active; empty if it always is."""
    if not parameter.when:
        return ""
    parts = (f"{name} is {' or '.join(map(str, values))}" for name, values in parameter.when.items())
    return " and ".join(parts)


def _number(known: Quantity, value: float | None) -> str:
    if known.digits is None or value is None:
        return figure(value)
    return fixed(value, known.digits)


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _metrics_in_words(quantities: Mapping[str, Quantity], metrics: Mapping[str, float]) -> str:
    """Return metrics with their names and units."""
    found = ((quantities.get(name, UNNAMED), name, value) for name, value in metrics.items())
    return ", ".join(f"{known.label or name} {written(known, value)}" for known, name, value in found)


def _constraint(study: Study, metric: str) -> OutcomeConstraint | None:
    return next((each for each in study.outcome_constraints if each.metric == metric), None)
