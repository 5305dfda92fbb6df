"""What the server answers, as frozen records.

Fields that this version does not know are ignored, so a newer server does not break an older client.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from adabkb_client import html
from adabkb_client.curves import CurveSummary, ExpectedValue
from adabkb_client.errors import AdaBKBError, UnexpectedAnswer, from_problem

Direction = Literal["minimize", "maximize"]
StudyState = Literal["running", "paused", "complete"]
TrialState = Literal["active", "completed", "failed", "expired", "released", "queued", "stopped"]
Parameters = Mapping[str, Any]
"""Values by parameter name."""


@dataclass(frozen=True)
class Cell:
    """A cell of the partition tree: ``key`` is the path from the root "0"."""

    key: str
    depth: int


@dataclass(frozen=True)
class Prediction:
    """Posterior mean and standard deviation of the objective at a point, and its confidence bounds."""

    mean: float
    std: float
    lcb: float
    ucb: float


@dataclass(frozen=True)
class Trial:
    """A point to evaluate; one unit of the study's budget.

    ``value`` is None until it is completed. ``attributes`` are the user's own, by name. ``phase`` says what a
    suggestion is for: "start", "search", "polish" (the best point), "explore" or "restart" (elsewhere); ``expected``
    is what the model predicted at the point when it chose it. Both are None if the model did not choose it.
    ``curve`` sums up what it has reported before its end; ``estimate`` is of a stopped trial.
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


@dataclass(frozen=True)
class Observation:
    """A result with its sequence number; ``trial`` is None for a point that nobody suggested."""

    seq: int
    trial: int | None
    attempt: int | None
    parameters: Parameters
    value: float
    std_error: float | None
    excluded: bool
    observed_at: datetime


@dataclass(frozen=True)
class Counts:
    """How many trials there are in each state, and how many observations."""

    trials: int
    active: int
    queued: int
    released: int
    expired: int
    completed: int
    failed: int
    observations: int
    stopped: int = 0


@dataclass(frozen=True)
class Best:
    """The best value observed, where, and in which trial."""

    parameters: Parameters
    value: float
    trial: int | None


@dataclass(frozen=True)
class StudySummary:
    """The state of a study, as in every answer of suggest and observe.

    ``gap`` is of the results folded so far. ``probability_of_gain`` is a frequency: of comparable runs, the share that
    still gained more than 1% of the range of results within as many further evaluations. None if that is not known.
    """

    id: str
    state: StudyState
    reason: str | None
    counts: Counts
    best: Best | None
    gap: float | None
    revision: int
    probability_of_gain: float | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class StudyInfo(StudySummary):
    """A study with its definition; ``parameters``, ``algorithm`` and ``model`` are in wire form."""

    direction: Direction
    parameters: tuple[dict[str, Any], ...]
    algorithm: dict[str, Any]
    budget: int | None
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
    early_stopping: dict[str, Any] | None = None


@dataclass(frozen=True)
class Answer:
    """The answer to a change: the trial or the observation that it concerned, and the state of the study."""

    study: StudySummary
    trial: Trial | None = None
    observation: Observation | None = None


@dataclass(frozen=True)
class Reported:
    """The answer to a report: whether the trial is stopped, and then why, by which rule."""

    stop: bool
    reason: str | None
    rule: str | None
    trial: Trial
    study: StudySummary


@dataclass(frozen=True)
class Suggestions:
    """The trials handed out and, if they are fewer than requested, the reason."""

    trials: tuple[Trial, ...]
    reason: str | None
    retry_after: float | None
    study: StudySummary


@dataclass(frozen=True)
class BatchItem:
    """The outcome of one item of a batch: an answer, or the error that it would have raised alone."""

    status: int
    answer: Answer | None
    error: AdaBKBError | None


@dataclass(frozen=True)
class Estimate:
    """Posterior mean and standard deviation of the objective at a point."""

    parameters: Parameters
    mean: float
    std: float


@dataclass(frozen=True)
class Recommendation:
    """The best point by the model and by observation.

    With the confidence of the study, the best evaluated point is within ``gap`` of the optimum. All are None
    before the first observation; ``model`` is None also while the model is out of order.
    """

    model: Estimate | None
    observed: Best | None
    gap: float | None

    def _repr_html_(self) -> str:
        return html.recommendation(self)


@dataclass(frozen=True)
class Event:
    """An entry of the study's log."""

    seq: int
    kind: str
    trial: int | None
    payload: dict[str, Any]
    created_at: datetime


T = TypeVar("T")


def decode(kind: type[T], document: Any, **path: str) -> T:
    """Build a record from JSON; ``path`` has the fields that are known from the path of the request.

    Raises:
        UnexpectedAnswer: a field is missing, or is not what it should be.
    """
    try:
        record = _decode(kind, document, path)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnexpectedAnswer(f"the answer is no {kind.__name__}: {error!r}") from error
    return record  # type: ignore[no-any-return]


def decode_batch_item(document: Mapping[str, Any], **path: str) -> BatchItem:
    """Build one item of a batch's answer: the wire mixes answers and problems."""
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
    if get_origin(kind) is tuple:
        return tuple(_decode(get_args(kind)[0], item, path) for item in document)
    if kind == Parameters:
        return {name: _choice(value) for name, value in document.items()}
    return _SCALARS[kind](document) if kind in _SCALARS else document


def _choice(value: Any) -> Any:
    """Return a parameter's value; one that consists of several is a tuple, as in the search space."""
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
