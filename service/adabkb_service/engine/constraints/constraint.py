"""A constraint on the values of parameters: whether it holds at points, and whether it can hold in boxes.

``holds`` uses Python's floating point, so it equals the value of the same Python expression if both sides of every
comparison are numbers. If a side is undefined (NaN), neither the comparison nor its opposite holds.

Source of the slack: G. E. Fainekos, G. J. Pappas, Robustness of temporal logic specifications for continuous-time
signals, Theoretical Computer Science 410 (2009): the minimum over conjunctions, the maximum over disjunctions.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial, reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import Value, identity
from adabkb_service.engine.constraints import intervals
from adabkb_service.engine.constraints.evaluation import Arithmetic, Values, evaluator
from adabkb_service.engine.constraints.expression import Comparison, Expression, Membership, leaves
from adabkb_service.engine.constraints.grammar import column_of, names, parse
from adabkb_service.engine.constraints.intervals import Interval

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Truth = tuple[Bools, Bools]
"""Per box: whether an expression may hold there, and whether it surely does."""

ROUNDING = 1e-9
"""The possible rounding error of a bound, relative to the sum of the magnitudes of the two bounds compared."""


class Column(Protocol):
    """A parameter at k points."""

    @property
    def numbers(self) -> Array:
        """(k,) its values, for numeric parameters."""

    def among(self, values: Sequence[Value]) -> Bools:
        """(k,) whether it has one of ``values``."""


class Extent(Protocol):
    """A parameter over k boxes."""

    @property
    def hull(self) -> Interval:
        """(k,) each: the smallest and the largest of its values, for numeric parameters."""

    def among(self, values: Sequence[Value]) -> Truth:
        """(k,) each: whether it may have one of ``values``, and whether it surely has."""


@dataclass(frozen=True)
class Constraint:
    """Comparisons and memberships, joined by ``and``, ``or`` and ``not``; see ``grammar``.

    Raises:
        ConstraintError: on first use, if the text does not match the grammar.
    """

    text: str
    where: tuple[tuple[str, tuple[Value, ...]], ...] = field(default=(), hash=False)
    """Where the constraint applies: each of these parameters has one of these values. The constraint holds at all other
    points, and in boxes that contain only other points. ``holds`` ignores ``where``, because an inactive parameter has
    no value."""

    @cached_property
    def names(self) -> dict[str, int]:
        """Name of each parameter in the text -> column of its first occurrence."""
        found = dict(self.numbers)
        for each in self.memberships:
            column = self.column(each.offset)
            found[each.name] = min(column, found.get(each.name, column))
        return found

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Name of each parameter used as a number -> column of its first occurrence."""
        found: dict[str, int] = {}
        for leaf in leaves(self._expression):
            for side in leaf.sides if isinstance(leaf, Comparison) else ():
                for name, offset in names(side).items():
                    found[name] = min(offset, found.get(name, offset))
        return {name: self.column(offset) for name, offset in found.items()}

    @cached_property
    def memberships(self) -> list[Membership]:
        """The comparisons of a parameter with values."""
        return [leaf for leaf in leaves(self._expression) if isinstance(leaf, Membership)]

    def column(self, offset: int) -> int:
        """The column, from 1, of an offset in the text."""
        return column_of(self.text, offset)

    def holds(self, point: Mapping[str, Any]) -> bool:
        """Whether it holds at a point where it applies. ``point`` is name -> value, and may have further parameters."""
        found: bool = _evaluator(self.text, POINT)(point)
        return found

    def hold_at(self, columns: Mapping[str, Column]) -> Bools:
        """(k,) whether it holds at points, up to rounding. ``columns`` has each parameter's values by its name."""
        with np.errstate(all="ignore"):
            found: Bools = _evaluator(self.text, POINTS)(columns)
        for name, values in self.where:
            found = found | ~columns[name].among(values)
        return found

    def slack(self, columns: Mapping[str, Column]) -> Array:
        """(k,) slack at points, given as for ``hold_at``. The slack of a comparison is the side that must be larger
        minus the side that must be smaller, or minus infinity if this is undefined. The slack of a membership is plus
        or minus infinity. Conjunctions take the minimum, disjunctions the maximum. The slack is infinite where the
        constraint does not apply."""
        with np.errstate(all="ignore"):
            found: Array = _evaluator(self.text, SLACKS)(columns)
        for name, values in self.where:
            found = np.where(columns[name].among(values), found, np.inf)
        return found

    def may_hold(self, extents: Mapping[str, Extent]) -> Bools:
        """(k,) whether it may hold somewhere in boxes, given as for ``compared``. False is a proof."""
        return self.compared(extents)[0]

    def compared(self, extents: Mapping[str, Extent]) -> Truth:
        """(k,) each: whether it may hold somewhere in boxes (False is a proof), and whether it holds everywhere in them
        where it is defined, up to rounding. ``extents`` has each parameter's extent by its name."""
        with np.errstate(all="ignore"):
            may, surely = _evaluator(self.text, BOXES)(extents)
        for name, values in self.where:
            may_apply, surely_applies = extents[name].among(values)
            may, surely = may | ~surely_applies, surely | ~may_apply
        return may, surely

    @cached_property
    def size(self) -> int:
        """Number of values and operations: the cost of an evaluation."""
        return self._expression.size

    @property
    def _expression(self) -> Expression:
        return parse(self.text)


@lru_cache(4096)
def _evaluator(text: str, arithmetic: Arithmetic) -> Callable[[Values], Any]:
    """The evaluator of a constraint. Cached here, since constraints are pickled and functions cannot be."""
    return evaluator(parse(text), arithmetic)


COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


def _computed(side: Callable[[Values], float], point: Values) -> float:
    """The value of one side of a comparison at a point; NaN if undefined."""
    try:
        return side(point)
    except (ArithmeticError, ValueError):  # division by 0, root of a negative number, overflow
        return math.nan


def _called(side: Callable[[Values], Any], values: Values) -> Any:
    return side(values)


def _compare(symbol: str, a: Any, b: Any) -> Any:
    return COMPARED[symbol](a, b)


def _has(value: object, membership: Membership) -> bool:
    """Whether a value satisfies a membership."""
    return (identity(value) in membership.identities) is not membership.excluded


def _have(column: Column, membership: Membership) -> Bools:
    found = column.among(membership.values)
    return ~found if membership.excluded else found


def _difference(symbol: str, a: Array, b: Array) -> Array:
    """The slack of a comparison with this symbol."""
    found = b - a if symbol in ("<", "<=") else a - b
    return np.where(np.isnan(found), -np.inf, found)


def _may_compare(symbol: str, a: Interval, b: Interval) -> Truth:
    """Whether some values in two intervals satisfy a comparison, allowing for rounding, and whether all do. The ends
    belong to the intervals, so not all do if the symbol is < or > and the intervals share an end."""
    smaller, larger = (a, b) if symbol in ("<", "<=") else (b, a)
    low, high = smaller[0], larger[1]
    margin = ROUNDING * (np.abs(low) + np.abs(high))
    may: Bools = ~(low > high + np.where(np.isfinite(margin), margin, 0.0))
    surely = smaller[1] < larger[0] if symbol in ("<", ">") else smaller[1] <= larger[0]
    return may, surely


def _may_have(extent: Extent, membership: Membership) -> Truth:
    may, surely = extent.among(membership.values)
    return (~surely, ~may) if membership.excluded else (may, surely)


def _joined(join: Callable[[Any, Any], Any], truths: Iterable[Truth]) -> Truth:
    """The joint truth of several expressions. ``join`` is a logical "and" or "or" of arrays."""
    may, surely = zip(*truths, strict=True)
    return reduce(join, may), reduce(join, surely)


FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": math.pow,
    "abs": abs,
    "min": min,
    "max": max,
    "sqrt": math.sqrt,
    "log": math.log,
    "exp": math.exp,
}
POINT = Arithmetic(
    constant=float,
    number=float,
    functions=FUNCTIONS,
    side=_computed,
    compare=_compare,
    among=_has,
    every=all,
    some=any,
)
"""Exact values at a point."""
ARRAY_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": np.divide,
    "**": np.power,
    "abs": np.abs,
    "min": lambda *values: reduce(np.minimum, values),
    "max": lambda *values: reduce(np.maximum, values),
    "sqrt": np.sqrt,
    "log": np.log,
    "exp": np.exp,
}
POINTS = Arithmetic(
    constant=np.float64,
    number=operator.attrgetter("numbers"),
    functions=ARRAY_FUNCTIONS,
    side=_called,
    compare=_compare,
    among=_have,
    every=partial(reduce, np.logical_and),
    some=partial(reduce, np.logical_or),
)
"""Columns of many points."""
SLACKS = replace(
    POINTS,
    compare=_difference,
    among=lambda column, membership: np.where(_have(column, membership), np.inf, -np.inf),
    every=partial(reduce, np.minimum),
    some=partial(reduce, np.maximum),
)
"""Columns of many points, for the slack."""
BOXES = Arithmetic(
    constant=intervals.constant,
    number=operator.attrgetter("hull"),
    functions=intervals.FUNCTIONS,
    side=_called,
    compare=_may_compare,
    among=_may_have,
    every=partial(_joined, np.logical_and),
    some=partial(_joined, np.logical_or),
)
"""Extents of many boxes: bounds of numbers, and possible values."""
