"""The payload of each kind of event in the log: when the event is recorded, and what its fields mean.

``rows.EventRow`` joins each kind with its payload. These types describe what this server records. An imported log may
differ, since only its replay checks it: see ``study.replay_state``. A field that is ``NotRequired`` is present only in
the cases that its description names. All values are JSON.
"""

# Do not add ``from __future__ import annotations``: ``__required_keys__`` would be wrong.

import json
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict  # up to Python 3.11, pydantic does not support the class in typing

from adabkb_service.storage.columns import Estimate, Phase, StoredPrediction

Parameters = dict[str, Any]
"""Name -> value of a point, in the stored form."""
Definition = dict[str, Any]
"""A definition, as ``contract.study.StudyDefinition`` writes it."""


class OfUser(TypedDict):
    """An event that a request of a user records."""

    user: NotRequired[str]
    """The name of the user; absent if the server requires no tokens, or recorded the event without a request."""


class Created(OfUser):
    """``created``: the study was created. It is the first event of each log, and occurs once."""

    definition: Definition
    """As requested, with the tables of catalogues."""
    seed: int
    older: NotRequired[list[dict[str, Any]]]
    """Snapshots of older studies (``contract.transfer.Snapshot``); absent without ``transfer_from``."""


class Cell(TypedDict):
    """A cell of the tree."""

    key: str
    depth: int


class Suggested(TypedDict):
    """``suggested``: a new trial was issued, at a point that the model or the fallback chose. This is its first
    attempt."""

    parameters: Parameters
    cell: Cell | None
    """The cell whose centroid is the point; None without a tree, and for a fallback point."""
    origin: Literal["policy", "fallback"]
    """``policy``: the model chose the point. ``fallback``: the point is quasi-random, because the model had failed or
    had no point in time."""
    worker: str | None
    capped: bool
    """Whether the refinement of cells ended at a limit on steps or cells."""
    phase: Phase | None
    expected: StoredPrediction | None
    """The model's prediction at the point; None if it makes none."""
    fixed: Parameters | None
    """The values that were given when the point was chosen: those that the request fixes, those of the context, and the
    shared values of the plate; None if there are none."""
    trust: NotRequired[dict[str, float]]
    """Older study -> its weight in the model, from 0 to 1; absent without older studies, and for a fallback point."""
    gap: NotRequired[float]
    """The gap when the point was chosen; absent if it was unknown, and for a fallback point."""
    plate: NotRequired[int]
    """The number of the trial's plate; absent in a study without plates."""


class Queued(OfUser):
    """``queued``: a user added a trial that waits to be issued. If a user reports a failure without a trial, the server
    adds a trial with this event, and the event ``failed`` of this trial follows."""

    parameters: Parameters
    plate: NotRequired[int]
    """The number of the trial's plate; absent if the request names none."""
    origin: NotRequired[Literal["own"]]
    """Only for a failure that was reported without a trial."""


class Leased(TypedDict):
    """``leased``: a waiting trial was issued, or a heartbeat renewed an expired lease."""

    attempt: int
    """The number of the lease, from 1."""
    worker: str | None
    renewed: bool
    """Whether a heartbeat renewed the expired lease of the same attempt."""


class Expired(TypedDict):
    """``expired``: the lease of a trial ended without a result."""

    attempt: int
    worker: str | None
    cause: Literal["lease", "max_runtime"]
    """``max_runtime``: the attempt took longer than the study's ``max_runtime_seconds``."""


class Released(OfUser):
    """``released``: a user or a worker returned a trial without a result. The trial then waits to be issued again."""

    attempt: int
    worker: str | None
    reason: NotRequired[str]
    """The text of the request; absent without one."""


class Numbers(TypedDict, total=False):
    """The numbers of a result."""

    value: float
    """Absent with several objectives, and in a result that was reported without its value."""
    std_error: float | None
    """The standard error of the value, None if unknown; absent if ``value`` is."""
    metrics: dict[str, float]
    """Name -> value of each metric that is known; absent in a study without metrics."""
    std_errors: dict[str, float]
    """Metric -> standard error, where known; absent if ``metrics`` is."""


class Result(Numbers):
    """A result, and the point at which it was measured."""

    observation: int
    """The number of the result."""
    parameters: Parameters
    plate: NotRequired[int]
    """The plate that a result without a trial names; absent if it names none."""


class Observed(Result, OfUser):
    """``observed``: a result was stored. It is the first or a further result of a trial, a result without a trial, or
    the last report of a stopped trial."""

    attempt: int | None
    """The attempt that measured it; None without a trial."""
    seconds: NotRequired[float]
    """The duration of the evaluation; absent if unknown."""


class Changed(Result, OfUser):
    """``corrected``: a user changed numbers of a result, excluded it or included it again. ``measured``: a user added
    numbers that the result lacked, and changed nothing else. The event has the numbers after the change."""

    excluded: bool
    """Whether the result is excluded after the change."""
    was: "FormerResult"
    """The former values of the fields that the change replaced."""
    reason: str | None
    """The text of the request."""


class FormerResult(TypedDict, total=False):
    """Former values of fields of a result. Fields that did not change are absent."""

    value: float | None
    std_error: float | None
    metrics: dict[str, float] | None
    std_errors: dict[str, float] | None
    excluded: bool


class Failed(OfUser):
    """``failed``: a worker or a user reported that an evaluation failed, or the leases of a trial expired too often."""

    attempt: int | None
    """The attempt that failed; 0 if the failure was reported without a trial; None if the leases expired too often."""
    reason: str | None
    """The text of the request, or ``max_attempts`` if the leases expired too often."""
    seconds: NotRequired[float]
    """The duration of the evaluation; absent if unknown."""


class Withdrawn(OfUser):
    """``withdrawn``: a user ended a trial without a result, or undid the import of a failure that was reported without
    a trial; or the server withdrew a waiting trial outside of the edited space."""

    attempt: int | None
    """The number of the trial's last attempt, 0 if it was never leased; None if the server withdrew it."""
    reason: str | None
    """The text of the request, or ``study.edited_space.OUTSIDE`` if the server withdrew the trial."""


class Retried(OfUser):
    """``retried``: a user queued a failed or withdrawn trial again. If a user undoes the import of a failure that was
    reported without a trial, this event precedes ``withdrawn``."""

    attempt: int
    """The number of the trial's last attempt; 0 if it was never leased."""
    reason: str | None
    """The text of the request."""


class Reported(TypedDict):
    """``reported``: a worker reported intermediate values of a trial."""

    attempt: int
    reports: list[tuple[int, float]]
    """Step and value of each report, in ascending order of steps; JSON arrays of two numbers."""


class Stopped(TypedDict):
    """``stopped``: the early-stopping rule ended a trial after a report. Without an estimate, the event ``observed``
    follows, with the last report as the result."""

    attempt: int
    step: int
    """The last reported step."""
    value: float
    """The value of the last report."""
    parameters: Parameters
    """The point, with the values that were measured at the last report."""
    reason: str
    """The name of the rule that stopped the trial."""
    estimate: Estimate | None
    """The expected final value; None if the rule makes no estimate."""
    seconds: NotRequired[float]
    """The duration of the evaluation; absent if unknown."""
    metric: NotRequired[str]
    """The metric whose values were reported; absent if they are values of the single objective."""
    cost: NotRequired[float]
    """The cost of the evaluation; absent in a study without costs, and if ``observed`` follows."""


class Annotated(OfUser):
    """``annotated``: a user changed attributes of a trial, or of a result without a trial."""

    observation: NotRequired[int]
    """The number of the result; absent if the event belongs to a trial."""
    attributes: dict[str, Any]
    """Name -> new value, as in a JSON merge patch: None removes the attribute."""
    was: dict[str, Any]
    """The former values of the attributes that the trial or the result had."""


class PlateClosed(TypedDict):
    """``plate_closed``: the last plate has free places but no unused point, and the budget allows no other plate."""

    plate: int


class Paused(OfUser):
    """``paused``: a user paused the study, or the number of consecutive failures reached its limit."""

    reason: NotRequired[Literal["failures"]]
    """Only if the study reached its limit."""
    failures: NotRequired[int]
    """The number of consecutive failures; only if the study reached its limit."""


class Resumed(OfUser):
    """``resumed``: a user resumed the paused study."""


class Updated(OfUser):
    """``updated``: a user changed limits, tags, title, description or quantities of the study, or labels and units of
    parameters."""

    changes: dict[str, Any]
    """Field -> new value. ``parameters`` has the new labels and units by name of the parameter."""
    was: dict[str, Any]
    """The former values of the same fields."""


class EditedFields(TypedDict, total=False):
    """New values of the fields of a definition, besides the parameters, that an edit replaces: those in
    ``contract.stored.IN_EVENT``. Fields that do not change are absent."""

    constraints: list[Any]
    mixtures: list[Any]
    prior: dict[str, Any] | None
    baseline: dict[str, Any] | None
    outcome_constraints: list[dict[str, Any]]
    early_stopping: dict[str, Any]
    noise_std: float | None
    per_cost: bool
    robust: bool
    metrics: list[str]
    """Also present if removing a bound would otherwise remove a metric."""
    budget: dict[str, Any]
    """A budget of costs. Changes of other budgets are recorded as ``updated``."""


class Edited(EditedFields, OfUser):
    """``edited``: a user edited the space, or other fields of the definition on which suggestions depend."""

    version: int
    """The number of the space, ``space_version``: 2 after the first edit."""
    parameters: list[dict[str, Any]]
    """All parameters of the edited space."""
    defaults: Parameters
    """Values of added parameters in the points before the edit."""
    catalogues: NotRequired[dict[str, dict[str, Any]]]
    """Catalogue -> changes of its table; absent if none changes."""
    closes_plate: NotRequired[bool]
    """Whether the edit closes the last plate, because no point of the edited space has the plate's shared values;
    absent if there is no plate yet."""


class Completed(TypedDict):
    """``completed``: the study issues no more trials, and none is unfinished."""

    reason: str
    """One of ``contract.answers.Reason``."""


class ModelFailed(TypedDict):
    """``model_failed``: the model failed to process the log or to choose a point. Until it works again, new points are
    quasi-random."""

    error: str


class ModelRecovered(TypedDict):
    """``model_recovered``: the model works again."""


def payload_bytes(payload: object) -> int:
    """Return the size of a stored payload in bytes, as ``studies.log_bytes`` counts it."""
    return len(json.dumps(payload))
