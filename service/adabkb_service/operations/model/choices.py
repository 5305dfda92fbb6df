"""Which choices of a categorical parameter are good and which are worse, according to the posterior."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adabkb_service.contract.answers import Prediction
from adabkb_service.contract.parameters import FloatParameter, IntParameter, Parameter

CLOSE = 0.1
"""A choice is about as good as the best one if the upper end of the interval of their difference is less than this
share of the range of all results."""
COMPARABLE = 0.25
"""Two values of a numerical parameter are comparable if they differ by at most this share of its range."""


@dataclass(frozen=True, slots=True)
class RatedChoices:
    """The choices of a parameter, with all other parameters at the recommended point."""

    best: Any
    """The recommended choice."""
    good: list[Any]
    """Other choices that are known to be about as good."""
    worse: list[Any]
    """Choices that are worse with a probability of about 95% each, and that have a comparable result."""
    unknown: list[Any]
    """Choices that are not known to be good or worse."""
    not_compared: list[Any] = field(default_factory=list)
    """Choices that are worse according to the posterior, but without a comparable result: they were tried only with
    other values of the other parameters."""


def rate_choices(
    values: Sequence[Any],
    predictions: Sequence[Prediction],
    best: Any,
    sign: float,
    extent: float,
    compared: Collection[str],
) -> RatedChoices | None:
    """Divide choices into good, worse, unknown and not compared ones, according to the posterior. Return None if the
    best choice is not among the values, or if a prediction is incomplete.

    The posterior assumes that a choice that was bad with some values of the other parameters is bad with all of them.
    This is often wrong, for example for a solvent that was only tried with a bad ligand. So a choice is called worse
    only if it has a comparable result.
    Half the width of the interval of a difference of two choices is the root of the sum of squares of half the widths
    of their intervals. The interval from the joint posterior, whose correlations are not negative, would be narrower.

    Args:
        values: the choices.
        predictions: the posterior at each, with central 90% intervals.
        best: the recommended choice.
        sign: +1 if results are to be large, -1 if they are to be small.
        extent: the range of all results.
        compared: the choices with a comparable result, from ``with_comparable_results``.
    """
    known = dict(zip(map(repr, values), predictions, strict=True))
    top = known.get(repr(best))
    if top is None or any(None in (each.mean, each.lcb, each.ucb) for each in predictions):
        return None
    found = RatedChoices(best, [], [], [])
    for value in values:
        if value == best:
            continue
        difference, half = behind(top, known[repr(value)], sign)
        if difference - half > 0.0:
            (found.worse if repr(value) in compared else found.not_compared).append(value)
        elif difference + half < CLOSE * extent:
            found.good.append(value)
        else:
            found.unknown.append(value)
    return found


def with_comparable_results(
    name: str, results: Iterable[Mapping[str, Any]], point: Mapping[str, Any], partners: Sequence[Parameter]
) -> set[str]:
    """Return the choices of a parameter, as ``repr`` writes them, that have a result comparable with a point: the same
    choices and similar numbers of the other parameters that matter.

    Args:
        name: the parameter.
        results: the points of results.
        point: the recommended point.
        partners: the parameters that matter; ``name`` itself is ignored.
    """
    others = [each for each in partners if each.name != name]
    alike = (each for each in results if name in each and all(_is_alike(other, each, point) for other in others))
    return {repr(each[name]) for each in alike}


def _is_alike(parameter: Parameter, result: Mapping[str, Any], point: Mapping[str, Any]) -> bool:
    """Return whether a result has the same choice or a similar number as a point. A parameter may be inactive."""
    here, there = point.get(parameter.name), result.get(parameter.name)
    if here is None or there is None or not isinstance(parameter, FloatParameter | IntParameter):
        return repr(here) == repr(there)
    axis = parameter.axis()
    apart = abs(axis.encode(there) - axis.encode(here))
    is_periodic = isinstance(parameter, FloatParameter) and parameter.periodic
    return min(apart, 1.0 - apart if is_periodic else apart) <= COMPARABLE


def largest_change(predictions: Sequence[Prediction]) -> float:
    """Return the largest change that is plausible along a slice: the largest difference between the mean at one point
    and an end of the 90% interval at another."""
    means = [each.mean or 0.0 for each in predictions]
    lows, highs = [each.lcb or 0.0 for each in predictions], [each.ucb or 0.0 for each in predictions]
    return max(max(highs) - min(means), max(means) - min(lows))


def behind(top: Prediction, other: Prediction, sign: float) -> tuple[float, float]:
    """Return how much worse a choice is than the best one, and half the width of the interval of this difference. It
    follows from the lower half of the best choice's interval and the upper half of the other's."""
    best, mean = sign * (top.mean or 0.0), sign * (other.mean or 0.0)
    worst = sign * ((top.lcb if sign > 0.0 else top.ucb) or 0.0)
    highest = sign * ((other.ucb if sign > 0.0 else other.lcb) or 0.0)
    return best - mean, math.hypot(best - worst, highest - mean)
