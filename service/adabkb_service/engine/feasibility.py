"""Validate constraints, and check that they leave feasible points, with messages for users."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter

from adabkb_service.engine.axes import Axis
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.constraints.grammar import ConstraintError
from adabkb_service.engine.feasible import TRIED, Feasible
from adabkb_service.engine.magnitudes import is_numeric
from adabkb_service.engine.memberships import incompatibility, without_numbers
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Fixed, Space
from adabkb_service.engine.wording import brief, listed, nearest

CONFLICT_WORK = 200_000_000
"""Limit on the total ``Feasible.work`` of the search for a minimal set of conflicting constraints. If it is reached,
the set may not be minimal."""


def problems(texts: Sequence[str], space: Space, unnamed: Collection[str] = ()) -> dict[int, str]:
    """The errors in constraints, by index; empty if a feasible point is found.

    If single constraints are invalid, these are reported. Otherwise, if no feasible point is found, a minimal set of
    conflicting constraints is reported: without any one of them, there are feasible points.

    Args:
        texts: the constraints.
        space: the space without them.
        unnamed: parameters that no constraint can name.
    """
    return incompatible(texts, space, unnamed) or exclusions(replace(space, constraints=tuple(map(Constraint, texts))))


def incompatible(
    texts: Sequence[str], space: Space, unnamed: Collection[str] = (), *, was_edited: bool = False
) -> dict[int, str]:
    """The errors in each constraint by itself, by index.

    Args:
        texts: the constraints.
        space: the space without them.
        unnamed: parameters that no constraint can name.
        was_edited: whether the space may have lost values that constraints name.
    """
    by_name = {each.name: each for each in space.parameters if each.name not in unnamed}
    found = ((index, _problem(Constraint(text), by_name, space, was_edited)) for index, text in enumerate(texts))
    return {index: problem for index, problem in found if problem}


def exclusions(space: Space) -> dict[int, str]:
    """The errors in the constraints of a space taken together, by index; empty if a feasible point is found. This may
    take some seconds of processor time."""
    whole = Slice(space, {}).feasible
    indices = None if whole is None else conflict(whole)
    if whole is None or indices is None:
        return {}
    return dict.fromkeys(indices, _excluding(indices, proved=_is_proved(whole, indices)))


@lru_cache(32)
def conflict(feasible: Feasible) -> tuple[int, ...] | None:
    """Indices of conflicting constraints; None if a point satisfies all constraints. No point is found that satisfies
    all of the conflicting ones, but without any one of them, some are found. If constraints are long, the set may not
    be minimal."""
    if len(feasible.anchors):
        return None
    needed, work = list(range(len(feasible.space.constraints))), 0
    for index in list(needed):
        rest = [each for each in needed if each != index]
        if not rest or work > CONFLICT_WORK:
            break
        without = _only(feasible, rest)
        if not len(without.anchors):
            needed = rest
        work += without.work
    return tuple(needed)


def has_points(within: Slice) -> bool:
    """Whether a slice has feasible points, as far as the search for them can tell."""
    feasible = within.feasible
    return feasible is None or not (any(each.is_empty for each in feasible.mixtures) or conflict(feasible))


def _is_proved(feasible: Feasible, indices: tuple[int, ...]) -> bool:
    """Whether it is proved that no point satisfies all constraints with these indices."""
    return _only(feasible, list(indices)).is_empty


def _only(feasible: Feasible, indices: list[int]) -> Feasible:
    """The same slice with only some of the constraints."""
    constraints = tuple(feasible.space.constraints[index] for index in indices)
    return replace(feasible, space=replace(feasible.space, constraints=constraints))


def _problem(constraint: Constraint, known: Mapping[str, Axis | Fixed], space: Space, was_edited: bool) -> str | None:
    """The error in a constraint by itself; None if it is valid."""
    try:
        for name, column in sorted(constraint.numbers.items(), key=itemgetter(1)):
            if name not in known:
                raise ConstraintError(column, _unknown(name, known, is_quoted=constraint.text[column - 1] in "\"'"))
            if not is_numeric(known[name]):
                raise ConstraintError(column, without_numbers(known[name]))
        for each in constraint.memberships:
            if each.name not in known:
                swapped = next((value for value in each.values if isinstance(value, str) and value in known), None)
                raise ConstraintError(constraint.column(each.offset), _unknown(each.name, known, swapped))
            if found := incompatibility(known[each.name], each, requires_all_values=not was_edited):
                offset, sentence = found
                raise ConstraintError(constraint.column(offset), sentence)
    except ConstraintError as error:
        return str(error)
    if all(isinstance(known[name], Fixed) for name in constraint.names):
        return "names no parameter that varies"
    if not was_edited and not all(values for _, values in space.activity.values_for(constraint.names)):
        named = listed(map(brief, sorted(constraint.names)), len(constraint.names))
        return f"never applies: no point has all its parameters ({named}); leave it out, or change their conditions"
    return None


def _unknown(name: str, known: Iterable[str], swapped: str | None = None, *, is_quoted: bool = False) -> str:
    """The message for an unknown name.

    Args:
        name: a name that no parameter has.
        known: names of all parameters.
        swapped: the name of a parameter that is in the place of a value, if any.
        is_quoted: whether the name is in quotes, where only numbers are allowed.
    """
    names = sorted(known)
    near = nearest(name, names)
    if swapped is not None:
        hint = f"; write the parameter {brief(swapped)!r} first, and a text in quotes"
    elif near is not None:
        hint = f"; did you mean {near}?"
    elif is_quoted and _is_number(name):
        hint = "; leave out the quotes of a number"
    else:
        hint = "; text in quotes is a parameter name here; compare texts with ==" if is_quoted else ""
    return f"{brief(name)!r} is not a parameter{hint} (known: {listed(map(brief, names), len(names))})"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _excluding(indices: Sequence[int], *, proved: bool) -> str:
    """The message for conflicting constraints."""
    if len(indices) == 1:
        which, remedy = "this constraint", "relax it"
    else:
        which, remedy = f"the constraints {', '.join(map(str, indices))} together", "relax one of them"
    if proved:
        return f"no point satisfies {which}; {remedy}, or widen the bounds of parameters"
    return (
        f"no point is found among {TRIED:,} that satisfies {which}; {remedy}, so that a larger share of the space is "
        "left, or narrow the bounds of parameters to where points satisfy it"
    )
