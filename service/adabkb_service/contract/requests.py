"""The bodies of requests, except that of a new study (``contract/study.py``), and answers specific to HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from adabkb_service.contract.answers import Answer
from adabkb_service.contract.attributes import Attributes
from adabkb_service.contract.catalogue import TableChange
from adabkb_service.contract.error_limits import LIMIT_ERRORS, check_names
from adabkb_service.contract.metrics import MAX_METRICS
from adabkb_service.contract.parameters import (
    MAX_PARAMETERS,
    Body,
    Changes,
    Choice,
    Count,
    LeaseSeconds,
    Name,
    NotNegative,
    Number,
    Parameter,
    Positive,
    Text,
    Whole,
)
from adabkb_service.contract.plates import MAX_NUMBER
from adabkb_service.contract.readable import readable_line
from adabkb_service.contract.setting import is_optional
from adabkb_service.contract.settings import CHANGEABLE, SETTINGS, StudyFields, removed
from adabkb_service.contract.sparse import NotNull

MAX_ITEMS = 1000
"""The maximum number of results in a batch, and of points in a prediction."""

MAX_TRIALS = 100
"""The maximum number of trials of a request."""

MAX_REPEATS = 100
"""The maximum number of trials in a request to repeat a point."""

IDEMPOTENCY_KEY = r"^[\x21-\x7e]{1,255}$"

Point = dict[str, Any]
MEASURED = "measured values may lie between the steps of a float, and between ordered values that are numbers"
MetricValues = Annotated[
    Annotated[dict[Name, Number], Field(max_length=MAX_METRICS), LIMIT_ERRORS] | None,
    Field(description="values of the study's metrics, by name"),
]
Partial = Annotated[
    bool,
    Field(description="whether numbers may be missing; a later request for the same trial adds them"),
]
Costs = Annotated[Positive | None, Field(description="the metric cost, in studies with a cost")]
Seconds = Annotated[
    NotNegative | None,
    Field(description="duration of the evaluation; by default the time since the start of the current attempt"),
]
MetricErrors = Annotated[
    Annotated[dict[Name, NotNegative], Field(max_length=MAX_METRICS), LIMIT_ERRORS] | None,
    Field(description="standard errors of metrics, where known"),
]


def _some_result(value: float | None, info: ValidationInfo) -> float | None:
    """If a result is missing, report the field ``value``. The study decides whether it must be ``metrics`` instead."""
    if value is None and not info.data.get("metrics"):
        raise PydanticCustomError("missing", "is required")
    return value


Value = Annotated[
    Number | None,
    Field(
        description="required for a single objective, unless the result is partial and has metrics; absent with "
        "several objectives",
        validate_default=True,
    ),
    AfterValidator(_some_result),
]
Attempt = Annotated[int, Field(ge=0, le=2**31 - 1), Whole]
OwnPlate = Annotated[
    Literal["open", "new"] | None,
    Field(
        description="in a study with plates: open for a place on the last plate, or on the next one if it is full; new "
        "for a place on a new plate; by default the point is on no plate"
    ),
]

Item = TypeVar("Item", bound=BaseModel)


class Page(Answer, Generic[Item]):
    """A page of a list."""

    items: list[Item]
    next_cursor: Annotated[
        str | None, Field(description="pass it as ?cursor= to get the next page; null on the last page")
    ]


Was = Annotated[
    dict[str, Any] | None,
    Field(
        description="former values of changed fields, in the same form as the changes; null for an absent one. If one "
        "has another value by now, the request is refused with 412"
    ),
]
NOT_FIELDS = frozenset({"reason", "was"})
"""What a request to change something has besides the changed fields."""
WITHOUT_FORMER = frozenset({"catalogues", "defaults"})
"""Changes of a study that have no former value."""


def _of_known_fields(cls: type[BaseModel], was: dict[str, Any] | None) -> dict[str, Any] | None:
    """Refuse names that are not those of changeable fields: they would not protect the fields that were meant."""
    known = [name for name in cls.model_fields if name not in NOT_FIELDS | WITHOUT_FORMER]
    check_names(was or (), known)
    return was


FINAL = tuple(StudyFields.model_fields.keys() - {*CHANGEABLE, "parameters"})
"""The fields of a definition that cannot be changed."""


def _change(name: str) -> Any:
    """Return the field of a body that changes a setting: its type with its default."""
    setting, field = SETTINGS[name], StudyFields.model_fields[name]
    kind, annotated, not_null = (cast("Any", each) for each in (field.annotation, Annotated, NotNull))
    if is_optional(field):
        (kind,) = (each for each in get_args(kind) if each is not NoneType)
    if field.metadata:
        kind = annotated[(kind, *field.metadata)]
    null = f"; null: {setting.removal}" if setting.removal else ""
    about = Field(default=None, description=f"{setting.change or field.description}{null}")
    return (not_null[kind] if setting.is_lasting else kind | None), about


_SettingChanges: Any = create_model("_SettingChanges", __base__=Changes, **{name: _change(name) for name in CHANGEABLE})


class PatchStudyBody(_SettingChanges):
    """Changes to a study. Absent fields keep their values, and null removes a setting."""

    refused: ClassVar[Mapping[str, str]] = dict.fromkeys(FINAL, "cannot be changed; create another study")

    state: NotNull[Literal["running", "paused"]] = None
    parameters: Annotated[
        NotNull[Annotated[list[Parameter], Field(min_length=1, max_length=MAX_PARAMETERS), LIMIT_ERRORS]],
        Field(
            description="edits the space: each entry replaces the parameter of the same name or is added; other "
            "parameters stay"
        ),
    ] = None
    catalogues: Annotated[
        NotNull[Annotated[dict[Name, TableChange], Field(max_length=MAX_PARAMETERS), LIMIT_ERRORS]],
        Field(description="by parameter: rows to add, withdraw or restore in its catalogue"),
    ] = None
    defaults: Annotated[
        NotNull[Annotated[dict[Name, Choice], Field(max_length=MAX_PARAMETERS), LIMIT_ERRORS]],
        Field(description="for each added parameter, by name: its value in the existing trials"),
    ] = None
    was: Was = None

    _check_was = field_validator("was")(_of_known_fields)

    def changes(self) -> dict[str, Any]:
        """Return the given fields with their new values, which are null or empty for removed settings."""
        return {
            name: removed(name) if value is None and name in SETTINGS else value
            for name, value in super().changes().items()
            if name not in NOT_FIELDS
        }


class SuggestBody(Body):
    """A request for trials: their number, worker, lease, fixed parameters and context."""

    count: Annotated[
        int,
        Field(ge=1, le=MAX_TRIALS, description="number of trials; by default 1 or, with plate, all of the plate"),
        Whole,
    ] = 1
    worker: Annotated[Text, AfterValidator(readable_line)] | None = None
    lease_seconds: LeaseSeconds | None = None
    fixed: Annotated[
        Point | None, Field(description="values of parameters to fix, by name; the server chooses the others")
    ] = None
    context: Annotated[
        Point | None,
        Field(
            description="current values of all context parameters, by name; of those that are measured with the "
            "result, expected values, if there are any"
        ),
    ] = None
    fallback: Annotated[
        bool,
        Field(
            description="true: points that the model has not decided on in time are quasi-random; false: if it has not "
            "answered in time, the request is refused (503 model_busy), and you can repeat it. If the model has "
            "failed, or has answered with too few points, the others are quasi-random in both cases"
        ),
    ] = True
    plate: Annotated[
        Literal["open", "new"] | None,
        Field(
            description="in a study with plates: open for the rest of the last plate, or the next one if it is full; "
            "new for a new plate"
        ),
    ] = None
    skip_released: Annotated[
        bool,
        Field(
            description="true: trials that this worker has released for a reason are left to other workers, as long as "
            "there is another trial (not in studies with plates)"
        ),
    ] = False

    @property
    def is_for_plate(self) -> bool:
        """Whether the request is for a whole plate: ``plate`` is given, but ``count`` is not."""
        return self.plate is not None and "count" not in self.model_fields_set

    @property
    def most(self) -> int:
        """The maximum number of trials of the answer."""
        return MAX_TRIALS if self.is_for_plate else self.count


NO_RESULT = dict.fromkeys(
    ("value", "std_error", "metrics", "std_errors", "cost", "partial"),
    'is not allowed with state "failed"; leave it out',
)
"""Why a failure does not have the numbers of a result."""


def _some_state(state: object) -> object:
    """Name both valid states in the error, since the body's type depends on the state."""
    if state != "completed":
        raise PydanticCustomError("state", "must be 'completed' or 'failed'")
    return state


class _OfTrial(Body):
    """What each outcome of a trial may have."""

    trial: Count
    attempt: Annotated[Attempt | None, Field(description="by default the current attempt")] = None
    seconds: Seconds = None


class _Numbers(Body):
    """The numbers of a result."""

    metrics: MetricValues = None
    value: Value = None
    std_error: NotNegative | None = None
    std_errors: MetricErrors = None
    cost: Costs = None
    partial: Partial = False


class TrialValueBody(_Numbers, _OfTrial):
    """The result of a trial."""

    refused: ClassVar[Mapping[str, str]] = {
        "plate": "is not allowed with trial, whose plate is known; leave it out",
        "attributes": "is for results without a trial; set attributes of the trial",
    }

    parameters: Annotated[
        Point | None,
        Field(
            description="the point that was evaluated, if it differs from the suggested one. Context parameters that "
            f"are measured with the result are required; these alone suffice if nothing else differs; {MEASURED}"
        ),
    ] = None
    state: Annotated[Literal["completed"], BeforeValidator(_some_state)] = "completed"


class TrialFailureBody(_OfTrial):
    """A failed trial."""

    refused: ClassVar[Mapping[str, str]] = NO_RESULT

    state: Literal["failed"]
    reason: Text | None = None


class PointValueBody(_Numbers):
    """A result at a user-supplied point."""

    parameters: Annotated[Point, Field(description=MEASURED)]
    plate: Annotated[
        Annotated[int, Field(ge=1, le=MAX_NUMBER), Whole] | None,
        Field(
            description="in a study with plates: the number of the plate on which the point was measured: one of the "
            "study's plates, or your own number for an earlier plate"
        ),
    ] = None
    attributes: Annotated[Attributes, Field(description="values by name, such as a note. The model ignores them")] = (
        Field(default_factory=dict)
    )
    trial: None = None


class PointFailureBody(Body):
    """A failed evaluation of a user-supplied point. It is stored as a failed trial, which counts neither towards the
    budget nor towards ``failure_limit``."""

    refused: ClassVar[Mapping[str, str]] = NO_RESULT

    parameters: Annotated[Point, Field(description=MEASURED)]
    state: Literal["failed"]
    reason: Text | None = None
    trial: None = None


def _kind(body: object) -> str:
    if isinstance(body, Body):
        return type(body).__name__
    fields = body if isinstance(body, dict) else {}
    is_of_trial = fields.get("trial") is not None or "parameters" not in fields
    if fields.get("state") == "failed":
        return "TrialFailureBody" if is_of_trial else "PointFailureBody"
    return "TrialValueBody" if is_of_trial else "PointValueBody"


ObserveBody = Annotated[
    Annotated[TrialValueBody, Tag("TrialValueBody")]
    | Annotated[TrialFailureBody, Tag("TrialFailureBody")]
    | Annotated[PointValueBody, Tag("PointValueBody")]
    | Annotated[PointFailureBody, Tag("PointFailureBody")],
    Discriminator(_kind),
]


class BatchBody(Body):
    """Several results in one request."""

    items: Annotated[list[ObserveBody], Field(min_length=1, max_length=MAX_ITEMS), LIMIT_ERRORS]
    dry_run: Annotated[bool, Field(description="validate only: return the outcome of each item, but store nothing")] = (
        False
    )


class QueueBody(Body):
    """A point that the user chooses."""

    parameters: Point
    plate: OwnPlate = None


class RepeatBody(Body):
    """A point to evaluate again: that of a trial's result, or one given by its parameters."""

    trial: Count | None = None
    parameters: Point | None = None
    times: Annotated[int, Field(ge=1, le=MAX_REPEATS, description="number of trials to queue at this point"), Whole] = 1
    plate: OwnPlate = None

    @model_validator(mode="after")
    def _one_point(self) -> Self:
        if (self.trial is None) == (self.parameters is None):
            raise PydanticCustomError("point", "needs either trial or parameters")
        return self


class HeartbeatBody(Body):
    """The attempt whose lease to renew, and the duration."""

    attempt: Attempt | None = None
    lease_seconds: LeaseSeconds | None = None


class ReleaseBody(Body):
    """The attempt to release."""

    attempt: Attempt | None = None
    reason: Annotated[Text | None, Field(description="why the attempt has no result, for the log")] = None


class WithdrawBody(Body):
    """The attempt of a trial to withdraw, and the reason."""

    attempt: Attempt | None = None
    reason: Annotated[Text | None, Field(description="why it will not be evaluated")] = None


class RetryBody(Body):
    """Why a failed or withdrawn trial is retried."""

    reason: Annotated[Text | None, Field(description="reason of the retry, for the log")] = None


class AnnotationBody(Body):
    """Changes to the attributes of a trial. Absent attributes keep their values."""

    attributes: Annotated[
        Attributes,
        Field(description="values by name, as in a JSON merge patch: null removes a name, objects are merged"),
    ] = Field(default_factory=dict)
    was: Was = None

    _check_was = field_validator("was")(_of_known_fields)


class CorrectionBody(Changes):
    """A correction of an observation. Absent fields keep their values."""

    refused: ClassVar[Mapping[str, str]] = {"parameters": "cannot be changed; exclude this result, and store another"}

    value: NotNull[Number] = None
    std_error: NotNegative | None = None
    metrics: Annotated[
        NotNull[Annotated[dict[Name, Number], Field(max_length=MAX_METRICS), LIMIT_ERRORS]],
        Field(description="metrics by name; absent ones keep their values"),
    ] = None
    std_errors: Annotated[
        NotNull[Annotated[dict[Name, NotNegative | None], Field(max_length=MAX_METRICS), LIMIT_ERRORS]],
        Field(description="standard errors of metrics; null means unknown"),
    ] = None
    excluded: NotNull[bool] = None
    attributes: Annotated[
        NotNull[Attributes],
        Field(
            description="of a result without a trial: values by name, as in a JSON merge patch. The model ignores "
            "them. For the result of a trial, set attributes of the trial"
        ),
    ] = None
    reason: Annotated[Text | None, Field(description="reason, for the log")] = None
    was: Was = None

    _check_was = field_validator("was")(_of_known_fields)

    def changes(self) -> dict[str, Any]:
        """Return the given fields of the observation with their new values, which may be null."""
        return {name: value for name, value in super().changes().items() if name not in NOT_FIELDS}


class PredictBody(Body):
    """The points at which to predict the objectives and other metrics."""

    points: Annotated[list[Point], Field(min_length=1, max_length=MAX_ITEMS), LIMIT_ERRORS]


class Health(Answer):
    """The response of a running service."""

    status: Literal["ok"] = "ok"


class Version(Answer):
    """The versions of the service, of its API and of its schema."""

    model_config = ConfigDict(serialize_by_alias=True)

    version: str
    api: Literal["v1"] = "v1"
    schema_revision: Annotated[
        str,
        Field(
            validation_alias="schema_revision",
            serialization_alias="schema",
            description="schema revision of the database",
        ),
    ]
