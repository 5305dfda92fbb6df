"""The edits of a study's space in words, for its report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from adabkb_service.contract.settings import SETTINGS
from adabkb_service.contract.stored import IN_EVENT
from adabkb_service.engine.axes import identity
from adabkb_service.operations.words.values_in_words import shown
from adabkb_service.storage.event_payloads import Edited
from adabkb_service.storage.rows import EventRow

Fields = Mapping[str, Any]
"""A stored parameter."""
DESCRIBED = ("constraints", "outcome_constraints")
"""Fields of a definition that ``_differences`` describes in detail. Of others, it only says that they changed."""


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
    if "outcome_constraints" in edit:
        yield from _bounds(before.get("outcome_constraints") or [], edit["outcome_constraints"] or [])
    yield from (
        f"{SETTINGS[name].words or name} changed" for name in IN_EVENT if name in edit and name not in DESCRIBED
    )


def _bounds(before: Sequence[Fields], after: Sequence[Fields]) -> Iterator[str]:
    """Yield the bounds of metrics that have changed, with the former ones."""
    was, now = ({each["metric"]: _bound(each) for each in listed} for listed in (before, after))
    for name in dict.fromkeys([*was, *now]):
        if was.get(name) != now.get(name):
            yield f"{name}: {now.get(name, 'no bound')} (it was {was.get(name, 'without a bound')})"


def _bound(constraint: Fields) -> str:
    ends = {"at least": constraint.get("lower"), "at most": constraint.get("upper")}
    return " and ".join(f"{words} {shown(end)}" for words, end in ends.items() if end is not None) or "no bound"


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
