"""The table of a study's trials and results as CSV. It has the same columns and rows as the client's
``Study.to_frame``.

In words (``in_words``), it is for spreadsheets: column titles, states and purposes are as in the table of the web
interface. The imports of the web interface and of the client read both forms.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

from sqlalchemy import Connection

from adabkb_service.contract.metrics import metrics_of
from adabkb_service.contract.quantities import OBJECTIVE, UNNAMED, titled
from adabkb_service.contract.stored import StoredDefinition, definition_of
from adabkb_service.engine.space import Space
from adabkb_service.operations.words.wording import OWN_POINT, STATES, purpose
from adabkb_service.storage import observations, trials
from adabkb_service.storage.rows import ObservationRow, StudyRow, TrialRow
from adabkb_service.study import render

FIRST = ("trial", "state")
"""Columns before the parameters."""
PLATE = ("plate",)
"""Column between these and the parameters, in a study with plates."""
RESULT = ("value", "std_error")
"""Columns between the parameters and the metrics."""
LAST = (
    "reason",
    "note",
    "worker",
    "reported_by",
    "attempt",
    "origin",
    "started_at",
    "finished_at",
    "duration_seconds",
    "observation",
    "observed_at",
    "excluded",
    "outside",
)
"""Columns after the metrics."""
TITLES: Mapping[str, str] = {
    "trial": "Trial",
    "state": "State",
    "plate": "Plate",
    "reason": "Reason",
    "note": "Note",
    "worker": "Worker",
    "reported_by": "Reported by",
    "attempt": "Attempt",
    "origin": "Why",
    "started_at": "Started (UTC)",
    "finished_at": "Finished (UTC)",
    "duration_seconds": "Duration [s]",
    "observation": "Result number",
    "observed_at": "When (UTC)",
    "excluded": "Excluded",
    "outside": "Outside the ranges",
}
"""Titles of the columns that do not depend on the study. The titles of other columns are labels of its parameters and
quantities."""
YES_NO = {True: "yes", False: "no"}

FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""Matches the start of a text that a spreadsheet may take for a formula, also if the text is already escaped with
apostrophes."""

Row = dict[str, Any]


def write(
    connection: Connection, study: StudyRow, file: TextIO, *, has_commas: bool = False, in_words: bool = False
) -> None:
    """Write the table: the trials ordered by number, then the results without a trial, ordered by number. With
    ``has_commas``, numbers have decimal commas, and cells are separated by semicolons.

    A trial without a result has one row. A trial with several results (of several attempts) has a row for each result.
    """
    names = columns(connection, study, in_words=in_words)
    separator = ";" if has_commas else ","
    table = csv.DictWriter(file, names, delimiter=separator, lineterminator="\n", extrasaction="ignore")
    headers = titles(definition_of(study.definition), names) if in_words else names
    table.writerow(dict(zip(names, map(escaped, headers), strict=True)))
    for row in rows(connection, study, in_words=in_words):
        cells = {name: escaped(_as_csv(value)) for name, value in row.items()}
        table.writerow({name: _with_comma(value) for name, value in cells.items()} if has_commas else cells)


def columns(connection: Connection, study: StudyRow, *, in_words: bool = False) -> list[str]:
    """Return the names of the columns of a study's table. With ``in_words``, a study with several objectives has no
    columns ``value`` and ``std_error``. There is a column ``reported_by`` only if the user is known who reported some
    result or failure."""
    definition = definition_of(study.definition)
    parameters = [f"parameters.{parameter.name}" for parameter in definition.space().parameters]
    measured = [metric.name for metric in metrics_of(study.definition)]
    metrics = [f"{field}.{name}" for field in ("metrics", "std_errors") for name in measured]
    value = () if in_words and definition.objectives else RESULT
    last = LAST if trials.has_reporters(connection, study.id) else [each for each in LAST if each != "reported_by"]
    return [*FIRST, *(PLATE if definition.plates else ()), *parameters, *value, *metrics, *last]


def titles(definition: StoredDefinition, names: list[str]) -> list[str]:
    """Return the titles of the columns of the table, with labels and units. Columns whose titles would be equal
    keep their names."""
    words = {f"parameters.{each.name}": titled(each.name, each.label, each.unit) for each in definition.parameters}
    quantities = definition.quantities
    objective = quantities.get(OBJECTIVE, UNNAMED)
    words |= TITLES
    words |= {
        "value": titled("Result", objective.label, objective.unit),
        "std_error": titled("±", None, objective.unit),
    }
    for metric in definition.metrics_with_bounds:
        quantity = quantities.get(metric.name, UNNAMED)
        words[f"metrics.{metric.name}"] = titled(metric.name, quantity.label, quantity.unit)
        words[f"std_errors.{metric.name}"] = titled(f"± {quantity.label or metric.name}", None, quantity.unit)
    counts = Counter(words.get(name, name).casefold() for name in names)
    return [found if counts[(found := words.get(name, name)).casefold()] == 1 else name for name in names]


def escaped(cell: Any) -> Any:
    """Return a cell. A text that looks like a formula gets a leading apostrophe, which the client's
    ``import_results`` removes."""
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def _as_csv(cell: Any) -> Any:
    """Return a cell for CSV. Times are written to the second, so that spreadsheets can read them."""
    return f"{cell:%Y-%m-%d %H:%M:%S}" if isinstance(cell, datetime) else cell


def _with_comma(cell: Any) -> Any:
    return repr(cell).replace(".", ",") if isinstance(cell, float) else cell


def rows(connection: Connection, study: StudyRow, *, in_words: bool = False) -> Iterator[Row]:
    """Yield the rows, each as column name -> cell. Empty cells may be left out. With ``in_words``, states and purposes
    are in words, and times are in UTC, without a time zone."""
    definition = definition_of(study.definition)
    space = definition.space()
    for trial, result in pairs(connection, study):
        cells: Row = {"state": "completed"} if trial is None else _of_trial(trial, result)
        if trial is None and result is not None:
            cells["note"] = _text(result.attributes.get("note"))
        if result is not None:
            cells |= _of_result(result, definition, space)
        elif trial is not None:
            cells |= _point(render.trial(trial, definition).parameters)
        yield _to_words(cells, trial) if in_words else {name: _as_json(cell) for name, cell in cells.items()}


def _to_words(cells: Row, trial: TrialRow | None) -> Row:
    found = {name: YES_NO[cell] if name in ("excluded", "outside") else cell for name, cell in cells.items()}
    found |= {"state": STATES[cells["state"]], "origin": OWN_POINT if trial is None else purpose(trial)}
    times = {name: cell for name, cell in found.items() if isinstance(cell, datetime)}
    return found | {name: moment.astimezone(UTC).replace(tzinfo=None) for name, moment in times.items()}


def _as_json(cell: Any) -> Any:
    return cell.isoformat().replace("+00:00", "Z") if isinstance(cell, datetime) else cell


def pairs(connection: Connection, study: StudyRow) -> Iterator[tuple[TrialRow | None, ObservationRow | None]]:
    """Yield the trial and the result of each row; either may be None."""
    for found in trials.all_pages(connection, study.id):
        results: dict[int | None, list[ObservationRow]] = {}
        for result in observations.of_trials(connection, study.id, found[0].number, found[-1].number):
            results.setdefault(result.trial, []).append(result)
        for trial in found:
            theirs = results.get(trial.number, ())
            yield from ((trial, result) for result in theirs)
            if not theirs:
                yield trial, None
    yield from ((None, each) for each in observations.all_rows(connection, study.id) if each.trial is None)


def _of_trial(trial: TrialRow, result: ObservationRow | None) -> Row:
    """Return the cells of a trial. Worker and times are those of its last attempt, and are left out if the result
    belongs to an earlier attempt."""
    known: Row = {name: getattr(trial, name) for name in ("state", "reason", "reported_by", "attempt", "origin")}
    known["note"] = _text(trial.attributes.get("note"))
    if result is None or result.attempt == trial.attempt:
        known |= {
            "worker": trial.worker,
            "started_at": trial.started_at,
            "finished_at": trial.finished_at,
            "duration_seconds": trial.seconds,
        }
    return {"trial": trial.number, **({} if trial.plate is None else {"plate": trial.plate}), **known}


def _of_result(result: ObservationRow, definition: StoredDefinition, space: Space) -> Row:
    row = render.observation(result, definition, space).model_dump(mode="json")
    cells = {name: row.get(name) for name in (*RESULT, "reported_by", "attempt", "excluded")} | {
        "observed_at": result.observed_at
    }
    for field in ("metrics", "std_errors"):
        cells |= {f"{field}.{name}": number for name, number in (row.get(field) or {}).items()}
    if result.plate is not None:
        cells["plate"] = result.plate
    cells["duration_seconds"] = result.seconds
    return {**cells, "observation": result.seq, "outside": row.get("outside", False), **_point(result.parameters)}


def _text(note: Any) -> str | None:
    """Return a note as text; as JSON if a program has stored something other than text."""
    return note if note is None or isinstance(note, str) else json.dumps(note)


def _point(parameters: dict[str, Any]) -> Row:
    """Return the cells of the active parameters, with lists and null as JSON."""
    return {
        f"parameters.{name}": json.dumps(value) if value is None or isinstance(value, list) else value
        for name, value in parameters.items()
    }
