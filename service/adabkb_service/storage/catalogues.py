"""Tables of catalogues. They are stored in the log; a study's row only refers to them.

The event that adds a catalogue (``created`` or ``edited``) holds its table as text, and later ``edited`` events may
hold changes of it. The study's row holds only a digest of the table and its changes, so that the row stays small. This
module finds the table for a digest. Each process reads a table from the log once, and caches it while there is room.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

from cachetools import LRUCache
from sqlalchemy import Connection, bindparam, select

from adabkb_service.storage.tables import events

KEPT = 2**28
"""Capacity of the cache, in characters."""
_LOG = (
    select(events.c.kind, events.c.payload)
    .where(events.c.study_id == bindparam("study"), events.c.kind.in_(("created", "edited")))
    .order_by(events.c.seq)
)


@dataclass(frozen=True)
class Pieces:
    """A table as text, and its later changes."""

    table: str
    changes: tuple[Mapping[str, Any], ...] = field(default=())

    @cached_property
    def digest(self) -> str:
        """SHA-256 digest that identifies the table and its changes."""
        found = hashlib.sha256(self.table.encode()).hexdigest()
        for change in self.changes:
            found = hashlib.sha256((found + json.dumps(change, sort_keys=True)).encode()).hexdigest()
        return found

    def changed(self, change: Mapping[str, Any]) -> Pieces:
        """The table with one more change."""
        return Pieces(self.table, (*self.changes, change))

    @property
    def size(self) -> int:
        """Approximate number of characters of the table and its changes."""
        return len(self.table) + sum(len(change.get("add", "")) for change in self.changes)


_guard = Lock()
_known: LRUCache[str, Pieces] = LRUCache(KEPT, getsizeof=lambda pieces: pieces.size)
_in_use: WeakValueDictionary[str, Pieces] = WeakValueDictionary()
"""All tables that this process uses, including those dropped from the cache."""


def keep(pieces: Pieces) -> str:
    """Cache a table, and return its digest."""
    with _guard:
        _known[pieces.digest] = _in_use[pieces.digest] = pieces
    return pieces.digest


def pieces_of(digest: str) -> Pieces:
    """The table with this digest.

    Raises:
        LookupError: the table is neither cached nor in use.
    """
    with _guard:
        return _known.get(digest) or _in_use[digest]


def is_kept(digest: str) -> bool:
    """Whether ``pieces_of`` finds the table with this digest."""
    with _guard:
        return digest in _known or digest in _in_use


def are_kept(definition: Mapping[str, Any]) -> bool:
    """Whether the tables of a stored definition are cached; marks them as recently used."""
    with _guard:
        return all(_known.get(digest) for digest in _named(definition))


def tables_of(definition: Mapping[str, Any]) -> tuple[Pieces, ...]:
    """The tables of a stored definition. ``pieces_of`` finds them for as long as the caller keeps the result.

    Raises:
        LookupError: a table is not cached.
    """
    return tuple(map(pieces_of, _named(definition)))


def _named(definition: Mapping[str, Any]) -> list[str]:
    """The digests of the tables in a stored definition."""
    return [each["digest"] for each in definition.get("parameters", ()) if each.get("digest")]


def read(connection: Connection, study_id: str, definition: Mapping[str, Any]) -> None:
    """Cache the tables of a stored definition."""
    if are_kept(definition):
        return
    tables: dict[str, Pieces] = {}
    for kind, payload in connection.execute(_LOG, {"study": study_id}):
        given = payload["definition"]["parameters"] if kind == "created" else payload["parameters"]
        tables = followed(tables, given, payload.get("catalogues", {}))
    for pieces in tables.values():
        keep(pieces)


def followed(
    tables: Mapping[str, Pieces], given: Iterable[Mapping[str, Any]], changes: Mapping[str, Mapping[str, Any]]
) -> dict[str, Pieces]:
    """Return the tables after an event, by parameter. ``tables`` are the tables before the event; ``given`` are the
    event's parameters, and ``changes`` its changes of tables by parameter."""
    new = {each["name"]: Pieces(each["table"]) for each in given if "table" in each}
    found = {**tables, **new}
    return {**found, **{name: found[name].changed(change) for name, change in changes.items()}}
