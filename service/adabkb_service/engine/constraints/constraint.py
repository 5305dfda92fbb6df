"""A constraint on the values of parameters: whether it holds at points, and whether it can hold in boxes.

Numbers are those of Python's floating point. So ``holds`` says what Python says of the same expression, as far as every
comparison in it has numbers on its sides: a result that is no number satisfies no comparison, nor its opposite.

Source of the slack: G. E. Fainekos, G. J. Pappas, Robustness of temporal logic specifications for continuous-time
signals, Theoretical Computer Science 410 (2009): the least of what all have to hold, the largest of what one has to.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
"""Of boxes: where something may hold, and where it surely does."""

ROUNDING = 1e-9
"""Of the magnitude of two bounds: what rounding may have added to either."""


class Column(Protocol):
    """A parameter at many points."""

    @property
    def numbers(self) -> Array:
        """(k,) its values, if they are numbers."""

    def among(self, values: Sequence[Value]) -> Bools:
        """(k,) where it has one of some values."""


class Extent(Protocol):
    """A parameter over many boxes."""

    @property
    def hull(self) -> Interval:
        """(k,) the least and the largest of its values, if they are numbers."""

    def among(self, values: Sequence[Value]) -> Truth:
        """(k,) each: whether it may have one of some values, and whether it surely has."""


@dataclass(frozen=True)
class Constraint:
    """Comparisons and what joins them, in the grammar of ``grammar``.

    Raises:
        Fault: at the first use, if the text is not of the grammar.
    """

    text: str

    @cached_property
    def names(self) -> dict[str, int]:
        """The parameters it names, and the column of the first place of each."""
        found = dict(self.numbers)
        for each in self.memberships:
            column = self.column(each.offset)
            found[each.name] = min(column, found.get(each.name, column))
        return found

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The parameters whose numbers it compares, and the column of the first place of each."""
        found: dict[str, int] = {}
        for leaf in leaves(self._expression):
            for side in leaf.sides if isinstance(leaf, Comparison) else ():
                for name, offset in names(side).items():
                    found[name] = min(offset, found.get(name, offset))
        return {name: self.column(offset) for name, offset in found.items()}

    @cached_property
    def memberships(self) -> list[Membership]:
        """The parameters that it compares with values, and these values."""
        return [leaf for leaf in leaves(self._expression) if isinstance(leaf, Membership)]

    def column(self, offset: int) -> int:
        """The column, from 1, of an offset in the text."""
        return column_of(self.text, offset)

    def holds(self, point: Mapping[str, Any]) -> bool:
        """Whether it holds at a point, given by name; parameters that it does not name may be there too."""
        found: bool = _evaluator(self.text, POINT)(point)
        return found

    def hold_at(self, columns: Mapping[str, Column]) -> Bools:
        """(k,) whether it holds at points given by name, up to rounding."""
        with np.errstate(all="ignore"):
            found: Bools = _evaluator(self.text, POINTS)(columns)
        return found

    def slack(self, columns: Mapping[str, Column]) -> Array:
        """(k,) by how much it holds at points given by name: the difference between the larger and the smaller side of
        its comparisons, minus infinity where it is no number. Values that a parameter has or has not count as infinity.
        Of several differences the least counts where all have to hold, and the largest where one has to."""
        with np.errstate(all="ignore"):
            found: Array = _evaluator(self.text, SLACKS)(columns)
        return found

    def may_hold(self, extents: Mapping[str, Extent]) -> Bools:
        """(k,) whether it may hold somewhere in boxes given by name. False is a proof."""
        return self.compared(extents)[0]

    def compared(self, extents: Mapping[str, Extent]) -> Truth:
        """(k,) each: whether it may hold somewhere in boxes given by name, where False is a proof; and whether it holds
        everywhere in them, up to rounding, and wherever it is a number."""
        with np.errstate(all="ignore"):
            found: Truth = _evaluator(self.text, BOXES)(extents)
        return found

    @cached_property
    def size(self) -> int:
        """The number of values and operations in it: what each evaluation costs."""
        return self._expression.size

    @property
    def _expression(self) -> Expression:
        return parse(self.text)


@lru_cache(4096)
def _evaluator(text: str, arithmetic: Arithmetic) -> Callable[[Values], Any]:
    """Of a constraint. They are kept here since constraints are pickled, and functions cannot be."""
    return evaluator(parse(text), arithmetic)


COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


def _computed(side: Callable[[Values], float], point: Values) -> float:
    """A side of a comparison at a point; no number where it is not defined."""
    try:
        return side(point)
    except (ArithmeticError, ValueError):  # a division by 0, the root of a negative number, an overflow
        return math.nan


def _called(side: Callable[[Values], Any], values: Values) -> Any:
    return side(values)


def _compare(symbol: str, a: Any, b: Any) -> Any:
    return COMPARED[symbol](a, b)


def _has(value: object, membership: Membership) -> bool:
    """Whether a value is as a membership wants it."""
    return (identity(value) in membership.identities) is not membership.excluded


def _have(column: Column, membership: Membership) -> Bools:
    found = column.among(membership.values)
    return ~found if membership.excluded else found


def _difference(symbol: str, a: Array, b: Array) -> Array:
    """By how much two sides compare like a symbol."""
    found = b - a if symbol in ("<", "<=") else a - b
    return np.where(np.isnan(found), -np.inf, found)


def _may_compare(symbol: str, a: Interval, b: Interval) -> Truth:
    """Whether there are values in two intervals that compare like a symbol, if rounding is allowed for; and whether all
    do, where the ends belong to the intervals: 2 < 2 does not hold."""
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
    """Whether all or one of some truths may hold, and surely does: ``join`` is "and" or "or"."""
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
"""The values of a point: exact."""
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
"""Columns of many points, of which it counts by how much something holds."""
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
"""Extents of many boxes: bounds of numbers, and which values there may be."""
