"""Choices that a function could change: a search keeps them as they were declared."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from adabkb_client import Categorical, Fixed, Ordinal, Parameter


def with_tuples(space: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """Return a search space in which choices that are lists are tuples, as in a study."""
    return {name: _with_tuples(each) for name, each in space.items()}


def unshared(value: Any) -> Any:
    """Return a value for one call of the function: a copy of a dict, a list or a set, and of those in it. All other
    objects are the same in each call."""
    if isinstance(value, dict):
        copied = copy.copy(value)
        copied.update((key, unshared(each)) for key, each in value.items())
        return copied
    if isinstance(value, list):
        copied_list = copy.copy(value)
        copied_list[:] = map(unshared, value)
        return copied_list
    if isinstance(value, set):
        return copy.copy(value)
    return tuple(map(unshared, value)) if type(value) is tuple else value


def _with_tuples(declared: Parameter) -> Parameter:
    match declared:
        case Categorical():
            return replace(declared, choices=tuple(map(_as_tuple, declared.choices)))
        case Ordinal():
            return replace(declared, values=tuple(map(_as_tuple, declared.values)))
        case Fixed():
            return replace(declared, value=_as_tuple(declared.value))
        case _:
            return declared


def _as_tuple(choice: Any) -> Any:
    return tuple(choice) if isinstance(choice, list) else choice
