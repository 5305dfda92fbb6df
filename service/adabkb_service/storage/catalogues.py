"""The tables of catalogues, which the log holds and a study's row only names.

The event ``created`` has a table as text, and each ``edited`` one what changes in it. The row of the study has the
digest of that alone, so it stays small. Whoever reads the row finds what the digest stands for here: it is read from
the log once for each process, and kept as long as there is room.
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
"""Characters of tables that a process keeps."""
_LOG = (
    select(events.c.kind, events.c.payload)
    .where(events.c.study_id == bindparam("study"), events.c.kind.in_(("created", "edited")))
    .order_by(events.c.seq)
)


@dataclass(frozen=True)
class Pieces:
    """A table as it was given, and what was changed in it since."""

    table: str
    changes: tuple[Mapping[str, Any], ...] = field(default=())

    @cached_property
    def digest(self) -> str:
        """What tells it from any other."""
        found = hashlib.sha256(self.table.encode()).hexdigest()
        for change in self.changes:
            found = hashlib.sha256((found + json.dumps(change, sort_keys=True)).encode()).hexdigest()
        return found

    def changed(self, change: Mapping[str, Any]) -> Pieces:
        """With one more change."""
        return Pieces(self.table, (*self.changes, change))

    @property
    def size(self) -> int:
        """Characters, about."""
        return len(self.table) + sum(len(change.get("add", "")) for change in self.changes)


_guard = Lock()
_known: LRUCache[str, Pieces] = LRUCache(KEPT, getsizeof=lambda pieces: pieces.size)
_held: WeakValueDictionary[str, Pieces] = WeakValueDictionary()
"""Those that somebody holds, whether they are kept or not."""


def keep(pieces: Pieces) -> str:
    """Keep what a digest stands for, and return the digest."""
    with _guard:
        _known[pieces.digest] = _held[pieces.digest] = pieces
    return pieces.digest


def pieces_of(digest: str) -> Pieces:
    """What a digest stands for.

    Raises:
        LookupError: it is not kept, and nobody holds it.
    """
    with _guard:
        return _known.get(digest) or _held[digest]


def are_kept(definition: Mapping[str, Any]) -> bool:
    """Whether the tables that a study's stored definition names are kept; they count as used just now."""
    with _guard:
        return all(_known.get(digest) for digest in _named(definition))


def held(definition: Mapping[str, Any]) -> tuple[Pieces, ...]:
    """The tables that a study's stored definition names: ``pieces_of`` finds them as long as they are held.

    Raises:
        LookupError: one is not kept.
    """
    return tuple(map(pieces_of, _named(definition)))


def _named(definition: Mapping[str, Any]) -> list[str]:
    """The digests of the tables."""
    return [each["digest"] for each in definition.get("parameters", ()) if each.get("digest")]


def read(connection: Connection, study_id: str, definition: Mapping[str, Any]) -> None:
    """Keep the tables that a study's stored definition names."""
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
    """The tables by parameter after an event, which has parameters and changes of tables."""
    new = {each["name"]: Pieces(each["table"]) for each in given if "table" in each}
    found = {**tables, **new}
    return {**found, **{name: found[name].changed(change) for name, change in changes.items()}}
