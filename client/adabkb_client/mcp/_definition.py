"""The search space of a study in the form that create_study takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

NOT_ARGUMENTS = frozenset({"name", "scale", "digest"})
"""Fields of the server that create_study does not take."""
DEFAULTS: Mapping[str, Any] = {"periodic": False, "context": False}
"""Values that are left out."""


def as_arguments(parameters: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return parameters by name. Of a catalogue, they have the number of rows in place of the names."""
    return {each["name"]: _argument(each) for each in parameters}


def _argument(parameter: Mapping[str, Any]) -> dict[str, Any]:
    given = {
        name: value
        for name, value in parameter.items()
        if name not in NOT_ARGUMENTS and value is not None and DEFAULTS.get(name) != value
    }
    if parameter["kind"] == "int" and given.get("step") == 1:
        del given["step"]
    if parameter["kind"] == "fixed":
        given.setdefault("value", None)  # None is a valid value
    return {**given, "log": True} if parameter.get("scale") == "log" else given
