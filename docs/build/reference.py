"""What the Python reference shows of objects that are inspected: what a caller gets, and no docstrings of builtins."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Generator
from types import NoneType
from typing import Any, get_args, get_origin

import griffe


class Callers(griffe.Extension):
    """Shows methods that are made by decorators as their callers see them.

    The inspection looks behind a decorator: at the generator that a procedure or a context manager is written as.
    """

    def on_function_instance(self, *, node: Any, func: griffe.Function, **kwargs: Any) -> None:
        """Show what a call returns."""
        del kwargs
        if not isinstance(node, griffe.ObjectNode) or node.parent is None:
            return
        made = getattr(node.parent.obj, func.name, None)
        if not inspect.isfunction(made):
            return
        answer = inspect.signature(made).return_annotation
        if get_origin(answer) is Generator:  # a procedure: the client performs it, and returns what it returns
            func.returns = _got(get_args(answer)[-1])
        elif _is_listing(answer):
            func.returns = _got(answer)
        elif _is_context(inspect.unwrap(made, stop=_is_context)):
            is_async = inspect.isasyncgenfunction(inspect.unwrap(made))
            kind = "AbstractAsyncContextManager" if is_async else "AbstractContextManager"
            func.returns = f"{kind}[{_got(get_args(answer)[0])}]"

    def on_attribute_instance(self, *, node: Any, attr: griffe.Attribute, **kwargs: Any) -> None:
        """Leave out what a value's type says of itself."""
        del kwargs
        of_type = inspect.getdoc(type(node.obj)) if isinstance(node, griffe.ObjectNode) else None
        if attr.docstring and attr.docstring.value == of_type:
            attr.docstring = None


def _is_context(function: Any) -> bool:
    """Whether a function returns a context manager, as ``contextlib`` makes it from a generator."""
    return inspect.isfunction(function) and function.__code__.co_filename == contextlib.__file__


def _got(answer: Any) -> str:
    """What a caller gets: a list on the server is iterated over."""
    if answer in (None, NoneType):
        return "None"
    if _is_listing(answer):
        return f"Iterator[{_got(get_args(answer)[0])}]"
    return inspect.formatannotation(answer)


def _is_listing(answer: Any) -> bool:
    """By its name, as the package need not be installed where the site is built."""
    return getattr(get_origin(answer), "__qualname__", "") == "Listing"
