"""Sentences about why a point was chosen. Each comparison follows from numbers in the same answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial

from adabkb_service.contract.quantities import Quantity, with_unit
from adabkb_service.operations.words.digits import Digits
from adabkb_service.operations.words.labels import Labels
from adabkb_service.operations.words.values_in_words import figure
from adabkb_service.operations.words.wording import FINEST, written
from adabkb_service.storage.columns import BestResult, StoredPrediction
from adabkb_service.storage.event_payloads import Suggested
from adabkb_service.storage.rows import SuggestedRow

PHASES: Mapping[str | None, str] = {
    "start": "It is one of the first points. There were too few results to learn from.",
    "search": "The search balanced the model's mean and its uncertainty.",
    "repeat": "The other results contradict the one at this point, so it is measured again.",
    "polish": "The search stayed near the best point, in the parameters that matter.",
    "explore": "The point tests what the model knows little about.",
    "restart": "The search had brought no improvement for a while, so it restarted.",
    "sample": "The point is random or quasi-random, chosen without a model.",
    None: "The model chose this point.",
}
"""Phase of the search -> sentence."""
INFEASIBLE = "No result satisfies all outcome constraints yet, so the search looks for a point that does."
FALLBACK = "The model did not answer in time, so the point is quasi-random."
Format = Callable[[StoredPrediction, Quantity], str]
"""Formats a prediction of a quantity."""
HALF = 0.5
MIN_DIGITS = 4
MAX_DIGITS = 15


def in_words(
    event: SuggestedRow,
    sign: float,
    best: BestResult | None,
    distance: float | None,
    context: Collection[str] = (),
    names: Labels = Labels(),  # noqa: B008 (it is frozen)
    shared: Collection[str] = (),
    new: str = "",
    *,
    measured: Collection[str] = (),
    has_intervals: bool = True,
    results: int = 0,
    fewest: int = 0,
) -> str:
    """Return sentences about why the point of a suggestion was chosen.

    Args:
        event: the event of the suggestion.
        sign: 1 if the objective is maximized, -1 if it is minimized.
        best: the best result when the point was suggested; None without one.
        distance: distance from the nearest earlier point, as a share of a parameter's range; None for the first point.
        context: names of the context parameters.
        names: the labels and units of the study.
        shared: names of the parameters whose values are equal on a plate.
        new: a sentence about what is new about the point; empty if nothing is.
        measured: names of the context parameters that are measured with the result.
        has_intervals: whether the bounds of the prediction are those of a 90% interval, as in the profile auto;
            otherwise, its standard deviation is given.
        results: the number of results when the point was suggested.
        fewest: the number of results with which one can rely on the model.
    """
    as_text = partial(_estimate, has_intervals=has_intervals)
    few = f"There were too few results to rely on a prediction: {results} of {fewest}." if results < fewest else ""
    return " ".join(
        _sentences(event.payload, sign, best, distance, context, measured, names, shared, new, as_text, few)
    )


def _sentences(
    payload: Suggested,
    sign: float,
    best: BestResult | None,
    distance: float | None,
    context: Collection[str],
    measured: Collection[str],
    names: Labels,
    shared: Collection[str],
    new: str,
    as_text: Format,
    few: str,
) -> Iterator[str]:
    if payload["origin"] == "fallback":
        yield FALLBACK
        return
    fixed_values, expected = payload["fixed"] or {}, payload["expected"]
    if known := {name: value for name, value in fixed_values.items() if name in context and name not in measured}:
        yield f"The context was {_settings(known, names)}."
    if unknown := {name: value for name, value in fixed_values.items() if name in measured}:
        yield f"The context that is measured with the result was assumed to be {_settings(unknown, names)}."
    if equal := {name: value for name, value in fixed_values.items() if name in shared and name not in context}:
        yield f"The trials of plate {payload['plate']} share {_settings(equal, names)}."
    if fixed := {name: value for name, value in fixed_values.items() if name not in context and name not in equal}:
        yield f"Held fixed: {_settings(fixed, names)}."
    is_feasible = best is None or best.get("feasible", True)
    yield PHASES[payload["phase"]] if is_feasible else INFEASIBLE
    if payload["phase"] == "sample":
        return
    if new:
        yield new
    if not few:
        yield from _prediction(expected, sign, best if is_feasible else None, names, as_text)
    elif payload["phase"] != "start":
        yield few
    for study, trust in payload.get("trust", {}).items():
        yield _of_older(study, trust)
    if distance is not None:
        yield _distance(distance)


def _prediction(
    expected: StoredPrediction | None,
    sign: float,
    best: BestResult | None,
    names: Labels,
    as_text: Format,
) -> Iterator[str]:
    """Yield the prediction at the point of each objective, and the probability that the point satisfies all bounds."""
    if expected is None:
        return
    if "mean" not in expected:
        each = (
            f"{names.metric(name)} {as_text(found, names.quantity(name))}"
            for name, found in expected["metrics"].items()
        )
        yield f"The model expected {', '.join(each)}."
    else:
        yield from _expectation(expected, sign, best, names.quantity(), as_text)
    if (probability := expected.get("feasible_probability")) is not None:
        yield f"The point satisfies all outcome constraints with probability {_percent(probability)}."
        if probability < HALF:
            yield "So it tests where the bounds are, rather than being a candidate for the best point."


def _expectation(
    expected: StoredPrediction,
    sign: float,
    best: BestResult | None,
    quantity: Quantity,
    as_text: Format,
) -> Iterator[str]:
    """Yield the prediction at the point, compared with the best result if there is one."""
    if best is None:
        yield f"The model expected {as_text(expected, quantity)} here."
    else:
        lead = sign * (expected["mean"] - best["value"])
        bound = quantity.high if sign > 0 else quantity.low
        if bound is not None and sign * (best["value"] - bound) >= 0.0:
            yield f"The model expected {as_text(expected, quantity)}; no result can be better than the best one so far."
            return
        value = with_unit(_with_resolution(best["value"], expected["std"]), quantity.unit)
        value = value if quantity.digits is None else written(quantity, best["value"])
        chance = _probability(lead, expected["std"])
        better = "Probably better" if chance > HALF else "Probably not better"
        yield f"The model expected {as_text(expected, quantity)} here."
        yield f"{better} than the best result until then, {value} ({_percent(chance)} chance)."


def _estimate(found: Mapping[str, float], quantity: Quantity, *, has_intervals: bool) -> str:
    """Format a prediction with its 90% interval or, if its bounds are others, with its standard deviation."""
    mean, std = found["mean"], found["std"]
    if not std > 0.0:
        return with_unit(_with_resolution(quantity.within(mean), 0.0), quantity.unit)
    digits = Digits(mean, mean, FINEST, quantity)
    return digits.expected(mean, found["lcb"], found["ucb"], std) if has_intervals else digits.estimate(mean, std)


def _with_resolution(value: float, std: float) -> str:
    """Format a number with enough digits to resolve a tenth of the standard deviation."""
    needed = MIN_DIGITS if std <= 0.0 or value == 0.0 else math.ceil(math.log10(abs(value) / std)) + 2
    return figure(value, min(max(needed, MIN_DIGITS), MAX_DIGITS))


def _percent(probability: float) -> str:
    """Format a probability in percent, and one that would round to 0 or 1 as a bound."""
    if 0.0 < probability < 0.005:
        return "less than 1%"
    return "more than 99%" if 0.995 <= probability < 1.0 else f"{probability:.0%}"


def _distance(distance: float) -> str:
    """Say how far the point is from all earlier ones."""
    if distance >= 1.0:
        return "Each earlier point differs from it in a choice or by the whole range of a parameter."
    return f"The nearest earlier point differs from it by {100.0 * distance:.2g}% of a parameter's range."


def _probability(lead: float, std: float) -> float:
    """Return the probability that a normally distributed value is better than the best result."""
    return float(lead > 0.0) if std <= 0.0 else math.erfc(-lead / std / math.sqrt(2.0)) / 2.0


def _of_older(study: str, trust: float) -> str:
    """Describe how much the model relied on an older study."""
    if trust == 0.0:
        return f"The model ignored the older study {study}."
    scale = "0: ignored, 1: used in full"
    return f"The model used the older study {study} with a trust of {trust:.2g} ({scale})."


def _settings(fixed: Mapping[str, object], names: Labels) -> str:
    return ", ".join(f"{names.parameter(name)} = {names.value(name, value)}" for name, value in fixed.items())
