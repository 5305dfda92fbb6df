"""The tree of a constraint: numeric comparisons and memberships, joined by ``and`` or ``or``.

Negations are pushed inside: ``not (a <= b)`` becomes ``a > b``, and ``not (p and q)`` becomes ``not p or not q``. So an
evaluation only needs conjunctions and disjunctions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from adabkb_service.engine.axes import Value, identity


@dataclass(frozen=True, slots=True)
class Comparison:
    """A chain of numeric comparisons, such as ``a <= b < c``."""

    sides: tuple[ast.expr, ...]
    symbols: tuple[str, ...]
    """"<=", ">=", "<" or ">" between neighboring sides."""
    every: bool
    """Whether all of these comparisons must hold, or at least one."""

    @property
    def size(self) -> int:
        """Number of values and operations."""
        return 1 + sum(isinstance(node, ast.expr) for side in self.sides for node in ast.walk(side))


@dataclass(frozen=True)
class Membership:
    """A condition that a parameter has one of some values, or none of them."""

    name: str
    offset: int
    """Byte offset of the name in the text."""
    values: tuple[Value, ...]
    offsets: tuple[int, ...]
    """Byte offsets of the values."""
    excluded: bool
    """Whether it must have none of them."""

    @property
    def size(self) -> int:
        """Number of values and operations."""
        return 2 + len(self.values)

    @property
    def is_bare(self) -> bool:
        """Whether the parameter is alone in the text, as a truth value."""
        return self.offsets == (self.offset,)

    @cached_property
    def identities(self) -> frozenset[object]:
        """Keys of the values: 1 equals 1.0 but not True."""
        return frozenset(map(identity, self.values))


@dataclass(frozen=True, slots=True)
class Junction:
    """A conjunction or disjunction of expressions."""

    parts: tuple[Expression, ...]
    every: bool
    """Whether all parts must hold, or at least one."""

    @property
    def size(self) -> int:
        """Number of values and operations."""
        return 1 + sum(part.size for part in self.parts)


Expression = Comparison | Membership | Junction


def leaves(expression: Expression) -> Iterator[Comparison | Membership]:
    """The comparisons and memberships of a tree, from left to right."""
    if isinstance(expression, Junction):
        for part in expression.parts:
            yield from leaves(part)
    else:
        yield expression
