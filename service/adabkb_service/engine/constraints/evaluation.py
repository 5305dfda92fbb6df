"""Evaluate a constraint: one implementation for points, arrays of points, and boxes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adabkb_service.engine.constraints.expression import Comparison, Expression, Junction, Membership
from adabkb_service.engine.constraints.grammar import OPERATORS

Values = Mapping[str, Any]
"""Values of the parameters, by name."""


@dataclass(frozen=True, eq=False)
class Arithmetic:
    """The meaning of the grammar's symbols for one kind of values: numbers, arrays or intervals."""

    constant: Callable[[float], Any]
    number: Callable[[Any], Any]
    """Returns the numbers of a parameter."""
    functions: Mapping[str, Callable[..., Any]]
    """Symbol ("+", "-", "*", "/" or "**") or name of a function -> function. A negation is a difference from 0."""
    side: Callable[[Callable[[Values], Any], Values], Any]
    """Calls one side of a comparison, a function of the values."""
    compare: Callable[[str, Any, Any], Any]
    """Compares two sides by a symbol."""
    among: Callable[[Any, Membership], Any]
    """Whether a parameter satisfies a membership."""
    every: Callable[[Sequence[Any]], Any]
    """Conjunction of expressions."""
    some: Callable[[Sequence[Any]], Any]
    """Disjunction of expressions."""


def evaluator(expression: Expression, arithmetic: Arithmetic) -> Callable[[Values], Any]:
    """A function of the parameters' values that evaluates an expression with this arithmetic."""
    match expression:
        case Membership(name=name):
            return lambda values: arithmetic.among(values[name], expression)
        case Junction(parts=parts):
            join = arithmetic.every if expression.every else arithmetic.some
            evaluated = [evaluator(part, arithmetic) for part in parts]
            return lambda values: join([part(values) for part in evaluated])
        case Comparison(symbols=symbols):
            join = arithmetic.every if expression.every else arithmetic.some
            numbers = [number(side, arithmetic) for side in expression.sides]

            def compared(values: Values) -> Any:
                sides = [arithmetic.side(each, values) for each in numbers]
                return join([arithmetic.compare(*each) for each in zip(symbols, sides[:-1], sides[1:], strict=True)])

            return compared


def number(node: ast.expr, arithmetic: Arithmetic) -> Callable[[Values], Any]:
    """A function of the parameters' values that evaluates one side of a comparison.

    Args:
        node: a node of a tree from ``parse``.
        arithmetic: semantics of the values.
    """
    match node:
        case ast.Name(id=name) | ast.Constant(value=str(name)):
            return lambda values: arithmetic.number(values[name])
        case ast.Constant(value=value):
            constant = arithmetic.constant(float(value))  # type: ignore[arg-type]
            return lambda _: constant
        case ast.UnaryOp(operand=operand):
            subtract, zero, of = arithmetic.functions["-"], arithmetic.constant(0.0), number(operand, arithmetic)
            return lambda values: subtract(zero, of(values))
        case ast.BinOp(left=left, op=operator, right=right):
            function = arithmetic.functions[OPERATORS[type(operator)]]
            first, second = number(left, arithmetic), number(right, arithmetic)
            return lambda values: function(first(values), second(values))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            called, each = arithmetic.functions[name], [number(argument, arithmetic) for argument in arguments]
            return lambda values: called(*(of(values) for of in each))
    raise AssertionError(f"{ast.dump(node)} is not of the grammar")
