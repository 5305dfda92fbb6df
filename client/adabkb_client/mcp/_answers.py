"""The answers of tools: short documents with the fields that an agent needs, without empty fields."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NotRequired, TypeVar

from typing_extensions import TypedDict  # up to Python 3.11, pydantic does not support the class in typing

from adabkb_client._analysis import Assessment, FrontPoint, Importance
from adabkb_client._records import (
    Answer,
    Best,
    CatalogueRow,
    MetricPrediction,
    Observation,
    Prediction,
    Recommendation,
    StudyInfo,
    StudySummary,
    Suggestions,
    Trial,
)
from adabkb_client.mcp._definition import as_arguments
from adabkb_client.mcp._sessions import Session
from adabkb_client.mcp._study_settings import DefinitionAnswer


class BestAnswer(TypedDict):
    """The best result, or the result nearest to satisfying the outcome constraints."""

    value: float
    parameters: NotRequired[dict[str, Any]]
    trial: NotRequired[int]
    metrics: NotRequired[dict[str, float]]
    feasible: NotRequired[bool]


class StatusAnswer(TypedDict):
    """The progress of a study."""

    study: str
    title: NotRequired[str]
    state: str
    reason: NotRequired[str]
    completed: int
    active: int
    failed: int
    best: NotRequired[BestAnswer]
    gap: NotRequired[float]
    waiting_for: str
    owner: NotRequired[str]


class InfoAnswer(DefinitionAnswer, StatusAnswer):
    """A study with its definition."""

    owner: NotRequired[str]
    page: NotRequired[str]
    pause: NotRequired[str]
    queued: int
    released: int
    expired: int
    stopped: int
    withdrawn: int
    direction: NotRequired[str]
    parameters: dict[str, dict[str, Any]]
    trials_left: NotRequired[int]
    begun_plates: NotRequired[int]
    cost_spent: NotRequired[float]
    no_gap_because: NotRequired[str]
    model_error: NotRequired[str]


class StudiesAnswer(TypedDict):
    """A page of studies."""

    studies: list[StatusAnswer]
    next_cursor: NotRequired[str]


class TrialAnswer(TypedDict):
    """A trial."""

    trial: int
    state: str
    parameters: dict[str, Any]
    evaluated: NotRequired[dict[str, Any]]
    to_measure: NotRequired[dict[str, Any]]
    excluded: NotRequired[bool]
    missing: NotRequired[list[str]]
    plate: NotRequired[int]
    value: NotRequired[float]
    metrics: NotRequired[dict[str, float]]
    reason: NotRequired[str]
    released_because: NotRequired[str]
    worker: NotRequired[str]
    yours: NotRequired[bool]
    attempt: NotRequired[int]
    leased_until: NotRequired[str]
    lease_seconds_left: NotRequired[int]
    last_reported_step: NotRequired[int]
    last_reported_value: NotRequired[float]


class ResultAnswer(TypedDict):
    """A stored result."""

    observation: int
    trial: NotRequired[int]
    attempt: NotRequired[int]
    parameters: dict[str, Any]
    value: NotRequired[float]
    std_error: NotRequired[float]
    metrics: NotRequired[dict[str, float]]
    excluded: NotRequired[bool]
    outside_of_space: NotRequired[bool]
    missing: NotRequired[list[str]]
    beyond_natural_bounds: NotRequired[list[str]]
    plate: NotRequired[int]
    reported_by: NotRequired[str]


class ResultsAnswer(TypedDict):
    """A page of results."""

    results: list[ResultAnswer]
    next_cursor: NotRequired[str]


class RowAnswer(TypedDict):
    """A row of a catalogue."""

    name: str
    numbers: NotRequired[dict[str, float]]
    withdrawn: NotRequired[bool]


class RowsAnswer(TypedDict):
    """A page of rows."""

    rows: list[RowAnswer]
    next_cursor: NotRequired[str]


class TrialsAnswer(TypedDict):
    """A page of trials."""

    trials: list[TrialAnswer]
    next_cursor: NotRequired[str]


class SuggestAnswer(TypedDict):
    """Trials to evaluate, or why there are none."""

    trials: list[TrialAnswer]
    reason: NotRequired[str]
    what_to_do: NotRequired[str]
    replayed: NotRequired[bool]


class ChangeAnswer(TypedDict):
    """The outcome of a change of a trial, and the study's progress."""

    trial: NotRequired[TrialAnswer]
    observation: NotRequired[int]
    missing: NotRequired[list[str]]
    beyond_natural_bounds: NotRequired[list[str]]
    replayed: NotRequired[bool]
    study: StatusAnswer


class ReportAnswer(TypedDict):
    """Whether to end the trial now."""

    stop: bool
    reason: NotRequired[str]
    trial: TrialAnswer


class PredictionAnswer(TypedDict):
    """The model's prediction at a point: mean, standard deviation and confidence bounds."""

    mean: NotRequired[float]
    std: NotRequired[float]
    lcb: NotRequired[float]
    ucb: NotRequired[float]
    metrics: NotRequired[dict[str, Any]]
    feasible_probability: NotRequired[float]
    finish_probability: NotRequired[float]


class EstimateAnswer(PredictionAnswer):
    """A point with the model's prediction there."""

    parameters: dict[str, Any]
    probability: NotRequired[float]
    changes: NotRequired[list[dict[str, Any]]]


class PredictionsAnswer(TypedDict):
    """Predictions in the order of the points, and why one should not rely on them."""

    reason: NotRequired[str]
    reason_in_words: NotRequired[str]
    predictions: list[PredictionAnswer]


class CompromiseAnswer(TypedDict):
    """A result that no other result dominates."""

    trial: NotRequired[int]
    parameters: dict[str, Any]
    metrics: dict[str, float]


class RecommendationAnswer(TypedDict):
    """The best point according to the model and the best observation, or the front of several objectives."""

    model: NotRequired[EstimateAnswer]
    observed: NotRequired[BestAnswer]
    front: NotRequired[list[EstimateAnswer]]
    compromises: NotRequired[list[CompromiseAnswer]]
    gap: NotRequired[float]
    reason: NotRequired[str]
    reason_in_words: NotRequired[str]
    warnings: NotRequired[list[str]]


class AssessmentAnswer(TypedDict):
    """A study in a few sentences."""

    results: int
    state: str
    progress: str
    latest_trial: NotRequired[str]
    findings: NotRequired[list[str]]
    outlook: str
    verdicts: NotRequired[list[str]]
    warnings: NotRequired[list[str]]


class ExportAnswer(TypedDict):
    """A report as Markdown."""

    report: str


class WhyAnswer(TypedDict):
    """Why a trial was suggested."""

    trial: TrialAnswer
    why: str
    results_used: NotRequired[int]
    expected_improvement: NotRequired[float]


class ParameterImportanceAnswer(TypedDict):
    """Shares of the variance that one parameter explains, between 0 and 1, with standard errors."""

    name: str
    alone: float
    alone_error: float
    total: float
    total_error: float


class ImportanceAnswer(TypedDict):
    """The parameters, the most important first."""

    results: int
    parameters: list[ParameterImportanceAnswer]
    reason: NotRequired[str]


REASONS = {
    "no_results": "There are no results yet.",
    "too_few_results": "There are too few results to rely on the model.",
    "several_objectives": "There are several objectives, so no point is best: choose from the front.",
    "context_needed": "The best points depend on the context. Call recommendation with context, or with "
    "context='latest'.",
    "nothing_feasible": "No result satisfies all outcome constraints; this point comes closest.",
    "nothing_certain": "No evaluated point satisfies all outcome constraints with the required probability.",
    "model_loading": "The server has just started and is loading the model. Ask again later.",
    "model_busy": "The model did not answer in time. Ask again later.",
    "model_failed": "The model has failed. info() gives the reason.",
}
"""Why there is no recommendation by the model, or why one should not rely on its points."""
LONGEST = 200
"""The maximum length of a reason, in characters."""


def some(**fields: Any) -> Any:
    """Return the fields that are neither null nor empty."""
    return {name: value for name, value in fields.items() if not _is_nothing(value)}


def best(found: Best | None) -> BestAnswer | None:
    """Return the best result."""
    if found is None:
        return None
    answer: BestAnswer = some(
        value=found.value,
        parameters=dict(found.parameters),
        trial=found.trial,
        metrics=found.metrics,
        feasible=found.feasible,
    )
    return answer


def status(study: StudySummary) -> StatusAnswer:
    """Return the progress of a study."""
    counts = study.counts
    answer: StatusAnswer = some(
        study=study.id,
        title=getattr(study, "title", None),
        state=study.state,
        reason=study.reason,
        completed=counts.completed,
        active=counts.active,
        failed=counts.failed,
        best=best(study.best),
        gap=study.gap,
        waiting_for=_waiting_for(study),
        owner=getattr(study, "owner", None),
    )
    return answer


def status_in_list(study: StudySummary) -> StatusAnswer:
    """Return the progress of a study in a list, without the point of its best result."""
    answer = status(study)
    if "best" in answer:
        answer["best"].pop("parameters", None)
    return answer


def info(study: StudyInfo) -> InfoAnswer:
    """Return a study with its definition."""
    counts = study.counts
    settings = {name: getattr(study, name) for name in DefinitionAnswer.__annotations__}
    if study.algorithm.get("profile") == "auto":
        del settings["algorithm"]
    definition = some(
        queued=counts.queued,
        released=counts.released,
        expired=counts.expired,
        stopped=counts.stopped,
        withdrawn=counts.withdrawn,
        direction=study.direction,
        **{
            name: list(value) if isinstance(value, tuple) else value
            for name, value in settings.items()
            if value is not False
        },
        trials_left=_trials_left(study),
        begun_plates=counts.plates,
        cost_spent=study.cost_spent,
        no_gap_because=study.model.get("reason") if study.gap is None else None,
        model_error=study.model.get("error"),
    )
    answer: Any = {**status(study), **definition, "parameters": as_arguments(study.parameters)}
    found: InfoAnswer = answer
    return found


def result(found: Observation) -> ResultAnswer:
    """Return a result."""
    answer: ResultAnswer = some(
        observation=found.seq,
        trial=found.trial,
        attempt=found.attempt,
        parameters=dict(found.parameters),
        value=found.value,
        std_error=found.std_error,
        metrics=found.metrics,
        excluded=found.excluded or None,
        outside_of_space=found.outside or None,
        missing=list(found.missing),
        beyond_natural_bounds=list(found.beyond_natural_bounds),
        plate=found.plate,
        reported_by=found.reported_by,
    )
    return answer


def row(found: CatalogueRow) -> RowAnswer:
    """Return a row of a catalogue."""
    answer: RowAnswer = some(name=found.name, numbers=found.numbers, withdrawn=found.withdrawn or None)
    return answer


def trial(found: Trial, me: Session, measured: Observation | None = None) -> TrialAnswer:
    """Return a trial, and whether it is or was the session's. ``measured`` is its first result, if it is known: the
    answer then says at which other point it was evaluated, whether it is excluded, and what is missing."""
    is_leased, is_unfinished = found.state == "active", found.state in ("active", "expired", "released")
    answer: TrialAnswer = some(
        trial=found.number,
        state=found.state,
        parameters=dict(found.parameters),
        evaluated=None if measured is None or measured.parameters == found.parameters else dict(measured.parameters),
        to_measure={name: {"assumed": value} for name, value in found.to_measure.items()},
        excluded=None if measured is None else measured.excluded or None,
        missing=None if measured is None else list(measured.missing),
        plate=found.plate,
        value=found.value,
        metrics=found.metrics,
        reason=None if is_unfinished else _cut(found.reason),
        released_because=_cut(found.reason) if is_unfinished else None,
        worker=found.worker if is_leased else None,
        yours=me.is_mine(found) if found.attempt else None,
        attempt=found.attempt or None,
        leased_until=found.leased_until.isoformat() if is_leased and found.leased_until else None,
        lease_seconds_left=_seconds_until(found.leased_until) if is_leased and found.leased_until else None,
        last_reported_step=None if found.curve is None else found.curve.step,
        last_reported_value=None if found.curve is None else found.curve.value,
    )
    return answer


def no_trial(answer: Suggestions, what_to_do: str) -> SuggestAnswer:
    """Return why there is no trial."""
    found: SuggestAnswer = {"trials": [], "what_to_do": what_to_do}
    return {**found, **some(reason=answer.reason)}


def change(answer: Answer, me: Session) -> ChangeAnswer:
    """Return the outcome of a change of a trial or a result, and the study's progress."""
    found: ChangeAnswer = some(
        trial=None if answer.trial is None else trial(answer.trial, me, answer.observation),
        observation=None if answer.observation is None else answer.observation.seq,
        missing=list(answer.observation.missing) or None if answer.observation is not None else None,
        beyond_natural_bounds=list(answer.observation.beyond_natural_bounds) or None if answer.observation else None,
        study=status(answer.study),
    )
    return found


def prediction(found: Prediction) -> PredictionAnswer:
    """Return the model's prediction."""
    answer: PredictionAnswer = some(
        mean=_rounded(found.mean),
        std=_rounded(found.std),
        lcb=_rounded(found.lcb),
        ucb=_rounded(found.ucb),
        metrics=_metrics(found.metrics),
        feasible_probability=found.feasible_probability,
        finish_probability=found.finish_probability,
    )
    return answer


def recommendation(found: Recommendation, assessed: Assessment | None) -> RecommendationAnswer:
    """Return the best points, with the warnings of the assessment if there is one."""
    model = found.model
    answer: RecommendationAnswer = some(
        model=None
        if model is None
        else some(
            parameters=dict(model.parameters),
            mean=_rounded(model.mean),
            std=_rounded(model.std),
            metrics=_metrics(model.metrics),
            feasible_probability=model.feasible_probability,
            changes=None if model.changes is None else [dict(vars(each)) for each in model.changes],
        ),
        observed=best(found.observed),
        front=[
            some(
                parameters=dict(each.parameters),
                metrics=_metrics(each.metrics),
                probability=each.probability,
                feasible_probability=each.feasible_probability,
            )
            for each in found.front
        ],
        gap=found.gap,
        reason=found.reason,
        reason_in_words=REASONS.get(found.reason or ""),
        warnings=None if assessed is None else [each.text for each in assessed.checks],
    )
    return answer


def compromise(found: FrontPoint) -> CompromiseAnswer:
    """Return a result that no other result dominates."""
    answer: CompromiseAnswer = some(trial=found.trial, parameters=dict(found.parameters), metrics=dict(found.metrics))
    return answer


def assessment(found: Assessment) -> AssessmentAnswer:
    """Return the sentences of an assessment."""
    answer: AssessmentAnswer = some(
        results=found.results,
        state=found.standing,
        progress=found.progress.text,
        latest_trial=None if found.latest is None else found.latest.text,
        findings=None if found.findings is None else found.findings.text.splitlines(),
        outlook=found.outlook.text,
        verdicts=[each.text for each in found.verdicts.values()],
        warnings=[each.text for each in found.checks],
    )
    return answer


def why(found: Trial, decision: Mapping[str, Any] | None, me: Session) -> WhyAnswer:
    """Return why a trial was suggested."""
    by_user = "A user reported that this point failed." if found.origin == "own" else "A user queued this point."
    facts = decision or {"in_words": by_user}
    answer: WhyAnswer = some(
        trial=trial(found, me),
        why=facts["in_words"],
        results_used=facts.get("results"),
        expected_improvement=facts.get("gain"),
    )
    return answer


def importance(found: Importance) -> ImportanceAnswer:
    """Return the importances, the largest first."""
    parameters: list[ParameterImportanceAnswer] = [
        {
            "name": each.name,
            "alone": _rounded(each.first_order),
            "alone_error": _rounded(each.first_order_error),
            "total": _rounded(each.total),
            "total_error": _rounded(each.total_error),
        }
        for each in sorted(found.parameters, key=lambda each: -each.total)
    ]
    answer: ImportanceAnswer = {"results": found.results, "parameters": parameters}
    if found.reason is not None:
        answer["reason"] = found.reason
    return answer


def _trials_left(study: StudyInfo) -> int | None:
    """Return how many trials of the budget are neither issued nor queued; None without a budget in trials."""
    counts = study.counts
    counted = counts.trials - counts.withdrawn - counts.own_failures
    return None if study.trial_budget is None else max(study.trial_budget - counted, 0)


def _waiting_for(study: StudySummary) -> str:
    active = study.counts.active
    trials = f"{active} active trial{'s' if active != 1 else ''}"
    if study.state == "complete":
        return "nothing: the study is complete"
    if study.state == "paused":
        remedy = ", once the cause of the failures is removed: trials(state='failed') has the reasons"
        return f"a call of resume{remedy if study.reason == 'failures' else '; info says who paused it'}"
    if study.reason is not None and active:
        return f"the results of {trials}; the study issues no other trial ({study.reason})"
    return f"a call of suggest, or the results of {trials}" if active else "a call of suggest"


def _metrics(found: Mapping[str, MetricPrediction] | None) -> dict[str, PredictionAnswer] | None:
    return (
        None
        if found is None
        else {
            name: some(**{field: _rounded(number) for field, number in vars(each).items()})
            for name, each in found.items()
        }
    )


Known = TypeVar("Known", float, float | None)


def _rounded(number: Known) -> Known:
    """Return a number of the model with six significant digits."""
    return number if number is None else float(f"{number:.6g}")


def _seconds_until(end: datetime) -> int:
    """Return the whole seconds until a time, by the clock of this machine; 0 for one in the past."""
    return max(int((end - datetime.now(UTC)).total_seconds()), 0)


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, list | dict | tuple | str) and not value)
