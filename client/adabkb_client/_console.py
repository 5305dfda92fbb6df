"""What a console shows: records as a line, lists as a table, and a bar for the progress of long calls."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adabkb_client._analysis import Assessment, Front, Importance, Slice, Validation
from adabkb_client._frames import LONGEST, cells, changes
from adabkb_client._http.outbox import Outbox
from adabkb_client._records import (
    Answer,
    Best,
    CatalogueRow,
    Estimate,
    Event,
    FrontEstimate,
    MetricPrediction,
    Observation,
    Prediction,
    Recommendation,
    RunReport,
    StudySummary,
    Trial,
    line,
)
from adabkb_client._trial_calls import Leased
from adabkb_client._values import difference, figure

if TYPE_CHECKING:
    from tqdm.std import tqdm


@line.register
def study(summary: StudySummary) -> str:
    """Return the progress of a study in one line."""
    counts, budget = summary.counts, getattr(summary, "trial_budget", None)
    reason = "" if summary.reason in (None, summary.state) else f" ({summary.reason})"
    of = "" if budget is None else f" of {budget}"
    most_plates = getattr(summary, "plate_budget", None)
    plates = "" if most_plates is None else f", plate {counts.plates} of {most_plates}"
    others = {name: getattr(counts, name) for name in ("active", "failed", "stopped", "withdrawn")}
    more = "".join(f", {count} {name}" for name, count in others.items() if count)
    unit = getattr(summary, "quantities", {}).get("value", {}).get("unit")
    found = "" if summary.best is None else f", {_at(summary.best, unit)}"
    title = getattr(summary, "title", None)
    name = f"{summary.id!r} ({_shown(title)})" if title else repr(summary.id)
    return f"<Study {name}: {summary.state}{reason}, {counts.completed}{of} trials completed{plates}{more}{found}>"


@line.register
def best(found: Best) -> str:
    """Return the best result in one line."""
    trial = "" if found.trial is None else f", trial {found.trial}"
    return f"<{_at(found)}{trial}>"


@line.register
def report(of_run: RunReport) -> str:
    """Return the report of a run in one line."""
    stopped = f", {of_run.stopped} stopped" if of_run.stopped else ""
    observed = of_run.recommendation.observed
    found = "" if observed is None else f", {_at(observed)}"
    return f"<Run: {of_run.completed} completed, {of_run.failed} failed{stopped}, ended by {of_run.reason!r}{found}>"


@line.register
def recommendation(found: Recommendation) -> str:
    """Return the best points, or the number of points on the front, in one line."""
    if found.front:
        return f"<Recommendation: {len(found.front)} points on the model's front>"
    lines = [] if found.model is None else [f"by the model {_estimate(found.model)}"]
    lines += [] if found.observed is None else [f"observed {_at(found.observed)}"]
    lines += [] if found.gap is None else [f"gap {difference(found.gap)}"]
    reason = "" if found.reason is None else f" ({found.reason})"
    return f"<Recommendation{reason}: {'; '.join(lines) or 'none yet'}>"


@line.register
def estimate(found: Estimate) -> str:
    """Return the model's point in one line."""
    return f"<Estimate {_estimate(found)}{_metrics(found.metrics)}{_feasible(found.feasible_probability)}>"


@line.register
def front_estimate(found: FrontEstimate) -> str:
    """Return a point of the model's front in one line."""
    probable = f", on the front with probability {found.probability:.3g}"
    at = f"at {point(found.parameters)}"
    return f"<FrontEstimate {at}{_metrics(found.metrics)}{_feasible(found.feasible_probability)}{probable}>"


@line.register
def prediction(found: Prediction) -> str:
    """Return a prediction in one line."""
    text = "" if found.mean is None or found.std is None else f" {figure(found.mean)} ± {found.std:.2g}"
    text += "" if found.lcb is None or found.ucb is None else f", from {figure(found.lcb)} to {figure(found.ucb)}"
    finishes = found.finish_probability
    text += _metrics(found.metrics) + _feasible(found.feasible_probability)
    return f"<Prediction{text}{'' if finishes is None else f', finishes with probability {finishes:.3g}'}>"


@line.register
def assessment(found: Assessment) -> str:
    """Return the first sentence of an assessment, and the number of warnings."""
    warnings = f", {len(found.checks)} warning{'s' * (len(found.checks) != 1)}" if found.checks else ""
    return f"<Assessment of {found.results} results: {found.standing}{warnings}>"


@line.register
def validation(found: Validation) -> str:
    """Return the errors of a leave-one-out validation in one line."""
    if found.inside is None or found.error is None or found.error_of_median is None:
        return f"<Validation: none ({found.reason}), {found.results} results>"
    return (
        f"<Validation of {found.counted} results: {found.inside:.0%} in their 90% intervals, "
        f"error {found.error:.3g}, of the median {found.error_of_median:.3g}>"
    )


@line.register
def importance(found: Importance) -> str:
    """Return the total importances in one line, the largest first."""
    if found.reason is not None:
        return f"<Importance: none ({found.reason}), {found.results} results>"
    ranked = sorted(found.parameters, key=lambda each: -each.total)
    return f"<Importance from {found.results} results: {', '.join(f'{each.name} {each.total:.2f}' for each in ranked)}>"


@line.register
def slice_(found: Slice) -> str:
    """Return the parameters of a slice, in one line."""
    along = ", ".join(f"{len(axis.values)} values of {axis.name}" for axis in found.axes)
    at = f" at {point(found.at)}" if found.at else ""
    return f"<Slice from {found.results} results: {along}{at}>"


@line.register
def front(found: Front) -> str:
    """Return the sizes of a front in one line."""
    volume = "" if found.hypervolume is None else f", hypervolume {figure(found.hypervolume)}"
    points = f"{len(found.observed)} points, {len(found.model)} by the model"
    return f"<Front of {', '.join(each.metric for each in found.objectives)}: {points}{volume}>"


@line.register
def trial(found: Trial) -> str:
    """Return a trial in one line."""
    details = {"completed": _result(found.value, found.metrics), "failed": found.reason, "active": found.worker}
    more = details.get(found.state)
    state = f"{found.state} ({more})" if more else found.state
    without_model = ", quasi-random" if found.origin == "fallback" else ""
    return f"<Trial {found.number} of {found.study!r}: {state} at {point(found.parameters)}{without_model}>"


@line.register
def observation(found: Observation) -> str:
    """Return a result in one line."""
    of = "" if found.trial is None else f" of trial {found.trial}"
    marks = "".join(f", {word}" for word in ("excluded", "outside") if getattr(found, word))
    error = "" if found.std_error is None else f" ± {found.std_error:.2g}"
    result = _result(found.value, found.metrics)
    return f"<Observation {found.seq}{of}: {result}{error} at {point(found.parameters)}{marks}>"


@line.register
def answer(found: Answer) -> str:
    """Return the outcome of a change in one line."""
    return " ".join(repr(each) for each in (found.trial, found.observation, found.study) if each is not None)


@line.register
def catalogue_row(found: CatalogueRow) -> str:
    """Return a row of a catalogue in one line."""
    withdrawn = ", withdrawn" if found.withdrawn else ""
    return f"<CatalogueRow {found.name!r}: {point(found.numbers)}{withdrawn}>"


@line.register
def event(found: Event) -> str:
    """Return an entry of the log in one line."""
    of = "" if found.trial is None else f" trial {found.trial}"
    return f"<Event {found.seq}: {found.kind}{of}, {found.created_at:%Y-%m-%d %H:%M:%S}>"


@line.register
def leased(found: Leased) -> str:
    """Return a leased trial in one line."""
    ended = found.outcome.trial if found.outcome is not None else None
    state = "active" if found.outcome is None else "ended" if ended is None else ended.state
    trial = f"{type(found).__name__} {found.number} of {found.trial.study!r}"
    return f"<{trial}: {state} at {point(found.trial.parameters)}>"


@line.register
def outbox(found: Outbox) -> str:
    """Return the server and the folder of an outbox in one line, without reading its files."""
    return f"<Outbox of {found.server!r} in {str(found.folder)!r}>"


def records(items: Sequence[Any], *, is_all: bool) -> str:
    """Return records of one kind, one per row; each parameter has its own column."""
    if not items:
        return "There are none."
    rows = [cells(each) for each in items]
    header = list(dict.fromkeys(name for row in rows for name, value in row.items() if value is not None))
    more = "" if is_all else f"\nThe first {len(items)}; there are more."
    return table(header, [[_shown(row.get(name)) for name in header] for row in rows]) + more


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows below a header, as columns of text."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *rows))
    return "\n".join(line.rstrip() for line in lines)


def _at(found: Best, unit: str | None = None) -> str:
    word = "best" if found.feasible is not False else "none feasible, nearest"
    metrics = f" ({point(found.metrics)})" if found.metrics else ""
    value = f"{figure(found.value)} {unit}" if unit else figure(found.value)
    return f"{word} {value}{metrics} at {point(found.parameters)}"


def _result(value: float | None, metrics: Mapping[str, float] | None) -> str:
    text = "" if value is None else figure(value)
    measured = point(metrics or {})
    return f"{text} ({measured})" if text and measured else text or measured


def _metrics(predicted: Mapping[str, MetricPrediction] | None) -> str:
    text = ", ".join(f"{name}={figure(each.mean)} ± {each.std:.2g}" for name, each in (predicted or {}).items())
    return f" ({text})" if text else ""


def _feasible(probability: float | None) -> str:
    return "" if probability is None else f", feasible with probability {probability:.3g}"


def _estimate(found: Estimate) -> str:
    changed = "" if found.changes is None else f", which changes {changes(found.changes)}"
    return f"{figure(found.mean)} ± {found.std:.2g} at {point(found.parameters)}{changed}"


def point(values: Mapping[str, Any]) -> str:
    """Return values by name in one line."""
    return ", ".join(f"{name}={'None' if value is None else _shown(value)}" for name, value in values.items())


def _shown(value: Any) -> str:
    text = "" if value is None else figure(value) if isinstance(value, float) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def bar(name: str, unit: str, total: int | None, *, visible: bool) -> "tqdm[Any]":
    """Return a progress bar; the caller closes it."""
    # Imported here, since tqdm takes a tenth of the import time of the client. tqdm.auto also supports notebooks.
    if not visible:
        from tqdm.std import tqdm as plain  # noqa: PLC0415

        return plain(disable=True)
    from tqdm.asyncio import tqdm_asyncio  # noqa: PLC0415
    from tqdm.auto import tqdm as fitting  # noqa: PLC0415

    # None hides the bar if the output is a file. In a notebook, tqdm would take the output for a file.
    hidden = False if fitting is not tqdm_asyncio else None
    return fitting(total=total, unit=unit, desc=name, disable=hidden)
