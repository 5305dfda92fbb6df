"""Request bodies (of studies: ``contract/study.py``) and the answers that are only HTTP's."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from adabkb_service.contract.faults import SPARING
from adabkb_service.contract.parameters import (
    Body,
    Count,
    LeaseSeconds,
    Number,
    Tags,
    Text,
    Whole,
)
from adabkb_service.contract.results import Failure, Result, Value

MOST_ITEMS = 1000
"""Results of a batch, or points to predict at."""

Point = dict[str, Any]
StdError = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Attempt = Annotated[int, Field(ge=0, le=2**31 - 1), Whole]

Item = TypeVar("Item", bound=BaseModel)


class Listing(BaseModel, Generic[Item]):
    """A page of a list."""

    items: list[Item]
    next_cursor: Annotated[str | None, Field(description="pass it as ?cursor= for the next page; null at the end")]


class PatchStudyBody(Body):
    """What may change about a study; fields that are absent stay."""

    state: Literal["running", "paused"] = "running"
    budget: Count | None = None
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    lease_seconds: LeaseSeconds = 3600.0
    max_attempts: Count = 3
    max_runtime_seconds: LeaseSeconds | None = None
    failure_limit: Count | None = None
    pending_limit: Count | None = None
    tags: Tags = Field(default_factory=dict)


class SuggestBody(Body):
    """Who asks, for how many trials, and for how long they will be leased."""

    count: Annotated[int, Field(ge=1, le=100), Whole] = 1
    worker: Text | None = None
    lease_seconds: LeaseSeconds | None = None


class TrialValueBody(Body):
    """The result of a trial."""

    trial: Count
    value: Number
    std_error: StdError | None = None
    attempt: Annotated[Attempt | None, Field(description="the current one if absent")] = None
    parameters: Annotated[Point | None, Field(description="what was actually run, if it differs")] = None
    status: Literal["completed"] = "completed"

    def result(self) -> Result:
        """For the operation."""
        return Value(self.value, self.trial, self.attempt, self.std_error, self.parameters)


class TrialFailureBody(Body):
    """A trial that gave no result."""

    trial: Count
    status: Literal["failed"]
    attempt: Attempt | None = None
    reason: Text | None = None

    def result(self) -> Result:
        """For the operation."""
        return Failure(self.trial, self.attempt, self.reason)


class PointValueBody(Body):
    """A result at a point that nobody suggested."""

    parameters: Point
    value: Number
    std_error: StdError | None = None
    trial: None = None

    def result(self) -> Result:
        """For the operation."""
        return Value(self.value, std_error=self.std_error, parameters=self.parameters)


def _kind(body: Any) -> str:
    fields = body if isinstance(body, dict) else {}
    if fields.get("status") == "failed":
        return "TrialFailureBody"
    return "PointValueBody" if fields.get("trial") is None and "parameters" in fields else "TrialValueBody"


ObserveBody = Annotated[
    Annotated[TrialValueBody, Tag("TrialValueBody")]
    | Annotated[TrialFailureBody, Tag("TrialFailureBody")]
    | Annotated[PointValueBody, Tag("PointValueBody")],
    Discriminator(_kind),
]


class BatchBody(Body):
    """Many results at once."""

    items: Annotated[list[ObserveBody], Field(min_length=1, max_length=MOST_ITEMS), SPARING]
    dry_run: Annotated[bool, Field(description="say what would become of each; write nothing")] = False


class QueueBody(Body):
    """A point of one's own."""

    parameters: Point


class HeartbeatBody(Body):
    """Which attempt goes on, and for how long."""

    attempt: Attempt | None = None
    lease_seconds: LeaseSeconds | None = None


class ReleaseBody(Body):
    """Which attempt ends."""

    attempt: Attempt | None = None


class CorrectionBody(Body):
    """What was wrong; fields that are absent stay."""

    value: Number = 0.0
    std_error: StdError | None = None
    excluded: bool = False
    reason: Text | None = None


class PredictBody(Body):
    """Points to predict at."""

    points: Annotated[list[Point], Field(min_length=1, max_length=MOST_ITEMS), SPARING]


class Health(BaseModel):
    """Alive."""

    status: Literal["ok"] = "ok"


class Version(BaseModel):
    """What runs here."""

    model_config = ConfigDict(serialize_by_alias=True)

    version: str
    api: Literal["v1"] = "v1"
    schema_revision: Annotated[
        str, Field(validation_alias="schema_revision", serialization_alias="schema", description="of the database")
    ]
