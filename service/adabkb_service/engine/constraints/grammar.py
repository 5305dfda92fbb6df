"""The grammar of constraints, such as ``a + 2 * max(b, c) <= 1 or kind == "x"``: a subset of Python's expressions.

Python's parser reads the text, and every node outside this subset is refused. The text is never executed.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache

from adabkb_service.engine.axes import Scalar, Value
from adabkb_service.engine.constraints.expression import Comparison, Expression, Junction, Membership
from adabkb_service.engine.constraints.hints import CONSTANTS, implications, instead, reserved_word
from adabkb_service.engine.wording import brief, nearest

LONGEST = 500
"""The maximum length of a constraint, in characters."""
DEEPEST = 100
"""The maximum nesting depth of a constraint; a sum of n terms has n levels."""
LARGEST = 1e100
"""The largest magnitude of a number in a constraint."""

OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
}
COMPARISONS: Mapping[type[ast.cmpop], str] = {ast.LtE: "<=", ast.GtE: ">=", ast.Lt: "<", ast.Gt: ">"}
OPPOSITES = {"<=": ">", ">=": "<", "<": ">=", ">": "<="}
MEMBERSHIPS: Mapping[type[ast.cmpop], str] = {ast.Eq: "==", ast.NotEq: "!=", ast.In: "in", ast.NotIn: "not in"}
ARGUMENTS = {"abs": (1, 1), "sqrt": (1, 1), "log": (1, 1), "exp": (1, 1), "min": (2, 20), "max": (2, 20)}
"""Function -> smallest and largest number of arguments."""
FORM = "numbers, names of parameters, + - * / **, parentheses, abs, min, max, sqrt, log, exp, and <=, >=, <, >"
COMPUTED = "use <=, >=, < or >, such as 2 <= a + b <= 2"
SHARES = "parameters with a fixed sum are a mixture: declare it in mixtures; for other numbers use <=, >=, < or >"
EXAMPLES = 'a + b <= 1 or kind == "x"'


class ConstraintError(ValueError):
    """An error in a constraint, with its column."""

    def __init__(self, column: int, sentence: str) -> None:
        super().__init__(f"column {column}: {sentence}")


@lru_cache(256)
def parse(text: str) -> Expression:
    """Return the tree of a constraint, given as text without surrounding spaces.

    Raises:
        ConstraintError: the text does not match the grammar.
    """
    if "\\" in text or not text.isprintable():
        raise ConstraintError(1, "must be one line, without backslashes")
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        if (rewritten := _without_implication(text)) is not None:
            raise ConstraintError(1, f"write {rewritten}") from None
        if hint := instead(text):
            raise ConstraintError(hint[0] + 1, hint[1]) from None
        if reserved := reserved_word(text):
            position, word = reserved
            raise ConstraintError(
                position + 1, f'{word} is a reserved word; if it is a parameter, write its name in quotes: "{word}"'
            ) from None
        column = min(error.offset or len(text) + 1, len(text) + 1)
        raise ConstraintError(
            column, "is not a valid expression from here on; names with spaces or dashes need quotes"
        ) from None
    except (ValueError, MemoryError, RecursionError):
        raise ConstraintError(1, "is not a valid expression") from None
    return _Reader(text).expression(tree, DEEPEST)


def _without_implication(text: str) -> str | None:
    """Return a constraint that says "if A then B" as "not (A) or B"; None for other texts."""
    for condition, consequence in implications(text):
        if condition.isidentifier() and consequence.isidentifier():
            continue  # "a => b" compares two numbers
        try:
            for part in (condition, consequence, rewritten := f"not ({condition}) or {consequence}"):
                _Reader(part).expression(ast.parse(part, mode="eval").body, DEEPEST)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
        return rewritten
    return None


def names(side: ast.expr) -> dict[str, int]:
    """Return the name of each parameter in one side of a comparison -> offset of its first occurrence in the text."""
    found: dict[str, int] = {}
    functions = {id(node.func) for node in ast.walk(side) if isinstance(node, ast.Call)}
    for node in ast.walk(side):
        if id(node) not in functions and (name := _name(node)) is not None:
            assert isinstance(node, ast.expr)
            found[name] = min(node.col_offset, found.get(name, node.col_offset))
    return found


def _name(node: ast.AST) -> str | None:
    """Return the parameter that a node names, by identifier or by name in quotes; None for other nodes."""
    match node:
        case ast.Name(id=name) | ast.Constant(value=str(name)):
            return name
    return None


def _is_sum(node: ast.expr) -> bool:
    """Whether a node is a sum of two or more parameters."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _name(right) is not None and (_name(left) is not None or _is_sum(left))
    return False


class _Reader:
    """Converts Python's syntax trees to expressions, and refuses everything outside the grammar.

    The argument ``levels`` is the number of remaining nesting levels, and ``opposite`` whether to negate the result.

    Raises:
        ConstraintError: the tree does not match the grammar.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def expression(self, node: ast.expr, levels: int, *, opposite: bool = False) -> Expression:
        """Return the expression of a node, or its negation."""
        self._check_depth(node, levels)
        match node:
            case ast.BoolOp(op=op, values=parts):
                read = [self.expression(part, levels - 1, opposite=opposite) for part in parts]
                return Junction(tuple(read), isinstance(op, ast.And) is not opposite)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.expression(operand, levels - 1, opposite=not opposite)
            case ast.Compare(ops=ops) if any(type(op) in MEMBERSHIPS for op in ops):
                return self._membership(node, opposite)
            case ast.Compare():
                return self._comparison(node, levels, opposite)
            case ast.Name(id=name):
                return Membership(name, node.col_offset, (True,), (node.col_offset,), excluded=opposite)
            case ast.Constant(value=str(value)):
                example = f"kind == 'x' or kind == {value!r}"
                message = f"{brief(value)!r} alone is not a comparison; repeat the parameter, such as {example}"
                raise self._error(node, message)
            case ast.Tuple():
                raise self._error(node, "split the constraint at the comma, or join its parts with `and`")
        self._refuse_symbols(node)
        raise self._error(node, f"must compare two sides, such as {EXAMPLES}")

    def _comparison(self, node: ast.Compare, levels: int, opposite: bool) -> Comparison:
        sides = (node.left, *node.comparators)
        for op, side in zip(node.ops, node.comparators, strict=True):
            if type(op) not in COMPARISONS:
                replacement = "== in place of is" if isinstance(op, ast.Is) else "!= in place of is not"
                raise self._error(side, f"write {replacement}")
        for side in sides:
            self._check_number(side, levels)
        symbols = tuple(COMPARISONS[type(op)] for op in node.ops)
        if opposite:
            symbols = tuple(OPPOSITES[symbol] for symbol in symbols)
        return Comparison(sides, symbols, every=not opposite)

    def _membership(self, node: ast.Compare, opposite: bool) -> Membership:
        op, left, right = node.ops[0], node.left, node.comparators[0]
        symbol = MEMBERSHIPS.get(type(op))
        for side in (left, *node.comparators):
            self._refuse_symbols(side)
        if symbol is None or len(node.ops) > 1:
            last = node.comparators[-1]
            symbols = ", ".join(MEMBERSHIPS.values())
            raise self._error(last, f"{symbols} cannot be chained; join two comparisons with `and`")
        is_list = isinstance(op, ast.In | ast.NotIn)
        if is_list and not isinstance(right, ast.List | ast.Tuple | ast.Set):
            raise self._error(right, f"{symbol} needs a list of values, such as kind {symbol} ['x', 'y']")
        if not is_list and not isinstance(left, ast.Name) and isinstance(right, ast.Name):
            left, right = right, left
        name = _name(left)
        if name is None:
            if is_list:
                raise self._error(left, f"{symbol} needs one parameter on its left, such as kind {symbol} ['x', 'y']")
            is_total = isinstance(op, ast.Eq) and (_is_sum(left) or _is_sum(right))
            instead_of = SHARES if is_total else f"for computed numbers {COMPUTED}"
            raise self._error(right, f"{symbol} needs a parameter on one side; {instead_of}")
        given = right.elts if is_list else [right]  # type: ignore[attr-defined]  # a list, a tuple or a set
        if not given:
            raise self._error(right, f"lists no value; give some, such as {name} {symbol} ['x', 'y']")
        values = tuple(self._value(each, name) for each in given)
        excluded = isinstance(op, ast.NotEq | ast.NotIn) is not opposite
        return Membership(name, left.col_offset, values, tuple(each.col_offset for each in given), excluded)

    def _value(self, node: ast.expr, name: str) -> Value:
        """Return a choice, which may be a list, or a number."""
        if isinstance(node, ast.List | ast.Tuple):
            return [self._scalar(each, name) for each in node.elts]
        return self._scalar(node, name)

    def _scalar(self, node: ast.expr, name: str) -> Scalar:
        match node:
            case ast.Constant(value=str() | bool() | None as value):
                return value
            case ast.Constant(value=int() | float() as number):
                return self._bounded(node, number)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                if not isinstance(number, bool):
                    return -self._bounded(node, number)
            case ast.Name(id=other):
                replacement = CONSTANTS.get(other.lower())
                if replacement is not None:
                    raise self._error(node, f"write {replacement} in place of {other}")
                example = f'{name if name.isidentifier() else repr(name)} == "{other}"'
                raise self._error(node, f"{brief(other)!r} is not a value; a text needs quotes, such as {example}")
            case ast.BinOp(op=op) if type(op) in OPERATORS:
                raise self._error(node, f"must be a value; for computed numbers {COMPUTED}")
        self._refuse_symbols(node)
        raise self._error(node, "must be a value: a number, a text in quotes, True, False or None")

    def _check_number(self, node: ast.expr, levels: int) -> None:
        """Check one side of a numeric comparison."""
        self._check_depth(node, levels)
        match node:
            case ast.Name() | ast.Constant(value=str()):
                return
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                self._bounded(node, number)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                self._check_number(operand, levels - 1)
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
                if isinstance(operator, ast.Pow) and names(left) and names(right):
                    raise self._error(node, "a power needs a number as its base or its exponent")
                self._check_number(left, levels - 1)
                self._check_number(right, levels - 1)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                self._check_call(node, name, len(arguments))
                for argument in arguments:
                    self._check_number(argument, levels - 1)
            case _:
                self._refuse_symbols(node)
                raise self._error(node, f"must consist of {FORM}")

    def _check_call(self, node: ast.expr, name: str, count: int) -> None:
        if name not in ARGUMENTS:
            near = nearest(name, ARGUMENTS)
            hint = f"; did you mean {near}?" if near else f" (known: {', '.join(ARGUMENTS)})"
            raise self._error(node, f"{name!r} is an unknown function{hint}")
        least, most = ARGUMENTS[name]
        if not least <= count <= most:
            needed = least if least == most else f"{least} to {most}"
            raise self._error(node, f"{name} takes {needed} arguments, not {count}")

    def _bounded(self, node: ast.expr, number: float) -> float:
        if not number <= LARGEST:
            raise self._error(node, f"must be at most {LARGEST:g}")
        return number

    def _check_depth(self, node: ast.expr, levels: int) -> None:
        if not levels:
            raise self._error(node, f"is nested more than {DEEPEST} levels deep")

    def _refuse_symbols(self, node: ast.expr) -> None:
        """Refuse ``&``, ``|`` and ``~``, with the replacement."""
        is_symbol = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr)
        if (is_symbol or isinstance(node, ast.UnaryOp)) and (hint := instead(self._text)):
            raise ConstraintError(hint[0] + 1, hint[1])

    def _error(self, node: ast.expr, sentence: str) -> ConstraintError:
        return ConstraintError(column_of(self._text, node.col_offset), sentence)


def column_of(text: str, offset: int) -> int:
    """Return the column, from 1, of a byte offset."""
    return len(text.encode()[:offset].decode(errors="ignore")) + 1
