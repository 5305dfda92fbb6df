"""Responses about a study's model and its progress, as frozen records."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adabkb_client._records import Best, FrontEstimate, Metrics, Parameters, Prediction, Record
from adabkb_client._settings import Direction


@dataclass(frozen=True)
class ParameterImportance(Record):
    """Sobol' indices of a parameter, between 0 and 1. Both are 0 for a fixed parameter."""

    name: str
    """The name of the parameter."""
    first_order: float
    """The share of the variance of the posterior mean over the space that the parameter explains by itself."""
    first_order_error: float
    """The standard error of ``first_order``."""
    total: float
    """The share including interactions with other parameters."""
    total_error: float
    """The standard error of ``total``."""


@dataclass(frozen=True, repr=False)
class Importance(Record):
    """Which parameters the objective depends on, according to the model."""

    results: int
    """The number of results in the model."""
    std: float | None
    """The standard deviation of the posterior mean over the space, in the objective's units."""
    parameters: tuple[ParameterImportance, ...]
    """The importance of each parameter; empty if it is unknown."""
    reason: str | None
    """Why the importance is unknown: "too_few_results" or "constant"; None if it is known."""


@dataclass(frozen=True)
class ValidationItem(Record):
    """A result, and its prediction from the other results."""

    observation: int
    """The number of the result."""
    value: float
    """The measured value."""
    mean: float
    """The predicted mean."""
    std: float
    """The standard deviation of the prediction."""
    lcb: float
    """The lower end of the 90% prediction interval."""
    ucb: float
    """The upper end of the 90% prediction interval."""
    tail: float
    """The probability of a result at least as extreme."""
    doubted: bool = False
    """Whether the result has less weight in the model, since the other results contradict it. Only studies with
    ``robust`` have such results."""
    outlier: bool = False
    """Whether the other results contradict the result: it is ``doubted``, or it has the smallest ``tail``, which is
    very small for the number of results."""
    repeated: bool = False
    """Whether another item has the same point, so that this one is easy to predict."""


@dataclass(frozen=True)
class Verdict(Record):
    """Whether the model can be trusted, judged by predictions of results that it did not know."""

    code: str
    """"too_few_results", "constant", "not_this_algorithm", "poor_predictions", "wide_intervals", "too_sure" or
    "reliable"; docs/http.md explains them."""
    level: str
    """How far the model can be trusted: "unknown", "low", "medium" or "high"."""
    text: str
    """The verdict and the numbers behind it in sentences."""
    suggested: int
    """The number of results whose points were suggested with a reliable prediction."""
    suggested_inside: int
    """The number of these results that are inside the 90% intervals predicted when their points were suggested."""


@dataclass(frozen=True, repr=False)
class Validation(Record):
    """Predictions of each result from the other results (leave-one-out). With more than 800 results, only the 400 best
    and 400 others are used."""

    results: int
    """The number of results in the model."""
    items: tuple[ValidationItem, ...]
    """The results with their predictions."""
    counted: int
    """The number of items from which ``inside``, ``error`` and ``error_of_median`` are computed: the items that are not
    ``repeated`` or, if all are, all."""
    inside: float | None
    """The share of these results inside their 90% intervals."""
    error: float | None
    """The mean absolute error of the predictions."""
    error_of_median: float | None
    """The mean absolute error if each result is predicted by the median of the other results."""
    reason: str | None
    """Why ``items`` is empty: "too_few_results", "constant" or "not_this_algorithm" (the profile is not ``auto``)."""
    verdict: Verdict
    """Whether the model can be trusted."""


@dataclass(frozen=True)
class SliceAxis(Record):
    """A parameter that varies along a slice."""

    name: str
    """The name of the parameter."""
    values: tuple[Any, ...]
    """The values of the parameter, in order."""


@dataclass(frozen=True, repr=False)
class Slice(Record):
    """The posterior along one or two parameters."""

    results: int
    """The number of results in the model."""
    axes: tuple[SliceAxis, ...]
    """The parameters that vary."""
    at: Parameters
    """The values of the other parameters."""
    predictions: tuple[Prediction, ...]
    """The predictions at all combinations of the values of ``axes``; the last parameter varies fastest."""


@dataclass(frozen=True)
class FrontObjective(Record):
    """An objective, and its reference for the hypervolume."""

    metric: str
    """The metric."""
    direction: Direction
    """"minimize" or "maximize"."""
    reference: float
    """The reference value."""
    learned: bool
    """Whether the reference is the worst result so far, because the study gives none."""


@dataclass(frozen=True)
class Growth(Record):
    """The hypervolume after a result."""

    observation: int
    """The number of the result."""
    hypervolume: float
    """The hypervolume of all results so far."""


@dataclass(frozen=True)
class FrontPoint(Record):
    """A result that no other result dominates."""

    observation: int
    """The number of the result."""
    trial: int | None
    """The number of the trial; None for a result without a trial."""
    parameters: Parameters
    """The evaluated point: parameter -> value."""
    metrics: Metrics
    """The measured metrics."""


@dataclass(frozen=True, repr=False)
class Front(Record):
    """The Pareto front of the results and of the model, and the hypervolume over time."""

    objectives: tuple[FrontObjective, ...]
    """The objectives with their references."""
    results: int
    """The number of results, without excluded ones and those outside the space."""
    hypervolume: float | None
    """The hypervolume of the results, in the product of all objectives' units; None before the first result."""
    history: tuple[Growth, ...]
    """An entry for each result that increased the hypervolume."""
    observed: tuple[FrontPoint, ...]
    """The results that no other result dominates; without those that are worse than a reference of the study, unless
    there are no others."""
    model: tuple[FrontEstimate, ...]
    """The evaluated points that no other evaluated point dominates, according to the model."""

    @property
    def reference(self) -> Mapping[str, float]:
        """The reference point: objective -> value."""
        return {each.metric: each.reference for each in self.objectives}


@dataclass(frozen=True)
class Progress(Record):
    """The best result, and the model's prediction at its point."""

    text: str
    """The sentence for display."""
    best: Best | None
    """The best result as it was measured; None before the first result, and with several objectives."""
    expected: Prediction | None
    """The model's prediction of the objective at the point of the best result; None with too few results."""
    repeat_std: float | None = None
    """The standard deviation of one more result at this point, including the noise; None with too few results, and if
    the algorithm does not learn the noise."""
    is_doubted: bool = False
    """Whether the other results contradict the best result, or it is beyond a natural bound."""


@dataclass(frozen=True)
class LatestTrial(Record):
    """The latest trial: why its point was chosen, and its outcome."""

    text: str
    """The sentence for display."""
    trial: int
    """The number of the trial."""
    state: str
    """Its state, as in ``Trial``."""
    origin: str
    """The origin of its point, as in ``Trial``."""
    phase: str | None
    """The purpose of the suggestion, as in ``Trial``."""
    expected: Prediction | None
    """The model's prediction when it chose the point."""


@dataclass(frozen=True)
class Findings(Record):
    """What the results show."""

    text: str
    """The sentence for display."""
    importances: Mapping[str, tuple[ParameterImportance, ...]]
    """Objective ("" if there is only one) -> importance of each parameter, without unreliable ones."""
    untried: Parameters
    """Parameter -> choices that occur in no trial and no result."""


@dataclass(frozen=True)
class Outlook(Record):
    """What further trials may gain."""

    text: str
    """The sentence for display."""
    gap: float | None
    """A bound on the gain, in the objective's units; None if it is unknown."""
    probability: float | None
    """The probability that the gain stays within ``gap``; None if it is unknown."""
    reason: str | None
    """Why the gap is unknown."""
    fewest: int | None
    """The number of results needed to know the gap; None if it does not depend on their number, and if the model does
    not answer."""
    noise: float | None
    """The standard deviation between repeated results, if they are known to be noisy."""
    results_since_best: int
    """The number of results since the best one; 0 with several objectives."""


@dataclass(frozen=True)
class Check(Record):
    """A warning about the model. docs/http.md explains the values of ``check``."""

    check: str
    """The kind of warning."""
    text: str
    """The warning in a sentence."""
    metric: str | None = None
    """The objective, if there are several."""
    observation: int | None = None
    """The number of an outlier."""
    trial: int | None = None
    """The trial of the outlier, or of the result beyond a natural bound; None for a result without a trial."""
    parameter: str | None = None
    """The parameter, if the best point is at an end of its range."""
    widened: Parameters | None = None
    """That parameter with a wider range, as JSON; None if it cannot be widened."""


@dataclass(frozen=True, repr=False)
class Assessment(Record):
    """A summary of a study in a few sentences, which ``print`` shows."""

    results: int
    """The number of results, without excluded ones and those outside the space."""
    standing: str
    """The state of the study in a sentence."""
    progress: Progress
    """The best result."""
    latest: LatestTrial | None
    """The latest trial; None before the first trial."""
    findings: Findings | None
    """What the results show; None while too little is known."""
    outlook: Outlook
    """What further trials may gain."""
    verdicts: Mapping[str, Verdict]
    """Objective ("" if there is only one) -> whether the model can be trusted; empty before the first result, and if
    the model does not answer."""
    checks: tuple[Check, ...]
    """Warnings about the model."""

    @property
    def sentences(self) -> list[str]:
        """The sentences in order. Warnings begin with "! "."""
        parts = (self.progress, self.latest, self.findings, self.outlook)
        sentences = [self.standing, *(each.text for each in parts if each is not None)]
        sentences += [each.text for each in self.verdicts.values()]
        return [*sentences, *(f"! {check.text}" for check in self.checks)]

    def __str__(self) -> str:
        return "\n".join(self.sentences)
