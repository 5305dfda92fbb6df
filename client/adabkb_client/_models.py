"""The server's answers as frozen records, and their decoding from JSON. ``_console`` and ``_notebook`` show them.

Fields unknown to this version are ignored, so a newer server does not break an older client.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from datetime import datetime
from functools import cache, singledispatch
from types import UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from adabkb_client.errors import AdaBKBError, UnexpectedAnswer, from_problem

T = TypeVar("T")


class Record:
    """A response of the server. A console shows it as one line, a notebook as a table."""

    def __repr__(self) -> str:
        return line(self)

    def _repr_html_(self) -> str:
        return page(self)


@singledispatch
def line(record: Any) -> str:
    """Return a record as one line of text."""
    raise NotImplementedError(f"nothing is registered for {type(record).__name__}")


@singledispatch
def page(record: Any) -> str:
    """Return a record as HTML."""
    raise NotImplementedError(f"nothing is registered for {type(record).__name__}")


Direction = Literal["minimize", "maximize"]
StudyState = Literal["running", "paused", "complete"]
TrialState = Literal["active", "completed", "failed", "expired", "released", "queued", "stopped", "withdrawn"]
Parameters = Mapping[str, Any]
"""Parameter -> value."""
Metrics = Mapping[str, float]
"""Metric -> value."""


@dataclass(frozen=True)
class CurveSummary(Record):
    """A summary of the reports of a trial's current attempt: their number, the last step with its value, the best
    value, and the last step with an improvement that counts."""

    reports: int
    step: int
    value: float
    best: float
    gain_step: int
    gain_value: float


@dataclass(frozen=True)
class ExpectedValue(Record):
    """The expected value of a stopped trial at its last step."""

    value: float
    std_error: float


@dataclass(frozen=True)
class CurvePoint(Record):
    """An intermediate value of a trial's attempt."""

    step: int
    value: float
    attempt: int
    reported_at: datetime


@dataclass(frozen=True)
class Cell(Record):
    """A cell of the partition tree: ``key`` is the path from the root "0"."""

    key: str
    depth: int


@dataclass(frozen=True)
class MetricPrediction(Record):
    """Posterior mean and standard deviation of a metric at a point, and its confidence bounds."""

    mean: float
    std: float
    lcb: float
    ucb: float


@dataclass(frozen=True)
class Prediction(Record):
    """Posterior mean and standard deviation of the objective at a point, with confidence bounds.

    In a study with metrics, ``metrics`` has the predictions of each. In one with outcome constraints,
    ``feasible_probability`` is the probability that all of them are satisfied. With several objectives, these are among
    the metrics, and the other numbers are None.
    """

    mean: float | None = None
    std: float | None = None
    lcb: float | None = None
    ucb: float | None = None
    metrics: Mapping[str, MetricPrediction] | None = None
    feasible_probability: float | None = None


@dataclass(frozen=True, repr=False)
class Trial(Record):
    """A point to evaluate. It counts towards the study's budget, a stopped trial as the share of its steps. Withdrawn
    trials and failed ones with the origin "own" do not count.

    ``value`` is None until the trial is completed, and so is ``metrics``, which only studies with metrics have.
    ``origin`` is "policy" (the model chose the point), "fallback" (the model had failed or did not answer in time, so
    the point is quasi-random), "queued" (a user chose it) or "own" (a user's own experiment, which had failed).

    Users set ``attributes``. ``phase`` is the purpose of a suggestion: "start", "search", "polish" (improve the best
    point), "explore" (where the model is uncertain), "restart" (search elsewhere), "repeat" (repeat a doubted result)
    or "sample" (chosen without a model). ``expected`` is the model's prediction when it chose the point. Both are None
    if the model did not choose the point. ``curve`` summarizes the intermediate values; ``estimate`` is the expected
    final value of a stopped trial. ``plate`` is the number of its plate, in studies with plates. ``seconds`` is the
    duration of the evaluation that ended the trial, if it is known.
    """

    study_id: str
    number: int
    state: TrialState
    parameters: Parameters
    worker: str | None
    attempt: int
    leased_until: datetime | None
    lease_seconds: float
    started_at: datetime | None
    origin: str
    cell: Cell | None
    value: float | None
    reason: str | None
    created_at: datetime
    finished_at: datetime | None
    attributes: dict[str, Any] = field(default_factory=dict)
    phase: str | None = None
    expected: Prediction | None = None
    curve: CurveSummary | None = None
    estimate: ExpectedValue | None = None
    metrics: Metrics | None = None
    plate: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, repr=False)
class Observation(Record):
    """A result with its sequence number; ``trial`` is None for a point that was not suggested.

    ``outside`` means that the study's space was edited and no longer contains the point, so the result does not count.
    Several objectives are among the metrics; then ``value`` is None. ``missing`` names the numbers that a partial
    result still lacks: "value", and metrics. ``beyond_natural_bounds`` names the numbers beyond their natural bounds,
    which are noise, or typing errors to ``correct``. ``plate`` and ``attributes`` are those of your own point; for a
    trial's result, see the trial. ``seconds`` is the duration of the evaluation, if it is known.
    """

    seq: int
    trial: int | None
    attempt: int | None
    parameters: Parameters
    std_error: float | None
    excluded: bool
    observed_at: datetime
    value: float | None = None
    metrics: Metrics | None = None
    std_errors: Metrics | None = None
    missing: tuple[str, ...] = ()
    beyond_natural_bounds: tuple[str, ...] = ()
    outside: bool = False
    plate: int | None = None
    seconds: float | None = None
    attributes: Parameters = field(default_factory=dict)

    @property
    def counts(self) -> bool:
        """Whether the observation is neither excluded nor outside the space."""
        return not (self.excluded or self.outside)


@dataclass(frozen=True)
class Counts(Record):
    """The numbers of trials by state, and of observations. ``own_failures`` are the failed
    evaluations that were reported without a trial; they do not count towards the budget."""

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
    own_failures: int = 0


@dataclass(frozen=True, repr=False)
class Best(Record):
    """The best result as it was measured, with its parameters and trial. It may be partly luck: to choose the point to
    use, call ``Study.recommendation`` by default. With several objectives, there is none: see ``Study.front``.

    In a study with outcome constraints, ``feasible`` says whether the result satisfies all of them. While none does,
    this is the result that violates them least, and ``violations`` says by how much.
    """

    parameters: Parameters
    value: float
    trial: int | None
    metrics: Metrics | None = None
    feasible: bool | None = None
    violations: Metrics | None = None


@dataclass(frozen=True, repr=False)
class StudySummary(Record):
    """The state of a study, as in every answer of suggest and observe. ``best`` is the best result as it was measured;
    ``Study.recommendation`` has the point to use.

    ``gap`` is a bound on what further trials can gain, in the objective's units: according to the model, with 90%
    probability, no point is better than the recommended one by more than this. The natural bounds of the objective
    limit it. It is None while unknown.
    """

    id: str
    state: StudyState
    reason: str | None
    counts: Counts
    best: Best | None
    gap: float | None
    revision: int


@dataclass(frozen=True, repr=False)
class StudyInfo(StudySummary):
    """A study with its definition; ``parameters``, ``algorithm`` and ``model`` are in wire form.

    ``space_version`` increases by one with each edit of the space; ``defaults`` are the values of added parameters in
    points from before the edit.

    The study has a ``direction`` or several ``objectives``.
    """

    direction: Direction | None = field(default=None, kw_only=True)
    parameters: tuple[dict[str, Any], ...]
    algorithm: dict[str, Any]
    budget: int | dict[str, float] | None
    seed: int
    noise_std: float | None
    tolerance: float | None
    lease_seconds: float
    max_attempts: int
    max_runtime_seconds: float | None
    failure_limit: int | None
    pending_limit: int | None
    tags: dict[str, str]
    model: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    stop: dict[str, Any] | None = None
    constraints: tuple[str, ...] = ()
    mixtures: tuple[dict[str, Any], ...] = ()
    early_stopping: dict[str, Any] | None = None
    objectives: tuple[dict[str, Any], ...] = ()
    metrics: tuple[str, ...] = ()
    outcome_constraints: tuple[dict[str, Any], ...] = ()
    space_version: int = 1
    defaults: Parameters = field(default_factory=dict)
    prior: dict[str, dict[str, Any]] = field(default_factory=dict)
    baseline: Parameters = field(default_factory=dict)
    transfer_from: tuple[str, ...] = ()
    quantities: dict[str, dict[str, Any]] = field(default_factory=dict)
    cost: str | None = None
    per_cost: bool = False
    robust: bool = False
    cost_spent: float | None = None
    plates: dict[str, Any] | None = None
    title: str | None = None
    description: str | None = None

    @property
    def trial_budget(self) -> int | None:
        """The budget, if it is a number of trials, and each trial counts as one. None with early stopping, where
        stopped trials count less."""
        return self.budget if isinstance(self.budget, int) and self.early_stopping is None else None


@dataclass(frozen=True, repr=False)
class Answer(Record):
    """The answer to a change: the trial or the observation, and the state of the study."""

    study: StudySummary
    trial: Trial | None = None
    observation: Observation | None = None


@dataclass(frozen=True)
class Reported(Record):
    """The answer to a report: whether the trial is stopped and, if so, why and by which rule."""

    stop: bool
    reason: str | None
    rule: str | None
    trial: Trial
    study: StudySummary


@dataclass(frozen=True)
class Suggestions(Record):
    """The trials issued and, if they are fewer than requested, the reason."""

    trials: tuple[Trial, ...]
    reason: str | None
    retry_after: float | None
    study: StudySummary


@dataclass(frozen=True)
class BatchItem(Record):
    """The outcome of one item of a batch: an answer, or the error that it would have raised alone."""

    status: int
    answer: Answer | None
    error: AdaBKBError | None


@dataclass(frozen=True)
class Change(Record):
    """A parameter whose value differs from the study's baseline.

    ``gain`` is how much worse the model expects the objective to be if only this value is reset, in the objective's
    units.
    """

    parameter: str
    baseline: Any
    value: Any
    gain: float


@dataclass(frozen=True)
class Estimate(Record):
    """Posterior mean and standard deviation of the objective at a point; metrics as in ``Prediction``. ``changes`` are
    the differences of a recommended point from the baseline; None without a baseline."""

    parameters: Parameters
    mean: float
    std: float
    metrics: Mapping[str, MetricPrediction] | None = None
    feasible_probability: float | None = None
    changes: tuple[Change, ...] | None = None


@dataclass(frozen=True)
class FrontEstimate(Record):
    """An evaluated point that no other evaluated point dominates, according to the model.

    ``metrics`` has the prediction of each objective and of other metrics; ``probability`` is the probability to be on
    the front of all evaluated points, ``feasible_probability`` that of satisfying all outcome constraints, if there are
    any.
    """

    parameters: Parameters
    metrics: Mapping[str, MetricPrediction]
    probability: float
    feasible_probability: float | None = None


@dataclass(frozen=True, repr=False)
class Recommendation(Record):
    """The point to use: by default ``model``, the evaluated point that the model expects to be best. ``observed`` is
    the best result as it was measured.

    Further trials will probably gain less than ``gap``, as in ``StudySummary``. ``model`` and ``observed`` are None
    before the first result. ``reason`` says why ``model`` is None: "no_results", "several_objectives", "context_needed"
    (the best point depends on the context), "model_loading" (the server has just started), "model_busy" (no answer in
    time; ask again) or "model_failed" (``study.info().model["error"]`` says why).

    With outcome constraints, the model's point satisfies them with ``required_probability``. If not, ``reason`` says
    why: "nothing_feasible" (no result satisfies them, and these come closest) or "nothing_certain" (no point has that
    probability).

    With several objectives there is a ``front`` instead of a best point.
    """

    model: Estimate | None
    observed: Best | None
    gap: float | None
    required_probability: float | None = None
    reason: str | None = None
    front: tuple[FrontEstimate, ...] = ()


@dataclass(frozen=True, repr=False)
class Event(Record):
    """An entry of the study's log."""

    seq: int
    kind: str
    trial: int | None
    payload: dict[str, Any]
    created_at: datetime


@dataclass(frozen=True, repr=False)
class RunReport(Record):
    """The outcome of a run: the numbers of trials that this run has ``completed``, ``failed`` and ``stopped`` early,
    and the ``reason`` for its end. ``Study.info().counts`` has the numbers of the whole study. ``recommendation`` is
    that of the whole study at the end of the run; its ``model`` is the point to use by default.

    ``reason`` is "budget", "converged", "exhausted", "no_gain" or "gain_unlikely" if the study is complete; otherwise
    "n_trials", "timeout", "stopped" (by ``Study.stop``), or "fixed_exhausted" (all points with the ``fixed`` parameters
    have been issued).
    """

    completed: int
    failed: int
    reason: str
    recommendation: Recommendation
    stopped: int = 0


@dataclass(frozen=True)
class Access(Record):
    """The owner of a study and its shares: "read" or "work" by user, where "*" means everybody.

    Only administrators can see a study without an owner, if the server requires tokens. ``unknown_users``, in the
    answer of ``Study.share``, are users who have no token and have never logged in, such as mistyped names.
    """

    owner: str | None
    shared_with: dict[str, Any]
    unknown_users: tuple[str, ...] = ()


@dataclass(frozen=True)
class Webhook(Record):
    """A URL that receives messages about a study, signed with a secret (``adabkb_client.webhooks.verify``).

    ``delivered`` is the number of messages so far. ``error`` is the error of the last attempt, and ``next_attempt_at``
    the time of the next one. ``secret`` is known only when the webhook has just been added. If ``is_on`` is False, a
    user has turned the webhook off, or the server has, because messages failed for a long time.
    """

    id: str
    url: str
    notifications: tuple[str, ...]
    is_on: bool
    created_at: datetime
    delivered: int
    delivered_at: datetime | None
    error: str | None
    attempts: int
    next_attempt_at: datetime | None
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class File(Record):
    """A file of a trial, or of a result without a trial, without its content: ``size`` in bytes, ``digest`` its SHA-256
    in hexadecimal digits. Either ``trial`` or ``observation`` is its holder; the other one is None."""

    number: int
    trial: int | None
    observation: int | None
    name: str
    media_type: str
    size: int
    digest: str
    user: str | None
    created_at: datetime


@dataclass(frozen=True)
class Link(Record):
    """A share link: a token with which anyone can read one study. Use ``id`` to revoke it."""

    id: str
    expires_at: datetime | None
    revoked_at: datetime | None
    token: str | None = field(default=None, repr=False)
    """The token itself. The server returns it only once, when the link is created."""


@dataclass(frozen=True)
class Deletion(Record):
    """A study in the trash, which is permanently deleted at ``purged_at``."""

    deletion: int
    study: str
    owner: str | None
    results: int
    deleted_by: str | None
    deleted_at: datetime
    purged_at: datetime


ROWS_SHOWN = 20
"""The maximum number of rows that the text of an import's report shows."""


@dataclass(frozen=True)
class RowError:
    """An error in a row: ``row`` is its number, ``field`` the parameter, "value", "std_error", "plate" or "row"."""

    row: int
    field: str
    problem: str


@dataclass(frozen=True)
class ImportedResult(Record):
    """The result of a row, in the form in which the study has or would have it. A row that ``failed`` has no numbers,
    but may have a ``reason``."""

    row: int
    parameters: Parameters
    value: float | None
    std_error: float | None
    metrics: Metrics | None = None
    std_errors: Metrics | None = None
    missing: tuple[str, ...] = ()
    plate: int | None = None
    failed: bool = False
    reason: str | None = None


@dataclass(frozen=True, repr=False)
class ImportReport(Record):
    """The outcome of importing the rows of a source.

    ``results`` are the results and failures that were stored or, with ``dry_run``, would be stored. ``repeated`` is the
    number of those that the study already had. ``left_out`` maps state -> number of skipped rows. ``errors`` lists the
    invalid rows. ``unused`` names the columns that were not used.
    """

    study_id: str
    source: str
    counted: str
    rows: int
    results: tuple[ImportedResult, ...]
    repeated: int
    left_out: Mapping[str, int]
    errors: tuple[RowError, ...]
    unused: tuple[str, ...]
    dry_run: bool

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
        lines = [f"{self.source}: {rows}, {len(self.results)} {would} in study {self.study_id!r}{of_these}"]
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
                for name, (hint, optional) in _layout(kind).items()
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
def _layout(kind: type) -> dict[str, tuple[Any, bool]]:
    """Return the type of each field of a dataclass, and whether it may be absent."""
    hints = get_type_hints(kind)
    return {
        each.name: (hints[each.name], each.default is not MISSING or each.default_factory is not MISSING)
        for each in fields(kind)
    }
