"""What an agent probably meant by an argument that a tool does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

MEANT: Mapping[str, Sequence[str]] = {
    "max_trials": ("budget",),
    "n_trials": ("budget",),
    "trials": ("budget", "count"),
    "max_evaluations": ("budget",),
    "n": ("count",),
    "units": ("unit",),
    "min": ("low",),
    "minimum": ("low",),
    "lower": ("low",),
    "max": ("high",),
    "maximum": ("high",),
    "upper": ("high",),
    "options": ("choices", "values"),
    "categories": ("choices",),
    "type": ("kind",),
    "scale": ("log",),
    "log_scale": ("log",),
    "params": ("parameters",),
    "point": ("parameters",),
    "id": ("study",),
    "study_id": ("study",),
    "name": ("title", "study"),
    "number": ("trial",),
    "result": ("value",),
    "goal": ("direction",),
}
"""Name in other programs -> names of arguments here."""
VALUES = {"log": "log: true"}
"""Argument -> how to write it."""
MOST = 20
"""The maximum number of arguments that are listed."""


def remedy(location: Sequence[str | int], schema: Mapping[str, Any]) -> str:
    """Return what to give in place of an unknown argument.

    Args:
        location: its names, from the outermost one, as pydantic gives them.
        schema: the schema of the tool's arguments.
    """
    *within, unknown = location
    known = list(_within(schema, within, schema).get("properties", ()))
    name = str(unknown)
    meant = [each for each in MEANT.get(name, ()) if each in known] or get_close_matches(name, known, 1)
    if meant:
        return f"did you mean {VALUES.get(meant[0], meant[0])}?"
    listed = ", ".join(known[:MOST])
    return f"there are {listed}{' and others' if len(known) > MOST else ''}" if known else "leave it out"


def _within(schema: Mapping[str, Any], steps: Sequence[str | int], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a part of the arguments; empty if it is not found."""
    if "$ref" in schema:
        return _within(root["$defs"][schema["$ref"].rpartition("/")[2]], steps, root)
    mapping = schema.get("discriminator", {}).get("mapping")
    if mapping and steps:  # pydantic gives the value of the discriminator as a step
        kind, *rest = steps
        return _within({"$ref": mapping[kind]}, rest, root) if kind in mapping else {}
    for union in ("anyOf", "oneOf"):
        if union in schema:
            found = (_within(each, steps, root) for each in schema[union])
            return next((each for each in found if "properties" in each), {})
    if not steps:
        return schema
    first, *rest = steps
    if isinstance(first, int):
        return _within(schema.get("items", {}), rest, root)
    inner = schema.get("properties", {}).get(first, schema.get("additionalProperties"))
    return _within(inner, rest, root) if isinstance(inner, Mapping) else {}
