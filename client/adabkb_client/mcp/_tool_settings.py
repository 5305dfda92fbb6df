"""The settings of a study as arguments of tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, get_args, get_type_hints

F = TypeVar("F", bound=Callable[..., Any])


def with_settings(tool: F) -> F:
    """Decorate a tool: the fields of its ``**settings`` become arguments, before those that it has only by keyword.
    Arguments that were left out are None."""
    signature = inspect.signature(tool, eval_str=True)
    *own, settings = signature.parameters.values()
    (fields,) = get_args(settings.annotation)
    arguments = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in get_type_hints(fields, include_extras=True).items()
    ]
    first = [each for each in own if each.kind is not each.KEYWORD_ONLY]
    vars(tool)["__signature__"] = signature.replace(parameters=[*first, *arguments, *own[len(first) :]])
    return tool
