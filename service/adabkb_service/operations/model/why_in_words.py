"""Sentences about why a point was chosen. Each comparison follows from numbers in the same answer."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

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
FALLBACK = "The model had failed or did not answer in time, so the point is quasi-random."
HALF = 0.5
MIN_DIGITS = 4
MAX_DIGITS = 15


@dataclass(frozen=True, kw_only=True)
class Known:
    """What was known when a point was suggested."""

    sign: float
    """1 if the objective is maximized, -1 if it is minimized."""
    best: BestResult | None
    """The best result; None without one."""
    distance: float | None = None
    """Distance from the nearest earlier point, as a share of a parameter's range; None for the first point."""
    context: Collection[str] = ()
    """Names of the context parameters."""
    measured: Collection[str] = ()
    """Names of the context parameters that are measured with the result."""
    shared: Collection[str] = ()
    """Names of the parameters whose values are equal on a plate."""
    names: Labels = field(default_factory=Labels)
    """The labels and units of the study."""
    new: str = ""
    """A sentence about what is new about the point; empty if nothing is."""
    has_intervals: bool = True
    """Whether the bounds of the prediction are those of a 90% interval, as in the profile auto; otherwise, its standard
    deviation is given."""
    results: int = 0
    """The number of results."""
    fewest: int = 0
    """The number of results from which on one can rely on the model."""

    @property
    def feasible_best(self) -> BestResult | None:
        """The best result if it satisfies all outcome constraints."""
        return self.best if self.best is not None and self.best.get("feasible", True) else None

    def estimate(self, found: StoredPrediction, quantity: Quantity) -> str:
        """Format a prediction with its 90% interval or, without ``has_intervals``, with its standard deviation."""
        mean, std = found["mean"], found["std"]
        if not std > 0.0:
            return with_unit(_with_resolution(quantity.within(mean), 0.0), quantity.unit)
        digits = Digits(mean, mean, FINEST, quantity)
        if self.has_intervals:
            return digits.expected(mean, found["lcb"], found["ucb"], std)
        return digits.estimate(mean, std)


def in_words(event: SuggestedRow, known: Known) -> str:
    """Return sentences about why the point of a suggestion was chosen."""
    return " ".join(_sentences(event.payload, known))


def _sentences(payload: Suggested, known: Known) -> Iterator[str]:
    if payload["origin"] == "fallback":
        yield FALLBACK
        return
    yield from _fixed(payload, known)
    yield PHASES[payload["phase"]] if known.best is None or known.feasible_best is not None else INFEASIBLE
    if payload["phase"] == "sample":
        return
    if known.new:
        yield known.new
    if known.results >= known.fewest:
        yield from _prediction(payload["expected"], known)
    elif payload["phase"] != "start":
        yield f"There were too few results to rely on a prediction: {known.results} of {known.fewest}."
    for study, trust in payload.get("trust", {}).items():
        yield _of_older(study, trust)
    if known.distance is not None:
        yield _distance(known.distance)


def _fixed(payload: Suggested, known: Known) -> Iterator[str]:
    """Yield the values that the point had to have, by reason."""
    values, names, context = payload["fixed"] or {}, known.names, known.context
    if given := {name: value for name, value in values.items() if name in context and name not in known.measured}:
        yield f"The context was {_settings(given, names)}."
    if unknown := {name: value for name, value in values.items() if name in known.measured}:
        yield f"The context that is measured with the result was assumed to be {_settings(unknown, names)}."
    if equal := {name: value for name, value in values.items() if name in known.shared and name not in context}:
        yield f"The trials of plate {payload['plate']} share {_settings(equal, names)}."
    if fixed := {name: value for name, value in values.items() if name not in context and name not in equal}:
        yield f"Held fixed: {_settings(fixed, names)}."


def _prediction(expected: StoredPrediction | None, known: Known) -> Iterator[str]:
    """Yield the prediction at the point of each objective, and the probability that the point satisfies all bounds."""
    if expected is None:
        return
    if "mean" not in expected:
        each = (
            f"{known.names.metric(name)} {known.estimate(found, known.names.quantity(name))}"
            for name, found in expected["metrics"].items()
        )
        yield f"The model expected {', '.join(each)}."
    else:
        yield from _expectation(expected, known)
    if (probability := expected.get("feasible_probability")) is not None:
        yield f"The point satisfies all outcome constraints with probability {_percent(probability)}."
        if probability < HALF:
            yield "So it tests where the bounds are, rather than being a candidate for the best point."


def _expectation(expected: StoredPrediction, known: Known) -> Iterator[str]:
    """Yield the prediction at the point, compared with the best result if there is one."""
    best, quantity, sign = known.feasible_best, known.names.quantity(), known.sign
    text = f"The model expected {known.estimate(expected, quantity)}"
    if best is None:
        yield f"{text} here."
        return
    bound = quantity.high if sign > 0 else quantity.low
    if bound is not None and sign * (best["value"] - bound) >= 0.0:
        yield f"{text}; no result can be better than the best one so far."
        return
    value = with_unit(_with_resolution(best["value"], expected["std"]), quantity.unit)
    value = value if quantity.digits is None else written(quantity, best["value"])
    chance = _probability(sign * (expected["mean"] - best["value"]), expected["std"])
    better = "Probably better" if chance > HALF else "Probably not better"
    yield f"{text} here."
    yield f"{better} than the best result until then, {value} ({_percent(chance)} chance)."


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
