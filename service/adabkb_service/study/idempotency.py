"""Idempotency keys: the same request twice has one effect and one answer.

A key and the answer are stored in the transaction of the effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel
from sqlalchemy import Connection

from adabkb_service.errors import IdempotencyKeyReused
from adabkb_service.storage import idempotency
from adabkb_service.storage.rows import KeyRow
from adabkb_service.study.draft import Change

View = TypeVar("View", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Key:
    """An Idempotency-Key and what it was sent with."""

    scope: str
    """The study of the path, whose deletion forgets the key; "" where a study is created."""
    key: str
    fingerprint: str
    """Of method, path and body."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[View]):
    """An answer, and how it came about."""

    view: View
    created: bool = False
    """Whether something new exists now."""
    replayed: bool = False
    """Whether it is the stored answer of an earlier request."""


def recall(connection: Connection, key: Key | None, view: type[View]) -> Outcome[View] | None:
    """The stored answer, or None for a new key (or none at all).

    Raises:
        IdempotencyKeyReused: the key was stored with another request.
    """
    row = None if key is None else idempotency.find(connection, key.scope, key.key)
    if key is None or row is None:
        return None
    if row.fingerprint != key.fingerprint:
        raise IdempotencyKeyReused(key.key)
    return Outcome(view.model_validate(row.answer["view"]), created=row.answer["created"], replayed=True)


def store(change: Change, key: Key | None, outcome: Outcome[View]) -> None:
    """Store a key with its answer; it lasts no longer than the study."""
    if key is not None:
        row = KeyRow(key.scope, key.key, change.study.id, key.fingerprint, _answer(outcome), change.now)
        idempotency.add(change.connection, row)


def _answer(outcome: Outcome[View]) -> dict[str, Any]:
    return {"created": outcome.created, "view": outcome.view.model_dump(mode="json")}
