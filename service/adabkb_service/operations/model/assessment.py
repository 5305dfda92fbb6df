"""GET /v1/studies/{id}/assessment: progress, latest trial, findings, outlook and checks.

The facts come from the study's row, its latest trial and its model. If the model does not answer, the facts that
depend on it are missing, and a check says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from adabkb_service.contract import assessment as answers
from adabkb_service.contract.algorithms import AutoProfile
from adabkb_service.contract.analysis import ParameterImportance, Slice, Validation, ValidationItem
from adabkb_service.contract.answers import MetricPrediction, NoGap, Prediction, Study, Trial
from adabkb_service.contract.context import context_of
from adabkb_service.contract.front import Front
from adabkb_service.contract.parameters import (
    CategoricalParameter,
    FloatParameter,
    IntParameter,
    OrdinalParameter,
    Parameter,
)
from adabkb_service.contract.quantities import Quantity, room
from adabkb_service.contract.stored import StoredDefinition, definition_of
from adabkb_service.engine.answers import INTERVAL
from adabkb_service.engine.auto.config import CONFIDENCE
from adabkb_service.errors import Invalid, Unavailable
from adabkb_service.operations.model import analysis
from adabkb_service.operations.model import assessment_in_words as words
from adabkb_service.operations.model.choices import RatedChoices, largest_change, rate_choices, with_comparable_results
from adabkb_service.operations.model.failures import where_failed
from adabkb_service.operations.model.front import front
from adabkb_service.operations.model.good_ranges import GoodRange, good_range
from adabkb_service.operations.model.newly_allowed import untried_additions
from adabkb_service.operations.model.predict import model_reason, row
from adabkb_service.operations.model.range_ends import range_ends
from adabkb_service.operations.model.unusual import APART
from adabkb_service.operations.model.verdict import MIN_RESULTS, Errors
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.edit import check_editable
from adabkb_service.operations.words import wording
from adabkb_service.operations.words.digits import Digits
from adabkb_service.operations.words.ending import ended_early
from adabkb_service.operations.words.labels import Labels
from adabkb_service.operations.words.state_in_words import state_in_words
from adabkb_service.operations.words.wording import FINAL
from adabkb_service.storage import events, observations, result_table, trials
from adabkb_service.storage.rows import StudyRow
from adabkb_service.study import lifecycle, render

if TYPE_CHECKING:
    from adabkb_service.inference.questions import Assessed

FEW_CHOICES = 3
"""A parameter that is not known to matter has no sentence if it has at most this many choices: a chart shows them."""
IDLE = 0.2
"""A parameter hardly matters only if the 90% intervals along it, at the recommended point, exclude a change of this
share of the range of all results."""
MAX_COUNTED = 2000
"""The maximum number of failures and results in which a pattern is sought."""
BUSY = "The model did not answer in time, so the parts that need it are missing."


@dataclass
class _Facts:
    """The facts on which an assessment is based."""

    study: Study
    row: StudyRow
    definition: StoredDefinition
    trial: Trial | None
    model: Assessed | None = None
    """None if the model does not answer."""
    trouble: answers.Check | None = None
    """The check that says why the model does not answer; None if it does."""
    measured: answers.Repetitions | None = None
    """The results at the point of the best one; None without repetitions."""
    front: Front | None = None
    validations: dict[str, Validation] = field(default_factory=dict)
    """Leave-one-out predictions by objective; the key is "" in a study with a single objective."""
    trials: dict[int, int | None] = field(default_factory=dict)
    """Number of a result that may be an outlier -> its trial; None without a trial."""
    others: dict[int, result_table.Others] = field(default_factory=dict)
    """Number of a result that may be an outlier -> what it is compared with. Empty with several objectives."""
    importances: dict[str, list[ParameterImportance]] = field(default_factory=dict)
    idle: set[str] = field(default_factory=set)
    """Parameters that are known to hardly matter, also at the recommended point."""
    choices: dict[str, RatedChoices] = field(default_factory=dict)
    """By parameter that matters, or with more than ``FEW_CHOICES`` choices: which choices are good and which are
    worse."""
    ranges: dict[str, GoodRange] = field(default_factory=dict)
    """By numerical parameter that matters: where it is good."""
    failures: str = ""
    """Where all failures lie, in words."""
    additions: list[str] = field(default_factory=list)
    """What an edit added to the space and has no result, in words."""
    violating: dict[str, int] = field(default_factory=dict)
    """Bounded metric -> the number of results that count and violate its bounds, with several objectives."""
    unseen: int = 0
    """The number of results that were stored after those in the model's answer."""

    @property
    def is_failed(self) -> bool:
        """Whether the model has failed."""
        return self.trouble is not None and self.trouble.check == "model_failed"

    @property
    def results(self) -> int:
        """The number of results that the model has processed or, if it does not answer, of all stored results."""
        return self.row.observations if self.model is None else self.model.results

    @property
    def has_few_results(self) -> bool:
        """Whether the model has processed fewer results than it needs to compare parameters and to bound the gain."""
        return self.model is not None and self.model.fewest is not None and self.results < self.model.fewest

    @property
    def gap(self) -> float | None:
        """The gap after all results, limited by the natural bounds. If the model does not answer, the last gap that it
        reported; None if it has failed."""
        if self.model is not None:
            return render.gap(self.row, self.model.gap)
        return None if self.is_failed else self.study.gap

    @property
    def no_gap(self) -> NoGap | None:
        """The reason why the gap is null; None if the gap is known."""
        if self.gap is not None:
            return None
        reason = "model_failed" if self.is_failed else self.study.model.reason
        return "not_known_yet" if self.model is not None and reason in (None, "model_pending") else reason

    @property
    def objectives(self) -> list[str]:
        """The names of the objectives; [""] in a study with a single objective."""
        return [each.metric for each in self.definition.objectives] or [""]

    @property
    def digits(self) -> dict[str, Digits]:
        """The number format of each objective that has results."""
        spreads = {} if self.model is None else self.model.spreads
        return {
            name: Digits(**vars(each), quantity=self.names.quantity(name))
            for name, each in spreads.items()
            if name in self.objectives
        }

    @property
    def names(self) -> Labels:
        """The labels and units of the study."""
        return Labels.of(self.definition)


def assessment(service: Service, study_id: str) -> answers.Assessment:
    """Return a summary of a study in a few sentences, with the facts behind them.

    Raises:
        StudyNotFound: the study does not exist.
        Busy: too many requests wait for the model.
    """
    facts = _facts_of(service, row(service, study_id))
    try:
        _ask(service, facts)
    except Unavailable as error:
        is_failed = model_reason(service, facts.row, error) == "model_failed"
        text = f"The model failed to process the results: {facts.row.model_error or error}" if is_failed else BUSY
        facts.trouble = answers.Check(check="model_failed" if is_failed else "model_busy", text=text)
    model = facts.model
    expected = None
    has_model = facts.definition.algorithm.has_model and not facts.has_few_results
    if model is not None and model.at_best is not None and has_model:
        expected = render.prediction(model.at_best)
    ended = None
    if facts.study.reason == "budget":
        with service.database.reading() as connection:
            ended = ended_early(connection, facts.row)
    return answers.Assessment(
        results=facts.results,
        standing=state_in_words(facts.study, ended),
        progress=_progress(facts, expected, is_doubted=_is_best_doubted(facts)),
        latest=None if facts.trial is None else _latest(facts, facts.trial),
        findings=_findings(facts),
        outlook=_outlook(facts),
        verdicts={name: each.verdict for name, each in facts.validations.items()},
        checks=list(_checks(facts)),
    )


def _facts_of(service: Service, study: StudyRow) -> _Facts:
    definition = definition_of(study.definition)
    full, latest, measured, failures = lifecycle.full_view(study, definition), None, None, ""
    with service.database.reading() as connection:
        if study.trials:
            latest = render.trial(trials.get(connection, study.id, study.trials), definition)
        if full.best is not None:
            measured = result_table.at_best(connection, study.id, full.best.trial, full.best.value)
        if study.failed and study.failed + study.observations <= MAX_COUNTED:
            failed = trials.page(connection, study.id, state="failed", after=0, limit=MAX_COUNTED)
            results = observations.page(connection, study.id, 0, MAX_COUNTED)
            failures = where_failed(
                definition.parameters, [each.parameters for each in failed], [each.parameters for each in results]
            )
    repetitions = None
    if measured is not None and measured.mean is not None:
        repetitions = answers.Repetitions(count=measured.count, mean=measured.mean)
    found = _Facts(full, study, definition, latest, measured=repetitions, failures=failures)
    _compare_with_results(service, found)
    return found


def _compare_with_results(service: Service, facts: _Facts) -> None:
    """Add what an edit added to the space and nobody has tried, and how many results violate the bounds."""
    study, definition = facts.row, facts.definition
    is_bounded = bool(definition.objectives and definition.outcome_constraints)
    if study.observations > MAX_COUNTED or not (definition.space_version > 1 or is_bounded):
        return
    with service.database.reading() as connection:
        results = [each for each in observations.page(connection, study.id, 0, MAX_COUNTED) if not each.excluded]
        changes = events.of_kinds(connection, study.id, ("created", "edited"), MAX_COUNTED)
    if is_bounded:
        for bound in definition.outcome_constraints:
            measured = [each.metrics or {} for each in results]
            values = [metrics[bound.metric] for metrics in measured if bound.metric in metrics]
            facts.violating[bound.metric] = sum(not bound.allows(value) for value in values)
    if definition.space_version > 1:
        spaces = []
        for each in changes:
            if each.kind == "created":
                spaces.append(each.payload["definition"]["parameters"])
            elif each.kind == "edited":
                spaces.append(each.payload["parameters"])
        left_out = {*context_of(definition.parameters), *(e.name for e in definition.parameters if e.kind == "fixed")}
        chosen = [each for each in definition.parameters if each.name not in left_out]
        facts.additions = untried_additions(chosen, spaces, [each.parameters for each in results], facts.names)


def _ask(service: Service, facts: _Facts) -> None:
    """Add the facts that only the model knows.

    Raises:
        Unavailable: the model does not answer.
    """
    best = None if facts.row.best is None else facts.row.best["parameters"]
    facts.row, found = service.ask(facts.row.id, "assessment", best)
    facts.model, facts.study = found, lifecycle.full_view(facts.row)
    facts.unseen = max(row(service, facts.row.id).observations - facts.row.observations, 0)
    if not found.results:
        return
    for name in facts.objectives:
        facts.validations[name] = analysis.validation(service, facts.row.id, name or None)
    with service.database.reading() as connection:
        outliers = [each.observation for found in facts.validations.values() for each in found.items if each.outlier]
        facts.trials = {each.seq: each.trial for each in observations.of_numbers(connection, facts.row.id, outliers)}
        if not facts.objectives[0]:
            facts.others = {seq: result_table.others(connection, facts.row.id, seq) for seq in outliers}
    if facts.definition.objectives:
        facts.front = front(service, facts.row.id)
    if facts.definition.dimension > 1:
        for name in facts.objectives:
            if _is_reliable(facts.validations[name]):
                importance = analysis.importance(service, facts.row.id, name or None)
                if importance.reason is None:
                    varying = {each.name for each in facts.definition.parameters if each.kind != "fixed"}
                    facts.importances[name] = [each for each in importance.parameters if each.name in varying]
    if "" in facts.importances and not facts.has_few_results:
        _ask_about_parameters(service, facts, found)


def _ask_about_parameters(service: Service, facts: _Facts, found: Assessed) -> None:
    """Add which parameters hardly matter, and which choices are good, from slices through the recommended point.

    Raises:
        Unavailable: the model does not answer.
    """
    definition, spread = facts.definition, found.spreads.get("")
    if found.recommended is None or spread is None or not isinstance(facts.study.algorithm, AutoProfile):
        return
    extent = spread.high - spread.low
    idle = {each.name for each in facts.importances[""] if words.hardly_matters(each)}
    important = set(words.important(facts.importances[""]))
    left_out = set(context_of(definition.parameters))
    left_out |= {each.name for each in definition.parameters if each.kind == "catalogue"}
    listed: dict[str, Slice] = {}
    for each in definition.parameters:
        choices = _choices(each)
        is_listed = len(choices) > (0 if each.name in important else FEW_CHOICES) and each.when is None
        number = each if each.name in important and isinstance(each, FloatParameter | IntParameter) else None
        is_described = each.name in found.recommended and each.name not in left_out
        if not (is_described and (is_listed or number is not None or each.name in idle)):
            continue
        along = analysis.slice_through(service, facts.row.id, [each.name], None, {})
        if each.name in idle and largest_change(along.predictions) < IDLE * extent:
            facts.idle.add(each.name)
        elif number is not None:
            good = good_range(number, along.axes[0].values, along.predictions, definition.sign, extent)
            if good is not None:
                facts.ranges[each.name] = good
        elif is_listed:
            listed[each.name] = along
    if not listed:
        return
    with service.database.reading() as connection:
        last = observations.page(connection, facts.row.id, facts.row.observations - MAX_COUNTED, MAX_COUNTED)
    points = [each.parameters for each in last if not each.excluded]
    partners = _partners(facts)
    for name, along in listed.items():
        compared = with_comparable_results(name, points, found.recommended, partners)
        best = found.recommended[name]
        rated = rate_choices(along.axes[0].values, along.predictions, best, definition.sign, extent, compared)
        if rated is not None:
            facts.choices[name] = rated


def _choices(parameter: Parameter) -> Sequence[Any]:
    """Return the choices of a parameter, or its ordered values; none of other parameters."""
    if isinstance(parameter, CategoricalParameter):
        return parameter.choices
    return parameter.values if isinstance(parameter, OrdinalParameter) else ()


def _partners(facts: _Facts) -> list[Parameter]:
    """Return the parameters that results must share to be comparable: numbers that are known to matter, and choices,
    except those that are known to hardly matter. (A choice may matter only together with another one.)"""
    important = {each.name for each in facts.importances[""] if words.matters(each)}
    return [
        each
        for each in facts.definition.parameters
        if each.kind != "fixed"
        and (each.name in important if each.kind in ("float", "int") else each.name not in facts.idle)
    ]


def _is_reliable(found: Validation) -> bool:
    """Return whether a model's importances are reliable: there are enough results, and the model does not predict
    poorly, as far as this is known."""
    judged = found.results if found.reason == "not_this_algorithm" else found.counted
    return judged >= MIN_RESULTS and not Errors(found.error, found.error_of_median).are_poor


def _is_best_doubted(facts: _Facts) -> bool:
    """Return whether the best result is an outlier, or beyond its natural bound."""
    best, items = facts.study.best, facts.validations.get("")
    if best is None:
        return False
    outliers = [] if items is None else [each for each in items.items if each.outlier]
    return _is_best_beyond(facts) or any(
        each.value == best.value and facts.trials.get(each.observation) == best.trial for each in outliers
    )


def _is_best_beyond(facts: _Facts) -> bool:
    """Return whether the best result is better than its natural bound allows."""
    return render.is_beyond_reach(facts.row)


def _progress(facts: _Facts, expected: Prediction | None, *, is_doubted: bool) -> answers.Progress:
    model, best = facts.model, facts.study.best
    at_best = None
    if expected is not None and expected.mean is not None and best is not None:
        at_best = MetricPrediction.model_validate(expected.model_dump(include={"mean", "std", "lcb", "ucb"}))
    preferred = None
    if model is not None and best is not None and best.feasible is not False:
        is_other = model.recommended is not None and model.recommended != best.parameters
        if is_other and at_best is not None and model.mean is not None and model.std is not None:
            is_better = facts.definition.sign * (model.mean - at_best.mean) > at_best.std / 2.0
            preferred = model.mean if is_better else None
    repeat_std, repetition = None, None
    if at_best is not None and model is not None and model.repeated is not None:
        repeat_std = math.hypot(at_best.std, model.repeated)
        repetition = _repetition(at_best, model.repeated, facts.names.quantity())
    text = words.progress(
        facts.study,
        facts.results,
        facts.digits.get(""),
        words.AtBest(at_best, repetition, facts.measured, preferred, is_early=facts.has_few_results),
        facts.front,
        facts.names,
        facts.violating,
    )
    if facts.unseen:
        text = f"{text} {words.unseen(facts.unseen)}"
    return answers.Progress(
        text=text,
        best=best,
        expected=at_best,
        repeat_std=repeat_std,
        repetition=repetition,
        measured=facts.measured,
        is_doubted=is_doubted,
    )


def _repetition(expected: MetricPrediction, noise: float, quantity: Quantity) -> answers.Range:
    """Return the range of one more result with 90% probability: the interval of the prediction, whose halves may
    differ, widened by the noise and clipped to the natural bounds."""
    low = expected.mean - math.hypot(expected.mean - expected.lcb, INTERVAL * noise)
    high = expected.mean + math.hypot(expected.ucb - expected.mean, INTERVAL * noise)
    return answers.Range(low=quantity.within(low), high=quantity.within(high))


def _latest(facts: _Facts, trial: Trial) -> answers.LatestTrial:
    return answers.LatestTrial(
        text=words.latest(
            trial,
            facts.digits,
            facts.names,
            is_early=facts.has_few_results,
            has_intervals=isinstance(facts.definition.algorithm, AutoProfile),
        ),
        trial=trial.number,
        state=trial.state,
        origin=trial.origin,
        phase=trial.phase,
        expected=trial.expected,
    )


def _findings(facts: _Facts) -> answers.Findings | None:
    known = context_of(facts.definition.parameters)
    untried = {} if facts.model is None else facts.model.untried
    untried = {name: choices for name, choices in untried.items() if name not in known}
    text = words.findings(
        facts.importances,
        untried,
        facts.names,
        facts.idle,
        facts.choices,
        facts.ranges,
    )
    text = "\n".join(filter(None, [facts.failures, text]))
    return answers.Findings(text=text, importances=facts.importances, untried=untried) if text else None


def _outlook(facts: _Facts) -> answers.Outlook:
    model = facts.model
    found = answers.Outlook(
        text="",
        gap=facts.gap,
        probability=None if facts.gap is None else _probability(facts.study),
        reason=facts.no_gap,
        fewest=None if model is None else model.fewest,
        noise=_noise(facts),
        results_since_best=0 if facts.definition.objectives else facts.row.results_since_best,
    )
    growth = "" if facts.front is None else words.growth(facts.front, facts.row.observations)
    is_over = facts.study.state == "complete" or facts.study.reason in FINAL
    is_feasible = facts.study.best is not None and facts.study.best.feasible is not False
    validation = facts.validations.get("")
    is_poor = validation is not None and validation.verdict.code == "poor_predictions"
    text = words.outlook(
        found,
        facts.results,
        growth,
        _possible_gain(facts),
        is_over=is_over,
        is_poor=is_poor,
        is_beyond=is_feasible and _is_best_beyond(facts),
        additions=facts.additions,
    )
    return found.model_copy(update={"text": text})


def _noise(facts: _Facts) -> float | None:
    """Return the standard deviation of repeated results; None if it is unknown."""
    if facts.model is None:
        return None
    repeated = facts.model.repeated if facts.measured is not None else None
    return facts.model.noise if facts.model.noise is not None else repeated or None


def _possible_gain(facts: _Facts) -> words.PossibleGain:
    """Return how much better further results can be. The distance to the natural bound is measured from the best
    result or from the model's mean at its point, whichever is larger, since the best of noisy results is partly
    luck."""
    model, quantity = facts.model, facts.names.quantity()
    bounds = quantity.model_dump(include={"low", "high"})
    best = facts.study.best if facts.study.best is not None and facts.study.best.feasible is not False else None
    values = [] if best is None else [best.value]
    if best is not None and model is not None and model.at_best is not None and facts.definition.algorithm.has_model:
        values.append(model.at_best.mean)
    rooms = [room(value, facts.study.direction, bounds) for value in values]
    largest = max((each for each in rooms if each is not None), default=None)
    spread = None if model is None else model.spreads.get("")
    return words.PossibleGain(
        gap=facts.gap if model is None else model.gap,
        room=largest,
        tolerance=facts.row.tolerance,
        extent=0.0 if spread is None else spread.high - spread.low,
        quantity=quantity,
        sign=facts.definition.sign,
        expected=None if model is None else model.mean,
        mean=values[1] if len(values) > 1 and rooms[1] == largest != rooms[0] else None,
    )


def _probability(study: Study) -> float | None:
    """Return the probability with which the gap is a bound; None if the algorithm has no gap."""
    if isinstance(study.algorithm, AutoProfile):
        return CONFIDENCE
    delta: float | None = getattr(study.algorithm, "delta", None)
    return None if delta is None else 1.0 - delta


def _checks(facts: _Facts) -> Iterator[answers.Check]:
    if facts.trouble is not None:
        yield facts.trouble
    best, quantity = facts.study.best, facts.names.quantity()
    if best is not None and _is_best_beyond(facts):
        text = words.beyond_bounds(best.value, facts.definition.sign, quantity)
        yield answers.Check(check="beyond_bounds", text=text, trial=best.trial)
    if facts.model is None:
        return
    fewest = facts.model.fewest
    if fewest is not None and 0 < facts.results < fewest:
        has_several = bool(facts.definition.objectives)
        text = words.few_results(facts.results, facts.definition.dimension, fewest, has_several=has_several)
        yield answers.Check(check="few_results", text=text)
    for name, found in facts.validations.items():
        yield from _prediction_checks(found, facts, name)
    yield from _edge_checks(facts)


def _prediction_checks(found: Validation, facts: _Facts, name: str) -> Iterator[answers.Check]:
    """Yield the checks of the model's leave-one-out predictions."""
    digits, names = facts.digits, facts.names
    metric: dict[str, Any] = {"metric": name or None}
    if name not in digits:
        return
    for each in (each for each in found.items if each.outlier):
        trial, describe = facts.trials.get(each.observation), words.doubted if each.doubted else words.outlier
        text = describe(each, trial, digits[name], name, names, _contradicting(facts, each))
        yield answers.Check(check="outlier", text=text, observation=each.observation, trial=trial, **metric)
    if found.verdict.code == "poor_predictions":
        text = words.poor_predictions(found, digits[name], name, names)
        yield answers.Check(check="poor_predictions", text=text, **metric)
    if found.verdict.code == "too_sure":
        yield answers.Check(check="too_sure", text=words.too_sure(found, name, names), **metric)


def _contradicting(facts: _Facts, found: ValidationItem) -> str:
    """Return what the other results at the point of a result gave, if they contradict it; empty otherwise."""
    others = facts.others.get(found.observation)
    if others is None or not others.there or abs(found.value - others.mean_there) <= APART * (others.high - others.low):
        return ""
    return wording.at_point(facts.study, others.there)


def _edge_checks(facts: _Facts) -> Iterator[answers.Check]:
    """Yield a check for each range at whose end the recommended point lies. Parameters that are known to hardly matter
    are left out."""
    model = facts.model
    if model is None or model.recommended is None or facts.results < (model.fewest or MIN_RESULTS):
        return
    validation = facts.validations.get("")  # none if the model was busy when it was asked for it
    if validation is None or not _is_reliable(validation):
        return
    try:
        check_editable(facts.definition)
        can_edit = True
    except Invalid:
        can_edit = False
    for found in range_ends(facts.definition.parameters, model.recommended):
        if found.parameter not in facts.idle:
            range_end = found if can_edit else found._replace(widened=None)
            yield answers.Check(
                check="edge",
                text=words.edge(range_end, facts.names),
                parameter=range_end.parameter,
                widened=range_end.widened,
            )
