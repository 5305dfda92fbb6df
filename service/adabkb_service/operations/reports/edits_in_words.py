"""The edits of a study's space in words, for its report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from adabkb_service.contract.stored import IN_EVENT
from adabkb_service.engine.axes import identity
from adabkb_service.operations.words.values_in_words import shown
from adabkb_service.storage.event_payloads import Edited
from adabkb_service.storage.rows import EventRow

Fields = Mapping[str, Any]
"""A stored parameter."""
RULES = [name for name in IN_EVENT if name != "constraints"]
"""Fields of a definition of which ``_differences`` says only that they were changed."""


def edits(changes: Iterable[EventRow]) -> dict[int, str]:
    """Return the number of each edit among the events of a study -> what it changed, in words."""
    found: dict[int, str] = {}
    before: Fields | None = None
    for event in changes:
        if event.kind == "created":
            before = event.payload["definition"]
        elif event.kind == "edited":
            differences = [] if before is None else list(_differences(before, event.payload))
            found[event.seq] = "; ".join(differences) or f"The space was edited, version {event.payload['version']}"
            before = {**(before or {}), **event.payload}
    return found


def _differences(before: Fields, edit: Edited) -> Iterator[str]:
    was = {each["name"]: each for each in before["parameters"]}
    for each in edit["parameters"]:
        name, old = each["name"], was.get(each["name"])
        if old is None:
            yield f"{name} was added: {_values(each)}"
        elif _list_of_values(old) is not None and _list_of_values(each) is not None:
            yield from _changed_list(name, _list_of_values(old) or (), _list_of_values(each) or ())
        elif _values(old) != _values(each):
            yield f"{name}: {_values(each)} (it was {_values(old)})"
    for name in edit.get("catalogues", {}):
        yield f"rows of {name} were changed"
    if "constraints" in edit:
        yield f"constraints: {'; '.join(edit['constraints']) or 'none'}"
    if edit.get("closes_plate"):
        yield "the last plate was closed, since no point has its values"
    yield from (f"{name} was changed" for name in edit if name in RULES)


def _changed_list(name: str, before: Sequence[object], after: Sequence[object]) -> Iterator[str]:
    """Yield which of the values of a parameter were added and removed."""
    old, new = ({_key(each) for each in values} for values in (before, after))
    added = [shown(each) for each in after if _key(each) not in old]
    removed = [shown(each) for each in before if _key(each) not in new]
    if added:
        yield f"{name}: {', '.join(added)} added"
    if removed:
        yield f"{name}: {', '.join(removed)} removed"
    if old == new and list(map(_key, before)) != list(map(_key, after)):
        yield f"{name}: another order of the values"


def _key(value: object) -> object:
    return repr(identity(value))


def _list_of_values(parameter: Fields) -> Sequence[object] | None:
    return parameter.get("choices") or parameter.get("values")


def _values(parameter: Fields) -> str:
    """Return the possible values of a parameter."""
    listed = _list_of_values(parameter)
    if listed is not None:
        return ", ".join(map(shown, listed))
    match parameter["kind"]:
        case "float" | "int":
            step = f", in steps of {shown(parameter['step'])}" if parameter.get("step") not in (None, 1) else ""
            return f"{shown(parameter['low'])} to {shown(parameter['high'])}{step}"
        case "fixed":
            return shown(parameter["value"])
        case "bool":
            return "false, true"
        case _:
            return "rows of a table"
