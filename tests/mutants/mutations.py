"""Small changes to Python source, each of which a test should notice.

Only code in the bodies of functions is changed, since it can be replaced in a running process. Annotations, decorators,
defaults of parameters, docstrings, assertions, calls of a logger, and prose are not changed.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.MatMult: ast.Mult,
}
Code = ast.expr | ast.stmt
NAME = re.compile(r"\w+")
"""Matches a string that is a name, not prose."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of one expression or statement."""

    function: str
    """Qualified name of the function that contains it."""
    line: int
    end: int
    """The first and the last line, from 1."""
    was: str
    now: str
    """The code before and after, in the form of ``ast.unparse``."""
    occurrence: int
    """The number of equal changes before it in the function."""
    source: str
    """The whole changed source, with the same number of lines."""

    @property
    def name(self) -> str:
        """A name that is unique in the module, independent of line numbers."""
        numbered = f" ({self.occurrence + 1})" if self.occurrence else ""
        return f"{self.function}: {self.was} -> {self.now}{numbered}"


def mutants(source: str) -> list[Mutant]:
    """All mutants of a module, in the order of the source."""
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    text, found, seen = b"".join(lines), list[Mutant](), dict[tuple[str, str, str], int]()
    for function, node, new in _sites(ast.parse(source)):
        last, column = node.end_lineno or 0, node.end_col_offset or 0
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[last - 1] + column
        was, now = text[begin:end], ast.unparse(new).encode()
        padding = b"\n" * (was.count(b"\n") - now.count(b"\n"))
        put = b"(" + now + padding + b")" if isinstance(new, ast.expr) else now + padding
        key = function, ast.unparse(node), ast.unparse(new)
        changed = (text[:begin] + put + text[end:]).decode()
        found.append(Mutant(function, node.lineno, last, key[1], key[2], seen.get(key, 0), changed))
        seen[key] = seen.get(key, 0) + 1
    return found


def sample(found: list[Mutant], most: int) -> list[Mutant]:
    """Select at most this many, by the hash of their names, so that a larger sample includes a smaller one."""
    chosen = sorted(found, key=lambda each: hashlib.sha256(each.name.encode()).digest())[:most]
    return sorted(chosen, key=lambda each: each.line)


def _sites(tree: ast.Module) -> Iterator[tuple[str, Code, Code]]:
    """Yield the name of a function, a node in it, and the changed node."""
    for node in tree.body:
        yield from _sites_in(node, (), within=False, names=True)


def _sites_in(node: ast.AST, scope: tuple[str, ...], *, within: bool, names: bool) -> Iterator[tuple[str, Code, Code]]:
    """The same for one node, ``within`` a function or not, with or without strings that are names."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        body = node.body if ast.get_docstring(node) is None else node.body[1:]
        for each in body:
            yield from _sites_in(each, (*scope, node.name), within=not isinstance(node, ast.ClassDef), names=True)
        return
    told = node.value if isinstance(node, ast.Expr) else node
    if isinstance(node, ast.Assert | ast.JoinedStr | ast.pattern) or _is_call_of(told, "logger"):
        return
    if within:
        if isinstance(node, ast.expr | ast.stmt):
            yield from ((".".join(scope), node, new) for new in _changes(node, names=names))
        yield from ((".".join(scope), each, ast.UnaryOp(ast.Not(), each)) for each in _conditions(node))
    names = names and not isinstance(node, ast.Raise) and not _is_call_of(node, "cast")
    for field, value in ast.iter_fields(node):
        if not (field in ("annotation", "args") and isinstance(node, ast.AnnAssign | ast.Lambda)):
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST):
                    yield from _sites_in(each, scope, within=within, names=names)


def _conditions(node: ast.AST) -> list[ast.expr]:
    """The conditions of a node that have no operator to replace."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            found = [test]
        case ast.comprehension(ifs=found):
            pass
        case _:
            found = []
    plain = ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.NamedExpr
    return [each for each in found if isinstance(each, plain)]


def _changes(node: Code, *, names: bool) -> Iterator[Code]:
    match node:
        case ast.Compare():
            for index, operator in enumerate(node.ops):
                operators = [*node.ops[:index], COMPARISONS[type(operator)](), *node.ops[index + 1 :]]
                yield ast.Compare(node.left, operators, node.comparators)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield node.operand
        case ast.BinOp() if type(node.op) in OPERATORS and not _is_text(node):
            yield ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
        case ast.AugAssign() if type(node.op) in OPERATORS:
            yield ast.AugAssign(node.target, OPERATORS[type(node.op)](), node.value)
        case ast.Constant(value=value):
            yield from map(ast.Constant, _other_values(value, names=names))
        case ast.Return(value=ast.expr()) if not isinstance(node.value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise():
            yield ast.Pass()
        case ast.Assign() if any(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
            yield ast.Pass()
        case ast.Continue() | ast.Break():
            yield ast.Break() if isinstance(node, ast.Continue) else ast.Continue()


def _other_values(value: object, *, names: bool) -> Iterator[bool | float | str]:
    match value:
        case bool():
            yield not value
        case int() | float():
            yield value + 1
        case str() if names and NAME.fullmatch(value):
            yield value + "_"


def _is_text(node: ast.BinOp) -> bool:
    """Whether a node concatenates strings."""
    return any(isinstance(each, ast.JoinedStr) or _is_string(each) for each in (node.left, node.right))


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_call_of(node: ast.AST, name: str) -> bool:
    """Whether a node calls a function with this name, or a method of an object with this name."""
    if not isinstance(node, ast.Call):
        return False
    called = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    return isinstance(called, ast.Name) and called.id == name
