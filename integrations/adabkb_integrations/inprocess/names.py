"""The names of arguments that ``minimize`` and ``maximize`` accept, and errors for others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import wraps
from typing import ParamSpec, TypeVar, get_type_hints

from adabkb_client import StudySettings
from adabkb_client._run.options import Options as RunOptions
from adabkb_integrations.inprocess.options import Options
from adabkb_service.engine.wording import nearest

REQUIRED = ("function", "space", "budget")
"""The arguments that every call has, in their order."""
INSTEAD = {
    "direction": "call minimize() or maximize()",
    "directions": 'use objectives=[{"metric": "error", "direction": "minimize"}, ...]',
    **dict.fromkeys(("n_trials", "n_calls", "n_iter", "max_evals", "max_trials"), "use budget"),
    "random_state": "use seed",
}
"""Names of other functions -> what to use instead."""
OF_RUN = {**{each.name: each.name for each in fields(RunOptions)}, "n_jobs": "workers"}
"""Options of ``Study.run``, also under the names of other libraries."""

P = ParamSpec("P")
T = TypeVar("T")


def with_names_checked(function: Callable[P, T]) -> Callable[P, T]:
    """Return a search function whose errors name an unknown or missing argument and what to use instead."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        check_names(function.__name__, [name for name in kwargs if name not in REQUIRED])
        if len(args) < len(REQUIRED) and "budget" not in kwargs:
            raise TypeError(f"{function.__name__}() needs budget, such as budget=30, the number of trials")
        return function(*args, **kwargs)

    return call


def check_names(called: str, names: Iterable[str]) -> None:
    """Refuse options that a search does not have.

    Args:
        called: the name of the function that the user called.
        names: the names of the given options.

    Raises:
        TypeError: a search has no such option.
    """
    for name in names:
        if name not in Options.__annotations__:
            raise TypeError(_refusal(called, name))


def _refusal(called: str, name: str) -> str:
    if name in get_type_hints(StudySettings):
        return f"{called}() has no {name}; a study has it: Client.local('study.db').create_study(..., {name}=...)"
    refused = f"{called}() has no option {name}"
    if name in INSTEAD:
        return f"{refused}; {INSTEAD[name]}"
    if name in OF_RUN:
        return (
            f"{refused}; a run of a study has {OF_RUN[name]}: "
            f"Client.local('study.db').create_study(...).run(function, {OF_RUN[name]}=...)"
        )
    near = nearest(name, [*REQUIRED, *Options.__annotations__])
    return f"{refused}; did you mean {near}?" if near else f"{refused}; it has {', '.join(Options.__annotations__)}"
