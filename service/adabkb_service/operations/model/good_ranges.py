"""Where along a numerical parameter the model expects the best results, and where it is sure that they are worse."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adabkb_service.contract.answers import Prediction
from adabkb_service.contract.parameters import FloatParameter, IntParameter
from adabkb_service.operations.model.choices import CLOSE, behind

DIGITS = 2
"""The number of significant digits of a number on a log scale and, on a linear one, of the range."""


@dataclass(frozen=True, slots=True)
class GoodRange:
    """Where a parameter is good, with all others at the recommended point. The numbers are rounded."""

    best: float
    """Where the model expects the best result."""
    low: float | None
    """All values below it are worse; None if this is not known of any."""
    high: float | None
    """All values above it are worse; None if this is not known of any."""


def good_range(
    parameter: FloatParameter | IntParameter,
    values: Sequence[float],
    predictions: Sequence[Prediction],
    sign: float,
    extent: float,
) -> GoodRange | None:
    """Return where a parameter is good, according to the posterior along it. A value is worse if the posterior says so
    with a probability of about 95%, and if the difference is at least the share ``CLOSE`` of the range of all
    results. Return None if neither end of the range is known to be worse, if a prediction is incomplete, or if the
    parameter is periodic, so that its range has no ends.

    Args:
        parameter: the parameter.
        values: the values, ascending.
        predictions: the posterior at each value, with central 90% intervals.
        sign: +1 if results are to be large, -1 if they are to be small.
        extent: the range of all results.
    """
    if isinstance(parameter, FloatParameter) and parameter.periodic:
        return None
    if any(None in (each.mean, each.lcb, each.ucb) for each in predictions):
        return None
    top = max(range(len(values)), key=lambda i: sign * (predictions[i].mean or 0.0))
    differences = [behind(predictions[top], each, sign) for each in predictions]
    is_worse = [difference - half > 0.0 and difference >= CLOSE * extent for difference, half in differences]
    first, last = is_worse.index(False), len(values) - 1 - is_worse[::-1].index(False)  # the best one is not worse
    beside = 0 if parameter.axis().count == len(values) else 1  # otherwise, values between these may be worse
    low = _round(parameter, values[first - beside], math.floor) if first > 0 else None
    high = _round(parameter, values[last + beside], math.ceil) if last < len(values) - 1 else None
    low = None if low is None or low <= parameter.low else low
    high = None if high is None or high >= parameter.high else high
    if low is None and high is None:
        return None
    best = _round(parameter, values[top], round)
    return GoodRange(min(max(best, parameter.low), parameter.high), low, high)


def _round(parameter: FloatParameter | IntParameter, value: float, rounding: Callable[[float], int]) -> float:
    """Round a value as ``DIGITS`` says. Values of integers, and of parameters with a step, are not rounded."""
    if isinstance(parameter, IntParameter) or parameter.step is not None:
        return value
    if parameter.scale == "log":
        places = DIGITS - 1 - math.floor(math.log10(value))
    else:
        places = DIGITS - math.ceil(math.log10(parameter.high - parameter.low))
    return float(f"{rounding(value * 10.0**places) / 10.0**places:.12g}")
