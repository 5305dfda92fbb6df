"""A request that changes a study: what the operations make, and what the owner of the study performs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel
from sqlalchemy import Connection

from adabkb_service.errors import IdempotencyKeyReused
from adabkb_service.inference.proposals import Proposal
from adabkb_service.storage import idempotency
from adabkb_service.storage.rows import JsonText, KeyRow
from adabkb_service.storage.usage import Usage
from adabkb_service.study.draft import Draft

Answer = TypeVar("Answer", bound=BaseModel)

Disposition = Literal["stored", "late", "repeated"]
"""Of a result: stored while its attempt held the trial, stored although it did not any more, or known already."""


@dataclass(frozen=True, slots=True)
class Key:
    """An Idempotency-Key and what it was sent with."""

    scope: str
    """The study of the path, whose deletion forgets the key; "" where a study is created."""
    key: str
    fingerprint: str
    """Of method, path and body."""
    user: str | None = None
    """Who sent it: keys of different users have nothing to do with each other. None without tokens."""

    @property
    def name(self) -> str:
        """Under which it is stored."""
        if self.user is None:
            return self.key
        return hashlib.sha256(f"{self.user}\n{self.key}".encode()).hexdigest()


@dataclass(frozen=True)
class Outcome(Generic[Answer]):
    """An answer, and how it came about."""

    view: Answer
    created: bool = False
    """Whether something new exists now."""
    replayed: bool = False
    """Whether it is the stored answer of an earlier request."""
    is_kept: bool = True
    """Whether it is stored under the key of the request."""
    dispositions: Sequence[Disposition] = ()
    """What became of the results that the request told."""

    @cached_property
    def json(self) -> str:
        """The answer as it is sent and stored, rendered once."""
        return self.view.model_dump_json()


Points = Sequence[Proposal]


@dataclass(frozen=True, slots=True)
class PointDemand:
    """New points that the model has to decide on."""

    count: int = 0
    fixed: dict[str, Any] | None = None
    """Values that some parameters are to have, in the form that is stored."""


def no_demand(_: Draft) -> PointDemand:
    """For requests that need no new points."""
    return PointDemand()


def nothing(_: Draft) -> None:
    """For requests that need nothing to be done first."""


@dataclass(frozen=True)
class Request(Generic[Answer]):
    """Something to be done to one study, in one transaction with whatever else is done to it at the time."""

    study_id: str
    answer: type[Answer]
    perform: Callable[[Draft, Points], Outcome[Answer]]
    """Changes the draft, or raises what the request is refused with. It may be called again, on another draft."""
    key: Key | None = None
    point_demand: Callable[[Draft], PointDemand] = field(default=no_demand)
    """The new points that the model has to decide on first, for a study in this state; or it raises what the request
    is refused with."""
    first: Callable[[Draft], None] = field(default=nothing)
    """Changes the draft before points are counted."""
    follows_model: bool = False
    """Whether it waits a moment for the model to fold the last results."""
    stores_figures: bool = False
    """Whether the figures of the model are to be stored now, and not when something else is written."""
    spend: Callable[[Usage], Callable[[], None]] | None = None
    """Called with what the request adds, or not at all if that is nothing but results of trials. It may refuse. What it
    returns is called if the addition is not committed."""
    invalidates_decisions: bool = False
    """Whether it usually adds an event that affects the model, which makes decisions under way useless."""


def recall(connection: Connection, key: Key | None, answer: type[Answer]) -> Outcome[Answer] | None:
    """The stored answer, or None for a new key (or none at all).

    Raises:
        IdempotencyKeyReused: the key was stored with another request.
    """
    row = None if key is None else idempotency.find(connection, key.scope, key.name)
    if key is None or row is None:
        return None
    if row.fingerprint != key.fingerprint:
        raise IdempotencyKeyReused(key.key)
    return Outcome(answer.model_validate(row.answer["view"]), created=row.answer["created"], replayed=True)


def kept(key: Key, study_id: str, outcome: Outcome[Any], now: datetime) -> KeyRow:
    """An answer as it is stored; it lasts no longer than the study."""
    created = "true" if outcome.created else "false"
    stored = JsonText(f'{{"created": {created}, "view": {outcome.json}}}')
    return KeyRow(key.scope, key.name, study_id, key.fingerprint, stored, now)
