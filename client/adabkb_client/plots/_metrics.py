"""Metrics drawn instead of the value, so that figures can show one of several objectives."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from adabkb_client._analysis import Slice
from adabkb_client._models import Observation, Prediction, StudyInfo
from adabkb_client._values import titled


def as_one(info: StudyInfo, metric: str | None) -> StudyInfo:
    """Return a study as if a metric were its only objective; without a metric, the study itself.

    Raises:
        ValueError: the study has several objectives and none is named, or it has no such metric.
    """
    objectives = {each["metric"]: each["direction"] for each in info.objectives}
    known = [*objectives, *info.metrics]
    if metric is None:
        if objectives:
            raise ValueError(f"study {info.id!r} has several objectives; name the one to draw: metric= one of {known}")
        return info
    if metric not in known:
        raise ValueError(f"{metric!r} is not a metric of study {info.id!r}; these are: {known}")
    words = {"value": info.quantities[metric]} if metric in info.quantities else {}
    return replace(info, direction=objectives.get(metric, "minimize"), quantities=words)


def title(info: StudyInfo) -> str:
    """Return the title of the value, with its unit."""
    return titled("value", info.quantities.get("value", {}))


def within(info: StudyInfo, values: Iterable[float | None]) -> list[float]:
    """Return values as floats, clipped to the natural bounds of the study's value."""
    words = info.quantities.get("value", {})
    low, high = words.get("low", -math.inf), words.get("high", math.inf)
    return [min(max(value, low), high) for value in numbers(values)]


def valued(observations: Sequence[Observation], metric: str | None) -> list[Observation]:
    """Return results whose values are those of a metric, without those that lack it."""
    if metric is None:
        return [each for each in observations if "value" not in each.missing]
    return [
        replace(each, value=each.metrics[metric], std_error=(each.std_errors or {}).get(metric))
        for each in observations
        if each.metrics is not None and metric in each.metrics
    ]


def predicted(cut: Slice, metric: str | None) -> Slice:
    """Return a slice with the predictions of a metric."""
    if metric is None:
        return cut
    return replace(cut, predictions=tuple(Prediction(**vars((each.metrics or {})[metric])) for each in cut.predictions))


def numbers(values: Iterable[float | None]) -> list[float]:
    """Return values as floats, with NaN for missing ones."""
    return [math.nan if value is None else value for value in values]
