"""Replace the code of functions in this process."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Collection, Iterator
from types import CodeType, FunctionType

Functions = dict[tuple[str, str, int], list[FunctionType]]
"""Functions by file, qualified name and first line."""


def functions_of(files: Collection[str]) -> Functions:
    """All functions of this process that were compiled from these files."""
    found: Functions = defaultdict(list)
    gc.unfreeze()  # frozen objects are not listed
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename in files:
            found[_key(each.__code__)].append(each)
    gc.freeze()
    return found


def exchange(functions: Functions, file: str, source: str) -> None:
    """Replace the code of a file's functions by that of a changed source with the same number of lines.

    Raises:
        ValueError: a closure would need other variables.
    """
    codes: dict[tuple[str, str, int], list[CodeType]] = defaultdict(list)
    for code in _within(compile(source, file, "exec", dont_inherit=True)):
        codes[_key(code)].append(code)
    for key, (code, *others) in codes.items():
        if not others:  # several lambdas of a line are only exchanged with the function around them
            for function in functions.get(key, ()):
                function.__code__ = code


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _within(each)
