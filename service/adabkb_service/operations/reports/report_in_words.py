"""The tables of a report as texts, for the web interface and for Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from adabkb_service.contract import answers
from adabkb_service.contract.front import Front, FrontEstimate
from adabkb_service.contract.model import ModelRecommendation
from adabkb_service.contract.parameters import Parameter
from adabkb_service.contract.quantities import OBJECTIVE, with_unit
from adabkb_service.operations.reports.edits_in_words import edits
from adabkb_service.operations.reports.study_report import Line, StudyReport
from adabkb_service.operations.words import wording
from adabkb_service.operations.words.columns_in_words import aligned
from adabkb_service.operations.words.corrections_in_words import corrected
from adabkb_service.operations.words.ending import ENDED
from adabkb_service.operations.words.reasons import reason_of
from adabkb_service.operations.words.sentences import plate_closed, whose
from adabkb_service.operations.words.settings_in_words import changed
from adabkb_service.operations.words.values_in_words import figure, shown
from adabkb_service.storage.files import FileRow
from adabkb_service.storage.rows import EventRow

UNKNOWN = "–"
CHANGES = {
    "created": "The study was created",
    "paused": "Paused",
    "resumed": "Resumed",
    "completed": "Complete",
}
QUESTIONS = ("Is it going well?", "Why this trial?", "What was learned?", "Can I stop?")
"""What the parts of an assessment answer, in its order; ``assets/assessment.js`` asks the same."""
TRUST = "Can you trust the model?"
OF_TRIALS = {
    "failed": "failed",
    "released": "gave no result and was tried again",
    "retried": "is tried again",
    "withdrawn": "was withdrawn",
}
"""Kind of an event -> what happened to the trial."""
PART = r"[\N{MINUS SIGN}-]?\d[\d\N{NARROW NO-BREAK SPACE}]*(\.\d+)?(×10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?"
NUMBER = re.compile(rf"(\N{{BLACK UP-POINTING TRIANGLE}} )?{PART}( ?± ?{PART})?")
"""A number, perhaps marked as beyond its bound, perhaps with its error. A text of digits and hyphens, such as
1268824-69-6, is not a number."""
MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
MAX_WORKERS = 6
"""The maximum number of workers that a summary names."""
REASONS = {
    "no_results": "There are no results yet.",
    "too_few_results": "There are too few results to rely on the model.",
    "context_needed": "The best point depends on the context. Give a context to see it.",
    "nothing_feasible": "No result satisfies all bounds yet: these points come closest.",
    "nothing_certain": "Some results satisfy all bounds, but the model is not sure enough of any evaluated point.",
    "model_loading": "The server has just started and is loading the model, so its point is missing.",
    "model_busy": "The model did not answer in time, so its point is missing.",
    "model_failed": "The model has failed, so its point is missing.",
}
"""Explanations of missing or uncertain best points."""


class Headline(NamedTuple):
    """The best result of a study (if its point was repeated, the mean there), or the value that the model expects at
    the recommended point."""

    value: str
    """With its unit."""
    where: str
    """The origin of the value in words: its trial, the results of which it is the mean, or the model."""
    conditions: list[tuple[str, str]]
    """The name and the value of each parameter."""
    is_doubted: bool = False
    """Whether the other results contradict the value."""
    range: str = ""
    """The range of an expected value, in words; empty for a measured one."""


DOUBTED = "Do not rely on this number: see the warnings."
FEASIBLE = "feasible_probability"
"""The key of a probability among the texts of a point."""
MEASURED = (
    "No other result is at least as good in every objective and better in one. Results that violate a bound are left "
    "out."
)
NO_COMPROMISE = "No result satisfies all bounds yet."
EXPECTED = (
    "Evaluated points. The numbers are what the model expects there on average, so they depend less on luck than "
    "single results."
)
IN_CONTEXT = "The context is that of the latest result:"
NONE_EXPECTED = "The model expects no best compromises yet."
BEYOND = "\N{BLACK UP-POINTING TRIANGLE}"
"""Marks a number that violates its bound."""
Table = tuple[list[str], list[list[str]]]
"""The header and the rows."""
MARKED = "marks a number that violates its bound."
_Column = tuple[str, "answers.Parameters | None", dict[str, str]]
"""The head of a column, its point, and the texts of its numbers by name."""


def moment(at: datetime | None) -> str:
    """Return a time in UTC, to the minute."""
    return UNKNOWN if at is None else f"{at:%Y-%m-%d %H:%M}"


def facts(report: StudyReport) -> Iterator[tuple[str, str]]:
    """Yield what a report begins with: the name and the text of each tag and each fact."""
    study, counts = report.study, report.study.counts
    if study.title:
        yield "ID", study.id
    yield from ((name, value or UNKNOWN) for name, value in study.tags.items())
    if report.owner:
        yield "Owner", report.owner
    people = [each.name for each in report.workers if each.name]
    if people:
        others = len(people) - MAX_WORKERS
        yield "Workers", ", ".join(people[:MAX_WORKERS]) + (f" and {others} more" if others > 0 else "")
    days = dict.fromkeys(f"{at:%Y-%m-%d}" for at in (study.created_at, study.updated_at))
    yield "Time (UTC)", " to ".join(days)
    total, used = counts.observations, report.assessment.results
    yield "Results", figure(total) if used >= total else f"{figure(total)}, of which the model uses {figure(used)}"
    listed = {wording.STATES[state]: getattr(counts, state) for state in ("failed", "stopped", "withdrawn", "active")}
    own = counts.own_failures
    listed[wording.STATES["failed"]] -= own
    by_state = [f"{figure(count)} {state}" for state, count in listed.items() if count]
    besides = [f"besides {figure(own)} own or imported {'failure' if own == 1 else 'failures'}"] if own else []
    yield "Trials", ", ".join([f"{figure(counts.trials - own)} in total", *by_state, *besides])


def headline(report: StudyReport) -> Headline | None:
    """Return the best result or, if its point was repeated, the mean there; None without a result, and with several
    objectives."""
    study, best, progress = report.study, report.study.best, report.assessment.progress
    if best is None:
        return None
    where = f"trial {best.trial}" if best.trial else "a result without a trial"
    value, repeated = wording.in_unit(study, None, best.value), progress.measured
    if repeated is not None:
        where = f"mean of {repeated.count} results at its point; the best of them is {value}, {where}"
        value = with_unit(wording.mean(study, repeated.mean), wording.unit(study))
    return Headline(value, where, _conditions(study, best.parameters), progress.is_doubted)


def recommended(report: StudyReport) -> Headline | None:
    """Return what the model expects at the recommended point; None if the model gives none or has too few results, and
    with several objectives."""
    study, model = report.study, _model(report)
    if model is None or study.objectives:
        return None
    value, _, found = wording.expected(study, None, model).partition(" (")
    ends = f"{found.removesuffix(')')} on average" if found else ""
    return Headline(value, expectation(report), _conditions(study, model.parameters), range=ends)


def _model(report: StudyReport) -> ModelRecommendation | None:
    """Return the recommended point; None if there are too few results to rely on it."""
    found = report.recommendation
    has_few = any(each.check == "few_results" for each in report.assessment.checks)
    return None if has_few or found.reason == "too_few_results" else found.model


def expectation(report: StudyReport) -> str:
    """Return a description of the value at the recommended point."""
    return f"expected by the model{' now, in the latest context' if report.is_now else ''}"


def _conditions(study: answers.Study, point: answers.Parameters) -> list[tuple[str, str]]:
    """Return the parameters of a point with their values and units."""
    point = wording.as_shown(study, point)
    return [
        (each.label or each.name, wording.setting_in_unit(each, point[each.name]))
        for each in study.parameters
        if each.name in point
    ]


def lacks_model(report: StudyReport) -> bool:
    """Return whether the model did not answer in time, so that its parts are missing."""
    found = {check.check for check in report.assessment.checks}
    return "model_busy" in found or report.recommendation.reason in ("model_busy", "model_loading")


def answers_of(report: StudyReport) -> Iterator[tuple[str, str]]:
    """Yield the questions that the study's assessment answers, each with its answer. A complete study has no answer
    about its last trial."""
    parts = report.assessment
    latest = None if report.study.state == "complete" else parts.latest
    for question, answer in zip(QUESTIONS, (parts.progress, latest, parts.findings, parts.outlook), strict=True):
        if answer and answer.text:
            yield question, answer.text


def best_tables(report: StudyReport) -> Iterator[tuple[str, str, Table | None]]:
    """Yield what is best: titles, notes and tables. In a table, each point is a column. With a single objective, it is
    the best point; with several, the measured best compromises, and those of the model. A table without points is
    None, and its note says why."""
    if not report.study.objectives:
        yield "Best point", REASONS.get(report.recommendation.reason or "", ""), best_points(report)
        return
    found = report.front
    if found is None:
        yield "Best compromises", REASONS.get(report.recommendation.reason or "", ""), None
        return
    none = NO_COMPROMISE if found.results else REASONS["no_results"]
    yield "Measured best compromises", MEASURED if found.observed else none, _compromises(report.study, found)
    where = "" if not (report.is_now and found.model) else f" {IN_CONTEXT} {_context(report.study, found.model[0])}."
    text = f"{EXPECTED}{where}" if found.model else NONE_EXPECTED
    yield "Best compromises by the model", text, _expected_compromises(report, found)


def _compromises(study: answers.Study, found: Front) -> Table | None:
    """Return the measured best compromises, ordered by the first objective; None without any."""
    columns: list[_Column] = [
        (
            f"trial {each.trial}" if each.trial else f"own result R{each.observation}",
            each.parameters,
            {name: _format_measured(study, name, value) for name, value in each.metrics.items()},
        )
        for each in sorted(found.observed, key=lambda each: _rank(found, each.metrics[found.objectives[0].metric]))
    ]
    return _as_columns(study, columns) if columns else None


def _expected_compromises(report: StudyReport, found: Front) -> Table | None:
    """Return the points on the model's front, ordered by the first objective; None without any."""
    study, first = report.study, found.objectives[0].metric
    columns: list[_Column] = []
    points = zip(found.model, report.measured_at, strict=True)
    for each, names in sorted(points, key=lambda pair: _rank(found, pair[0].metrics[first].mean)):
        texts = {name: wording.expected(study, name, at, has_unit=False) for name, at in each.metrics.items()}
        if study.outcome_constraints:
            texts[FEASIBLE] = figure(each.feasible_probability, 2)
        columns.append((f"as {', '.join(names)}" if names else UNKNOWN, each.parameters, texts))
    return _as_columns(study, columns) if columns else None


def _rank(found: Front, value: float) -> float:
    """Return a number of the first objective as a key for sorting: the best comes first."""
    return -value if found.objectives[0].direction == "maximize" else value


def _context(study: answers.Study, point: FrontEstimate) -> str:
    known = {each.name: each for each in study.parameters}
    return ", ".join(
        f"{known[name].label or name} {wording.setting_in_unit(known[name], point.parameters[name])}"
        for name in wording.context(study)
    )


def best_points(report: StudyReport) -> Table:
    """Return the best point according to the model, with predictions, and the best observation, with its
    measurements."""
    study, best = report.study, report.study.best
    at = "" if best is None or best.trial is None else f" (trial {best.trial})"
    by = "by the model now, in the latest context" if report.is_now else "by the model"
    return _as_columns(study, [(by, *_by_model(report)), (f"best observed{at}", *_best_observed(report))])


def _as_columns(study: answers.Study, columns: list[_Column]) -> Table:
    """Return a table whose columns are points, each with its parameters and its numbers."""
    points = [None if point is None else wording.as_shown(study, point) for _, point, _ in columns]
    rows = [
        [wording.parameter_title(each), *(_setting_at(each, point) for point in points)] for each in study.parameters
    ]
    for name in wording.labelled(study):
        titled = wording.title(study, None if name == OBJECTIVE else name)
        bounds = wording.bounds(study, name)
        rows.append(
            [f"{titled}, {bounds}" if bounds else titled, *(texts.get(name, UNKNOWN) for _, _, texts in columns)]
        )
    if study.outcome_constraints and any(FEASIBLE in texts for _, _, texts in columns):
        rows.append(["Probability that it satisfies all bounds", *(texts[FEASIBLE] for _, _, texts in columns)])
    return ["Parameter", *(head for head, _, _ in columns)], rows


def _by_model(report: StudyReport) -> tuple[answers.Parameters | None, dict[str, str]]:
    study, model = report.study, _model(report)
    if model is None:
        return None, {}
    texts = {name: wording.expected(study, name, at) for name, at in (model.metrics or {}).items()}
    return model.parameters, {**texts, OBJECTIVE: wording.expected(study, None, model)}


def _best_observed(report: StudyReport) -> tuple[answers.Parameters | None, dict[str, str]]:
    study, best = report.study, report.study.best
    if best is None:
        return None, {}
    texts = {name: _format_measured(study, name, value) for name, value in (best.metrics or {}).items()}
    return best.parameters, {OBJECTIVE: _format_measured(study, None, best.value), **texts}


def _setting_at(parameter: Parameter, point: answers.Parameters | None) -> str:
    return (
        UNKNOWN if point is None or parameter.name not in point else wording.setting(parameter, point[parameter.name])
    )


def _evaluated_setting(parameter: Parameter, point: answers.Parameters, suggested: answers.Parameters) -> str:
    """Return the evaluated value of a parameter, and the suggested one if it differs."""
    evaluated, other = _setting_at(parameter, point), _setting_at(parameter, suggested)
    return evaluated if evaluated == other else f"{evaluated} (suggested {other})"


def result_columns(study: answers.Study) -> list[str]:
    """Return the header of the table of results."""
    of_value = [] if study.objectives else [wording.title(study), "±"]
    metrics = [header for name in wording.measured(study) for header in (wording.title(study, name), "±")]
    parameters = [wording.parameter_title(each) for each in study.parameters if each.kind != "fixed"]
    plate = ["Plate"] if study.plates else []
    last = ["Reason or note", "Worker", "Reported by", "When (UTC)"]
    return ["Trial", "State", *plate, *of_value, *metrics, *parameters, *last]


def exclusions(report: StudyReport) -> dict[int, str]:
    """Return the number of each excluded result -> the reason that a user gave for its exclusion."""
    found: dict[int, str] = {}
    for each in report.changes:
        if each.kind == "corrected" and each.payload.get("excluded") and each.payload.get("reason"):
            found[each.payload["observation"]] = reason_of(each)
    return found


def result_cells(study: answers.Study, line: Line, reasons: Mapping[int, str] = MappingProxyType({})) -> list[str]:
    """Return a row of the table of results. ``reasons``: number of an excluded result -> why it is excluded."""
    trial, result = line.trial, line.result
    told = result or trial
    cells = [str(trial.number) if trial else f"R{result.seq}" if result else "", _state(study, line)]
    if study.plates:
        own = trial or result
        cells.append(str((own and own.plate) or UNKNOWN))
    cells += [*_measured_cells(study, result), *_setting_cells(study, line), _notes(line, reasons)]
    return [*cells, (trial and trial.worker) or UNKNOWN, (told and told.reported_by) or UNKNOWN, moment(_when(line))]


def _measured_cells(study: answers.Study, result: answers.Observation | None) -> list[str]:
    """Return the value, unless there are several objectives, and each metric, with their standard errors."""
    cells = []
    if not study.objectives:
        value, error = (None, None) if result is None else (result.value, result.std_error)
        cells = [_format_measured(study, None, value), figure(error)]
    metrics, errors = ({}, {}) if result is None else (result.metrics or {}, result.std_errors or {})
    for name in wording.measured(study):
        is_beyond = result is not None and wording.beyond(study, result, name)
        number = _format_measured(study, name, metrics.get(name))
        cells += [f"{BEYOND} {number}" if is_beyond else number, figure(errors.get(name))]
    return cells


def _setting_cells(study: answers.Study, line: Line) -> list[str]:
    """Return the parameters, except fixed ones."""
    trial, result = line.trial, line.result
    point = result.parameters if result else trial.parameters if trial else {}
    suggested = trial.parameters if trial and result else point
    point, suggested = (wording.as_shown(study, each) for each in (point, suggested))
    return [_evaluated_setting(each, point, suggested) for each in study.parameters if each.kind != "fixed"]


def _notes(line: Line, reasons: Mapping[int, str]) -> str:
    """Return the reason or note of a trial, or of a result without a trial, and why the result is excluded."""
    trial, result = line.trial, line.result
    notes: list[Any] = []
    if trial is not None:
        notes = [wording.reason(trial), trial.attributes.get("note")]
    elif result is not None:
        notes = [result.attributes.get("note")]
    if result is not None and result.excluded and result.seq in reasons:
        notes.append(f"excluded: {reasons[result.seq]}")
    return "; ".join(str(each) for each in notes if each)


def without_empty(study: answers.Study, header: list[str], rows: list[list[str]]) -> Table:
    """Return a table without the columns that are empty in all rows. Numbers are aligned, except those of parameters,
    which may be rounded."""
    settings = {wording.parameter_title(each) for each in study.parameters}
    kept = [i for i in range(len(header)) if not rows or any(row[i] not in ("", UNKNOWN) for row in rows)]
    texts = {i: [row[i] for row in rows] for i in kept}
    columns = [texts[i] if header[i] in settings else _aligned(texts[i]) for i in kept]
    return [header[i] for i in kept], [list(row) for row in zip(*columns, strict=True)]


def _aligned(cells: list[str]) -> list[str]:
    """Align the numbers of a column, also those that are marked."""
    marks = [BEYOND + " " if cell.startswith(BEYOND) else "" for cell in cells]
    plain = aligned([cell.removeprefix(mark) for cell, mark in zip(cells, marks, strict=True)])
    return [mark + cell for mark, cell in zip(marks, plain, strict=True)]


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, perhaps with its error, which is aligned to the right."""
    return NUMBER.fullmatch(cell) is not None


def has_numbers(rows: list[list[str]], column: int) -> bool:
    """Return whether a column has numbers only, at least one."""
    known = [row[column] for row in rows if row[column] not in ("", UNKNOWN)]
    return bool(known) and all(map(is_number, known))


def is_moment(cell: str) -> bool:
    """Return whether a cell is a time, which has no line break."""
    return MOMENT.fullmatch(cell) is not None


def _when(line: Line) -> datetime | None:
    trial, result = line.trial, line.result
    if result is not None:
        return result.observed_at
    return None if trial is None else trial.finished_at or trial.started_at or trial.created_at


def _state(study: answers.Study, line: Line) -> str:
    state = wording.STATES["completed" if line.trial is None else line.trial.state]
    if line.repeats is not None:
        mean = (
            ""
            if line.repeats.mean is None
            else f", mean {with_unit(wording.mean(study, line.repeats.mean), wording.unit(study))}"
        )
        state = f"{state}, 1 of {line.repeats.count} here{mean}"
    if line.result is not None and line.result.excluded:
        return f"{state}, excluded"
    return f"{state}, outside the space" if line.result is not None and line.result.outside else state


def _format_measured(study: answers.Study, name: str | None, value: float | None) -> str:
    """Return a value with up to 12 digits or, if the study sets the number of decimals, with these."""
    if value is None or wording.quantity(study, name).digits is not None:
        return wording.number(study, name, value)
    return figure(value, 12)


def workers(report: StudyReport) -> Table:
    """Return the table of workers: the number of trials of each, and when they ran."""
    header = ["Worker", "Trials", "Completed", "Failed", "First start (UTC)", "Last end (UTC)"]
    rows = [
        [
            each.name or UNKNOWN,
            str(each.trials),
            str(each.completed),
            str(each.failed),
            *map(moment, (each.first, each.last)),
        ]
        for each in report.workers
    ]
    return header, rows


def changes(report: StudyReport) -> Table:
    """Return the table of the changes of the study, with who made them and why."""
    edited, trials = edits(report.changes), report.trials_of_corrected
    ended = [each.seq for each in report.changes if each.kind == "completed"] if report.ended else []
    ending = ended[-1] if ended else None
    rows = [
        [
            moment(each.created_at),
            each.user or UNKNOWN,
            edited.get(each.seq) or _change(report.study, each, trials),
            ENDED if each.seq == ending else reason_of(each),
        ]
        for each in report.changes
    ]
    return ["When (UTC)", "Who", "What", "Why"], rows


def _change(study: answers.Study, event: EventRow, trials: Mapping[int, int]) -> str:
    match event.kind:
        case "updated":
            return f"Changed: {changed(event.payload['changes'], study.quantities, event.payload.get('was'))}"
        case "plate_closed":
            return plate_closed(event.payload["plate"])
        case "failed" | "released" | "retried" | "withdrawn":
            return f"Trial {event.trial} {OF_TRIALS[event.kind]}"
        case "corrected":
            seq = event.payload["observation"]
            return f"{whose(trials.get(seq), seq)} was {corrected(study.quantities, event.payload)}"
    return CHANGES[event.kind]


def acts(report: StudyReport) -> Table:
    """Return the table of the study's entries in the audit log, such as who shared, deleted or restored it."""
    rows = [
        [
            moment(each.at),
            each.user or UNKNOWN,
            each.action,
            ", ".join(f"{n}: {v if isinstance(v, dict) else shown(v)}" for n, v in each.detail.items()),
        ]
        for each in report.acts or []
    ]
    return ["When (UTC)", "User", "What", "Details"], rows


def holder(file: FileRow) -> str:
    """Return what a file is attached to."""
    return f"trial {file.trial}" if file.observation is None else f"own result R{file.observation}"


def caption(report: StudyReport, file: FileRow) -> str:
    """Return what is written below a photograph: what it is attached to, when it was added, and the note."""
    note = report.notes_of_files.get(file.number)
    added = f"{holder(file)}: {file.name}, added {moment(file.created_at)} UTC"
    return f"{added}. {note}" if note else added


def files(report: StudyReport) -> Table:
    """Return the table of the files of trials and of results without a trial."""
    rows = [
        [holder(each), each.name, figure(each.size), each.user or UNKNOWN, moment(each.created_at)]
        for each in report.files
    ]
    return ["Of", "File", "Bytes", "Added by", "When (UTC)"], rows
