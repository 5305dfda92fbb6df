"""The server's answers as frozen records and typed dicts, and their decoding from JSON.

``_console`` and ``_notebook`` define how consoles and notebooks display records and other objects of the client. If a
program uses an attribute name of another library, the error says what to use instead.

Fields unknown to this version are ignored, so a newer server does not break an older client.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from datetime import datetime
from functools import cache, singledispatch
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    Required,
    SupportsFloat,
    TypedDict,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from adabkb_client._settings import (
    Algorithm,
    Direction,
)
from adabkb_client._study_settings import StudyDefinition
from adabkb_client.errors import AdaBKBError, UnexpectedAnswer, from_problem

T = TypeVar("T")

PARAMETERS = ("params", "config", "hyperparameters")
"""Names of the parameters in trials of other libraries."""
OPTUNAS = ("suggest_", "should_prune", "set_user_attr")
"""Prefixes of the names of methods of Optuna's trials."""


class Shown:
    """An object that a console shows as one line, and a notebook as ``page`` returns it: usually as a table."""

    def __repr__(self) -> str:
        return " ".join(line(self).splitlines())  # texts of users may have several lines

    def _repr_html_(self) -> str:
        return page(self)


@singledispatch
def line(shown: Any) -> str:
    """Return an object as one line of text."""
    raise NotImplementedError(f"nothing is registered for {type(shown).__name__}")


@singledispatch
def page(shown: Any) -> str:
    """Return an object as a notebook shows it."""
    raise NotImplementedError(f"nothing is registered for {type(shown).__name__}")


class Hinting:
    """An object whose error for a missing attribute names the attribute to use instead, if one is known."""

    _instead: ClassVar[Mapping[str, str]] = {}
    """Missing attribute -> what to use instead."""

    if not TYPE_CHECKING:  # type checkers would accept any name

        def __getattr__(self, name: str) -> object:
            instead = None if name.startswith("_") else self._hint(name)
            what = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(what if instead is None else f"{what}; use {instead}", name=name, obj=self)

    def _hint(self, name: str) -> str | None:
        return self._instead.get(name)


def of_point(variable: str, name: str, parameters: object) -> str | None:
    """Return what to use instead of an attribute of an object that has parameters.

    Args:
        variable: what programs usually call the object.
        name: the missing attribute.
        parameters: the parameters of the object, if they are a dict.
    """
    if not isinstance(parameters, Mapping):
        return None
    if name in PARAMETERS:
        return f"{variable}.parameters"
    return f"{variable}.parameters[{name!r}]" if name in parameters else None


def for_optuna() -> str:
    """Return the remedy for an objective written for Optuna."""
    return (
        "this function is written for Optuna, so `study.optimize(objective)` runs it unchanged. For `study.run`, take "
        "the parameters of the study as arguments, `def objective(x, y):`; with pass_trial, read `trial.parameters`, "
        "and end when `trial.report(step, value)` or `trial.should_stop` is true"
    )


class ParameterInfo(TypedDict, total=False):
    """A parameter of a study: ``name``, ``kind``, and the keys of its kind."""

    name: Required[str]
    """The name."""
    kind: Required[Literal["float", "int", "ordinal", "categorical", "bool", "catalogue", "fixed"]]
    """The kind."""
    low: float
    """For "float" and "int": the smallest value."""
    high: float
    """For "float" and "int": the largest value."""
    scale: Literal["linear", "log"]
    """For "float" and "int": the scale; without it, linear."""
    step: float | None
    """For "float" and "int": the distance between values."""
    periodic: bool
    """For "float": whether the ends of the range are the same point."""
    choices: list[Any]
    """For "categorical": the choices."""
    values: list[Any]
    """For "ordinal": the values in order."""
    value: Any
    """For "fixed": the value."""
    rows: int
    """For "catalogue": the number of rows."""
    withdrawn: int
    """For "catalogue": the number of withdrawn rows."""
    columns: list[str]
    """For "catalogue": the names of the descriptors."""
    digest: str
    """For "catalogue": the digest of the table."""
    descriptors: Mapping[str, list[float]]
    """For "categorical": numbers that describe the choices."""
    context: Literal[False, True, "measured"]
    """Whether the environment sets the parameter; "measured" if its value is only measured with the result."""
    when: Mapping[str, list[Any]] | None
    """The condition: other parameter -> its values with which this one is active."""
    unit: str | None
    """The unit."""
    label: str | None
    """The label, shown instead of the name."""


class ModelState(TypedDict):
    """The state of a study's model."""

    status: Literal["empty", "ok", "degraded"]
    """"degraded" if the model could not be updated, so that suggestions are quasi-random."""
    error: str | None
    """Why the model could not be updated."""
    reason: str | None
    """Why the study has no gap."""
    rests_on: int | None
    """The revision of the study that the gap and these numbers rest on; None before the first. A result of a later
    revision is not included yet."""
    leaves: int
    """The number of leaves of the partition tree."""
    depth: int
    """The depth of the partition tree."""
    dictionary: int
    """The number of points of the dictionary."""
    effective_dimension: float
    """The effective dimension of the model."""


class ModelInfo(ModelState):
    """The state, the statistics and the learned parameters of a study's model: see docs/http.md."""

    algorithm: Algorithm
    """The algorithm with its constants."""
    seed: int
    """The seed of the suggestions."""
    gap: float | None
    """The gap, as in ``StudySummary``."""
    beta: float
    """The confidence width of the pruning bounds."""
    basis: int
    """The number of points of the dictionary with independent features."""
    points: int
    """The number of distinct evaluated points."""
    observations: int
    """The number of results."""
    offset: float
    """A result is offset + scale * output of the model."""
    scale: float
    """See ``offset``."""
    clipped: int
    """How often rounding forced a new factorization."""
    learned: Mapping[str, Any] | None
    """The learned parameters; None if all constants are given."""


class PartitionCell(TypedDict):
    """A cell of the partition tree, with the model's prediction at its centroid."""

    key: str
    """The path from the root "0"."""
    depth: int
    """The number of cells above it."""
    status: Literal["leaf", "expanded", "pruned"]
    """Whether the cell may contain the optimum ("leaf"), was divided, or was pruned."""
    low: Mapping[str, Any]
    """One corner."""
    high: Mapping[str, Any]
    """The opposite corner."""
    centroid: Mapping[str, Any]
    """The representative point of the cell."""
    mean: float
    """The posterior mean at the centroid."""
    std: float
    """The posterior standard deviation at the centroid."""
    index: float | None
    """A bound on the objective in the cell: the best value that it may reach; None if the algorithm computes none."""


class DictionaryPoint(TypedDict):
    """A point of the dictionary, that is, an inducing point of the model."""

    ordinal: int
    """The number of the point, from 0, in the order in which distinct points got their first results."""
    parameters: Mapping[str, Any]
    """The point: parameter -> value."""


class Explanation(TypedDict):
    """The inputs of a trial's suggestion, and all events about the trial, as JSON: see docs/http.md."""

    trial: Mapping[str, Any]
    """The trial."""
    decision: Mapping[str, Any] | None
    """The inputs of the suggestion; ``in_words`` explains it in a sentence or two. None if a user chose the point."""
    events: list[Mapping[str, Any]]
    """The events about the trial, in order."""


class ResultItem(TypedDict, total=False):
    """A result or a failure of a trial, or at your own point, as an item of ``observe_many``.

    The keys are ``trial`` and ``attempt`` or, for your own point, ``parameters``, ``plate`` and ``attributes``; for a
    result ``value``, ``std_error``, ``metrics``, ``std_errors``, ``cost``, ``partial`` and ``seconds``; and ``state``
    and ``reason`` for a failure.
    """

    trial: int
    """The number of the trial; without it, ``parameters`` is your own point."""
    attempt: int
    """The attempt of the trial."""
    parameters: Mapping[str, Any]
    """The evaluated point."""
    value: SupportsFloat
    """The objective."""
    std_error: SupportsFloat | None
    """The standard error of ``value``, if known."""
    metrics: Mapping[str, SupportsFloat]
    """The metrics by name."""
    std_errors: Mapping[str, SupportsFloat]
    """The standard errors of metrics, where known."""
    cost: SupportsFloat
    """Short for the metric "cost", in a study with costs."""
    partial: bool
    """Whether numbers may be missing."""
    seconds: SupportsFloat
    """How long the evaluation took, in seconds."""
    plate: int
    """The number of the plate of your own point."""
    state: Literal["completed", "failed"]
    """Whether the evaluation failed; by default it did not."""
    reason: str | None
    """Why it failed."""
    attributes: Mapping[str, Any]
    """Attributes of your own point."""


class Record(Shown, Hinting):
    """A response of the server."""

    def _hint(self, name: str) -> str | None:
        return self._instead.get(name) or of_point(type(self).__name__.lower(), name, vars(self).get("parameters"))


StudyState = Literal["running", "paused", "complete"]
TrialState = Literal["active", "completed", "failed", "expired", "released", "queued", "stopped", "withdrawn"]
Parameters = Mapping[str, Any]
"""Parameter -> value."""
Metrics = Mapping[str, float]
"""Metric -> value."""


@dataclass(frozen=True)
class CurveSummary(Record):
    """A summary of the reports of a trial's current attempt."""

    reports: int
    """The number of reports."""
    step: int
    """The step of the last report."""
    value: float
    """The value of the last report."""
    best: float
    """The best value of all reports."""
    gain_step: int
    """The step of the last improvement; with the rule "patience", by more than ``min_gain``."""
    gain_value: float
    """The value at that step."""


@dataclass(frozen=True)
class ExpectedValue(Record):
    """The expected value of a stopped trial at its last step."""

    value: float
    """The expected value, in the objective's units."""
    std_error: float
    """Its standard error."""


@dataclass(frozen=True)
class CurvePoint(Record):
    """An intermediate value of a trial's attempt."""

    step: int
    """The number of steps done before the report."""
    value: float
    """The value of the objective after this step."""
    attempt: int
    """The attempt that reported the value, from 1."""
    reported_at: datetime
    """When the server stored the report."""


@dataclass(frozen=True)
class Cell(Record):
    """A cell of the partition tree."""

    key: str
    """The path from the root "0"."""
    depth: int
    """The number of cells above it."""


@dataclass(frozen=True)
class MetricPrediction(Record):
    """The posterior of a metric at a point, in the metric's units."""

    mean: float
    """The posterior mean."""
    std: float
    """The posterior standard deviation."""
    lcb: float
    """The lower confidence bound."""
    ucb: float
    """The upper confidence bound."""


@dataclass(frozen=True, repr=False)
class Prediction(Record):
    """The posterior of the objective at a point, in the objective's units. With several objectives, their predictions
    are in ``metrics``, and ``mean``, ``std``, ``lcb`` and ``ucb`` are None."""

    mean: float | None = None
    """The posterior mean."""
    std: float | None = None
    """The posterior standard deviation."""
    lcb: float | None = None
    """The lower confidence bound."""
    ucb: float | None = None
    """The upper confidence bound."""
    metrics: Mapping[str, MetricPrediction] | None = None
    """The predictions of each metric, in a study with metrics."""
    feasible_probability: float | None = None
    """The probability that the point satisfies all outcome constraints; None without outcome constraints."""
    finish_probability: float | None = None
    """The probability that a trial at the point finishes instead of failing; None while there are too few failures to
    predict where trials fail."""


@dataclass(frozen=True, repr=False)
class Trial(Record):
    """A point to evaluate. A trial counts towards the study's budget as 1, but a stopped trial only as the share of
    ``max_steps`` that it has taken. Withdrawn trials, and failed ones with the origin "own", do not count."""

    study: str
    """The study's id."""
    number: int
    """The trial's number in the study, from 1."""
    state: TrialState
    """"active" (leased), "completed", "failed", "expired" (its lease has expired), "released" (given back), "queued",
    "stopped" (by early stopping) or "withdrawn"."""
    parameters: Parameters
    """The point: parameter -> value, without the parameters that are inactive or measured with the result."""
    worker: str | None
    """The name of the worker that has or had the trial."""
    attempt: int
    """The number of leases so far; 0 for a queued point that was not issued yet."""
    leased_until: datetime | None
    """The end of the lease; None without a lease."""
    lease_seconds: float
    """The duration of the lease, in seconds."""
    started_at: datetime | None
    """The start of the current attempt."""
    origin: str
    """"policy" (the model chose the point), "fallback" (the model had failed or did not answer in time, so the point is
    quasi-random), "queued" (a user chose it) or "own" (a user's own experiment, which had failed)."""
    cell: Cell | None
    """The cell of the partition tree whose point this is."""
    value: float | None
    """The value of the trial's first result; None until the trial is completed."""
    reason: str | None
    """Why the trial failed, was stopped or was withdrawn; of an unfinished trial, why a worker released it."""
    created_at: datetime
    """When the point was issued or queued."""
    finished_at: datetime | None
    """When the trial ended."""
    attributes: dict[str, Any] = field(default_factory=dict)
    """Attributes that users set, by name."""
    phase: str | None = None
    """The purpose of a suggestion: "start", "search", "polish" (improve the best point), "explore" (where the model is
    uncertain), "restart" (search elsewhere), "repeat" (repeat a doubted result) or "sample" (drawn by a baseline
    without a model). None for quasi-random fallbacks, and for points that a user chose."""
    expected: Prediction | None = None
    """The model's prediction when it chose the point; None if it did not choose the point, and while there were no
    results or, without older studies, all results were equal."""
    curve: CurveSummary | None = None
    """A summary of the intermediate values; None before the first report."""
    estimate: ExpectedValue | None = None
    """The expected final value of a stopped trial."""
    metrics: Metrics | None = None
    """The metrics of the trial's first result, in a study with metrics."""
    plate: int | None = None
    """The number of the trial's plate, in a study with plates."""
    seconds: float | None = None
    """The duration of the evaluation that ended the trial, in seconds; None if it is not known."""
    to_measure: Parameters = field(default_factory=dict)
    """Context parameters whose values the result must give: parameter -> the value that the request expects or, if it
    gave none, that the server assumes. Empty once the trial has a result."""
    reported_by: str | None = None
    """The user who reported the trial's first result or its failure; None without tokens."""
    server: str = field(default="", repr=False, compare=False)
    """The server that sent this record: its URL, or the path of a local database; empty if it is not known."""


@dataclass(frozen=True, repr=False)
class Observation(Record):
    """A result."""

    seq: int
    """The result's number, from 1: see ``Study.correct`` and ``Study.exclude``."""
    trial: int | None
    """The number of the trial; None for a result without a trial."""
    attempt: int | None
    """The attempt of the trial."""
    parameters: Parameters
    """The evaluated point: parameter -> value."""
    std_error: float | None
    """The standard error of ``value``, if known."""
    excluded: bool
    """Whether a user has excluded the result, so that the model ignores it."""
    observed_at: datetime
    """When the server stored the result."""
    value: float | None = None
    """The value of the objective; None with several objectives, which are among the metrics."""
    metrics: Metrics | None = None
    """The metrics, in a study with metrics."""
    std_errors: Metrics | None = None
    """The standard errors of metrics, where known."""
    missing: tuple[str, ...] = ()
    """What a partial result still lacks: "value", and names of metrics."""
    beyond_natural_bounds: tuple[str, ...] = ()
    """The numbers beyond their natural bounds: "value", and names of metrics. The cause is noise, or a typing
    error, which you should ``correct``."""
    outside: bool = False
    """Whether the study's space was edited and no longer contains the point, so that the model ignores the result."""
    plate: int | None = None
    """The plate of your own point; for a trial's result, see the trial."""
    seconds: float | None = None
    """The duration of the evaluation, in seconds; None if it is not known."""
    attributes: Parameters = field(default_factory=dict)
    """The attributes of your own point, by name; for a trial's result, see the trial."""
    reported_by: str | None = None
    """The user who reported the result; None without tokens."""

    @property
    def counts(self) -> bool:
        """Whether the observation is neither excluded nor outside the space."""
        return not (self.excluded or self.outside)


@dataclass(frozen=True)
class Counts(Record):
    """The numbers of trials, by state, and of results."""

    trials: int
    """The number of all trials."""
    active: int
    """Trials that are leased."""
    queued: int
    """Points that a user queued and that were not issued yet."""
    released: int
    """Trials that were released, and will be issued again."""
    expired: int
    """Trials whose lease has expired, and that will be issued again."""
    completed: int
    """Trials with a result."""
    failed: int
    """Trials that failed."""
    observations: int
    """The number of results, including those without a trial."""
    stopped: int = 0
    """Trials that early stopping ended."""
    withdrawn: int = 0
    """Trials that were declined, removed from the queue, or excluded by an edit of the space."""
    own_failures: int = 0
    """Failures that were reported without a trial; they do not count towards the budget."""
    plates: int | None = None
    """Plates with at least one trial that is not withdrawn, in a study with plates."""


@dataclass(frozen=True, repr=False)
class Best(Record):
    """The best result as it was measured. It may be partly luck: to choose the point to use, call
    ``Study.recommendation``. With several objectives, there is no best result: see ``Study.front``.

    In a study with outcome constraints, it is the best result that satisfies all of them. While no result does, it is
    the one that violates them least.
    """

    parameters: Parameters
    """The evaluated point: parameter -> value."""
    value: float
    """The measured value."""
    trial: int | None
    """The number of the trial; None for a result without a trial."""
    metrics: Metrics | None = None
    """The metrics of the result, in a study with metrics."""
    feasible: bool | None = None
    """Whether the result satisfies all outcome constraints; None without outcome constraints."""
    violations: Metrics | None = None
    """How far metrics are beyond their bounds: metric -> amount."""


@dataclass(frozen=True, repr=False)
class StudySummary(Record):
    """The state of a study, as in every answer to ``suggest`` and ``observe``."""

    id: str
    """The study's id."""
    state: StudyState
    """"running", "paused" or "complete"."""
    reason: str | None
    """Why no new point is issued: "budget", "converged", "exhausted", "no_gain", "gain_unlikely", "failures",
    "pending_limit" or "paused". None if points are issued."""
    counts: Counts
    """The numbers of trials, by state, and of results."""
    best: Best | None
    """The best result as it was measured; ``Study.recommendation`` has the point to use."""
    gap: float | None
    """A bound on what further trials can gain, in the objective's units: according to the model, with 90% probability
    (profile "paper": 1 - delta), no point is better than the recommended one by more than this. The natural bounds of
    the objective limit it. None while unknown."""
    revision: int
    """A number that increases with each change of the study."""


@dataclass(frozen=True, repr=False)
class StudyInfo(StudyDefinition, StudySummary):
    """A study with its definition. ``parameters``, ``algorithm`` and other settings that are dicts are JSON as
    in docs/http.md."""

    direction: Direction | None = field(default=None, kw_only=True)
    """"minimize" or "maximize"; None with several ``objectives``."""
    parameters: tuple[ParameterInfo, ...]
    """The search space: for each parameter a dict with ``name``, ``kind`` ("float", "int", "ordinal", "categorical",
    "bool", "catalogue" or "fixed"), its ``low`` and ``high``, ``choices`` or ``values``, and ``when`` if it has a
    condition."""
    model: ModelState
    """The state of the model: a dict with ``status`` ("empty", "ok" or "degraded"), ``error``, ``reason`` (why the
    study has no gap), ``rests_on``, ``leaves``, ``depth``, ``dictionary`` and ``effective_dimension``."""
    created_at: datetime
    """When the study was created."""
    updated_at: datetime
    """When the study last changed."""
    space_version: int = 1
    """1 at first; it increases by one with each edit of the space."""
    defaults: Parameters = field(default_factory=dict)
    """The values of parameters that an edit added, in points from before the edit."""
    cost_spent: float | None = None
    """The total cost of all results, in a study with a cost."""

    @property
    def trial_budget(self) -> int | None:
        """The budget, if it is a number of trials, and each trial counts as one. None with early stopping, where
        stopped trials count less."""
        return self.budget if isinstance(self.budget, int) and self.early_stopping is None else None

    @property
    def plate_budget(self) -> int | None:
        """The budget, if it is a number of plates."""
        return self.budget["plates"] if isinstance(self.budget, dict) and "plates" in self.budget else None


@dataclass(frozen=True, repr=False)
class ListedStudy(StudyInfo):
    """A study in a list."""

    owner: str | None = None
    """The user who owns the study; None if it has no owner."""


@dataclass(frozen=True, repr=False)
class Answer(Record):
    """The answer to a change."""

    study: StudySummary
    """The state of the study after the change."""
    trial: Trial | None = None
    """The trial; None for a result at your own point."""
    observation: Observation | None = None
    """The result; None for a failure and for other changes of a trial."""


@dataclass(frozen=True)
class Reported(Record):
    """The answer to reports."""

    stop: bool
    """Whether the trial is stopped: if so, end the evaluation."""
    reason: str | None
    """Why the trial is stopped."""
    rule: str | None
    """The rule that stopped the trial."""
    trial: Trial
    """The trial."""
    study: StudySummary
    """The state of the study."""


@dataclass(frozen=True)
class Suggestions(Record):
    """The trials that were issued."""

    trials: tuple[Trial, ...]
    """The trials."""
    reason: str | None
    """Why there are fewer trials than requested."""
    retry_after: float | None
    """Seconds to wait before the next request."""
    study: StudySummary
    """The state of the study."""


@dataclass(frozen=True)
class BatchItem(Record):
    """The outcome of one item of a batch."""

    status: int
    """The status that the item would have alone, such as 201 or 422."""
    answer: Answer | None
    """The answer; None for a refused item."""
    error: AdaBKBError | None
    """The error that the item would have raised alone; None for a stored item."""


@dataclass(frozen=True)
class Change(Record):
    """A parameter whose value differs from the study's baseline."""

    parameter: str
    """The name of the parameter."""
    baseline: Any
    """Its value in the baseline."""
    value: Any
    """Its recommended value."""
    gain: float
    """How much worse the model expects the objective to be if only this value is reset, in the objective's units."""


@dataclass(frozen=True, repr=False)
class Estimate(Record):
    """The posterior of the objective at a point, in the objective's units."""

    parameters: Parameters
    """The point: parameter -> value."""
    mean: float
    """The posterior mean."""
    std: float
    """The posterior standard deviation."""
    metrics: Mapping[str, MetricPrediction] | None = None
    """The predictions of each metric, in a study with metrics."""
    feasible_probability: float | None = None
    """The probability that the point satisfies all outcome constraints; None without outcome constraints."""
    changes: tuple[Change, ...] | None = None
    """The differences of a recommended point from the baseline; None without a baseline."""


@dataclass(frozen=True, repr=False)
class FrontEstimate(Record):
    """An evaluated point that no other evaluated point dominates, according to the model."""

    parameters: Parameters
    """The point: parameter -> value."""
    metrics: Mapping[str, MetricPrediction]
    """The predictions of each objective and of other metrics."""
    probability: float
    """The probability that the point is on the front of all evaluated points."""
    feasible_probability: float | None = None
    """The probability that the point satisfies all outcome constraints; None without outcome constraints."""


@dataclass(frozen=True, repr=False)
class Recommendation(Record):
    """The point to use: by default ``model``. With several objectives, there is a ``front`` instead."""

    _instead: ClassVar[Mapping[str, str]] = {
        **{name: f"recommendation.model.{name}" for name in ("parameters", "mean", "std", "metrics")},
        "params": "recommendation.model.parameters",
        "value": "recommendation.observed.value",
    }

    model: Estimate | None
    """The evaluated point that the model expects to be best; ``model.parameters`` is the point. For a context, and in
    a study with a baseline, it need not have been evaluated. With outcome constraints, it satisfies them with
    ``required_probability`` if an evaluated point does. None if there is none: see ``reason``."""
    observed: Best | None
    """The best result as it was measured; None before the first result, and with several objectives."""
    gap: float | None
    """A bound on what further trials can gain, as in ``StudySummary``."""
    required_probability: float | None = None
    """The required probability that the model's point satisfies all outcome constraints."""
    reason: str | None = None
    """Why ``model`` is None: "no_results", "several_objectives", "context_needed" (the best point depends on the
    context), "model_loading" (the server has just started), "model_busy" (no answer in time; ask again) or
    "model_failed" (``study.info().model["error"]`` says why). Or why one should not rely on the points:
    "nothing_feasible" (no result satisfies the outcome constraints; the points come closest), "too_few_results" (fewer
    than the model needs) or "nothing_certain" (no evaluated point has the required probability)."""
    front: tuple[FrontEstimate, ...] = ()
    """With several objectives: the points that no other evaluated point dominates, according to the model."""


@dataclass(frozen=True, repr=False)
class CatalogueRow(Record):
    """A row of a catalogue."""

    name: str
    """The row's name, which is the value of the parameter."""
    numbers: dict[str, float]
    """The numbers that describe it, by column."""
    withdrawn: bool
    """Whether the server no longer suggests it."""


@dataclass(frozen=True, repr=False)
class Event(Record):
    """An entry of the study's log."""

    seq: int
    """The entry's number, from 1."""
    kind: str
    """What happened, such as "created" or "observed"."""
    trial: int | None
    """The number of the trial, if it concerns one."""
    payload: dict[str, Any]
    """The details, by name: see docs/http.md."""
    created_at: datetime
    """When it happened."""


@dataclass(frozen=True, repr=False)
class RunReport(Record):
    """The outcome of a run. ``Study.info().counts`` has the numbers of the whole study."""

    _instead: ClassVar[Mapping[str, str]] = {
        "best": "study.best()",
        "best_params": "report.recommendation.model.parameters",
        "best_value": "report.recommendation.observed.value",
        "parameters": "report.recommendation.model.parameters",
        "value": "report.recommendation.observed.value",
    }

    completed: int
    """The number of trials that were completed in this run."""
    failed: int
    """The number of trials that failed in this run."""
    reason: str
    """Why the run ended: "budget", "converged", "exhausted", "no_gain" or "gain_unlikely" if the study is complete;
    otherwise "n_trials", "timeout", "stopped" (by ``Study.stop``), "fixed_exhausted" (all points with the values of
    ``fixed`` and ``context`` have been issued), or "no_plate_left" (these values need a new plate, and the budget
    allows none)."""
    recommendation: Recommendation
    """The recommendation of the whole study at the end of the run; ``recommendation.model.parameters`` is the point to
    use by default."""
    stopped: int = 0
    """The number of trials that early stopping ended in this run."""


@dataclass(frozen=True)
class Access(Record):
    """The owner of a study and its shares."""

    owner: str | None
    """The owner. Only administrators can see a study without an owner, if the server requires tokens."""
    shared_with: dict[str, Literal["read", "work"]]
    """User -> "read" or "work"; the user "*" means everybody."""
    unknown_users: tuple[str, ...] = ()
    """In the answer to ``Study.share``: users who have no token and have never logged in, such as mistyped names."""
    webhooks_turned_off: tuple[str, ...] = ()
    """In the answer to ``Study.give``: ids of the webhooks that were turned off."""
    links_revoked: tuple[str, ...] = ()
    """In the answer to ``Study.give``: ids of the links that were revoked."""


@dataclass(frozen=True)
class Webhook(Record):
    """A URL that receives messages about a study, signed with a secret: see ``verify_webhook``."""

    id: str
    """The webhook's id."""
    url: str
    """The URL."""
    notifications: tuple[str, ...]
    """The kinds of messages that it receives."""
    is_on: bool
    """Whether it is on. If not, a user has turned it off, or the server has, because messages failed for a long
    time."""
    created_at: datetime
    """When it was added."""
    delivered: int
    """The number of messages delivered so far."""
    delivered_at: datetime | None
    """When the last message was delivered."""
    error: str | None
    """The error of the last attempt; None if it succeeded."""
    attempts: int
    """The number of failed attempts since the last delivery."""
    next_attempt_at: datetime | None
    """When the server tries again after a failed attempt."""
    secret: str | None = field(default=None, repr=False)
    """The secret; known only when the webhook has just been added."""


@dataclass(frozen=True)
class File(Record):
    """A file of a trial, or of a result without a trial, without its content."""

    number: int
    """The file's number in the study."""
    trial: int | None
    """The trial that has the file; None for a file of a result."""
    observation: int | None
    """The result that has the file; None for a file of a trial."""
    name: str
    """The file's name."""
    media_type: str
    """Its type, such as "image/png"."""
    size: int
    """Its size in bytes."""
    digest: str
    """Its SHA-256 in hexadecimal digits."""
    user: str | None
    """Who added it."""
    created_at: datetime
    """When it was added."""


@dataclass(frozen=True)
class Link(Record):
    """A share link: a token with which anyone can read one study."""

    id: str
    """The link's id, with which it is revoked."""
    expires_at: datetime | None
    """When it expires; None for never."""
    revoked_at: datetime | None
    """When it was revoked; None if it was not."""
    token: str | None = field(default=None, repr=False)
    """The token itself. The server returns it only once, when the link is created."""


@dataclass(frozen=True)
class Deletion(Record):
    """A study in the trash."""

    deletion: int
    """The number of the deletion."""
    study: str
    """The study's id."""
    title: str | None
    """The study's title."""
    owner: str | None
    """The owner."""
    results: int
    """The number of results."""
    deleted_by: str | None
    """Who deleted it."""
    deleted_at: datetime
    """When it was deleted."""
    purged_at: datetime
    """When it is deleted permanently."""


ROWS_SHOWN = 20
"""The maximum number of rows that the text of an import's report shows."""


@dataclass(frozen=True)
class RowError(Record):
    """An error in a row of a source."""

    row: int
    """The number of the row."""
    field: str
    """The parameter or metric, or "value", "std_error", "plate" or "row"."""
    problem: str
    """What is wrong."""


@dataclass(frozen=True)
class ImportedResult(Record):
    """The result of a row, as the study stores it or, in a dry run, would store it."""

    row: int
    """The number of the row."""
    parameters: Parameters
    """The point: parameter -> value."""
    value: float | None
    """The value; None for a failure."""
    std_error: float | None
    """The standard error of the value, if known."""
    metrics: Metrics | None = None
    """The metrics, in a study with metrics."""
    std_errors: Metrics | None = None
    """The standard errors of metrics, where known."""
    missing: tuple[str, ...] = ()
    """What a partial result lacks: "value", and names of metrics."""
    plate: int | None = None
    """The number of the plate."""
    failed: bool = False
    """Whether the evaluation failed, so that there are no numbers."""
    reason: str | None = None
    """Why it failed, if known."""


@dataclass(frozen=True, repr=False)
class ImportReport(Record):
    """The outcome of importing the rows of a source."""

    study: str
    """The study's id."""
    source: str
    """The name of the source."""
    counted: str
    """What the numbers of rows count, such as "line"."""
    rows: int
    """The number of rows."""
    results: tuple[ImportedResult, ...]
    """The results and failures that were stored or, with ``dry_run``, would be stored."""
    repeated: int
    """The number of further rows whose results the study already had."""
    left_out: Mapping[str, int]
    """State -> number of rows that were skipped because of their state."""
    errors: tuple[RowError, ...]
    """The errors in invalid rows."""
    unused: tuple[str, ...]
    """The columns that were not used."""
    dry_run: bool
    """Whether nothing was stored."""

    @property
    def stored(self) -> int:
        """The number of results and failures that were stored; 0 in a dry run."""
        return 0 if self.dry_run else len(self.results)

    @property
    def unfit(self) -> int:
        """The number of invalid rows."""
        return len({error.row for error in self.errors})

    def __repr__(self) -> str:
        return f"<Import of {str(self).partition(chr(10))[0]}>"

    def __str__(self) -> str:
        would = "would be stored" if self.dry_run else "stored"
        rows = f"{self.rows} row{'s' * (self.rows != 1)}"
        failed = sum(each.failed for each in self.results)
        of_these = f", {failed} of them as failed" if failed else ""
        lines = [f"{self.source}: {rows}, {len(self.results)} {would} in study {self.study!r}{of_these}"]
        if self.repeated:
            lines.append(f"already stored: {self.repeated}")
        if self.left_out:
            states = ", ".join(f"{count} {state}" for state, count in self.left_out.items())
            lines.append(f"skipped because of their state: {states}")
        if self.unused:
            lines.append(f"unused columns: {', '.join(self.unused)}")
        if self.errors:
            lines.append(f"invalid rows: {self.unfit}. Correct them, and import again:")
            lines += [f"  {self.counted} {each.row}, {each.field}: {each.problem}" for each in self.errors[:ROWS_SHOWN]]
            if len(self.errors) > ROWS_SHOWN:
                lines.append(f"  and {len(self.errors) - ROWS_SHOWN} more")
        if self.dry_run:
            lines += [f"  {self.counted} {each.row}: {_result_text(each)}" for each in self.results[:ROWS_SHOWN]]
            if len(self.results) > ROWS_SHOWN:
                lines.append(f"  and {len(self.results) - ROWS_SHOWN} more")
        return "\n".join(lines)


def _result_text(result: ImportedResult) -> str:
    error = "" if result.std_error is None else f" ± {result.std_error!r}"
    value = _point_text(result.metrics or {}) if result.value is None else f"{result.value!r}{error}"
    if result.failed:
        value = f"failed: {result.reason}" if result.reason else "failed"
    lacking = f" ({', '.join(result.missing)} missing)" if result.missing else ""
    plate = "" if result.plate is None else f", plate {result.plate}"
    return f"{_point_text(result.parameters)}{plate}: {value}{lacking}"


def _point_text(parameters: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value!r}" for name, value in parameters.items())


def decode(kind: type[T], document: Any, **path: str) -> T:
    """Build a record from JSON; ``path`` gives fields that are known from the path of the request.

    Raises:
        UnexpectedAnswer: a field is missing or invalid.
    """
    try:
        record = _decode(kind, document, path)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnexpectedAnswer(f"the answer is not a valid {kind.__name__}: {error!r}") from error
    return record  # type: ignore[no-any-return]


def decode_batch_item(document: Mapping[str, Any], **path: str) -> BatchItem:
    """Build one item of a batch's answer, which is either an answer or a problem."""
    status = document["status"]
    if status < 400:
        return BatchItem(status, decode(Answer, document, **path), None)
    return BatchItem(status, None, from_problem(status, document))


def _decode(kind: Any, document: Any, path: Mapping[str, str]) -> Any:
    if isinstance(kind, type) and is_dataclass(kind):
        known = {**path, **document}
        return kind(
            **{
                name: _decode(hint, known[name], path)
                for name, (hint, optional) in layout(kind).items()
                if not (optional and name not in known)
            }
        )
    if isinstance(kind, UnionType):
        return None if document is None else _decode(get_args(kind)[0], document, path)
    if get_origin(kind) is Mapping and _has_records(get_args(kind)[1]):
        return {name: _decode(get_args(kind)[1], item, path) for name, item in document.items()}
    if get_origin(kind) is tuple:
        return tuple(_decode(get_args(kind)[0], item, path) for item in document)
    if kind == Parameters:
        return {name: _choice(value) for name, value in document.items()}
    return _SCALARS[kind](document) if kind in _SCALARS else document


def _has_records(kind: Any) -> bool:
    """Return whether a type is a record, or a tuple of records."""
    return is_dataclass(kind) or (get_origin(kind) is tuple and is_dataclass(get_args(kind)[0]))


def _choice(value: Any) -> Any:
    """Return a parameter's value; lists become tuples, as in the search space."""
    return tuple(value) if isinstance(value, list) else value


_SCALARS: dict[Any, Callable[[Any], Any]] = {datetime: datetime.fromisoformat, float: float, Any: _choice}


@cache
def layout(kind: type) -> dict[str, tuple[Any, bool]]:
    """Return the type of each field of a dataclass, and whether it may be absent."""
    hints = get_type_hints(kind)
    return {
        each.name: (hints[each.name], each.default is not MISSING or each.default_factory is not MISSING)
        for each in fields(kind)
    }
