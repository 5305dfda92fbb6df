"""A summary of a study in a few sentences, with the facts behind them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from adabkb_service.contract.analysis import ParameterImportance, Verdict
from adabkb_service.contract.answers import Answer, Best, MetricPrediction, NoGap, Prediction
from adabkb_service.engine.moves import Phase
from adabkb_service.storage.rows import Origin, TrialState

Text = Annotated[str, Field(description="the sentence, for display")]


class Range(Answer):
    """An interval of values."""

    low: float
    high: float


class Repetitions(Answer):
    """Results at the same point."""

    count: int
    mean: float


class Progress(Answer):
    """The best result so far, and the model's prediction at its point."""

    text: Text
    best: Annotated[Best | None, Field(description="null before the first result, and with several objectives")]
    expected: Annotated[
        MetricPrediction | None,
        Field(
            description="the model's prediction of the objective at the point of the best result; null with too few "
            "results to rely on it"
        ),
    ]
    repeat_std: Annotated[
        float | None,
        Field(
            description="standard deviation of one more result at the point of the best result: the uncertainty of the "
            "prediction and the noise of a result. The noise is `noise_std` or, without it, that of a result that is "
            "not doubted, which is uncertain until points are repeated; null if the algorithm does not learn the "
            "noise, and with too few results"
        ),
    ]
    repetition: Annotated[
        Range | None,
        Field(
            description="one more result at this point lies in this range with 90% probability; null in the same cases"
        ),
    ]
    measured: Annotated[
        Repetitions | None, Field(description="the results at that point; null if there are no repetitions")
    ]
    is_doubted: Annotated[
        bool,
        Field(description="whether the other results contradict the best result, or it is beyond a natural bound"),
    ]


class LatestTrial(Answer):
    """The latest trial, and why its point was suggested."""

    text: Text
    trial: int
    state: TrialState
    origin: Origin
    phase: Phase | None
    expected: Annotated[Prediction | None, Field(description="the model's prediction when it chose the point")]


class Findings(Answer):
    """What the study has shown so far."""

    text: Text
    importances: Annotated[
        dict[str, list[ParameterImportance]],
        Field(
            description='importances by objective ("" if there is only one), without those that are not reliable yet'
        ),
    ]
    untried: Annotated[
        dict[str, list[Any]], Field(description="by parameter: choices that occur in no trial and no result")
    ]


class Outlook(Answer):
    """Whether the study can be stopped: what further trials could gain."""

    text: Text
    gap: Annotated[float | None, Field(description="the study's gap")]
    probability: Annotated[float | None, Field(description="probability with which the gap holds; null if unknown")]
    reason: Annotated[NoGap | None, Field(description="why there is no gap, as in model.reason of the study")]
    fewest: Annotated[
        int | None,
        Field(
            description="number of results that the model needs: with fewer, there is no gap and no importance, and "
            "the recommended point is not reliable; null if this does not depend on their number, or if the model does "
            "not answer"
        ),
    ]
    noise: Annotated[
        float | None,
        Field(
            description="standard deviation of repeated results: `noise_std` or, without it, that of a result that is "
            "not doubted; null if no noise is known"
        ),
    ]
    results_since_best: Annotated[
        int, Field(description="number of results since the best one; 0 with several objectives")
    ]


class Check(Answer):
    """A reason not to rely on the model."""

    check: Annotated[
        Literal[
            "model_failed",
            "model_busy",
            "beyond_bounds",
            "few_results",
            "outlier",
            "poor_predictions",
            "too_sure",
            "edge",
        ],
        Field(
            description="model_failed: the model could not be updated; model_busy: the model did not answer, so the "
            "parts that need it are missing; beyond_bounds: the best result is better than the natural bound of the "
            "objective allows; few_results: too few results to rely on the model; outlier: a "
            "result is improbable given the others; poor_predictions and too_sure: the code of the verdict; edge: the "
            "best point is at an end of a range"
        ),
    ]
    text: Text
    metric: Annotated[str | None, Field(description="the objective concerned, if there are several")] = None
    observation: Annotated[int | None, Field(description="seq of the outlier")] = None
    trial: Annotated[
        int | None,
        Field(
            description="the trial of the outlier, or of the result beyond its natural bound; null for a user-supplied "
            "point"
        ),
    ] = None
    parameter: Annotated[str | None, Field(description="the parameter whose range ends at the best point")] = None
    widened: Annotated[
        dict[str, Any] | None,
        Field(
            description="the parameter with a wider range, for PATCH in the field parameters; null if it cannot be "
            "widened"
        ),
    ] = None


class Assessment(Answer):
    """A summary of a study in a few sentences, with the facts behind them."""

    results: Annotated[int, Field(description="number of results, without excluded ones and those outside the space")]
    standing: Annotated[str, Field(description="the study's state, in a sentence")]
    progress: Progress
    latest: Annotated[LatestTrial | None, Field(description="about the latest trial; null before the first one")]
    findings: Annotated[Findings | None, Field(description="null if nothing is known yet")]
    outlook: Outlook
    verdicts: Annotated[
        dict[str, Verdict],
        Field(
            description='whether the model can be trusted, by objective ("" if there is only one); empty before the '
            "first result, and if the model does not answer"
        ),
    ]
    checks: Annotated[list[Check], Field(description="warnings; empty if there are none")]
