"""Types of the dicts in answers and requests."""

from collections.abc import Mapping
from typing import Any, Literal, Required, SupportsFloat, TypedDict

from adabkb_client._settings import Algorithm


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
    """Its representative point."""
    mean: float
    """The posterior mean at the centroid."""
    std: float
    """The posterior standard deviation at the centroid."""
    index: float | None
    """The best value that the objective may reach in the cell."""


class DictionaryPoint(TypedDict):
    """A point of the dictionary, that is, an inducing point of the model."""

    ordinal: int
    """0, 1, 2, ... in the order of their first observations."""
    parameters: Mapping[str, Any]
    """The point: parameter -> value."""


class Explanation(TypedDict):
    """The inputs of a trial's suggestion, and all events about the trial, in wire form: see docs/http.md."""

    trial: Mapping[str, Any]
    """The trial."""
    decision: Mapping[str, Any] | None
    """The inputs of the suggestion; ``in_words`` is a sentence. None if the model did not choose the point."""
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
    """How long the evaluation took."""
    plate: int
    """The number of the plate of your own point."""
    state: Literal["completed", "failed"]
    """Whether the evaluation failed; by default it did not."""
    reason: str | None
    """Why it failed."""
    attributes: Mapping[str, Any]
    """Attributes of your own point."""
