"""The grammar of constraints, such as ``a + 2 * max(b, c) <= 1``: a small part of Python's expressions.

Python's own parser reads the text, and every node of the tree that is not on the list here is refused. ``evaluator``
takes a tree and a table of functions for each arithmetic: of numbers, of arrays, of intervals. No text is ever run as
code.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any, NoReturn

from adabkb_service.engine.wording import nearest

LONGEST = 500
"""Characters of a constraint."""
DEEPEST = 100
"""Levels of a constraint: a sum of n terms has n."""
LARGEST = 1e100
"""Magnitude of a number in a constraint."""

OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
}
COMPARISONS: Mapping[type[ast.cmpop], str] = {ast.LtE: "<=", ast.GtE: ">=", ast.Lt: "<", ast.Gt: ">"}
ARGUMENTS = {"abs": (1, 1), "sqrt": (1, 1), "log": (1, 1), "exp": (1, 1), "min": (2, 20), "max": (2, 20)}
"""Least and largest number of arguments, by function."""
FORM = "numbers, names of parameters, + - * / **, parentheses, abs, min, max, sqrt, log, exp, and <=, >=, <, >"


class Fault(ValueError):
    """What is wrong with a constraint, and where."""

    def __init__(self, column: int, sentence: str) -> None:
        super().__init__(f"column {column}: {sentence}")


@dataclass(frozen=True, eq=False)
class Arithmetic:
    """What the symbols of the grammar mean for one kind of values."""

    constant: Callable[[float], Any]
    functions: Mapping[str, Callable[..., Any]]
    """By symbol: "+", "-", "*", "/", "**", and the functions by name; a negative is a difference from 0."""


@lru_cache(256)
def parse(text: str) -> ast.Compare:
    """The tree of a constraint, a text without spaces around it.

    Raises:
        Fault: it is not of this grammar.
    """
    if "\\" in text or not text.isprintable():
        raise Fault(1, "must be one line, without backslashes")
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        column = min(error.offset or len(text) + 1, len(text) + 1)
        raise Fault(column, "does not go on as an expression; names with spaces or dashes need quotes") from None
    except (ValueError, MemoryError, RecursionError):
        raise Fault(1, "is no expression that can be read") from None
    if not isinstance(tree, ast.Compare):
        _refuse_whole(text, tree)
    for operator, part in zip(tree.ops, tree.comparators, strict=True):
        if type(operator) not in COMPARISONS:
            found = "equality" if isinstance(operator, ast.Eq) else "this comparison"
            raise Fault(_column(text, part), f"{found} is not possible; use <=, >=, < or >, such as 2 <= a + b <= 2")
    for part in (tree.left, *tree.comparators):
        _check(text, part, DEEPEST)
    return tree


def names(tree: ast.AST) -> dict[str, int]:
    """The parameters that a tree names, and the offset of the first place of each in the tree's text."""
    found: dict[str, int] = {}
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if id(node) not in functions and (name := _name(node)) is not None:
            assert isinstance(node, ast.expr)
            found[name] = min(node.col_offset, found.get(name, node.col_offset))
    return found


def evaluator(node: ast.expr, arithmetic: Arithmetic) -> Callable[[Mapping[str, Any]], Any]:
    """A function that gives the value of one side of a comparison for values of the parameters, by name.

    Args:
        node: of a tree from ``parse``.
        arithmetic: of these values.
    """
    match node:
        case ast.Name(id=name) | ast.Constant(value=str(name)):
            return itemgetter(name)
        case ast.Constant(value=number):
            constant = arithmetic.constant(float(number))  # type: ignore[arg-type]
            return lambda _: constant
        case ast.UnaryOp(operand=operand):
            subtract, zero, of = arithmetic.functions["-"], arithmetic.constant(0.0), evaluator(operand, arithmetic)
            return lambda values: subtract(zero, of(values))
        case ast.BinOp(left=left, op=operator, right=right):
            function = arithmetic.functions[OPERATORS[type(operator)]]
            first, second = evaluator(left, arithmetic), evaluator(right, arithmetic)
            return lambda values: function(first(values), second(values))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            called, each = arithmetic.functions[name], [evaluator(argument, arithmetic) for argument in arguments]
            return lambda values: called(*(of(values) for of in each))
    raise AssertionError(f"{ast.dump(node)} is not of the grammar")


def _name(node: ast.AST) -> str | None:
    """The parameter that a node names: an identifier, or any name in quotes."""
    match node:
        case ast.Name(id=name) | ast.Constant(value=str(name)):
            return name
    return None


def _check(text: str, node: ast.expr, levels: int) -> None:
    """Refuse what is not of the grammar.

    Raises:
        Fault: there is such a thing.
    """
    column = _column(text, node)
    if not levels:
        raise Fault(column, f"is nested more than {DEEPEST} levels deep")
    match node:
        case ast.Name() | ast.Constant(value=str()):
            return
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            if not number <= LARGEST:
                raise Fault(column, f"must be at most {LARGEST:g}")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            _check(text, operand, levels - 1)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
            if isinstance(operator, ast.Pow) and names(left) and names(right):
                raise Fault(column, "a power needs a number as its base or its exponent")
            _check(text, left, levels - 1)
            _check(text, right, levels - 1)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            _check_call(column, name, len(arguments))
            for argument in arguments:
                _check(text, argument, levels - 1)
        case _:
            raise Fault(column, f"must consist of {FORM}")


def _check_call(column: int, name: str, count: int) -> None:
    if name not in ARGUMENTS:
        near = nearest(name, ARGUMENTS)
        meant = f"did you mean {near}?" if near else f"there are {', '.join(ARGUMENTS)}"
        raise Fault(column, f"{name!r} is not a function here; {meant}")
    least, most = ARGUMENTS[name]
    if not least <= count <= most:
        raise Fault(column, f"{name} takes {least if least == most else f'{least} to {most}'} arguments, not {count}")


def _refuse_whole(text: str, tree: ast.expr) -> NoReturn:
    """Say what is wrong with a text that is no comparison.

    Raises:
        Fault: always.
    """
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        raise Fault(_column(text, tree.values[1]), "make two constraints of what 'and' joins")
    raise Fault(1, "must compare two sides, such as a + b <= 1")


def _column(text: str, node: ast.expr) -> int:
    """Where a node begins in the text, counted from 1."""
    return column_of(text, node.col_offset)


def column_of(text: str, offset: int) -> int:
    """The column, from 1, of an offset of a tree, which counts bytes."""
    return len(text.encode()[:offset].decode(errors="ignore")) + 1
