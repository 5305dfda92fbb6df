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
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, TextIO

from sqlalchemy import Connection

from adabkb_service.contract.metrics import metrics_of
from adabkb_service.contract.quantities import OBJECTIVE, UNNAMED, titled
from adabkb_service.contract.stored import StoredDefinition, definition_of
from adabkb_service.operations.data.columns import COLUMNS, FIRST, LAST, MEASURED, PLATE, RESULT, Row, cells
from adabkb_service.operations.words.wording import OWN_POINT, STATES, purpose
from adabkb_service.storage import observations, trials
from adabkb_service.storage.rows import ObservationRow, StudyRow, TrialRow
from adabkb_service.study import render

YES_NO = {True: "yes", False: "no"}

FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""Matches the start of a text that a spreadsheet may take for a formula, also if the text is already escaped with
apostrophes."""


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
    metrics = [f"{field}.{name}" for field in MEASURED for name in measured]
    value = () if in_words and definition.objectives else RESULT
    last = LAST if trials.has_reporters(connection, study.id) else [each for each in LAST if each != "reported_by"]
    return [*FIRST, *(PLATE if definition.plates else ()), *parameters, *value, *metrics, *last]


def titles(definition: StoredDefinition, names: list[str]) -> list[str]:
    """Return the titles of the columns of the table, with labels and units. Columns whose titles would be equal
    keep their names."""
    words = {f"parameters.{each.name}": titled(each.name, each.label, each.unit) for each in definition.parameters}
    quantities = definition.quantities
    objective = quantities.get(OBJECTIVE, UNNAMED)
    words |= {name: column.title for name, column in COLUMNS.items()}
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
        row = cells(trial, None if result is None else render.observation(result, definition, space))
        if result is not None:
            row |= _point(result.parameters)
        elif trial is not None:
            row |= _point(render.trial(trial, definition).parameters)
        yield _to_words(row, trial) if in_words else {name: _as_json(cell) for name, cell in row.items()}


def _to_words(row: Row, trial: TrialRow | None) -> Row:
    flags = [name for name, column in COLUMNS.items() if column.kind == "flag" and name in row]
    found = {**row, **{name: YES_NO[row[name]] for name in flags}}
    found |= {"state": STATES[row["state"]], "origin": OWN_POINT if trial is None else purpose(trial)}
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


def _point(parameters: dict[str, Any]) -> Row:
    """Return the cells of the active parameters, with lists and null as JSON."""
    return {
        f"parameters.{name}": json.dumps(value) if value is None or isinstance(value, list) else value
        for name, value in parameters.items()
    }
