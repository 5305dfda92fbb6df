"""Check that stored JSON has the fields and types of ``storage/event_payloads.py`` and ``storage/columns.py``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from adabkb_service.storage.columns import BestResult, LastPlate, ModelStats
from adabkb_service.storage.rows import EventKind, EventRow, StudyRow

PAYLOADS: dict[EventKind, Any] = {
    kind: payload for kinds, payload in map(get_args, get_args(EventRow)) for kind in get_args(kinds)
}
"""Kind of an event -> type of its payload."""
OF_KINDS: dict[EventKind, TypeAdapter[Any]] = {kind: TypeAdapter(payload) for kind, payload in PAYLOADS.items()}
OF_COLUMNS: dict[str, TypeAdapter[Any]] = {
    name: TypeAdapter(of) for name, of in (("model", ModelStats), ("best", BestResult), ("plate", LastPlate))
}


def faults(log: Iterable[EventRow]) -> list[str]:
    """Return what is wrong with the payloads of events: missing and unknown fields, and values of other types."""
    return [
        f"event {event.seq} ({event.kind}): {fault}"
        for event in log
        for fault in _faults(OF_KINDS[event.kind], event.payload)
    ]


def faults_of_columns(study: StudyRow) -> list[str]:
    """Return what is wrong with the JSON columns of a study's row."""
    values = {name: getattr(study, name) for name in OF_COLUMNS}
    return [
        f"column {name}: {fault}"
        for name, value in values.items()
        if value is not None
        for fault in _faults(OF_COLUMNS[name], value)
    ]


def _faults(of: TypeAdapter[Any], value: object) -> Iterator[str]:
    text = json.dumps(value)
    try:
        found = of.validate_json(text, strict=True)
    except ValidationError as error:
        yield from (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        return
    known = of.dump_python(found, mode="json")  # without fields that the type lacks
    if known != json.loads(text):
        yield f"{value} has fields that its type lacks: with them left out, it is {known}"
