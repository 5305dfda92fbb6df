"""Rows as values: a frozen dataclass per table, with fields in the order of the columns. ``tables`` documents the
columns."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar, cast, get_args

from adabkb_service.storage import event_payloads as payloads
from adabkb_service.storage.columns import (
    BestResult,
    Curve,
    Estimate,
    LastPlate,
    ModelStats,
    Phase,
    StoredPrediction,
)

StudyState = Literal["running", "paused", "complete"]
TrialState = Literal["active", "completed", "failed", "expired", "released", "queued", "stopped", "withdrawn"]
FINISHED: tuple[TrialState, ...] = ("completed", "failed", "stopped", "withdrawn")
UNFINISHED: tuple[TrialState, ...] = tuple(each for each in get_args(TrialState) if each not in FINISHED)
Origin = Literal["policy", "fallback", "queued", "own"]
CellStatus = Literal["leaf", "expanded", "pruned"]
EventKind = Literal[
    "created",
    "suggested",
    "queued",
    "leased",
    "expired",
    "released",
    "observed",
    "failed",
    "retried",
    "annotated",
    "paused",
    "resumed",
    "updated",
    "completed",
    "corrected",
    "model_failed",
    "model_recovered",
    "reported",
    "stopped",
    "edited",
    "measured",
    "withdrawn",
    "plate_closed",
]


ENGINE_REVISION = 22
"""Version of the engine's rules (see ``engine/auto/state/checkpoint.py``). A new study stores it. A replay of the log
with another version gives other suggestions."""


@dataclass(frozen=True, slots=True)
class StudyRow:
    """A study."""

    id: str
    definition: dict[str, Any]
    seed: int
    state: StudyState
    paused: bool
    budget: int | dict[str, int] | None
    tolerance: float | None
    pending_limit: int | None
    lease_seconds: float
    max_attempts: int
    tags: dict[str, str]
    study_seq: int
    model_seq: int
    model: ModelStats | None
    model_error: str | None
    created_at: datetime
    updated_at: datetime
    active: int
    queued: int
    released: int
    expired: int
    completed: int
    failed: int
    observations: int
    failures: int
    best: BestResult | None
    failure_limit: int | None
    max_runtime_seconds: float | None
    incarnation: str
    version: int
    engine_revision: int
    checkpoint: dict[str, Any] | None
    stop: dict[str, Any] | None
    results_since_best: int
    stopped: int
    steps_saved: int
    log_bytes: int
    cost_spent: float
    plate: LastPlate | None
    withdrawn: int
    title: str | None
    description: str | None
    own_failures: int
    last_file: int

    @classmethod
    def new(cls, study_id: str, definition: dict[str, Any], seed: int, now: datetime, **limits: Any) -> StudyRow:
        """The row of a new study, with a random incarnation."""
        no_trials: dict[str, Any] = dict.fromkeys(get_args(TrialState), 0)
        return cls(
            id=study_id,
            definition=definition,
            seed=seed,
            state="running",
            paused=False,
            study_seq=0,
            model_seq=0,
            model=None,
            model_error=None,
            created_at=now,
            updated_at=now,
            observations=0,
            failures=0,
            best=None,
            incarnation=secrets.token_hex(16),
            version=0,
            engine_revision=ENGINE_REVISION,
            checkpoint=None,
            results_since_best=0,
            steps_saved=0,
            log_bytes=0,
            cost_spent=0.0,
            plate=None,
            own_failures=0,
            last_file=0,
            **no_trials,
            **limits,
        )

    @property
    def waiting(self) -> int:
        """Number of trials that wait to be issued, before new points."""
        return self.queued + self.released + self.expired

    @property
    def unfinished(self) -> int:
        """Number of trials that are not completed, failed, stopped or withdrawn."""
        return self.active + self.waiting

    @property
    def trials(self) -> int:
        """Number of all trials, which are numbered from 1 without gaps."""
        return self.unfinished + self.completed + self.failed + self.stopped + self.withdrawn

    @property
    def budget_left(self) -> int | None:
        """Number of full evaluations left in the budget; None without a budget of trials or plates. Withdrawn trials
        and failures that were reported without a trial do not count, and steps that stopped trials saved are added.
        With a budget of plates: the number of free places on the last plate and on the plates that may be begun."""
        if self.budget is None:
            return None
        if isinstance(self.budget, dict):
            return self.places_left + max(self.plates_left or 0, 0) * int(self.definition["plates"]["size"])
        rule = self.definition["early_stopping"]
        saved = 0 if rule is None else self.steps_saved // rule["max_steps"]
        return self.budget - (self.trials - self.withdrawn - self.own_failures) + saved

    @property
    def plates(self) -> int | None:
        """Number of plates with at least one trial; None in a study without plates. Plates whose trials are all
        withdrawn do not count, nor do plates that only results without a trial name."""
        if self.definition.get("plates") is None:
            return None
        return 0 if self.plate is None else self.plate.get("begun", 0)

    @property
    def plates_left(self) -> int | None:
        """Number of plates that may still be begun; negative if the budget was lowered, or a late result of a withdrawn
        trial made its plate count again; None without a budget of plates."""
        return self.budget["plates"] - (self.plates or 0) if isinstance(self.budget, dict) else None

    @property
    def places_left(self) -> int:
        """Number of trials that can still be added to the last plate. It is 0 if the last plate is closed or all its
        trials are withdrawn, if the budget allows fewer plates than there are, and in a study without plates."""
        plates = self.definition.get("plates")
        if plates is None or (self.plates_left is not None and self.plates_left < 0):
            return 0
        return places_on(self.plate, int(plates["size"]))


def places_on(last: LastPlate | None, size: int) -> int:
    """Return the number of free places on the last plate, given the column ``plate`` and the number of trials on a
    plate; 0 if the next trial begins a plate."""
    if last is None or last["shared"] is None or last["trials"] == 0:
        return 0
    return max(size - last["trials"], 0)


@dataclass(frozen=True, slots=True)
class TrialRow:
    """A trial."""

    study_id: str
    number: int
    state: TrialState
    parameters: dict[str, Any]
    origin: Origin
    cell: str | None
    worker: str | None
    attempt: int
    expirations: int
    lease_seconds: float
    leased_until: datetime | None
    value: float | None
    failed_attempt: int | None
    reason: str | None
    created_at: datetime
    finished_at: datetime | None
    started_at: datetime | None
    attributes: dict[str, Any]
    phase: Phase | None
    expected: StoredPrediction | None
    curve: Curve | None
    estimate: Estimate | None
    metrics: dict[str, float] | None
    plate: int | None
    seconds: float | None
    reported_by: str | None
    """The user who reported the result or the failure that ended the trial; None without tokens."""

    @classmethod
    def new(cls, study_id: str, number: int, parameters: dict[str, Any], now: datetime, **more: Any) -> TrialRow:
        """The row of a new trial: queued and never leased, unless ``more`` overrides this."""
        nothing: dict[str, Any] = dict.fromkeys(cls.__slots__)
        values: dict[str, Any] = {
            "study_id": study_id,
            "number": number,
            "state": "queued",
            "parameters": parameters,
            "origin": "queued",
            "attempt": 0,
            "expirations": 0,
            "lease_seconds": 0.0,
            "created_at": now,
            "attributes": {},
        }
        return cls(**nothing | values | more)


@dataclass(frozen=True, slots=True)
class ObservationRow:
    """An observation."""

    study_id: str
    seq: int
    trial: int | None
    attempt: int | None
    parameters: dict[str, Any]
    value: float | None
    std_error: float | None
    excluded: bool
    observed_at: datetime
    metrics: dict[str, float] | None
    std_errors: dict[str, float] | None
    plate: int | None
    """The plate that a result without a trial names."""
    seconds: float | None
    attributes: dict[str, Any] = field(default_factory=dict)
    """Attributes that users set for a result without a trial, by name."""
    reported_by: str | None = None
    """The user who reported the result; None without tokens."""


@dataclass(frozen=True, slots=True)
class ReportRow:
    """An intermediate value of a trial."""

    study_id: str
    trial: int
    attempt: int
    step: int
    value: float
    mark: int | None
    reported_at: datetime


K_co = TypeVar("K_co", covariant=True, bound=EventKind)
P_co = TypeVar("P_co", covariant=True)


@dataclass(frozen=True, slots=True)
class EventOf(Generic[K_co, P_co]):
    """An event of one of the kinds ``K_co``, with a payload ``P_co``."""

    study_id: str
    seq: int
    kind: K_co
    trial: int | None
    payload: P_co
    created_at: datetime

    @property
    def user(self: EventRow) -> str | None:
        """The user whose request recorded the event; None if the server requires no tokens, or recorded the event
        without a request."""
        user = self.payload.get("user")
        return user if isinstance(user, str) else None

    @property
    def affects_model(self) -> bool:
        """Whether the event can change the model's decisions. If so, prefetched points are outdated, unless the event
        records that one of them was issued."""
        by_points = self.kind in ("suggested", "queued", "observed", "failed", "retried", "stopped", "edited")
        return by_points or self.changes_result

    @property
    def changes_result(self) -> bool:
        """Whether the event changes a stored result, or adds numbers that it lacked."""
        return self.kind in ("corrected", "measured")

    @property
    def brings_result(self: EventRow) -> bool:
        """Whether the event gives the model a value: a result, or the estimate of a stopped trial."""
        return self.kind == "observed" or (self.kind == "stopped" and self.payload["estimate"] is not None)


CreatedRow: TypeAlias = EventOf[Literal["created"], payloads.Created]
SuggestedRow: TypeAlias = EventOf[Literal["suggested"], payloads.Suggested]
ResultRow: TypeAlias = (
    EventOf[Literal["observed"], payloads.Observed]
    | EventOf[Literal["corrected", "measured"], payloads.Changed]
    | EventOf[Literal["stopped"], payloads.Stopped]
)
EventRow: TypeAlias = (
    CreatedRow
    | SuggestedRow
    | ResultRow
    | EventOf[Literal["queued"], payloads.Queued]
    | EventOf[Literal["leased"], payloads.Leased]
    | EventOf[Literal["expired"], payloads.Expired]
    | EventOf[Literal["released"], payloads.Released]
    | EventOf[Literal["failed"], payloads.Failed]
    | EventOf[Literal["withdrawn"], payloads.Withdrawn]
    | EventOf[Literal["retried"], payloads.Retried]
    | EventOf[Literal["reported"], payloads.Reported]
    | EventOf[Literal["annotated"], payloads.Annotated]
    | EventOf[Literal["plate_closed"], payloads.PlateClosed]
    | EventOf[Literal["paused"], payloads.Paused]
    | EventOf[Literal["resumed"], payloads.Resumed]
    | EventOf[Literal["updated"], payloads.Updated]
    | EventOf[Literal["edited"], payloads.Edited]
    | EventOf[Literal["completed"], payloads.Completed]
    | EventOf[Literal["model_failed"], payloads.ModelFailed]
    | EventOf[Literal["model_recovered"], payloads.ModelRecovered]
)
"""An event of the log. A comparison of its ``kind`` narrows the type of its ``payload``."""


def event_row(
    study_id: str, seq: int, kind: EventKind, trial: int | None, payload: Mapping[str, Any], created_at: datetime
) -> EventRow:
    """Return an event as stored or imported. Nothing checks that the payload is one of its kind."""
    return cast("EventRow", EventOf(study_id, seq, kind, trial, payload, created_at))


def created_row(log: Sequence[EventRow]) -> CreatedRow:
    """Return the first event of a log, which creates the study.

    Raises:
        ValueError: the log does not begin with the creation of the study.
    """
    first = next(iter(log), None)
    if first is None or first.kind != "created" or first.seq != 1:
        raise ValueError("the log does not begin with the creation of the study")
    return first


class JsonText(str):
    """A serialized JSON document."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class KeyRow:
    """An idempotency key."""

    scope: str
    key: str
    study_id: str
    fingerprint: str
    answer: Any
    """A JSON object; in a row to store, its serialized form (``JsonText``)."""
    created_at: datetime


class Row(Protocol):
    """Any row: one of the above, or one that is defined next to the queries of its table."""

    __slots__: tuple[str, ...]


def as_values(row: Row) -> dict[str, Any]:
    """Column name -> value of a row."""
    return {name: getattr(row, name) for name in row.__slots__}
