"""What an edit has added to a study's space and nobody has tried since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from adabkb_service.contract.parameters import FloatParameter, IntParameter, Parameter
from adabkb_service.operations.words.labels import Labels, marked
from adabkb_service.operations.words.values_in_words import shown

Stored = Mapping[str, Any]
"""A stored parameter."""


def untried_additions(
    parameters: Sequence[Parameter],
    former: Iterable[Sequence[Stored]],
    points: Sequence[Mapping[str, Any]],
    names: Labels,
) -> list[str]:
    """Return what was added to the space and has no result, in words, such as: Hardener Tolonate X FLO.

    Args:
        parameters: the current parameters of the study that are neither fixed nor context parameters.
        former: the parameters of each former space.
        points: the points of all results.
        names: the labels and units of the study.
    """
    spaces = [{each["name"]: each for each in listed} for listed in former]
    found = []
    for each in parameters:
        before = [space[each.name] for space in spaces if each.name in space]
        values = [point[each.name] for point in points if each.name in point]
        found += [f"{names.parameter(each.name)} {what}" for what in _untried(each, before, values, names)]
    return found


def _untried(parameter: Parameter, before: Sequence[Stored], values: Sequence[Any], names: Labels) -> Iterator[str]:
    """Yield the added values, and the added parts of a range, that no result has."""
    if isinstance(parameter, FloatParameter | IntParameter):
        highs = [each["high"] for each in before if each.get("high") is not None and each["high"] < parameter.high]
        lows = [each["low"] for each in before if each.get("low") is not None and each["low"] > parameter.low]
        if highs and not any(value > max(highs) for value in values):
            yield f"above {names.value(parameter.name, max(highs))}"
        if lows and not any(value < min(lows) for value in values):
            yield f"below {names.value(parameter.name, min(lows))}"
        return
    listed = getattr(parameter, "choices", None) or getattr(parameter, "values", None) or ()
    known = [each.get("choices") or each.get("values") or () for each in before]
    for choice in listed:
        if any(choice not in each for each in known if each) and choice not in values:
            yield marked(shown(choice))
