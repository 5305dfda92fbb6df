"""What the objects of the client have in common: a display, and errors for missing attributes that say what to use
instead, for names that are usual in other libraries. ``_console`` and ``_notebook`` have the displays of each kind."""

from collections.abc import Mapping
from functools import singledispatch
from typing import TYPE_CHECKING, Any, ClassVar

PARAMETERS = ("params", "config", "hyperparameters")
"""Names of the parameters in trials of other libraries."""
OPTUNAS = ("suggest_", "should_prune", "set_user_attr")
"""Prefixes of the names of methods of Optuna's trials."""


class Shown:
    """An object that a console shows as one line, and a notebook as ``page`` returns it: usually as a table."""

    def __repr__(self) -> str:
        return " ".join(line(self).splitlines())  # texts of users may have several lines

    def _repr_html_(self) -> str:
        return page(self)


@singledispatch
def line(shown: Any) -> str:
    """Return an object as one line of text."""
    raise NotImplementedError(f"nothing is registered for {type(shown).__name__}")


@singledispatch
def page(shown: Any) -> str:
    """Return an object as a notebook shows it."""
    raise NotImplementedError(f"nothing is registered for {type(shown).__name__}")


class Hinting:
    """An object whose error for a missing attribute names the attribute to use instead, if one is known."""

    _instead: ClassVar[Mapping[str, str]] = {}
    """Missing attribute -> what to use instead."""

    if not TYPE_CHECKING:  # type checkers would accept any name

        def __getattr__(self, name: str) -> object:
            instead = None if name.startswith("_") else self._hint(name)
            what = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(what if instead is None else f"{what}; use {instead}", name=name, obj=self)

    def _hint(self, name: str) -> str | None:
        return self._instead.get(name)


def of_point(variable: str, name: str, parameters: object) -> str | None:
    """Return what to use instead of an attribute of an object that has parameters.

    Args:
        variable: what programs usually call the object.
        name: the missing attribute.
        parameters: the parameters of the object, if they are a dict.
    """
    if not isinstance(parameters, Mapping):
        return None
    if name in PARAMETERS:
        return f"{variable}.parameters"
    return f"{variable}.parameters[{name!r}]" if name in parameters else None


def for_optuna() -> str:
    """Return the remedy for an objective written for Optuna."""
    return (
        "this function is written for Optuna. Take the parameters of the study as arguments, `def objective(x, y):`, "
        "and leave out pass_trial. Or run the function unchanged: `study.optimize(objective)`"
    )
