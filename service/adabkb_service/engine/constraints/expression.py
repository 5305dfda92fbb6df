"""The tree of a constraint: comparisons of numbers, memberships in lists of values, and what joins them.

Negations are inside: ``not (a <= b)`` is ``a > b``, and ``not (p and q)`` is ``not p or not q``. So whatever a tree is
evaluated for needs to know of "all of these" and "one of these" only.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from adabkb_service.engine.axes import Value, identity


@dataclass(frozen=True, slots=True)
class Comparison:
    """Numbers that are compared from left to right, such as ``a <= b < c``."""

    sides: tuple[ast.expr, ...]
    symbols: tuple[str, ...]
    """"<=", ">=", "<" or ">" between two sides each."""
    every: bool
    """Whether all of these comparisons have to hold, or one of them."""

    @property
    def size(self) -> int:
        """The number of values and operations in it."""
        return 1 + sum(isinstance(node, ast.expr) for side in self.sides for node in ast.walk(side))


@dataclass(frozen=True)
class Membership:
    """A parameter that has one of some values, or none of them."""

    name: str
    offset: int
    """Of the name in the text, in bytes."""
    values: tuple[Value, ...]
    offsets: tuple[int, ...]
    """Of the values."""
    excluded: bool
    """Whether it has to have none of them."""

    @property
    def size(self) -> int:
        """The number of values and operations in it."""
        return 2 + len(self.values)

    @property
    def is_bare(self) -> bool:
        """Whether the parameter stands alone in the text, for "is True"."""
        return self.offsets == (self.offset,)

    @cached_property
    def identities(self) -> frozenset[object]:
        """Of the values: 1 is 1.0, and not True."""
        return frozenset(map(identity, self.values))


@dataclass(frozen=True, slots=True)
class Junction:
    """Expressions of which every one or at least one has to hold."""

    parts: tuple[Expression, ...]
    every: bool

    @property
    def size(self) -> int:
        """The number of values and operations in it."""
        return 1 + sum(part.size for part in self.parts)


Expression = Comparison | Membership | Junction


def leaves(expression: Expression) -> Iterator[Comparison | Membership]:
    """The comparisons and memberships of a tree, from left to right."""
    if isinstance(expression, Junction):
        for part in expression.parts:
            yield from leaves(part)
    else:
        yield expression
