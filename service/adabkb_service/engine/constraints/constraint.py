"""A constraint on the values of parameters: whether it holds at points, and whether it can hold in boxes.

Numbers are those of Python's floating point. So ``holds`` says what Python says of the same expression, and a result
that is no number satisfies nothing.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.constraints.grammar import Arithmetic, column_of, evaluator, names, parse
from adabkb_service.engine.constraints.intervals import INTERVALS, Interval

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

NUMBERS = Arithmetic(
    float,
    {
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
    },
)
ARRAYS = Arithmetic(
    np.float64,
    {
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
    },
)
COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.LtE: operator.le,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
}
ROUNDING = 1e-9
"""Of the magnitude of two bounds: what rounding may have added to either."""


@dataclass(frozen=True)
class Constraint:
    """A comparison, or a chain of them, in the grammar of ``grammar``.

    Raises:
        Fault: at the first use, if the text is not of the grammar.
    """

    text: str

    @cached_property
    def names(self) -> dict[str, int]:
        """The parameters it names, and the column of the first place of each."""
        return {name: column_of(self.text, offset) for name, offset in names(self._tree).items()}

    def holds(self, point: Mapping[str, Any]) -> bool:
        """Whether it holds at a point, given by name; parameters that it does not name may be there too."""
        values = {name: float(point[name]) for name in self.names}
        try:
            sides = self._sides(values, NUMBERS)
        except (ArithmeticError, ValueError):  # a division by 0, the root of a negative number, an overflow
            return False
        return all(COMPARED[type(op)](a, b) for op, a, b in self._pairs(sides))

    def hold_at(self, values: Mapping[str, Array]) -> Bools:
        """(k,) whether it holds at points given by name as arrays (k,), up to rounding."""
        with np.errstate(all="ignore"):
            sides = self._sides(values, ARRAYS)
        found: Bools = reduce(np.logical_and, [COMPARED[type(op)](a, b) for op, a, b in self._pairs(sides)])
        return found

    def slack(self, values: Mapping[str, Array]) -> Array:
        """(k,) by how much it holds, at points given by name as arrays (k,): the least difference between the larger
        and the smaller side of its comparisons, negative where it is violated, minus infinity where it is no number."""
        with np.errstate(all="ignore"):
            sides = self._sides(values, ARRAYS)
            differences = [b - a if isinstance(op, ast.Lt | ast.LtE) else a - b for op, a, b in self._pairs(sides)]
        least = reduce(np.minimum, differences)
        return np.where(np.isnan(least), -np.inf, least)

    def may_hold(self, ranges: Mapping[str, Interval]) -> Bools:
        """(k,) whether it may hold somewhere in boxes, given by name as intervals (k,). False is a proof."""
        return self.compared(ranges)[0]

    def compared(self, ranges: Mapping[str, Interval]) -> tuple[Bools, Bools]:
        """(k,) each: whether it may hold somewhere in boxes, given by name as intervals (k,), where False is a proof;
        and whether it holds everywhere in them, up to rounding, and wherever it is a number."""
        with np.errstate(all="ignore"):
            sides = self._sides(ranges, INTERVALS)
            pairs = self._pairs(sides)
            may: Bools = reduce(np.logical_and, [_may_hold(op, a, b) for op, a, b in pairs])
            surely: Bools = reduce(np.logical_and, [_surely_holds(op, a, b) for op, a, b in pairs])
        return may, surely

    @cached_property
    def size(self) -> int:
        """The number of values and operations in it: what each evaluation costs."""
        return sum(isinstance(node, ast.expr) for node in ast.walk(self._tree))

    @cached_property
    def _tree(self) -> ast.Compare:
        return parse(self.text)

    def _sides(self, values: Mapping[str, Any], arithmetic: Arithmetic) -> list[Any]:
        """The values of the sides of its comparisons, from left to right."""
        return [side(values) for side in _evaluators(self.text, arithmetic)]

    def _pairs(self, sides: list[Any]) -> list[tuple[ast.cmpop, Any, Any]]:
        return list(zip(self._tree.ops, sides[:-1], sides[1:], strict=True))


@lru_cache(4096)
def _evaluators(text: str, arithmetic: Arithmetic) -> list[Callable[[Mapping[str, Any]], Any]]:
    """Of the sides of a constraint. They are kept here since constraints are pickled, and functions cannot be."""
    tree = parse(text)
    return [evaluator(side, arithmetic) for side in (tree.left, *tree.comparators)]


def _may_hold(op: ast.cmpop, a: Interval, b: Interval) -> Bools:
    """Whether there are values in two intervals that compare like this, if rounding is allowed for."""
    low, high = (a[0], b[1]) if isinstance(op, ast.Lt | ast.LtE) else (b[0], a[1])
    margin = ROUNDING * (np.abs(low) + np.abs(high))
    found: Bools = ~(low > high + np.where(np.isfinite(margin), margin, 0.0))
    return found


def _surely_holds(op: ast.cmpop, a: Interval, b: Interval) -> Bools:
    """Whether all values in two intervals compare like this."""
    high, low = (a[1], b[0]) if isinstance(op, ast.Lt | ast.LtE) else (b[1], a[0])
    found: Bools = high <= low
    return found
