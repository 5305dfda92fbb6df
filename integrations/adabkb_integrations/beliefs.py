"""Beliefs about the position of the optimum, as a prior of the engine, for searches in this process."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from adabkb_client._values import finite
from adabkb_integrations.domain import Domain
from adabkb_service.engine.axes import Axis, ChoiceAxis, FloatAxis
from adabkb_service.engine.catalogue import CatalogueAxis
from adabkb_service.engine.prior import (
    MAX_WEIGHT,
    MIN_WEIGHT,
    NARROWEST,
    Around,
    Prior,
    Weighted,
    share_of,
)
from adabkb_service.engine.wording import listed

Belief = Mapping[str, Any]


def prior_of(beliefs: Mapping[str, Belief] | None, domain: Domain) -> Prior | None:
    """Return the prior for beliefs by parameter; None without beliefs.

    Raises:
        TypeError: a belief is not a dict of numbers.
        ValueError: a belief is about a parameter that does not exist or vary, lacks a field, has a field for another
            kind of parameter, or is outside the parameter's range.
    """
    if not beliefs:
        return None
    axes = {axis.name: index for index, axis in enumerate(domain.space.axes)}
    around, weighted = [], []
    for name, belief in beliefs.items():
        where = f"prior[{name!r}]"
        if name not in axes:
            raise ValueError(f"{where} is an unknown parameter (known: {', '.join(axes)})")
        axis = domain.space.axes[axes[name]]
        if isinstance(axis, ChoiceAxis):
            choices = axis.choices if isinstance(axis, CatalogueAxis) else domain.choices[name]
            weighted.append(Weighted(axes[name], len(choices), _weights(where, belief, choices)))
        else:
            is_periodic = isinstance(axis, FloatAxis) and axis.periodic
            around.append(Around(axes[name], *_around(where, belief, axis), is_periodic))
    return Prior(tuple(around), tuple(weighted))


def _around(where: str, belief: Belief, axis: Axis) -> tuple[float, float]:
    """Return the most probable position and the width of a belief, in the unit cube."""
    is_log = getattr(axis, "scale", "linear") == "log"
    spread = "factor" if is_log else "width"
    middle, extent = _numbers(where, belief, ("around", spread))
    low, high = (finite(where, axis.decode(end)) for end in (0.0, 1.0))  # type: ignore[arg-type]  # numbers, since the axis is numeric
    if isinstance(axis, FloatAxis) and axis.periodic:  # the upper end decodes to the lower one
        high = axis.high
    if not low <= middle <= high:
        raise ValueError(f"{where}: around is {middle}, outside [{low}, {high}]")
    if extent <= (1.0 if is_log else 0.0):
        raise ValueError(f"{where}: {spread} must be more than {1 if is_log else 0}, not {extent}")
    width = share_of(axis, extent)
    if width < NARROWEST:
        raise ValueError(f"{where}: {spread} is too narrow; it must be at least {NARROWEST} of the range")
    return axis.encode(middle), width


def _weights(where: str, belief: Belief, choices: Sequence[Any]) -> tuple[tuple[int, float], ...]:
    """Return the numbers of the choices that the belief names, with their weights."""
    if not isinstance(belief, Mapping) or belief.keys() != {"weights"} or not isinstance(belief["weights"], Mapping):
        raise ValueError(f'{where} is about choices; give {{"weights": {{choice: weight}}}}, not {belief!r}')
    texts = [_text(choice) for choice in choices]
    counts, numbers = Counter(texts), {text: number for number, text in enumerate(texts)}
    found = []
    for text, given in belief["weights"].items():
        if counts[text] != 1:
            raise ValueError(f"{where}: {text!r} is an unknown choice (known: {listed(texts, len(texts))})")
        weight = finite(f"{where}: the weight of {text!r}", given)
        if not MIN_WEIGHT <= weight <= MAX_WEIGHT:
            raise ValueError(f"{where}: the weight of {text!r} must be from 1e-6 to 1e6, not {given}")
        found.append((numbers[text], weight))
    return tuple(sorted(found))


def _numbers(where: str, belief: Belief, names: tuple[str, str]) -> tuple[float, float]:
    if not isinstance(belief, Mapping) or belief.keys() != set(names):
        raise ValueError(f"{where} must have {names[0]} and {names[1]}, and nothing else, not {belief!r}")
    first, second = (finite(f"{where}: {name}", belief[name]) for name in names)
    return first, second


def _text(choice: object) -> str:
    """Return the name of a choice: itself if it is a string, otherwise its JSON or its Python representation."""
    return choice if isinstance(choice, str) else json.dumps(choice, default=repr)
