"""Responses about a study's model and its progress, as frozen records."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adabkb_client._models import Best, Direction, FrontEstimate, Metrics, Parameters, Prediction, Record


@dataclass(frozen=True)
class ParameterImportance(Record):
    """Sobol' indices of a parameter, between 0 and 1, with their standard errors.

    ``first_order`` is the share of the variance of the posterior mean over the space that the parameter explains by
    itself, ``total`` the share including its interactions with others. Both are 0 for a fixed parameter.
    """

    name: str
    first_order: float
    first_order_error: float
    total: float
    total_error: float


@dataclass(frozen=True, repr=False)
class Importance(Record):
    """Which parameters the objective depends on, according to the model.

    If ``parameters`` is empty, ``reason`` says why: "too_few_results" or "constant". ``std`` is the standard deviation
    of the posterior mean over the space, in the objective's units; ``results`` is the number of results in the model.
    """

    results: int
    std: float | None
    parameters: tuple[ParameterImportance, ...]
    reason: str | None


@dataclass(frozen=True)
class ValidationItem(Record):
    """A result, identified by its observation number, and its prediction from the other results.

    ``lcb`` and ``ucb`` are the ends of the 90% prediction interval; ``tail`` is the probability of a result at least as
    extreme. A ``doubted`` result has less weight in the model, since the other results contradict it. Only studies with
    ``robust`` have such results.
    """

    observation: int
    value: float
    mean: float
    std: float
    lcb: float
    ucb: float
    tail: float
    doubted: bool = False


@dataclass(frozen=True, repr=False)
class Validation(Record):
    """Leave-one-out predictions of the results that count, at most 800.

    ``inside`` is the share of results inside their 90% intervals. ``error`` is the mean absolute error of the
    predictions, and ``error_of_median`` that of the median of the other results. If ``items`` is empty, ``reason`` says
    why: "too_few_results", "constant" or "not_this_system" (the profile is not ``auto``).
    """

    results: int
    items: tuple[ValidationItem, ...]
    inside: float | None
    error: float | None
    error_of_median: float | None
    reason: str | None


@dataclass(frozen=True)
class SliceAxis(Record):
    """A parameter that varies along a slice, and its values in order."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True, repr=False)
class Slice(Record):
    """The posterior along one or two parameters. ``at`` has the values of the others.

    ``predictions`` are at all combinations of the values of ``axes``; the last parameter varies fastest.
    """

    results: int
    axes: tuple[SliceAxis, ...]
    at: Parameters
    predictions: tuple[Prediction, ...]


@dataclass(frozen=True)
class FrontObjective(Record):
    """An objective, and its reference for the hypervolume. ``learned`` is True if the reference is the worst result so
    far."""

    metric: str
    direction: Direction
    reference: float
    learned: bool


@dataclass(frozen=True)
class Growth(Record):
    """The hypervolume after a result, identified by its observation number."""

    observation: int
    hypervolume: float


@dataclass(frozen=True)
class FrontPoint(Record):
    """A result that no other result dominates."""

    observation: int
    trial: int | None
    parameters: Parameters
    metrics: Metrics


@dataclass(frozen=True, repr=False)
class Front(Record):
    """The Pareto front of the results (``observed``) and of the model, and the hypervolume over time.

    ``results`` is the number of results so far, and ``hypervolume`` their hypervolume, in the product of all
    objectives' units; None before the first result. ``history`` has an entry for each result that increased it.
    """

    objectives: tuple[FrontObjective, ...]
    results: int
    hypervolume: float | None
    history: tuple[Growth, ...]
    observed: tuple[FrontPoint, ...]
    model: tuple[FrontEstimate, ...]

    @property
    def reference(self) -> Mapping[str, float]:
        """The reference point: objective -> value."""
        return {each.metric: each.reference for each in self.objectives}


@dataclass(frozen=True)
class Progress(Record):
    """The best result, and the model's prediction of the objective at its point. ``repeat_std`` is the standard
    deviation of a repeated result there, which includes the noise; None if it is not known."""

    text: str
    best: Best | None
    expected: Prediction | None
    repeat_std: float | None = None


@dataclass(frozen=True)
class LatestTrial(Record):
    """The latest trial: why its point was chosen, and its outcome."""

    text: str
    trial: int
    state: str
    origin: str
    phase: str | None
    expected: Prediction | None


@dataclass(frozen=True)
class Findings(Record):
    """What the results show. ``importances``: objective ("" if there is only one) -> importance of each parameter,
    without unreliable ones. ``untried``: parameter -> choices that occur in no trial and no result."""

    text: str
    importances: Mapping[str, tuple[ParameterImportance, ...]]
    untried: Parameters


@dataclass(frozen=True)
class Outlook(Record):
    """What further trials may gain: at most ``gap``, with the probability ``probability``. If the gap is unknown,
    ``reason`` says why, and ``fewest`` is the number of results needed. ``noise`` is the standard deviation between
    repeated results, if they are known to be noisy."""

    text: str
    gap: float | None
    probability: float | None
    reason: str | None
    fewest: int | None
    noise: float | None
    results_since_best: int


@dataclass(frozen=True)
class Check(Record):
    """A warning about the model. docs/http.md explains the values of ``check``.

    ``observation`` is the number of an outlier, and ``trial`` its trial; None for your own point. If the best point is
    at an end of a range, ``parameter`` is the name of that parameter, and ``widened`` the parameter with a wider range,
    in wire form. ``metric`` is the objective, if there are several.
    """

    check: str
    text: str
    metric: str | None = None
    observation: int | None = None
    trial: int | None = None
    parameter: str | None = None
    widened: Parameters | None = None


@dataclass(frozen=True, repr=False)
class Assessment(Record):
    """A summary of a study in a few sentences, which ``print`` shows. ``sentences`` has them as a list, with the
    warnings last."""

    results: int
    standing: str
    progress: Progress
    latest: LatestTrial | None
    findings: Findings | None
    outlook: Outlook
    checks: tuple[Check, ...]

    @property
    def sentences(self) -> list[str]:
        """The sentences in order. Warnings begin with "! "."""
        told = (self.progress, self.latest, self.findings, self.outlook)
        sentences = [self.standing, *(each.text for each in told if each is not None)]
        return [*sentences, *(f"! {check.text}" for check in self.checks)]

    def __str__(self) -> str:
        return "\n".join(self.sentences)
