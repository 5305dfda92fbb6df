"""The check of edits of the space."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from adabkb_client import Float
from tests.acceptance.chaos.board import EDITED
from tests.acceptance.chaos.ledger import Entry
from tests.acceptance.chaos.log import Log
from tests.acceptance.chaos.record import Record


def edits(record: Record, log: Log, entries: Sequence[Entry]) -> Iterator[str]:
    """Each acknowledged edit is in the log, every edit in the log was requested, and results in the space count."""
    calls = [entry for entry in entries if entry.kind == "edit"]
    first = [event.payload["definition"]["parameters"] for event in record.events if event.kind == "created"]
    there = [_high(parameters) for parameters in (*first, *log.edits)]
    if record.info.space_version != len(there):
        yield f"the space has version {record.info.space_version}, but in the log {len(there)}"
    if _high(record.info.parameters) != there[-1]:
        yield f"the space ends at {_high(record.info.parameters)}, but in the log at {there[-1]}"
    if any(before == after for before, after in pairwise(there)):
        yield f"an edit that changes nothing is in the log: {there}"
    for entry in calls:
        if entry.fate == "acknowledged" and _asked(entry) not in there:
            yield f"an acknowledged edit is lost: {entry}"
    for high in set(there[1:]) - {_asked(entry) for entry in calls}:
        yield f"the space was edited to end at {high}, which no client requested"
    for observation in record.observations:
        if observation.outside != (observation.parameters[EDITED] > there[-1]):
            counts = "does not count" if observation.outside else "counts"
            yield f"observation {observation.seq} {counts} at {observation.parameters}; the space ends at {there[-1]}"


def _asked(entry: Entry) -> float:
    assert isinstance(entry.edited, Float), entry
    return entry.edited.high


def _high(parameters: Sequence[Mapping[str, Any]]) -> float:
    return next(float(each["high"]) for each in parameters if each["name"] == EDITED)
