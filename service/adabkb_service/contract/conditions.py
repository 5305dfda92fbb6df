"""The conditions of parameters, field ``when``: checked against each other, and as the engine has them.

A condition is a fault of the definition, at its own place, if its parent is none, is the parameter itself or has too
many values; if the parent cannot take one of the values; if conditions go round in a circle; and if they never hold
together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic_core import InitErrorDetails, PydanticCustomError

from adabkb_service.contract.parameters import MOST_CHOICES, Parameter
from adabkb_service.engine.conditions import Condition, needs_of
from adabkb_service.engine.space import Fixed
from adabkb_service.engine.wording import brief, listed, nearest

Place = tuple[int | str, ...]


def conditions(parameters: Sequence[Parameter]) -> tuple[Condition, ...]:
    """The conditions of all parameters."""
    return tuple(
        Condition(parameter.name, parent, tuple(values))
        for parameter in parameters
        for parent, values in (parameter.when or {}).items()
    )


def faults(parameters: Sequence[Parameter]) -> list[InitErrorDetails]:
    """What is wrong with the conditions of a study's parameters, whose names are distinct."""
    found = list(_of_values(parameters)) or list(_circles(parameters)) or list(_never_active(parameters))
    return [
        {"type": PydanticCustomError("condition", "{what}", {"what": what}), "loc": at, "input": None}
        for at, what in found
    ]


def _of_values(parameters: Sequence[Parameter]) -> Iterator[tuple[Place, str]]:
    """Faults of single conditions."""
    by_name = {parameter.name: parameter.axis() for parameter in parameters}
    for index, parameter in enumerate(parameters):
        for name, values in (parameter.when or {}).items():
            at, parent = (index, "when", name), by_name.get(name)
            if parent is None:
                near = nearest(name, by_name)
                known = listed(map(brief, sorted(by_name)), len(by_name))
                meant = f"; did you mean {near}?" if near else ""
                yield at, f"is not a parameter of this study{meant} (known: {known})"
            elif name == parameter.name:
                yield at, "is the parameter itself; name another one, on which it depends"
            elif not isinstance(parent, Fixed) and (parent.count is None or parent.count > MOST_CHOICES):
                yield (
                    at,
                    f"has more than {MOST_CHOICES} values; a condition needs a parameter of fewer: a bool, an int, an "
                    "ordinal, a categorical or a fixed one, or a float with a step",
                )
            else:
                for place, value in enumerate(values):
                    if problem := parent.problem(value):
                        yield (*at, place), f"{problem}; list values that {brief(name)} takes"


def _circles(parameters: Sequence[Parameter]) -> Iterator[tuple[Place, str]]:
    """Parameters that depend on themselves by way of others: the first one of each circle."""
    parents = {parameter.name: tuple(parameter.when or ()) for parameter in parameters}
    done: set[str] = set()
    for index, parameter in enumerate(parameters):
        if circle := _circle(parameter.name, parents, done):
            way = " needs ".join(map(brief, circle))
            yield (index, "when"), f"goes round in a circle ({way}); take one of these conditions away"
            done.update(circle)


def _circle(start: str, parents: dict[str, tuple[str, ...]], done: set[str]) -> list[str] | None:
    """A way from a parameter to itself; None if there is none by way of parameters that are not done."""
    ways = [[start]]
    seen: set[str] = set()
    while ways:
        way = ways.pop()
        for parent in parents[way[-1]]:
            if parent == start:
                return [*way, parent]
            if parent not in seen | done:
                seen.add(parent)
                ways.append([*way, parent])
    return None


def _never_active(parameters: Sequence[Parameter]) -> Iterator[tuple[Place, str]]:
    """Parameters whose conditions, and those of their parents, exclude each other."""
    axes = [axis for parameter in parameters if not isinstance(axis := parameter.axis(), Fixed)]
    needs = needs_of(axes, conditions(parameters))
    for index, parameter in enumerate(parameters):
        for ancestor, values in needs.get(parameter.name, {}).items():
            if not values:
                yield (
                    (index, "when"),
                    f"can never hold: together with the conditions of its parents, it leaves {brief(ancestor)} no "
                    "value; widen one of them",
                )
                break
