"""The answers of the service: those sent over HTTP and those stored under an idempotency key."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from adabkb_service.contract.curves import CurveSummary, Estimate
from adabkb_service.contract.metrics import Metrics
from adabkb_service.contract.objectives import Direction, Objective
from adabkb_service.contract.settings import StudyFields
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, Sparse
from adabkb_service.engine.ending import EndReason
from adabkb_service.engine.moves import Phase
from adabkb_service.storage.rows import Origin, StudyState, TrialState

Parameters = dict[str, Any]
Reason = Literal[EndReason, "converged", "failures", "pending_limit", "paused"]

NoTrialReason = Reason | Literal["fixed_exhausted", "plate_full", "no_plate_left"]
"""``fixed_exhausted``: all points with the values that the request fixes have been issued; ``plate_full``: the plate of
the returned trials is full, so the next request begins a new one; ``no_plate_left``: the request needs a new plate, and
the budget allows none."""


class Answer(BaseModel):
    """A response, or a part of one. All fields are present, including those with a default; only a ``Sparse`` answer
    omits fields that are marked as ``ABSENT_BY_DEFAULT`` and have their default value."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)


T = TypeVar("T")
OfOneObjective = Annotated[T | None, Field(description="absent in a study with several objectives"), ABSENT_BY_DEFAULT]


class CellRef(Answer):
    """The cell whose centroid is the trial's point."""

    key: Annotated[
        str,
        Field(
            description='path from the root "0", numbers counted from 0: "0.3-1" is part 1 along axis 3 (auto), "0.2" '
            "is child 2 (other algorithms)"
        ),
    ]
    depth: int


class MetricPrediction(Answer):
    """The posterior of a metric at a point, in its units."""

    mean: float
    std: float
    lcb: float
    ucb: float


class Prediction(Sparse, Answer):
    """The posterior at a point, in the objective's units. With several objectives, only ``metrics`` has predictions."""

    mean: OfOneObjective[float] = None
    std: OfOneObjective[float] = None
    lcb: OfOneObjective[float] = None
    ucb: OfOneObjective[float] = None
    metrics: Annotated[
        dict[str, MetricPrediction] | None, Field(description="predictions of each metric"), ABSENT_BY_DEFAULT
    ] = None
    feasible_probability: Annotated[
        float | None,
        Field(description="probability that the point satisfies all outcome constraints; absent if there are none"),
        ABSENT_BY_DEFAULT,
    ] = None
    finish_probability: Annotated[
        float | None,
        Field(
            description="probability that a trial at the point finishes instead of failing; absent in events, and "
            "while there are too few failures to predict where trials fail"
        ),
        ABSENT_BY_DEFAULT,
    ] = None


class Trial(Sparse, Answer):
    """A point that was issued or queued, with its state and result."""

    number: int
    state: TrialState
    parameters: Annotated[
        Parameters, Field(description="the point, without the values that are measured with the result")
    ]
    to_measure: Annotated[
        Parameters,
        Field(
            description="context parameters whose values the result must give, by name: the value that the request "
            "expects or, if it gave none, that the server assumes; absent if there are none, and once the trial is "
            "completed or stopped"
        ),
        ABSENT_BY_DEFAULT,
    ] = {}
    worker: str | None
    attempt: Annotated[int, Field(description="number of leases so far; 0 for a queued point that was not issued yet")]
    leased_until: datetime | None
    lease_seconds: float
    started_at: Annotated[datetime | None, Field(description="start of the current attempt")]
    origin: Origin
    phase: Annotated[
        Phase | None, Field(description="purpose of the suggestion; null if the model did not choose the point")
    ] = None
    expected: Annotated[
        Prediction | None,
        Field(
            description="the model's prediction when it chose the point; null if it did not choose the point, and "
            "while all results were equal"
        ),
    ] = None
    cell: CellRef | None
    plate: Annotated[
        int | None,
        Field(description="number of the trial's plate; absent without a plate"),
        ABSENT_BY_DEFAULT,
    ] = None
    value: Annotated[float | None, Field(description="value of the trial's first result")]
    metrics: Annotated[Metrics | None, Field(description="metrics of the trial's first result"), ABSENT_BY_DEFAULT] = (
        None
    )
    reason: Annotated[
        str | None,
        Field(
            description="why the trial failed, was stopped or was withdrawn; of an unfinished trial, why a worker "
            "released it"
        ),
    ]
    reported_by: Annotated[
        str | None,
        Field(description="user who reported the trial's first result or its failure; absent without tokens"),
        ABSENT_BY_DEFAULT,
    ] = None
    created_at: datetime
    finished_at: datetime | None
    seconds: Annotated[
        float | None,
        Field(description="duration of the evaluation that ended the trial; absent if it is not known"),
        ABSENT_BY_DEFAULT,
    ] = None
    attributes: Annotated[dict[str, Any], Field(description="attributes set by users, by name")] = {}
    curve: Annotated[
        CurveSummary | None,
        Field(description="intermediate values of the current attempt; null before its first report"),
    ] = None
    estimate: Annotated[Estimate | None, Field(description="predicted value of a stopped trial at step max_steps")] = (
        None
    )


class CatalogueRow(Answer):
    """A row of a catalogue."""

    name: str
    numbers: Annotated[dict[str, float], Field(description="the numbers that describe it, by column")]
    withdrawn: Annotated[bool, Field(description="whether the server no longer suggests it")]


class Observation(Sparse, Answer):
    """A result."""

    seq: int
    trial: Annotated[int | None, Field(description="null for a user-supplied point")]
    attempt: int | None
    parameters: Parameters
    plate: Annotated[
        int | None,
        Field(
            description="for a user-supplied point: number of its plate; absent without a plate, and for the result "
            "of a trial, whose plate is a field of the trial"
        ),
        ABSENT_BY_DEFAULT,
    ] = None
    attributes: Annotated[
        dict[str, Any],
        Field(description="for a user-supplied point: attributes set by users, by name; absent without any"),
        ABSENT_BY_DEFAULT,
    ] = {}
    value: OfOneObjective[float] = None
    std_error: float | None
    metrics: Annotated[
        Metrics | None,
        Field(description="other measured quantities, or the objectives if there are several"),
        ABSENT_BY_DEFAULT,
    ] = None
    std_errors: Annotated[
        Metrics | None, Field(description="standard errors of metrics, where known"), ABSENT_BY_DEFAULT
    ] = None
    missing: Annotated[
        list[str],
        Field(description="what the result still lacks: value, or names of metrics"),
        ABSENT_BY_DEFAULT,
    ] = []
    beyond_natural_bounds: Annotated[
        list[str],
        Field(
            description="value, or names of metrics, whose numbers are beyond the natural bounds in the study's "
            "quantities: because of noise, or of a typing error, which you should correct; absent without any"
        ),
        ABSENT_BY_DEFAULT,
    ] = []
    excluded: bool
    outside: Annotated[
        bool,
        Field(
            description="true: the space was edited and no longer contains this point, so the model ignores the result"
        ),
        ABSENT_BY_DEFAULT,
    ] = False
    observed_at: datetime
    reported_by: Annotated[
        str | None, Field(description="user who reported the result; absent without tokens"), ABSENT_BY_DEFAULT
    ] = None
    seconds: Annotated[
        float | None,
        Field(description="duration of the evaluation; absent if it is not known"),
        ABSENT_BY_DEFAULT,
    ] = None


class Counts(Sparse, Answer):
    """Numbers of trials, by state, and of observations."""

    trials: int
    active: int
    queued: int
    released: int
    expired: int
    completed: int
    failed: int
    observations: int
    stopped: int = 0
    withdrawn: int = 0
    own_failures: Annotated[
        int, Field(description="failures reported without a trial; they do not count towards the budget")
    ] = 0
    plates: Annotated[
        int | None,
        Field(
            description="number of plates with at least one trial, in studies with plates; withdrawn trials do not "
            "count"
        ),
        ABSENT_BY_DEFAULT,
    ] = None


class Best(Sparse, Answer):
    """The best observation that satisfies all outcome constraints, or otherwise the one that violates them least. In a
    study, it is the best one of all contexts; in a recommendation, that of the requested context. A study with several
    objectives has a front instead."""

    parameters: Parameters
    value: float
    trial: int | None
    metrics: Annotated[Metrics | None, Field(description="other measured quantities"), ABSENT_BY_DEFAULT] = None
    feasible: Annotated[
        bool | None, Field(description="whether it satisfies all outcome constraints"), ABSENT_BY_DEFAULT
    ] = None
    violations: Annotated[
        Metrics | None, Field(description="how far metrics are beyond their bounds"), ABSENT_BY_DEFAULT
    ] = None


NoGap = Literal[
    "no_results",
    "several_objectives",
    "depends_on_context",
    "nothing_feasible",
    "model_failed",
    "model_pending",
    "not_known_yet",
]


class ModelSummary(Answer):
    """The state of the model."""

    status: Annotated[
        Literal["empty", "ok", "degraded"],
        Field(
            description="degraded: the model could not be updated from the log; suggestions are quasi-random until an "
            "update succeeds"
        ),
    ]
    error: str | None
    reason: Annotated[
        NoGap | None,
        Field(
            description="why the study has no gap; null if it has one. no_results: there are no results yet; "
            "several_objectives: only studies with one objective have a gap; depends_on_context: the gap depends on "
            "the context of a request; nothing_feasible: no result satisfies the outcome constraints; model_failed: "
            "see error; model_pending: the model has not processed the results yet; not_known_yet: there are too few "
            "results for the number of parameters, all results are equal, the gap would exceed the range of the "
            "results, or the algorithm computes no gap"
        ),
    ]
    rests_on: Annotated[
        int | None,
        Field(
            description="revision of the study that gap and these numbers rest on: that of the last event processed "
            "that can change them, such as a result; null before the first. If a result was stored later, as its "
            "revision shows, they do not include it yet"
        ),
    ]
    leaves: int
    depth: int
    dictionary: int
    effective_dimension: float


class StudySummary(Answer):
    """The fields of a study that change as it runs."""

    id: str
    state: StudyState
    reason: Annotated[Reason | None, Field(description="why no new point is issued")]
    counts: Counts
    best: Best | None
    gap: Annotated[
        float | None,
        Field(
            description="bound on what further trials can gain, in the objective's units: according to the model, "
            "with 90% probability no point is better than the recommended one by more than this (profile paper: with "
            "probability 1 - delta, according to its bounds). It is limited by the natural bounds of the objective. "
            "Null while unknown, see model.reason"
        ),
    ]
    revision: int


class Study(StudyFields, StudySummary):
    """A study."""

    id: str
    objectives: Annotated[list[Objective], Field(description="the objectives, if several"), ABSENT_BY_DEFAULT] = []
    direction: OfOneObjective[Direction] = None
    metrics: Annotated[
        list[str],
        Field(description="metrics that each result has in addition to its value, also those with bounds and the cost"),
        ABSENT_BY_DEFAULT,
    ] = []
    seed: int
    space_version: Annotated[
        int | None,
        Field(description="2 after the first edit of the space, then 3, and so on; absent before"),
        ABSENT_BY_DEFAULT,
    ] = None
    defaults: Annotated[
        Parameters,
        Field(description="by parameter: its value in points that were stored before it was added"),
        ABSENT_BY_DEFAULT,
    ] = {}
    cost_spent: Annotated[
        float | None, Field(description="total cost of all results, in studies with a cost"), ABSENT_BY_DEFAULT
    ] = None
    model: ModelSummary
    created_at: datetime
    updated_at: datetime


class ListedStudy(Study):
    """A study in a list."""

    owner: Annotated[
        str | None, Field(description="the user who owns the study; absent if it has no owner"), ABSENT_BY_DEFAULT
    ] = None


class Suggested(Answer):
    """The response to suggest."""

    trials: list[Trial]
    reason: Annotated[NoTrialReason | None, Field(description="why there are fewer trials than requested")]
    retry_after: Annotated[float | None, Field(description="seconds to wait before the next request")]
    degraded: Annotated[
        bool,
        Field(description="true: some points are quasi-random, since the model took too long, or the model has failed"),
    ]
    study: StudySummary


class Observed(Answer):
    """The response to observe."""

    trial: Trial | None
    observation: Annotated[Observation | None, Field(description="null for a failure")]
    study: StudySummary


class Repeated(Answer):
    """The response to repeat."""

    trials: list[Trial]
    study: StudySummary


class TrialAnswer(Answer):
    """The response to a change of a trial, except a report of its result."""

    trial: Trial
    study: StudySummary


class Corrected(Answer):
    """The response to a correction."""

    observation: Observation
    study: StudySummary


class FieldError(Answer):
    """One error in a request."""

    pointer: Annotated[str, Field(description='JSON pointer into the body, "?name" for a query parameter')]
    detail: str
    code: str


class BatchItem(Answer):
    """The outcome of one item: the response to observe, or a problem."""

    status: int
    trial: Trial | None = None
    observation: Observation | None = None
    study: Annotated[StudySummary | None, Field(description="the study after the whole batch")] = None
    title: str | None = None
    detail: str | None = None
    code: str | None = None
    remedy: str | None = None
    errors: list[FieldError] = []


class ObservedBatch(Answer):
    """The response to a batch of observations."""

    items: list[BatchItem]
    dry_run: bool
    study: StudySummary
