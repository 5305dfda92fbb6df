"""Describe in words what is new about a suggested point: values that no earlier point has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from adabkb_service.contract.quantities import with_unit
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis, IntAxis
from adabkb_service.engine.catalogue import CatalogueAxis
from adabkb_service.engine.space import Space
from adabkb_service.operations.words.labels import Labels, marked
from adabkb_service.operations.words.values_in_words import figure

EMPTY = 0.1
"""A range without earlier points is named if it reaches at least this share of the whole range to each side."""


def novelty(space: Space, point: Mapping[str, Any], earlier: Sequence[Mapping[str, Any]], names: Labels) -> str:
    """Return a sentence about what is new: a choice, otherwise a combination of two choices, otherwise a range of a
    number without earlier points. Empty if none of these is new, and for the first point.

    Args:
        space: the space of the study at that time.
        point: the parameters of the suggestion.
        earlier: the parameters of all earlier trials and results.
        names: the labels and units of the study.
    """
    if not earlier:
        return ""
    listed = [
        axis.name
        for axis in space.axes
        if isinstance(axis, ChoiceAxis) and not isinstance(axis, CatalogueAxis) and axis.name in point
    ]
    for name in listed:
        if all(each.get(name) != point[name] for each in earlier):
            return f"{_setting(name, point, names)} had not been tried before."
    for one, other in combinations(listed, 2):
        if not any(each.get(one) == point[one] and each.get(other) == point[other] for each in earlier):
            return f"{_setting(one, point, names)} had not been tried with {_setting(other, point, names)} before."
    return _empty_range(space, point, earlier, names)


def _empty_range(space: Space, point: Mapping[str, Any], earlier: Sequence[Mapping[str, Any]], names: Labels) -> str:
    """Return a sentence about the parameter whose number is farthest from all earlier numbers, as a share of its range;
    empty if no distance reaches ``EMPTY``."""
    farthest, sentence = EMPTY, ""
    for axis in space.axes:
        tried = [each[axis.name] for each in earlier if axis.name in each]
        if not isinstance(axis, FloatAxis | IntAxis) or axis.name not in point or not tried:
            continue
        at = axis.encode(point[axis.name])
        apart, nearest = min((abs(axis.encode(value) - at), value) for value in tried)
        if apart >= farthest:
            farthest, name = apart, names.parameter(axis.name)
            known = names.parameters.get(axis.name)
            sentence = (
                f"The nearest {name} tried before was {with_unit(figure(nearest, 6), known.unit if known else None)}."
            )
    return sentence


def _setting(name: str, point: Mapping[str, Any], names: Labels) -> str:
    value = point[name]
    return f"{names.parameter(name)} {marked(value) if isinstance(value, str) else names.value(name, value)}"
