"""The sentences of a study's assessment. The API returns them with the numbers on which they are based."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from adabkb_service.contract.analysis import ParameterImportance, Validation, ValidationItem
from adabkb_service.contract.answers import Best, MetricPrediction, NoGap, Prediction, Study, Trial
from adabkb_service.contract.assessment import Outlook, Range, Repetitions
from adabkb_service.contract.front import Front
from adabkb_service.contract.quantities import UNNAMED, Quantity, in_points, with_unit
from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.wording import decimals
from adabkb_service.operations.model.choices import RatedChoices
from adabkb_service.operations.model.good_ranges import GoodRange
from adabkb_service.operations.model.range_ends import RangeEnd
from adabkb_service.operations.model.verdict import is_too_narrow
from adabkb_service.operations.words.digits import Digits, difference
from adabkb_service.operations.words.labels import Labels, marked
from adabkb_service.operations.words.values_in_words import figure, shown
from adabkb_service.operations.words.wording import FINEST, written

MATTERS = 0.05
"""A parameter is called important if its total Sobol' index (a share of the variance) exceeds this by more than two
standard errors."""
RANKS = ("most", "second most", "third most")
MAX_NAMED = len(RANKS)
"""The maximum number of important parameters that are named."""
MAX_CHOICES = 6
"""The maximum number of untried choices that are listed."""
NOT_YET = "It is probably too early to stop."
UNRELIABLE = (
    "The model's predictions are hardly better than the median of the other results, so the remaining gain is unknown."
)
BEYOND = (
    "Check the best result first: it is beyond the natural bound of the objective. If repetitions confirm it, and the "
    "bound is right, you can stop: nothing more can be gained."
)
OVER = "The study issues no new trials."
MORE = "More trials may bring better ones: raise the budget if that is worth them."
LITTLE_MORE = "More trials would probably bring little."
NO_GROWTH = "brought no noticeably better compromise."
LITTLE_GROWTH = 5e-4
"""A smaller relative increase of the hypervolume is not noticeable."""
LITTLE, MUCH = 0.01, 0.1
"""Shares of the range of all results: where no noise is known, a gain below the first is too small to matter, and one
above the second is worth more trials."""
LONG = 10
"""The outlook mentions a lack of improvement if it has lasted for at least this many results."""

PHASES: Mapping[str | None, str] = {
    "start": "is one of the first points, which do not depend on the results",
    "search": "balances the model's prediction and its uncertainty",
    "repeat": "repeats a measurement that the other results contradict",
    "polish": "searches near the best point, in the parameters that matter",
    "explore": "is where the model was uncertain",
    "restart": "searches elsewhere, because the search had brought no improvement for a while",
    "sample": "is a random or quasi-random point, chosen without a model",
    None: "is the model's choice",
}
ORIGINS: Mapping[str, str] = {
    "fallback": "is quasi-random, because the model had failed or did not answer in time",
    "queued": "was queued by a user",
    "own": "was chosen by a user",
}
NO_GAP: Mapping[NoGap, str] = {
    "no_results": "There are no results yet.",
    "several_objectives": (
        "It is too early to say. The answer compares the best compromises with those before the last 10 results."
    ),
    "nothing_feasible": "No result satisfies all bounds, so the remaining gain is unknown.",
    "model_failed": "The model has failed, so the remaining gain is unknown.",
    "model_pending": "The model has not computed the remaining gain yet.",
    "depends_on_context": "The remaining gain depends on the context.",
    "not_known_yet": "The remaining gain is unknown so far.",
}


@dataclass(frozen=True, slots=True)
class AtBest:
    """The model's predictions at the point of the best result, and the results there."""

    expected: MetricPrediction | None
    """The model's prediction of the objective; None if it gives none."""
    repetition: Range | None
    """The 90% interval of one more result there; None if the noise is unknown."""
    measured: Repetitions | None
    """The results there; None without repetitions."""
    preferred: float | None
    """The mean at another point that the model prefers; None if it prefers none."""
    is_early: bool
    """Whether there are too few results for reliable standard deviations and noise."""


def progress(
    study: Study,
    results: int,
    digits: Digits | None,
    at_best: AtBest,
    front: Front | None,
    names: Labels,
    violating: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """Return sentences about the best results so far.

    Args:
        study: the study.
        results: the number of results that the model has processed; if it does not answer, of all results.
        digits: the number format of the objective; None without results.
        at_best: what the model says about the best result.
        front: the Pareto front; None with a single objective.
        names: the labels and units of the study.
        violating: bounded metric -> the number of results that violate its bounds, with several objectives.
    """
    if not results:
        return _without_results(study)
    if study.objectives:
        told = [_of_several(study, results, front, names)]
        told += [_violating(count, names.metric(name)) for name, count in violating.items() if count]
        return " ".join(told)
    best = study.best
    if best is None:
        return f"{_number_of(results, 'result')}."
    return " ".join(
        _of_best(
            best,
            results,
            digits or Digits(best.value, best.value, decimals(best.value), names.quantity()),
            at_best,
            names,
        )
    )


def _without_results(study: Study) -> str:
    counts = study.counts
    if counts.failed:
        whole = "the only trial that ended" if counts.failed == 1 else f"all {counts.failed} trials that ended"
        if counts.completed:
            whole = _number_of(counts.failed, "trial")
        return f"No results yet: {whole} failed."
    running = f"{_number_of(counts.active, 'trial')} {'is' if counts.active == 1 else 'are'} running"
    return f"No results yet; {running}." if counts.active else "No results yet."


def unseen(results: int) -> str:
    """Return a sentence about the results that are newer than the facts."""
    return (
        "The newest result is not included yet."
        if results == 1
        else f"The newest {results} results are not included yet."
    )


def _of_best(
    best: Best,
    results: int,
    digits: Digits,
    at_best: AtBest,
    names: Labels,
) -> Iterator[str]:
    value, at = digits.result(best.value), "" if best.trial is None else f" (trial {best.trial})"
    if best.feasible is False:
        beyond = ", ".join(names.metric(name) for name in best.violations or {})
        if results == 1:
            yield f"The only result, {value}{at}, violates the bounds of {beyond}."
            return
        closest = f"Of {results} results, {value}{at} comes closest"
        yield f"No result satisfies all bounds yet. {closest}; it violates the bounds of {beyond}."
        return
    label = names.quantity().label
    sentence = f"The best of {results} results is {value}{at}"
    if label is not None:
        sentence = f"{marked(label)}: the best of {results} results is {value}{at}"
    if results == 1:
        sentence = f"The only result is {value}{at}"
    if at_best.measured is not None:
        there = at_best.measured
        sentence += f". The mean of the {there.count} results at its point is {digits.mean(there.mean)}"
    if at_best.is_early and results > 1:
        yield f"{sentence}. There are too few results to estimate how much a repetition would differ."
        return
    yield f"{sentence}."
    expected, repetition = at_best.expected, at_best.repetition
    if expected is not None and results > 1 and digits.shows(expected.std):
        if repetition is None:
            yield f"The model expects {digits.estimate(expected.mean, expected.std)} there."
        else:
            mean = digits.expected(expected.mean, expected.lcb, expected.ucb, expected.std)
            more = digits.interval(repetition.low, repetition.high, expected.std)
            yield f"The model expects {mean} there on average, and one more result between {more} (90%)."
    if at_best.preferred is not None:
        yield f"The model prefers another point, where it expects {digits.mean(at_best.preferred)} on average."


def latest(trial: Trial, digits: Mapping[str, Digits], names: Labels, *, is_early: bool, has_intervals: bool) -> str:
    """Return why the point of a trial was chosen, what the model expected there, and the trial's outcome. With too few
    results to rely on the model (``is_early``), its expectation is left out. ``has_intervals``: whether the bounds of
    predictions are those of 90% intervals; otherwise, their standard deviations are given."""
    why = PHASES[trial.phase] if trial.origin == "policy" else ORIGINS[trial.origin]
    found = [f"Trial {trial.number} {why}."]
    if trial.expected is not None and trial.phase != "sample" and not is_early:
        expected = _expectation(trial.expected, digits, names, has_intervals=has_intervals)
        found.append(f"The model expected {expected} there." if expected else "")
    if trial.state == "failed":
        found.append("It failed.")
    elif trial.value is not None and "" in digits:
        found.append(f"It gave {digits[''].result(trial.value)}.")
    elif trial.state == "completed" and trial.metrics:
        objectives = [
            f"{names.metric(name)} {digits[name].result(value)}"
            for name, value in trial.metrics.items()
            if name in digits
        ]
        found.append(f"The result was {', '.join(objectives)}." if objectives else "")
    return " ".join(filter(None, found))


def _expectation(expected: Prediction, digits: Mapping[str, Digits], names: Labels, *, has_intervals: bool) -> str:
    if expected.mean is not None and expected.std is not None:
        return _prediction(expected, digits[""], has_intervals=has_intervals) if "" in digits else ""
    each = [
        f"{names.metric(name)} {_prediction(found, digits[name], has_intervals=has_intervals)}"
        for name, found in (expected.metrics or {}).items()
        if name in digits
    ]
    return ", ".join(each)


def _prediction(found: Prediction | MetricPrediction, digits: Digits, *, has_intervals: bool) -> str:
    mean, std = found.mean or 0.0, found.std or 0.0
    if not has_intervals or found.lcb is None or found.ucb is None:
        return digits.estimate(mean, std)
    return digits.expected(mean, found.lcb, found.ucb, std)


def findings(
    importances: Mapping[str, Sequence[ParameterImportance]],
    untried: Mapping[str, Sequence[Any]],
    names: Labels,
    idle: Collection[str] = (),
    choices: Mapping[str, RatedChoices] = MappingProxyType({}),
    ranges: Mapping[str, GoodRange] = MappingProxyType({}),
) -> str:
    """Return sentences about which parameters matter to each objective, which choices are good, and which are untried:
    a line for each parameter. Empty if none of this is known.

    Args:
        importances: the importances, by objective.
        untried: the choices without a result, by parameter.
        names: the names of the study.
        idle: the parameters that are known to hardly matter.
        choices: what is known of the choices of parameters.
        ranges: where numerical parameters are good.
    """
    good = {name: _best_choice(name, each, names) for name, each in choices.items()}
    good |= {name: _best_range(name, each, names) for name, each in ranges.items()}
    found = [line for name, rows in importances.items() for line in _matter(name, rows, names, idle, good)]
    described = {name for rows in importances.values() for name in important(rows)}
    found += [f"{names.parameter(name)}. {good[name]}" for name in choices if name not in described]
    if untried:
        found.append(f"Never tried: {'; '.join(_choices(name, left, names) for name, left in untried.items())}.")
    return "\n".join(filter(None, found))


def _choices(name: str, left: Sequence[Any], names: Labels) -> str:
    return f"{names.parameter(name)} {_some(left, name, names)}"


def matters(each: ParameterImportance) -> bool:
    """Return whether a parameter's total index is above ``MATTERS`` by more than two standard errors."""
    return each.total - 2.0 * each.total_error > MATTERS


def hardly_matters(each: ParameterImportance) -> bool:
    """Return whether a parameter's total index is below ``MATTERS`` by more than two standard errors."""
    return each.total + 2.0 * each.total_error < MATTERS


def _best_choice(name: str, found: RatedChoices, names: Labels) -> str:
    """Return sentences about which choice is best, and which others are good, worse or not known to be either."""
    parts = {
        "Best": [found.best],
        "About as good": found.good,
        "Worse": found.worse,
        "Not ruled out": found.unknown,
        "Predicted to be worse, but not yet tried with the best values of the other parameters": found.not_compared,
    }
    return " ".join(f"{what}: {_some(each, name, names)}." for what, each in parts.items() if each)


def _best_range(name: str, found: GoodRange, names: Labels) -> str:
    """Return a sentence about where a parameter is good, and where it is worse."""
    ends = {"below": found.low, "above": found.high}
    worse = [f"{side} {_value(name, end, names)}" for side, end in ends.items() if end is not None]
    return f"Best near {_value(name, found.best, names)}; worse {' and '.join(worse)}."


def _some(choices: Sequence[Any], parameter: str, names: Labels) -> str:
    listed = choices[:MAX_CHOICES]
    named = [_value(parameter, each, names) for each in listed]
    more = f" and {len(choices) - MAX_CHOICES} more" if len(choices) > MAX_CHOICES else ""
    return f"{', '.join(named)}{more}"


def _value(parameter: str, value: Any, names: Labels) -> str:
    known = names.parameters.get(parameter)
    return with_unit(marked(shown(value)), known.unit if known else None)


def important(rows: Sequence[ParameterImportance]) -> list[str]:
    """Return the names of the most important parameters, in order."""
    return [each.name for each in sorted(rows, key=lambda each: -each.total) if matters(each)][:MAX_NAMED]


def _matter(
    objective: str,
    rows: Sequence[ParameterImportance],
    names: Labels,
    known_idle: Collection[str],
    good: Mapping[str, str],
) -> Iterator[str]:
    """Yield a line for each important parameter, and one for those that hardly matter."""
    of = f" for {names.metric(objective)}" if objective else ""
    first = important(rows)
    for name, rank in zip(first, RANKS, strict=False):
        end = f". {good[name]}" if name in good else "."
        yield f"{names.parameter(name)} matters {rank}{of}{end}"
    idle = [names.parameter(each.name) for each in rows if each.name in known_idle]
    if first and idle:
        which = " and ".join(filter(None, [", ".join(idle[:-1]), idle[-1]]))
        if len(idle) > MAX_NAMED:
            which = f"{len(idle)} parameters"
        yield f"{which} hardly {'matters' if len(idle) == 1 else 'matter'}."


@dataclass(frozen=True, slots=True)
class PossibleGain:
    """The largest possible gain of further results, and the numbers by which it is judged."""

    gap: float | None
    """The model's bound; None if it is unknown."""
    room: float | None
    """The distance from the best result, or from the model's mean at its point if this is larger, to the natural bound
    of the objective; None if either is unknown."""
    tolerance: float | None
    """The tolerance of the study; None without one."""
    extent: float
    """The range of all results; 0 if it is unknown."""
    quantity: Quantity = UNNAMED
    """The objective, with its unit and its natural bounds."""
    sign: float = 1.0
    """1 if the objective is maximized, -1 if it is minimized."""
    expected: float | None = None
    """The model's prediction at the recommended point, from which the gap is measured; None if it is unknown."""
    mean: float | None = None
    """The model's mean at the best point if ``room`` is measured from there; None if it is measured from the result."""

    @property
    def is_by_model(self) -> bool:
        """Whether the model's bound is tighter than the natural bound."""
        return self.gap is not None and (self.room is None or self.gap < self.room)

    @property
    def most(self) -> float | None:
        """The smaller of the two bounds; None if both are unknown."""
        return self.gap if self.is_by_model else self.room

    def in_unit(self, value: float) -> str:
        """Format a difference of the objective."""
        return in_points(difference(value), self.quantity.unit)

    @property
    def end(self) -> str:
        """The best value that is possible according to the model, with the decimals of the gap; empty if unknown."""
        if self.gap is None or self.expected is None:
            return ""
        value = self.quantity.within(self.expected + self.sign * self.gap)
        return Digits(value, value, FINEST, self.quantity).rounded_like(value, self.gap)

    @property
    def now(self) -> str:
        """The model's prediction at the recommended point, with the decimals of the gap; empty if unknown."""
        if self.gap is None or self.expected is None:
            return ""
        value = self.quantity.within(self.expected)
        return Digits(value, value, FINEST, self.quantity).rounded_like(value, self.gap)

    @property
    def start(self) -> str:
        """The value from which ``room`` is measured, as the end of a sentence; empty if this is the best result."""
        if self.mean is None or self.room is None:
            return ""
        value = Digits(self.mean, self.mean, FINEST, self.quantity).rounded_like(self.mean, self.room)
        return f", from the {value} that the model expects at the best point"

    @property
    def bound(self) -> str:
        """The natural bound of the objective in its direction."""
        bound = self.quantity.high if self.sign > 0.0 else self.quantity.low
        return with_unit(figure(bound, 9), self.quantity.unit)


def outlook(
    found: Outlook,
    results: int,
    growth: str,
    possible: PossibleGain,
    *,
    is_over: bool = False,
    is_poor: bool = False,
    is_beyond: bool = False,
    additions: Sequence[str] = (),
) -> str:
    """Return sentences about whether to stop, and how much further trials can gain.

    Args:
        found: the facts.
        results: as in ``progress``.
        growth: the output of ``growth``; empty with a single objective.
        possible: the largest possible gain.
        is_over: whether the study issues no more new points.
        is_poor: whether the model predicts too poorly to rely on its bound.
        is_beyond: whether the best result is better than the natural bound allows.
        additions: what an edit added to the space and nobody has tried since.
    """
    untried = _untried(additions)
    if is_beyond:
        return " ".join(filter(None, [OVER if is_over else "", BEYOND, untried]))
    if is_poor:
        possible = replace(possible, gap=None)
    if is_over:
        more = f"{growth} {LITTLE_MORE if growth.endswith(NO_GROWTH) else MORE}" if growth else ""
        return " ".join(filter(None, [OVER, untried, more or _remaining(found, possible, is_poor=is_poor)]))
    if untried:
        return " ".join(filter(None, ["It is too early to stop.", untried, growth]))
    if growth:
        return f"{'You can perhaps stop.' if growth.endswith(NO_GROWTH) else NOT_YET} {growth}"
    why_small = _why_small(found, possible)
    if is_poor and not why_small:
        return f"It is too early to say. {_remaining(found, possible, is_poor=is_poor)}"
    sentences = [
        *(_with_small_gain(found, possible, why_small) if why_small else _with_larger_gain(found, results, possible))
    ]
    if found.results_since_best >= LONG:
        sentences.append(f"The last {found.results_since_best} results brought no improvement.")
        if not why_small:
            sentences[-1] = sentences[-1].removesuffix(".") + ", which alone is no reason to stop."
    return " ".join(sentences)


def _untried(additions: Sequence[str]) -> str:
    """Return a sentence about what an edit added and nobody has tried since; empty if there is nothing."""
    if not additions:
        return ""
    more = f" and {len(additions) - MAX_CHOICES} more" if len(additions) > MAX_CHOICES else ""
    return f"Added to the space, and not tried yet: {', '.join(additions[:MAX_CHOICES])}{more}."


def _remaining(found: Outlook, possible: PossibleGain, *, is_poor: bool) -> str:
    """Return what further trials could gain; empty if nothing is known."""
    if possible.is_by_model and found.reason is None:
        return _by_model(found, possible)
    unknown = UNRELIABLE if is_poor else ""
    if possible.room is None:
        return unknown
    if possible.room == 0.0:
        return "The best result equals the natural bound of the objective."
    return " ".join(filter(None, [unknown, f"A{_to_bound(possible)[1:]}"]))


def _why_small(found: Outlook, possible: PossibleGain) -> str:
    """Return why the largest possible gain is too small to matter; empty if it may be large enough."""
    most = possible.most
    if most is None or found.reason not in (None, "no_results", "not_known_yet"):
        return ""
    if found.noise is not None and most < found.noise:
        noise = possible.in_unit(found.noise)
        return f"Repeated results differ by about {noise}, so you could hardly notice such a gain."
    if possible.tolerance is not None and most <= possible.tolerance:
        return f"This is within the study's tolerance, {possible.in_unit(possible.tolerance)}."
    if found.noise is None and most <= LITTLE * possible.extent:
        return f"This is at most {LITTLE:.0%} of the range of all results."
    return ""


def _with_small_gain(found: Outlook, possible: PossibleGain, why: str) -> Iterator[str]:
    if possible.is_by_model:
        yield f"You can probably stop. {_by_model(found, possible)}"
    elif possible.room == 0.0:
        yield "You can stop: the best result equals the natural bound of the objective."
        return
    else:
        yield f"You can stop: {_to_bound(possible)}"
    yield why


def _with_larger_gain(found: Outlook, results: int, possible: PossibleGain) -> Iterator[str]:
    reason: NoGap = found.reason or "not_known_yet"
    is_unknown = possible.gap is None and reason in ("no_results", "not_known_yet")
    if is_unknown and found.fewest is not None and results < found.fewest:
        known = f"It is too early to say. The remaining gain is known only with {found.fewest} or more results"
        yield f"{known}{_still_needed(results, found.fewest - results) if results else ''}."
    elif possible.is_by_model and possible.gap is not None:
        if found.noise is not None or possible.gap >= MUCH * possible.extent:
            yield NOT_YET
        else:
            yield f"You can stop unless a gain of {possible.in_unit(possible.gap)} is worth more trials."
        yield _by_model(found, possible)
    elif possible.room is not None and (is_unknown or possible.gap is not None):
        gain = possible.in_unit(possible.room)
        is_small = possible.room < (MUCH * possible.extent if found.noise is None else 2.0 * found.noise)
        yield f"You can stop unless a gain of {gain} is worth more trials." if is_small else NOT_YET
        most = f"a gain of at most {gain}{possible.start}"
        yield f"The model cannot rule out the best possible result, {possible.bound}: {most}."
    elif is_unknown and found.fewest is not None:
        yield f"{NOT_YET} According to the model, the remaining gain may exceed the range of all results."
    else:
        yield NO_GAP[reason]


def _still_needed(results: int, left: int) -> str:
    are, needed = ("is" if results == 1 else "are"), ("is" if left == 1 else "are")
    return f"; there {are} {results}, so {left} more {needed} needed"


def _by_model(found: Outlook, possible: PossibleGain) -> str:
    how = "" if found.probability is None else f"it is {100.0 * found.probability:.4g}% certain that "
    gain = possible.in_unit(possible.most or 0.0)
    if not possible.end:
        return f"According to the model, {how}no point is better than the recommended one by more than {gain}."
    return (
        f"According to the model, {how}no point is better than {possible.end} on average. The recommended point has "
        f"{possible.now}, so at most {gain} can be gained."
    )


def _to_bound(possible: PossibleGain) -> str:
    gain = possible.in_unit(possible.room or 0.0)
    return f"at most {gain} can be gained, up to the best possible result, {possible.bound}{possible.start}."


def growth(front: Front, latest: int) -> str:
    """Return a sentence about how the last ``LONG`` results changed the Pareto front. ``latest`` is the number of the
    last result. Empty if there are few results."""
    before = [each for each in front.history if each.observation <= latest - LONG]
    if front.hypervolume is None or not before:
        return ""
    if front.hypervolume < (1.0 + LITTLE_GROWTH) * before[-1].hypervolume:
        return f"The last {LONG} results {NO_GROWTH}"
    return f"The last {LONG} results brought {_number_of(len(front.history) - len(before), 'better compromise')}."


def _of_several(study: Study, results: int, front: Front | None, names: Labels) -> str:
    """Return sentences about the best result of each objective, and the number of best compromises."""
    goals = ", ".join(f"{names.metric(each.metric)} ({each.direction}d)" for each in study.objectives)
    sentences = [f"{_number_of(results, 'result')} of {goals}."]
    if front is not None and front.observed:
        best = []
        for each in study.objectives:
            values = [point.metrics[each.metric] for point in front.observed]
            value = min(values) if each.direction == "minimize" else max(values)
            best.append(f"best {names.metric(each.metric)} {written(names.quantity(each.metric), value)}")
        among = " among the results that are better than the worst useful values" if _has_useful(front) else ""
        sentences.append(f"B{', '.join(best)[1:]}{among}.")
        if results > 1:
            count = len(front.observed)
            sentences.append(
                f"{_number_of(count, 'result')} {'is a best compromise' if count == 1 else 'are best compromises'}: no "
                f"other {'of these results' if among else 'result'} is at least as good in every objective and better "
                "in one."
            )
    return " ".join(sentences)


def _has_useful(front: Front) -> bool:
    """Return whether the measured front has only results that are better than the references that the study gives."""
    given = [
        Metric(each.metric, goal=1.0 if each.direction == "maximize" else -1.0, reference=each.reference)
        for each in front.objectives
        if not each.learned
    ]
    return bool(given) and all(each.is_useful(point.metrics[each.name]) for each in given for point in front.observed)


def _violating(count: int, metric: str) -> str:
    return f"{_number_of(count, 'result')} {'violates' if count == 1 else 'violate'} the bounds of {metric}."


def few_results(results: int, parameters: int, fewest: int, *, has_several: bool = False) -> str:
    """Warn that there are few results. ``has_several``: whether there are several objectives, which have no bound on
    the remaining gain."""
    of = f"{_number_of(parameters, 'parameter')} that {'varies' if parameters == 1 else 'vary'}"
    more = _number_of(fewest - results, "more result")
    gain = "" if has_several else " and to bound the remaining gain"
    return f"Few results: {results}, for {of}. The model needs {more} to compare parameters{gain}."


def beyond_bounds(best: float, sign: float, quantity: Quantity) -> str:
    """Warn that the best result is beyond the natural bound."""
    end, value = PossibleGain(None, None, None, 0.0, quantity, sign).bound, with_unit(figure(best, 9), quantity.unit)
    return (
        f"The best result is {value}, beyond the natural bound of {end}. Noise can explain a small difference: repeat "
        "the trial. Otherwise, correct the result or the natural bound. Until then, do not rely on the recommended "
        "point and on the remaining gain."
    )


def outlier(
    found: ValidationItem, trial: int | None, digits: Digits, metric: str, names: Labels, others: str = ""
) -> str:
    """Warn that a result is improbable given the other results. ``others`` says what other results at its point gave,
    if they contradict it; otherwise, it is empty."""
    whose, value = _name_of(found.observation, trial, metric, names), digits.result(found.value)
    if others:
        return f"{whose} is {value}, but at the same point, {others}. Check both measurements and entries."
    return f"{_contradiction(found, trial, digits, metric, names)} Check the measurement and the entry."


def doubted(
    found: ValidationItem, trial: int | None, digits: Digits, metric: str, names: Labels, others: str = ""
) -> str:
    """State that the model gives a result less weight; ``others`` as in ``outlier``."""
    if not others:
        return (
            f"{_contradiction(found, trial, digits, metric, names)} The model gives this result less weight unless a "
            "repetition confirms it."
        )
    whose, value = _name_of(found.observation, trial, metric, names), digits.result(found.value)
    return (
        f"{whose} is {value}, but at the same point, {others}, and the model expects {digits.mean(found.mean)} given "
        "the others. The model gives this result less weight. If it is wrong, correct or exclude it."
    )


def _contradiction(found: ValidationItem, trial: int | None, digits: Digits, metric: str, names: Labels) -> str:
    whose, value = _name_of(found.observation, trial, metric, names), digits.result(found.value)
    expected = digits.expected(found.mean, found.lcb, found.ucb, found.std)
    return f"{whose} is {value}, but given the others, the model expects {expected}."


def _name_of(seq: int, trial: int | None, metric: str, names: Labels) -> str:
    """Return the name of a result: by the number of its trial or, without a trial, by its own number."""
    what = names.metric(metric) if metric else "The result"
    if trial is None:
        return f"{what} of own result R{seq}" if metric else f"Own result R{seq}"
    return f"{what} of trial {trial}"


def poor_predictions(found: Validation, digits: Digits, metric: str, names: Labels) -> str:
    """Warn that the model's predictions are hardly better than the median."""
    of = f" of {names.metric(metric)}" if metric else ""
    error, of_median = (digits.difference(each or 0.0) for each in (found.error, found.error_of_median))
    return (
        f"The model's predictions{of} are hardly better than the median of the other results: in cross-validation, "
        f"their mean error is {error}, and that of the median {of_median}. Do not rely on the findings about "
        "parameters."
    )


def too_sure(found: Validation, metric: str, names: Labels) -> str:
    """Warn that intervals are too narrow: the intervals of the leave-one-out predictions or, if these are not, the
    intervals that were given with the suggestions."""
    of = f" of {names.metric(metric)}" if metric else ""
    inside, count = round((found.inside or 0.0) * found.counted), found.counted
    if not is_too_narrow(inside, count):
        inside, count = found.verdict.suggested_inside, found.verdict.suggested
        return (
            f"The model was too confident when it suggested trials: {inside} of {count} results{of} lie in the "
            "intervals given with the suggestions, which should contain 90%. At measured points, its intervals are "
            "reliable by now. So doubt its predictions at new points, not those at measured ones."
        )
    return f"The model is too confident: {inside} of {count} results{of} lie in the intervals that should contain 90%."


def edge(found: RangeEnd, names: Labels) -> str:
    """Warn that the best point is at the end of a range."""
    known = names.parameters.get(found.parameter)
    bound = with_unit(figure(found.bound, 6), known.unit if known else None)
    more = " Better points may lie beyond it." if found.widened is not None else ""
    return f"The best point is at the {found.end} end of {names.parameter(found.parameter)} ({bound}).{more}"


def _number_of(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
