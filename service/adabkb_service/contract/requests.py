"""The bodies of requests, except that of a new study (``contract/study.py``), and answers that only HTTP has."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import (
    MISSING,
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from adabkb_service.contract.answers import Answer
from adabkb_service.contract.attributes import Attributes
from adabkb_service.contract.catalogue import TableChange
from adabkb_service.contract.faults import SPARING
from adabkb_service.contract.metrics import MOST_METRICS
from adabkb_service.contract.parameters import (
    MOST_PARAMETERS,
    Body,
    Choice,
    Count,
    LeaseSeconds,
    Name,
    Number,
    Parameter,
    Positive,
    Tags,
    Text,
    Whole,
)
from adabkb_service.contract.quantities import Quantities
from adabkb_service.contract.stop import Stop

MOST_ITEMS = 1000
"""Largest number of results of a batch, and of points of a prediction."""

MOST_REPEATS = 100
"""Largest number of trials of a request to repeat a point."""

IDEMPOTENCY_KEY = r"^[\x21-\x7e]{1,255}$"

Point = dict[str, Any]
StdError = Annotated[float, Field(ge=0, allow_inf_nan=False)]
MetricValues = Annotated[
    Annotated[dict[Name, Number], Field(max_length=MOST_METRICS), SPARING] | None,
    Field(description="what else was measured: the study's metrics, by name"),
]
Costs = Annotated[Positive | None, Field(description="short for the metric cost of a study that has one")]
MetricErrors = Annotated[
    Annotated[dict[Name, StdError], Field(max_length=MOST_METRICS), SPARING] | None,
    Field(description="standard errors of metrics, where known"),
]


def _some_result(value: float | None, info: ValidationInfo) -> float | None:
    """Name the value where there is no result at all. Which of the two it is to be, the study decides."""
    if value is None and not info.data.get("metrics"):
        raise PydanticCustomError("missing", "is required")
    return value


Value = Annotated[
    Number | None,
    Field(description="required, unless the study has several objectives: then none", validate_default=True),
    AfterValidator(_some_result),
]
Attempt = Annotated[int, Field(ge=0, le=2**31 - 1), Whole]

Item = TypeVar("Item", bound=BaseModel)


class Page(Answer, Generic[Item]):
    """A page of a list."""

    items: list[Item]
    next_cursor: Annotated[str | None, Field(description="pass it as ?cursor= for the next page; null at the end")]


class PatchStudyBody(Body):
    """Changes to a study. Fields that are absent keep their values."""

    state: Literal["running", "paused"] | MISSING = MISSING
    budget: Count | MISSING | None = MISSING
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] | MISSING | None = MISSING
    lease_seconds: LeaseSeconds | MISSING = MISSING
    max_attempts: Count | MISSING = MISSING
    max_runtime_seconds: LeaseSeconds | MISSING | None = MISSING
    failure_limit: Count | MISSING | None = MISSING
    pending_limit: Count | MISSING | None = MISSING
    stop: Stop | MISSING | None = MISSING
    tags: Tags | MISSING = MISSING
    quantities: Quantities | MISSING = MISSING
    parameters: Annotated[
        Annotated[list[Parameter], Field(min_length=1, max_length=MOST_PARAMETERS), SPARING] | MISSING,
        Field(description="edits the space: each replaces the parameter of its name, or is added; the others stay"),
    ] = MISSING
    catalogues: Annotated[
        Annotated[dict[Name, TableChange], Field(max_length=MOST_PARAMETERS), SPARING] | MISSING,
        Field(description="by parameter: rows that are added to its catalogue, withdrawn or restored"),
    ] = MISSING
    defaults: Annotated[
        Annotated[dict[Name, Choice], Field(max_length=MOST_PARAMETERS), SPARING] | MISSING,
        Field(description="by parameter among these: the value that it had in the trials so far that lack it"),
    ] = MISSING

    def changes(self) -> dict[str, Any]:
        """The fields that are given, with their new values; null is a value too."""
        return self.model_dump(mode="json")


class SuggestBody(Body):
    """How many trials to hand out, to which worker, for how long to lease them, with which parameters fixed, and in
    which context."""

    count: Annotated[int, Field(ge=1, le=100), Whole] = 1
    worker: Text | None = None
    lease_seconds: LeaseSeconds | None = None
    fixed: Annotated[
        Point | None, Field(description="values that some parameters are to have, by name; the others are chosen")
    ] = None
    context: Annotated[
        Point | None,
        Field(description="the values that the context parameters have now, by name: all of them, if there are any"),
    ] = None


def _some_status(status: object) -> object:
    """Name both valid statuses in the error: the status has already decided which body this is."""
    if status != "completed":
        raise PydanticCustomError("status", "must be 'completed' or 'failed'")
    return status


class TrialValueBody(Body):
    """The result of a trial."""

    trial: Count
    metrics: MetricValues = None
    value: Value = None
    std_error: StdError | None = None
    std_errors: MetricErrors = None
    cost: Costs = None
    attempt: Annotated[Attempt | None, Field(description="if absent, the current attempt")] = None
    parameters: Annotated[Point | None, Field(description="what was actually evaluated, if it differs")] = None
    status: Annotated[Literal["completed"], BeforeValidator(_some_status)] = "completed"


class TrialFailureBody(Body):
    """A trial that gave no result."""

    trial: Count
    status: Literal["failed"]
    attempt: Attempt | None = None
    reason: Text | None = None


class PointValueBody(Body):
    """A result at a point that nobody suggested."""

    parameters: Point
    metrics: MetricValues = None
    value: Value = None
    std_error: StdError | None = None
    std_errors: MetricErrors = None
    cost: Costs = None
    trial: None = None


def _kind(body: object) -> str:
    if isinstance(body, Body):
        return type(body).__name__
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
    """Several results, which are reported by one request."""

    items: Annotated[list[ObserveBody], Field(min_length=1, max_length=MOST_ITEMS), SPARING]
    dry_run: Annotated[bool, Field(description="only say what would become of each item; write nothing")] = False


class QueueBody(Body):
    """A point that the user chooses."""

    parameters: Point


class RepeatBody(Body):
    """A point to evaluate again: that of a trial's result, or one by its parameters."""

    trial: Count | None = None
    parameters: Point | None = None
    times: Annotated[int, Field(ge=1, le=MOST_REPEATS, description="how many trials to queue there"), Whole] = 1

    @model_validator(mode="after")
    def _one_point(self) -> Self:
        if (self.trial is None) == (self.parameters is None):
            raise PydanticCustomError("point", "needs one of trial and parameters")
        return self


class HeartbeatBody(Body):
    """The attempt whose lease is renewed, and for how long."""

    attempt: Attempt | None = None
    lease_seconds: LeaseSeconds | None = None


class ReleaseBody(Body):
    """The attempt that is given back."""

    attempt: Attempt | None = None


class RetryBody(Body):
    """A failed trial that is to be evaluated again."""

    reason: Annotated[Text | None, Field(description="what has changed, for the log")] = None


class AnnotationBody(Body):
    """Changes to a trial. Fields that are absent keep their values."""

    attributes: Annotated[
        Attributes | MISSING,
        Field(description="values by name, as in a JSON merge patch: null removes, objects are merged"),
    ] = MISSING

    def changes(self) -> dict[str, Any]:
        """The attributes that are given, with their new values; null is a value too."""
        return dict(self.model_dump().get("attributes", {}))


class CorrectionBody(Body):
    """A correction of an observation. Fields that are absent keep their values."""

    value: Number | MISSING = MISSING
    std_error: StdError | MISSING | None = MISSING
    metrics: Annotated[
        Annotated[dict[Name, Number], Field(max_length=MOST_METRICS), SPARING] | MISSING,
        Field(description="by name; those that are absent keep their values"),
    ] = MISSING
    std_errors: Annotated[
        Annotated[dict[Name, StdError | None], Field(max_length=MOST_METRICS), SPARING] | MISSING,
        Field(description="of metrics; null: unknown"),
    ] = MISSING
    excluded: bool | MISSING = MISSING
    reason: Annotated[Text | None, Field(description="why, for the log")] = None

    def changes(self) -> dict[str, Any]:
        """The fields of the observation that are given, with their new values; null is a value too."""
        return self.model_dump(exclude={"reason"})


class PredictBody(Body):
    """The points at which to predict the objective."""

    points: Annotated[list[Point], Field(min_length=1, max_length=MOST_ITEMS), SPARING]


class Health(Answer):
    """The answer of a service that runs."""

    status: Literal["ok"] = "ok"


class Version(Answer):
    """The versions of the service, of its API and of its schema."""

    model_config = ConfigDict(serialize_by_alias=True)

    version: str
    api: Literal["v1"] = "v1"
    schema_revision: Annotated[
        str, Field(validation_alias="schema_revision", serialization_alias="schema", description="of the database")
    ]
