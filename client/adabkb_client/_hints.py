"""Hints for arguments that a method does not have, such as those of other libraries."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar

INSTEAD = {
    "id": ("name", "study_id", "study_name"),
    "workers": ("n_jobs", "n_workers", "num_workers", "max_workers"),
    "n_trials": ("budget", "max_evals", "n_calls"),
    "count": ("n", "num", "size"),
    "progress": ("show_progress_bar",),
    "value": ("loss", "result", "score", "y"),
    "std_error": ("noise", "sem", "std"),
}
"""Argument -> the names that other libraries give it."""

T = TypeVar("T")


def add_hints(kind: type[T], *, without: Collection[str] = ()) -> type[T]:
    """Make the constructor and the public methods of a class name the argument that may be meant in the TypeError for
    one that they do not have. Their signatures do not change.

    Args:
        kind: the class.
        without: names of methods to leave as they are.

    Returns:
        The same class.
    """
    for name in dir(kind):
        method = inspect.getattr_static(kind, name)
        if (name.startswith("_") and name != "__init__") or name in without:
            continue
        if isinstance(method, classmethod):
            setattr(kind, name, classmethod(_hinting(method.__func__)))
        elif inspect.isfunction(method):
            setattr(kind, name, _hinting(method))
    return kind


def _hinting(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method whose TypeError for wrong arguments has a hint. Errors of its body stay as they are."""
    if inspect.iscoroutinefunction(method):

        @wraps(method)
        async def call(*args: Any, **arguments: Any) -> Any:
            try:
                return await method(*args, **arguments)
            except TypeError as error:
                _add_hint(error, method, args, arguments)
                raise
    else:

        @wraps(method)
        def call(*args: Any, **arguments: Any) -> Any:
            try:
                return method(*args, **arguments)
            except TypeError as error:
                _add_hint(error, method, args, arguments)
                raise

    return call


def _add_hint(error: TypeError, method: Callable[..., Any], args: Sequence[Any], arguments: Mapping[str, Any]) -> None:
    """Add a hint to the error of a call, unless the error is one of the method's body."""
    try:
        inspect.signature(method).bind(*args, **arguments)
    except TypeError:
        if "Did you mean" not in str(error):  # Python 3.13 asks this itself
            error.args = (f"{error}{_hint(method, arguments)}",)


def unexpected(method: Callable[..., Any], arguments: Collection[str]) -> TypeError:
    """Return the error of a call with arguments that the method does not have, as Python raises it, with a hint.

    A method with ``**unknown: Never`` raises it if its tracebacks must not have the frame of ``add_hints``.
    """
    name = next(iter(arguments))
    message = f"{method.__qualname__}() got an unexpected keyword argument {name!r}"
    return TypeError(f"{message}{_hint(method, arguments)}")


def _hint(method: Callable[..., Any], arguments: Collection[str]) -> str:
    parameters = inspect.signature(method).parameters
    known = [each.name for each in parameters.values() if each.kind is not each.VAR_KEYWORD]
    unknown = [name for name in arguments if name not in known]
    hints = [
        f"use {argument}= in place of {name}="
        for name in unknown
        for argument, others in INSTEAD.items()
        if argument in known and name in others
    ]
    if not hints and "settings" not in parameters:  # the server knows the settings
        hints = [f"did you mean {near}=?" for name in unknown for near in get_close_matches(name, known, n=1)]
    return "".join(f"; {hint}" for hint in hints)
