"""Which choices of a categorical parameter are good and which are worse, according to the posterior."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adabkb_service.contract.answers import Prediction

CLOSE = 0.1
"""A choice is about as good as the best one if it is worse by less than this share of the range of all results, even at
the upper end of the interval of their difference."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The choices of a parameter, with all other parameters at the recommended point."""

    best: Any
    """The recommended choice."""
    good: list[Any]
    """Other choices that are known to be about as good."""
    worse: list[Any]
    """Choices that are worse with a probability of about 95% each."""
    unknown: list[Any]
    """Choices that are not known to be either."""


def judged(
    values: Sequence[Any], predictions: Sequence[Prediction], best: Any, sign: float, extent: float
) -> Judged | None:
    """Divide choices into good, worse and unknown ones, according to the posterior. Return None if the best choice is
    not among the values, or if a prediction is incomplete.

    Half the width of the interval of a difference of two choices is the root of the sum of squares of half the widths
    of their intervals. The interval from the joint posterior, whose correlations are not negative, would be narrower.

    Args:
        values: the choices.
        predictions: the posterior at each, with central 90% intervals.
        best: the recommended choice.
        sign: +1 if results are to be large, -1 if they are to be small.
        extent: the range of all results.
    """
    known = dict(zip(map(repr, values), predictions, strict=True))
    top = known.get(repr(best))
    if top is None or any(None in (each.mean, each.lcb, each.ucb) for each in predictions):
        return None
    found = Judged(best, [], [], [])
    for value in values:
        if value == best:
            continue
        behind, half = _behind(top, known[repr(value)], sign)
        if behind - half > 0.0:
            found.worse.append(value)
        elif behind + half < CLOSE * extent:
            found.good.append(value)
        else:
            found.unknown.append(value)
    return found


def largest_change(predictions: Sequence[Prediction]) -> float:
    """Return the largest change that is plausible along a slice: the largest difference between the mean at one point
    and an end of the 90% interval at another."""
    means = [each.mean or 0.0 for each in predictions]
    lows, highs = [each.lcb or 0.0 for each in predictions], [each.ucb or 0.0 for each in predictions]
    return max(max(highs) - min(means), max(means) - min(lows))


def _behind(top: Prediction, other: Prediction, sign: float) -> tuple[float, float]:
    """Return how much worse a choice is than the best one, and half the width of the interval of this difference. It
    follows from the lower half of the best choice's interval and the upper half of the other's."""
    at, there = sign * (top.mean or 0.0), sign * (other.mean or 0.0)
    worst = sign * ((top.lcb if sign > 0.0 else top.ucb) or 0.0)
    hope = sign * ((other.ucb if sign > 0.0 else other.lcb) or 0.0)
    return at - there, math.hypot(at - worst, hope - there)
