"""A study in a few sentences, with the facts that they are made from."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from adabkb_service.contract.analysis import ParameterImportance
from adabkb_service.contract.answers import Answer, Best, MetricPrediction, NoGap, Prediction
from adabkb_service.engine.moves import Phase
from adabkb_service.storage.rows import Origin, TrialState

Text = Annotated[str, Field(description="the sentence, for people")]


class Progress(Answer):
    """Is it going well?"""

    text: Text
    best: Annotated[Best | None, Field(description="null before the first result, and with several objectives")]
    expected: Annotated[
        MetricPrediction | None, Field(description="of the objective where the best result is, by the model")
    ]


class LatestTrial(Answer):
    """Why this point?"""

    text: Text
    trial: int
    state: TrialState
    origin: Origin
    phase: Phase | None
    expected: Annotated[Prediction | None, Field(description="what the model predicted when it chose the point")]


class Findings(Answer):
    """The findings so far: what was learned?"""

    text: Text
    importances: Annotated[
        dict[str, list[ParameterImportance]],
        Field(description='by objective ("" where there is one); without those that cannot be believed yet'),
    ]
    untried: Annotated[dict[str, list[Any]], Field(description="by parameter, choices that no trial and no result has")]


class Outlook(Answer):
    """Can one stop?"""

    text: Text
    gap: Annotated[float | None, Field(description="as in the study")]
    probability: Annotated[float | None, Field(description="with which the gap holds; null where it is not known")]
    reason: Annotated[NoGap | None, Field(description="why there is no gap, as in model.reason of the study")]
    fewest: Annotated[int | None, Field(description="results before which the gap is not known")]
    noise: Annotated[
        float | None,
        Field(description="standard deviation between repeated results; null where results are not known to be noisy"),
    ]
    results_since_best: Annotated[int, Field(description="results since the best one; 0 with several objectives")]


class Check(Answer):
    """Something that a person should know before believing the model."""

    check: Annotated[
        Literal["model_failed", "model_busy", "few_results", "outlier", "poor_predictions", "too_sure", "edge"],
        Field(
            description="model_failed: it cannot follow the results; model_busy: it did not answer, and what rests on "
            "it is missing here; few_results: too few for the number of parameters; outlier: a result that the others "
            "make improbable; poor_predictions: of results left out, hardly better than the median; "
            "too_sure: too few results lie inside their 90% intervals; edge: the best point is at an end of a range"
        ),
    ]
    text: Text
    metric: Annotated[str | None, Field(description="of which of several objectives")] = None
    observation: Annotated[int | None, Field(description="the outlier")] = None
    parameter: Annotated[str | None, Field(description="at whose end the best point is")] = None
    widened: Annotated[
        dict[str, Any] | None,
        Field(description="the parameter with a wider range, as PATCH takes it in parameters; null where none can be"),
    ] = None


class Assessment(Answer):
    """A study in a few sentences, with the facts that they are made from."""

    results: Annotated[int, Field(description="that count")]
    standing: Annotated[str, Field(description="what the study is doing, in a sentence")]
    progress: Progress
    latest: Annotated[LatestTrial | None, Field(description="of the latest trial; null before the first one")]
    findings: Annotated[Findings | None, Field(description="null where there is nothing to say yet")]
    outlook: Outlook
    checks: Annotated[list[Check], Field(description="warnings; empty if there are none")]
