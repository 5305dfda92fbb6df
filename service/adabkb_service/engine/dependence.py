"""Validate the conditions of a space, with messages for users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adabkb_service.engine.axes import Axis, Value
from adabkb_service.engine.conditions import Condition, needs_of
from adabkb_service.engine.space import Fixed
from adabkb_service.engine.wording import brief, listed, nearest

MAX_VALUES = 1000
"""The maximum number of values of a parent."""

When = Mapping[str, Sequence[Value]]
"""The conditions of one parameter: name of each parent -> the values for which the parameter is active."""

ConditionProblem = tuple[str, tuple[str | int, ...], str]
"""The parameter, the place of the error in its conditions, and the message."""


def conditions(whens: Mapping[str, When]) -> tuple[Condition, ...]:
    """The conditions of all parameters in one tuple."""
    return tuple(
        Condition(name, parent, tuple(values)) for name, when in whens.items() for parent, values in when.items()
    )


def problems(parameters: Sequence[Axis | Fixed], whens: Mapping[str, When]) -> list[ConditionProblem]:
    """The errors in conditions; empty if they are valid.

    A condition is invalid if its parent does not exist, is the parameter itself or has too many values; if the parent
    cannot have one of the values; if conditions are circular; or if they can never hold together.

    Args:
        parameters: all parameters, with distinct names.
        whens: conditions by name, for the conditional parameters.
    """
    by_name = {each.name: each for each in parameters}
    return list(_of_values(by_name, whens)) or list(_circles(whens)) or list(_never_active(parameters, whens))


def _of_values(by_name: Mapping[str, Axis | Fixed], whens: Mapping[str, When]) -> Iterator[ConditionProblem]:
    """Errors in single conditions."""
    for parameter, when in whens.items():
        for name, values in when.items():
            parent = by_name.get(name)
            if parent is None:
                near = nearest(name, by_name)
                known = listed(map(brief, sorted(by_name)), len(by_name))
                hint = f"; did you mean {near}?" if near else ""
                yield parameter, (name,), f"is not one of the parameters{hint} (known: {known})"
            elif name == parameter:
                yield parameter, (name,), "is the parameter itself; name another one, on which it depends"
            elif not isinstance(parent, Fixed) and (parent.count is None or parent.count > MAX_VALUES):
                yield (
                    parameter,
                    (name,),
                    f"has more than {MAX_VALUES} values; a condition needs a parameter with fewer: a bool, an int, an "
                    "ordinal, a categorical or a fixed one, or a float with a step",
                )
            else:
                for place, value in enumerate(values):
                    if problem := parent.problem(value):
                        yield parameter, (name, place), f"{problem}; list values that {brief(name)} takes"


def _circles(whens: Mapping[str, When]) -> Iterator[ConditionProblem]:
    """Errors for parameters that depend on themselves through others. Of each circle, only the first parameter is
    reported."""
    done: set[str] = set()
    for name in whens:
        if circle := _circle(name, whens, done):
            path = " needs ".join(map(brief, circle))
            yield name, (), f"is circular ({path}); remove one of these conditions"
            done.update(circle)


def _circle(start: str, whens: Mapping[str, When], done: set[str]) -> list[str] | None:
    """A path from a parameter to itself that avoids the parameters in ``done``; None if there is none."""
    paths = [[start]]
    seen: set[str] = set()
    while paths:
        path = paths.pop()
        for parent in whens.get(path[-1], ()):
            if parent == start:
                return [*path, parent]
            if parent not in seen | done:
                seen.add(parent)
                paths.append([*path, parent])
    return None


def _never_active(parameters: Sequence[Axis | Fixed], whens: Mapping[str, When]) -> Iterator[ConditionProblem]:
    """Errors for parameters that can never be active, since their conditions and those of their ancestors exclude each
    other."""
    axes = [each for each in parameters if not isinstance(each, Fixed)]
    for name, needs in needs_of(axes, conditions(whens)).items():
        for ancestor, values in needs.items():
            if not values:
                yield (
                    name,
                    (),
                    f"can never hold: together with the conditions of its parents, it leaves {brief(ancestor)} no "
                    "value; widen one of them",
                )
                break
