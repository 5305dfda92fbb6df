"""A request that changes a study, or reads it with the latest results of its model. The operations build it, and the
owner of the study performs it."""

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
from adabkb_service.inference.restriction import UNRESTRICTED, Restriction
from adabkb_service.storage import idempotency
from adabkb_service.storage.rows import JsonText, KeyRow
from adabkb_service.storage.usage import Usage
from adabkb_service.study.draft import Draft

Answer = TypeVar("Answer", bound=BaseModel)

Disposition = Literal["stored", "late", "repeated"]
"""What happened to a result. "stored": it arrived while its attempt held the lease. "late": it was stored after that.
"repeated": it was stored before, and not again."""


@dataclass(frozen=True, slots=True)
class Key:
    """An Idempotency-Key and the request it belongs to."""

    scope: str
    """Id of the study, whose deletion also deletes the key. "" for the creation of a study."""
    key: str
    fingerprint: str
    """Hash of method, path, query and body."""
    user: str | None = None
    """The user who sent the request; each user has separate keys. None if authentication is disabled."""

    @property
    def name(self) -> str:
        """The key under which the answer is stored."""
        if self.user is None:
            return self.key
        return hashlib.sha256(f"{self.user}\n{self.key}".encode()).hexdigest()


@dataclass(frozen=True)
class Outcome(Generic[Answer]):
    """An answer and its status."""

    view: Answer
    created: bool = False
    """Whether the request created something."""
    replayed: bool = False
    """Whether this is the stored answer of an earlier request."""
    is_stored: bool = True
    """Whether the answer is stored under the request's key."""
    dispositions: Sequence[Disposition] = ()
    """The disposition of each result in the request."""

    @cached_property
    def json(self) -> str:
        """The answer as sent and stored; rendered once."""
        return self.view.model_dump_json()


Points = Sequence[Proposal]


@dataclass(frozen=True, slots=True)
class PointDemand:
    """New points that the model must decide on."""

    count: int = 0
    within: Restriction = UNRESTRICTED
    """The restriction on all of the points."""
    has_fallback: bool = True
    """Whether the points are drawn quasi-randomly if the model does not answer in time. If False, the request is
    refused in this case. If the model has failed, or has decided on too few points in its time, the missing points are
    quasi-random in any case."""


def no_demand(_: Draft) -> PointDemand:
    """Return an empty demand, for requests that need no new points."""
    return PointDemand()


def never() -> bool:
    """Return False, for requests that are performed even if their client has disconnected."""
    return False


def no_preparation(_: Draft) -> None:
    """Do nothing, for requests that change nothing before ``point_demand`` is called."""


@dataclass(frozen=True)
class Request(Generic[Answer]):
    """A request to one study, performed in one transaction with the rest of its batch."""

    study_id: str
    answer: type[Answer]
    perform: Callable[[Draft, Points], Outcome[Answer]]
    """Changes the draft, or raises an error to refuse the request. May be called again on another draft."""
    key: Key | None = None
    point_demand: Callable[[Draft], PointDemand] = field(default=no_demand)
    """Returns the new points that the request needs in this state of the study. May raise an error to refuse the
    request."""
    prepare: Callable[[Draft], None] = field(default=no_preparation)
    """Changes the draft before ``point_demand`` is called."""
    is_abandoned: Callable[[], bool] = field(default=never)
    """Returns whether the client no longer waits for the answer. Then the request is refused instead of performed."""
    waits_for_latest_results: bool = False
    """Whether the request waits briefly for the model to process the latest results."""
    stores_model_stats: bool = False
    """Whether the model's statistics are committed with this request, even if it writes nothing else."""
    spend: Callable[[Usage, int], Callable[[], None]] | None = None
    """Charges quotas for what the request adds, and for the bytes of its stored answer. Not called for results of
    issued trials (see ``Batch``). May raise an error to refuse the request. Returns a function that undoes the
    charge if the batch is not committed."""
    invalidates_decisions: bool = False
    """Whether the request usually adds an event that affects the model, which invalidates decisions in progress."""
    user: str | None = None
    """The user who sent the request, whom its events name; None if authentication is disabled, or if its events name
    no user."""


def stored_answer(connection: Connection, key: Key | None, answer: type[Answer]) -> Outcome[Answer] | None:
    """Return the answer that is stored under a key; None if the key is new, and for a request without a key.

    Raises:
        IdempotencyKeyReused: the key was used before, for a different request.
    """
    row = None if key is None else idempotency.find(connection, key.scope, key.name)
    if key is None or row is None:
        return None
    if row.fingerprint != key.fingerprint:
        raise IdempotencyKeyReused(key.key)
    return Outcome(answer.model_validate(row.answer["view"]), created=row.answer["created"], replayed=True)


def key_row(key: Key, study_id: str, outcome: Outcome[Any], now: datetime) -> KeyRow:
    """Return the row that stores an answer under its key. It is deleted with the study."""
    created = "true" if outcome.created else "false"
    stored = JsonText(f'{{"created": {created}, "view": {outcome.json}}}')
    return KeyRow(key.scope, key.name, study_id, key.fingerprint, stored, now)
