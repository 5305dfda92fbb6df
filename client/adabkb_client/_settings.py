"""The settings of a study, which ``create_study`` and ``update`` take as keyword arguments: their names and types.

An editor completes them, and a type checker knows them. The server checks their values, and says what does not go
together: docs/http.md.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, SupportsFloat, SupportsIndex, TypedDict

from adabkb_client._models import Direction
from adabkb_client._plain import shown


class CostBudget(TypedDict):
    """A budget in the units of the cost, in place of a number of trials."""

    cost: float
    """No trial is issued once the results have cost as much."""


class Stop(TypedDict, total=False):
    """Rules that end a study before its budget is used up. The first rule that applies ends it."""

    no_gain_for: int
    """So many results in a row without a better one."""
    gap_share_below: float
    """The gap is below this share of the range of the results: going on would probably gain less."""


class EarlyStoppingRule(TypedDict, total=False):
    """The common fields of all early-stopping rules."""

    max_steps: Required[int]
    """Steps of a full evaluation."""
    min_steps: int
    """The number of steps that every trial may take; the first rung of ASHA."""


class MedianRule(EarlyStoppingRule, total=False):
    """Stops a trial whose best value is worse than the median of the others at the same step."""

    rule: Required[Literal["median"]]
    after_trials: int
    """Others that must have reported the step."""


class AshaRule(EarlyStoppingRule, total=False):
    """Asynchronous successive halving: of ``eta`` trials that reach a rung, the best one goes on."""

    rule: Required[Literal["asha"]]
    after_trials: int
    """Others that must have reached the rung."""
    eta: int


class PatienceRule(EarlyStoppingRule, total=False):
    """Ends a trial whose value has not improved for some steps; its last value is its result."""

    rule: Required[Literal["patience"]]
    no_gain_for: Required[int]
    """Steps without an improvement."""
    min_gain: float
    """Improvements no larger than this do not count."""


class Mixture(TypedDict, total=False):
    """Parameters that are the shares of a whole: each a ``Float`` of 0 or more, and all together sum to the total."""

    parameters: Required[Sequence[str]]
    """The names of the shares."""
    total: SupportsFloat
    """The sum of the shares: 1 if absent."""
    at_most: SupportsIndex | None
    """How many of them may be above 0; None, the default: all."""
    least: SupportsFloat
    """A share is 0, or at least this: 0 if absent."""


class OutcomeConstraint(TypedDict, total=False):
    """A bound, or two, that a metric of the results has to keep."""

    metric: Required[str]
    lower: float | None
    upper: float | None


class StudyObjective(TypedDict, total=False):
    """One of several objectives: a metric of the results."""

    metric: Required[str]
    direction: Required[Direction]
    reference: float | None
    """A value that a result has to be better than, to count in the hypervolume."""


class Belief(TypedDict, total=False):
    """The user's belief about the optimum along one parameter."""

    around: float
    """For a number: the value that is thought to be best."""
    width: float
    """On a linear scale: so far from ``around``, the density is half as large."""
    factor: float
    """On a log scale: the same at ``around`` times ``factor``, and at ``around`` divided by it."""
    weights: Mapping[str, float]
    """For choices: weights by the choice's text; the others have 1."""


class Quantity(TypedDict, total=False):
    """The label, unit and digits of a measured quantity, and its natural bounds."""

    label: str | None
    """The label that people read in place of the name."""
    unit: str | None
    """Such as "%"."""
    digits: int | None
    """After the decimal point; left out: as the results have them."""
    low: float | None
    """The least value that it can have: intervals that are shown end there, and results below it are refused."""
    high: float | None
    """The largest value that it can have."""


class StudyChanges(TypedDict, total=False):
    """The settings that can be changed while a study runs. None is no limit."""

    budget: SupportsIndex | CostBudget | None
    """Trials at most, each counts once, however often it was leased; or the total cost of the results."""
    tolerance: SupportsFloat | None
    """The study is complete once its gap is no larger, in the objective's units."""
    stop: Stop | None
    """When to end before the budget is used up."""
    lease_seconds: SupportsFloat
    """How long a trial stays with a worker that gives no sign of life, unless the worker says otherwise."""
    max_attempts: SupportsIndex
    """Leases that may run out before the trial is failed."""
    max_runtime_seconds: SupportsFloat | None
    """Longest time of one attempt, whatever its heartbeats say."""
    failure_limit: SupportsIndex | None
    """Failures of trials in a row after which the study is paused."""
    pending_limit: SupportsIndex | None
    """Largest number of unfinished trials."""
    tags: Mapping[str, str]
    """Texts by name, to find the study by."""
    quantities: Mapping[str, Quantity]
    """Names, units, digits and natural bounds of measured quantities: of "value", which is the objective, and of
    metrics, by name, such as ``{"value": {"label": "Yield", "unit": "%", "low": 0, "high": 100}}``."""


class StudySettings(StudyChanges, total=False):
    """The settings that a study is created with, all of which may be left out."""

    seed: SupportsIndex | None
    """Studies with the same definition, seed and results suggest the same points. If None, the server draws one."""
    noise_std: SupportsFloat | None
    """Standard deviation of a result, in the objective's units. None: it is learned."""
    constraints: Sequence[str]
    """Constraints that every point satisfies, such as ``["x + y <= 1", "not (kind == 'a' and x > 0.5)"]``."""
    mixtures: Sequence[Mixture]
    """Shares of a whole, such as ``[Mixture(parameters=["water", "ethanol", "glycerol"], at_most=2)]``."""
    early_stopping: MedianRule | AshaRule | PatienceRule | None
    """The rule that ends a trial before its last step, by its reports."""
    metrics: Sequence[str]
    """The metrics of each result beside its value."""
    outcome_constraints: Sequence[OutcomeConstraint]
    """Bounds of metrics; the best point is one that keeps them."""
    objectives: Sequence[StudyObjective]
    """Two to four, in place of a ``direction``."""
    prior: Mapping[str, Belief]
    """Where the optimum is thought to be, by parameter."""
    baseline: Mapping[str, Any]
    """The settings that are in use, by parameter: of equally good points the recommendation is the one that changes
    fewer of them."""
    transfer_from: Sequence[str]
    """Names of older studies whose results the model also uses, as far as they agree with the new ones."""
    cost: Literal["told", "measured"] | None
    """Where the metric "cost" comes from: each result tells it, or it is the seconds of the attempt."""
    per_cost: bool
    """Suggest by the gain per cost."""
    robust: bool
    """Results that the others contradict weigh less, and their points are suggested again."""
    algorithm: Mapping[str, Any]
    """Another system than ``auto``, with its constants, such as ``{"profile": "paper"}``: docs/systems.md."""


EXAMPLES = {
    "baseline": '{"temperature": 80, "solvent": "water"}',
    "early_stopping": '{"rule": "asha", "max_steps": 27}',
    "quantities": '{"value": {"label": "Yield", "unit": "%"}}',
    "prior": '{"lr": {"around": 0.001, "factor": 10}}',
    "stop": '{"no_gain_for": 20}',
    "tags": '{"team": "vision"}',
}
"""A value of each setting that is a dict."""


def check_dicts(settings: Mapping[str, Any]) -> None:
    """Refuse another value where a dict is needed.

    Raises:
        TypeError: it names the setting, and shows a value of it.
    """
    for name, value in settings.items():
        if name in EXAMPLES and value is not None and not isinstance(value, Mapping):
            raise TypeError(f"{name} must be a dict such as {EXAMPLES[name]}, not {shown(value)}")
