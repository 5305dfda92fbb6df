"""Types of JSON columns: summaries from which a study or a trial is shown without reading its log, and predictions."""

# Do not add ``from __future__ import annotations``: ``__required_keys__`` would be wrong.

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict  # up to Python 3.11, pydantic does not support the class in typing

Phase = Literal["start", "search", "polish", "explore", "restart", "repeat", "sample"]
"""See ``engine/moves.py``."""


class Curve(TypedDict):
    """Summary of an attempt's reports. The fields are those of ``engine.early_stopping.Curve``."""

    reports: int
    step: int
    value: float
    best: float
    gain_step: int
    gain_value: float


class Estimate(TypedDict):
    """The expected final value of a stopped trial."""

    value: float
    std_error: float


class StoredPrediction(TypedDict, total=False):
    """The model's prediction at the point of a trial, in the units and sign of the objective or of a metric: see
    ``inference.proposals.Expected``. The first four fields are present, except with several objectives."""

    mean: float
    std: float
    lcb: float
    ucb: float
    metrics: "dict[str, StoredPrediction]"
    """By metric; absent in a study without metrics."""
    feasible_probability: float
    """Absent without outcome constraints."""
    finish_probability: float
    """Only in predictions that a client requests, not in those of events and trials."""


class BestResult(TypedDict):
    """The column ``studies.best``: the best result that counts (see ``study.best``)."""

    parameters: dict[str, Any]
    value: float
    trial: int | None
    metrics: NotRequired[dict[str, float]]
    """This field and the ones below are absent in a study without metrics."""
    feasible: NotRequired[bool]
    violations: NotRequired[dict[str, float]]
    """Metric -> how far it is beyond its bound, for violated bounds."""


class LastPlate(TypedDict):
    """The column ``studies.plate``: the last plate of a study with plates."""

    number: int
    """0 while only results without a trial name plates."""
    trials: int
    """The number of its trials that are not withdrawn."""
    shared: dict[str, Any] | None
    """Name -> value that all its trials share; None if the plate is closed, so that the next trial begins a new
    plate."""
    begun: NotRequired[int]
    """The number of plates with at least one trial; absent while there is none."""
    named: NotRequired[int]
    """The largest number of a plate that a result without a trial names; absent without such results."""


class ModelStats(TypedDict):
    """The column ``studies.model``: statistics of the model, in the units and sign of the objective. The fields are
    those of ``engine.answers.Report``, without ``best_lcb``, and a few more. Numbers that are not finite are None;
    such an effective dimension is 0."""

    gap: float | None
    beta: float | None
    leaves: int
    depth: int
    dictionary: int
    basis: int
    effective_dimension: float
    points: int
    observations: int
    offset: float | None
    scale: float | None
    clipped: int
    gap_share: float | None
    results_since_gain: NotRequired[int]
    """Only with several objectives: the number of results since the hypervolume last increased."""
    outliers: NotRequired[list[int]]
    """The numbers of the results that other results contradict; absent if there are none."""
    rests_on: int
    """The seq of the last event that affects these statistics."""
    stopped: bool
    """Whether Ada-BKB's stopping rule holds."""
    exhausted: bool
    """Whether every point of a finite space is issued."""
