"""The definition of a study in words: its parameters and rules."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO

from adabkb_service.contract.algorithms import AutoProfile
from adabkb_service.contract.answers import Study
from adabkb_service.contract.budget import PlateBudget
from adabkb_service.contract.context import MEASURED
from adabkb_service.contract.cost import CostBudget
from adabkb_service.contract.mixtures import Mixture
from adabkb_service.contract.parameters import (
    BoolParameter,
    CatalogueParameter,
    CategoricalParameter,
    FixedParameter,
    FloatParameter,
    IntParameter,
    OrdinalParameter,
    Parameter,
)
from adabkb_service.contract.plates import Plates
from adabkb_service.contract.prior import Belief
from adabkb_service.contract.quantities import Quantity, in_points, with_unit
from adabkb_service.engine.ending import STOP_RULES
from adabkb_service.operations.words.values_in_words import figure, shown
from adabkb_service.operations.words.wording import (
    bounds,
    counted_plates,
    duration,
    measured,
    parameter_labels,
    quantity,
    unit,
)

KINDS: Mapping[str, str] = {
    "float": "number",
    "int": "whole number",
    "categorical": "choice",
    "catalogue": "row of a table",
    "ordinal": "ordered values",
    "bool": "yes or no",
    "fixed": "fixed",
}
MAX_NAMED = 10
"""The maximum number of descriptors or columns that are named."""
COSTS: Mapping[str, str] = {
    "told": "given with each result",
    "measured": "the seconds of an attempt, unless given",
}

OF_STOP: Mapping[str, str] = {
    "no_gain_for": "after {} results without an improvement",
    "gap_share_below": "when further trials gain less than {} of the range of the results, according to the model",
}
"""When each rule of ``stop`` ends a study, with a place for its number; a share is written as a percentage."""


def values(parameter: Parameter) -> str:
    """Return the possible values of a parameter, and whether it is a context parameter."""
    if isinstance(parameter, FixedParameter):
        return shown(parameter.value)
    known = "; measured with the result" if parameter.context == MEASURED else "; known, not chosen"
    return _values(parameter) + (known if parameter.context else "")


def _values(parameter: Parameter) -> str:
    match parameter:
        case FloatParameter() | IntParameter():
            usual = 1 if isinstance(parameter, IntParameter) else None
            step = f", in steps of {shown(parameter.step)}" if parameter.step != usual else ""
            scale = ", log scale" if parameter.scale == "log" else ""
            ends = (
                ", the ends are the same point" if isinstance(parameter, FloatParameter) and parameter.periodic else ""
            )
            return f"{shown(parameter.low)} to {shown(parameter.high)}{step}{scale}{ends}"
        case CategoricalParameter():
            return ", ".join(map(_quote, parameter.choices)) + _descriptors(parameter)
        case CatalogueParameter():
            withdrawn = f", {figure(parameter.withdrawn)} of them withdrawn" if parameter.withdrawn else ""
            columns = _first_names(parameter.columns or ())
            return f"one of {figure(parameter.rows or 0)} rows{withdrawn}; described by {columns}"
        case OrdinalParameter():
            return ", ".join(map(_quote, parameter.values))
        case BoolParameter():
            return "false, true"
        case FixedParameter():
            return shown(parameter.value)


def _descriptors(parameter: CategoricalParameter) -> str:
    """Return the names of the descriptors of a parameter's choices; empty if there are none."""
    return f"; described by {_first_names(list(parameter.descriptors))}" if parameter.descriptors else ""


def header_line(parameter: CatalogueParameter) -> str:
    """Return the header line of a catalogue's table. The first column holds the names of the rows; its title is the
    parameter's name."""
    text = StringIO()
    csv.writer(text, lineterminator="").writerow([parameter.name, *(parameter.columns or ())])
    return text.getvalue()


def _first_names(columns: Sequence[str]) -> str:
    """Return the first ``MAX_NAMED`` column names, and the number of further names."""
    more = f" and {len(columns) - MAX_NAMED} more" if len(columns) > MAX_NAMED else ""
    return f"{', '.join(map(_quote, columns[:MAX_NAMED]))}{more}"


def _quote(choice: object) -> str:
    """Return a choice as the form for a new study shows it. Texts are quoted, since they may contain commas."""
    return f"“{choice}”" if isinstance(choice, str) else shown(choice)


def belief(parameter: Parameter, known: Belief | None) -> str:
    """Return where the user expects the best value of a parameter, with its unit; empty without a belief."""
    if known is None:
        return ""
    if known.weights is not None:
        return ", ".join(f"{text}: {weight:g}" for text, weight in known.weights.items())
    around = with_unit(shown(known.around), parameter.unit)
    if known.width is None:
        return f"{around}, within a factor of {shown(known.factor)}"
    return f"{around}, ± {with_unit(shown(known.width), parameter.unit)}"


def rules(study: Study) -> Iterator[tuple[str, str]]:
    """Yield the goal and the rules of a study, each with its label."""
    yield "Goal", _goal(study)
    for mixture in study.mixtures:
        yield "Mixture", _mixture(study, mixture)
    for name in measured(study)[len(study.objectives) :]:
        label = quantity(study, name).label or name
        yield f"Measured: {label}", bounds(study, name) or (COSTS[study.cost] if name == "cost" and study.cost else "–")
    if study.per_cost:
        yield "Points are chosen", "by expected gain per cost"
    if study.robust:
        yield "Doubtful results", "have less weight and are measured again"
    if study.plates:
        yield "Plates", _plates(study, study.plates)
    yield "Budget", _budget(study)
    yield from _ends(study)
    if study.early_stopping:
        yield "Trials end early", f"rule {study.early_stopping.rule}, of {study.early_stopping.max_steps} steps"
    yield "Noise of a result", _noise(study)
    yield (
        "Reservation",
        f"{duration(study.lease_seconds)}; a trial fails after {study.max_attempts} of them without a result",
    )
    if study.failure_limit is not None:
        yield "Pauses", f"after {study.failure_limit} failures in a row"
    yield "Algorithm", getattr(study.algorithm, "profile", None) or study.algorithm.kind
    yield "Seed", str(study.seed)
    if study.space_version:
        yield "Edited", f"version {study.space_version} of the parameters and rules"


def _mixture(study: Study, mixture: Mixture) -> str:
    most = "" if mixture.at_most is None else f", at most {mixture.at_most} of them above 0"
    least = f", each 0 or at least {shown(mixture.least)}" if mixture.least else ""
    return f"{' + '.join(parameter_labels(study, mixture.parameters))} = {shown(mixture.total)}{most}{least}"


def _goal(study: Study) -> str:
    if not study.objectives:
        known = quantity(study)
        ends = [with_unit(shown(end), known.unit) for end in (known.low, known.high) if end is not None]
        words = {2: " to ".join(ends), 1: f"{'from' if known.high is None else 'up to'} {''.join(ends)}"}
        return f"{known.label or 'the result'} {study.direction}d{f' ({words[len(ends)]})' if ends else ''}"
    worse = (
        f" (worst useful value {with_unit(shown(each.reference), quantity(study, each.metric).unit)})"
        if each.reference is not None
        else ""
        for each in study.objectives
    )
    names = (quantity(study, each.metric).label or each.metric for each in study.objectives)
    goals = zip(names, study.objectives, worse, strict=True)
    return ", ".join(f"{name} {each.direction}d{of}" for name, each, of in goals)


def _noise(study: Study) -> str:
    if not study.objectives:
        return _deviation(study.noise_std, quantity(study))
    if all(each.noise_std is None for each in study.objectives):
        return "learned"
    known = [(each, quantity(study, each.metric)) for each in study.objectives]
    return "; ".join(f"{words.label or each.metric}: {_deviation(each.noise_std, words)}" for each, words in known)


def _deviation(noise_std: float | None, known: Quantity) -> str:
    if noise_std is None:
        return "learned"
    if noise_std == 0.0:
        return "none: results are exact"
    return f"standard deviation {with_unit(shown(noise_std), known.unit)}"


def _budget(study: Study) -> str:
    if study.budget is None:
        return "no limit"
    if isinstance(study.budget, CostBudget):
        return f"{figure(study.budget.cost)} of cost"
    if isinstance(study.budget, PlateBudget):
        return counted_plates(study.budget.plates)
    if study.plates is None:
        return f"{figure(study.budget)} trials"
    return f"{figure(study.budget)} trials, on {counted_plates(math.ceil(study.budget / study.plates.size))}"


def _plates(study: Study, plates: Plates) -> str:
    shared = f" with the same {' and '.join(parameter_labels(study, plates.shared))}" if plates.shared else ""
    learned = "; the offset of each plate is learned" if isinstance(study.algorithm, AutoProfile) else ""
    return f"of {figure(plates.size)} trials{shared}{learned}"


def _ends(study: Study) -> Iterator[tuple[str, str]]:
    """Yield the rules that end the study before its budget is used up."""
    if study.tolerance is not None:
        gain = in_points(shown(study.tolerance), unit(study))
        yield "Ends early", f"when further trials gain at most {gain}, according to the model"
    for name, number in (study.stop.model_dump() if study.stop else {}).items():
        value = f"{100 * number:g}%" if STOP_RULES[name].number == "share" else figure(number)
        yield "Ends early", OF_STOP[name].format(value)
