"""Read sources of results (files, frames and studies of Optuna) as numbered rows of cells.

Objects of pandas, Optuna and ``minimize`` are recognized by their methods, so that the packages need not be installed.
"""

import csv
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

Source = str | os.PathLike[str] | Iterable[Mapping[str, Any]] | Any
"""A path, an iterable of dicts, a pandas DataFrame, a study of Optuna or a result of ``minimize``."""

ESCAPED = re.compile(r"^'(?='*[=+\-@\t\r])")
"""The apostrophe that the server writes in its tables before a string that looks like a formula."""
DELIMITERS = ",;\t"
NESTED = "parameters"
"""The cell of a row that holds the parameters by name, as in the JSON of results."""


@dataclass(frozen=True)
class Row:
    """A row with its cells by column; ``problem`` is the error of a row that could not be read."""

    number: int
    cells: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None


@dataclass(frozen=True)
class Table:
    """All rows of a source.

    ``counted`` is what the number of a row counts: "line", "row" or "trial". ``direction`` is the direction of the
    source's study, if known.
    """

    name: str
    counted: str
    rows: list[Row]
    direction: str | None = None

    @property
    def columns(self) -> list[str]:
        """The columns of all rows, in order of first occurrence."""
        return list(dict.fromkeys(column for row in self.rows for column in row.cells))


def read(source: Source) -> Table:
    """Read a source completely.

    The number of a row is the line of a file or the row of a sheet, counted from 1, the number of a trial of Optuna or
    of ``minimize``, or the position in a frame or an iterable, counted from 0.

    Raises:
        TypeError: the type of the source is not supported.
        ValueError: the source has no rows, is a file that cannot be imported (its ending, encoding, format or columns),
            or is a study of Optuna with several objectives.
        ImportError: the source is an Excel file, and openpyxl is not installed.
        OSError: a file cannot be read.
    """
    if isinstance(source, str | os.PathLike):
        table = _of_file(Path(source))
    elif hasattr(source, "get_trials"):
        table = _of_optuna(source)
    elif hasattr(source, "to_rows"):
        table = _of_search(source)
    elif hasattr(source, "columns") and hasattr(source, "to_dict"):
        table = Table("the frame", "row", list(_of_frame(source, first=0)))
    elif isinstance(source, Iterable) and not isinstance(source, Mapping | bytes):
        table = Table("the results", "row", [_row(number, cells) for number, cells in enumerate(source)])
    else:
        raise TypeError(
            "results are imported from the path of a file, a pandas DataFrame, an iterable of dicts, a study of Optuna "
            f"or a result of minimize, not from {type(source).__name__}"
        )
    if not table.rows:
        raise ValueError(f"there is no result in {table.name}")
    return table


def _of_file(path: Path) -> Table:
    import gzip  # noqa: PLC0415 (a tenth of the import time of the client)

    kind = Path(path.name.lower().removesuffix(".gz")).suffix
    try:
        match kind:
            case ".csv":
                with _opened(path) as file:
                    return Table(path.name, "line", list(_of_csv(file)))
            case ".jsonl":
                with _opened(path) as file:
                    return Table(path.name, "line", _of_jsonl(path.name, file))
            case ".xlsx":
                return Table(path.name, "row", list(_of_sheet(path)))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is not encoded as UTF-8 ({error.reason}); save it in UTF-8") from error
    except (csv.Error, gzip.BadGzipFile, EOFError) as error:
        raise ValueError(f"{path.name} does not have the format of its ending: {error}") from error
    raise ValueError(
        f"{path.name} cannot be imported; give a file with the ending .csv, .jsonl, .csv.gz, .jsonl.gz or .xlsx"
    )


def _opened(path: Path) -> IO[str]:
    # A byte order mark, which Excel writes, is not part of the first column's name.
    if path.suffix.lower() == ".gz":
        import gzip  # noqa: PLC0415 (as above)

        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _of_csv(file: IO[str]) -> Iterator[Row]:
    header = file.readline()
    delimiter = max(DELIMITERS, key=header.count)
    columns = [ESCAPED.sub("", column.strip()) for column in next(csv.reader([header], delimiter=delimiter), [])]
    if len(set(columns)) < len(columns):
        raise ValueError(f"the header has a column twice: {header.strip()}")
    lines = csv.reader(file, delimiter=delimiter)
    number = 2
    for cells in lines:
        if len(cells) > len(columns):
            counts = f"has {len(cells)} cells, but the header has {len(columns)}"
            yield Row(number, problem=f"{counts}; put cells that contain {delimiter!r} in quotation marks")
        elif any(cells):
            yield Row(number, dict(zip(columns, (ESCAPED.sub("", cell) for cell in cells), strict=False)))
        number = lines.line_num + 2


def _of_jsonl(name: str, file: IO[str]) -> list[Row]:
    rows = [_of_json(number, line) for number, line in enumerate(file, 1) if line.strip()]
    if rows and {"type", "format"} <= rows[0].cells.keys():  # an export has each result twice
        raise ValueError(
            f"{name} is the export of a whole study, which `adabkb data import` reads into a database; "
            'export("csv") has only the results'
        )
    return rows


def _of_json(number: int, line: str) -> Row:
    try:
        return _row(number, json.loads(line))
    except (ValueError, RecursionError) as error:
        return Row(number, problem=f"is not JSON: {error}")


def _row(number: int, cells: Any) -> Row:
    if not isinstance(cells, Mapping):
        return Row(number, problem=f"must be an object of columns and values, not {type(cells).__name__}")
    nested = cells.get(NESTED)
    if not isinstance(nested, Mapping):
        return Row(number, {str(column): cell for column, cell in cells.items()})
    others = {str(column): cell for column, cell in cells.items() if column != NESTED}
    return Row(number, {**{f"{NESTED}.{name}": value for name, value in nested.items()}, **others})


def _of_frame(frame: Any, first: int) -> Iterator[Row]:
    plain = frame.astype(object).where(frame.notna(), None)  # pandas has several kinds of missing values
    return (_row(number, cells) for number, cells in enumerate(plain.to_dict("records"), first))


def _of_sheet(path: Path) -> Iterator[Row]:
    """The rows of the first sheet below its first row, which names the columns."""
    import zipfile  # noqa: PLC0415 (as above)

    try:
        from openpyxl import load_workbook  # noqa: PLC0415 (optional)
    except ImportError as error:
        raise ImportError(
            f"{path.name} is an Excel file; install openpyxl to read it (pip install openpyxl), or save it as CSV"
        ) from error
    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except (ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path.name} is not an Excel file: {error}") from error
    rows = iter(book.worksheets[0].iter_rows(values_only=True))
    columns = ["" if name is None else str(name).strip() for name in next(rows, ())]
    named = [column for column in columns if column]
    if len(set(named)) < len(named):
        raise ValueError(f"the first row of {path.name} has a column twice: {', '.join(named)}")
    for number, cells in enumerate(rows, 2):
        found = {column: cell for column, cell in zip(columns, cells, strict=False) if column}
        if any(cell is not None for cell in found.values()):
            yield Row(number, found)
    book.close()


def _of_search(found: Any) -> Table:
    """Return the trials of a result of ``minimize``. A stopped trial is a result if it has numbers."""
    rows = []
    for cells in found.to_rows():
        number = cells.pop("trial")
        has_numbers = any(cells[name] is not None for name in cells if name == "value" or name.startswith("metrics."))
        rows.append(_row(number, {**cells, "state": "completed"} if has_numbers else cells))
    has_values = any(row.cells["value"] is not None for row in rows)
    return Table("the search", "trial", rows, found.direction if has_values else None)


def _of_optuna(study: Any) -> Table:
    name = f"Optuna's study {study.study_name!r}"
    if len(study.directions) > 1:
        raise ValueError(f"{name} has {len(study.directions)} objectives, but only a study with one can be imported")
    rows = [_of_trial(trial) for trial in study.get_trials(deepcopy=False)]
    return Table(name, "trial", rows, study.direction.name.lower())


def _of_trial(trial: Any) -> Row:
    constraints = trial.constraints.values() if hasattr(trial, "constraints") else trial.system_attrs.get("constraints")
    is_feasible = all(violation <= 0 for violation in constraints or ())  # before Optuna 5, constraints have no names
    state = trial.state.name.lower() if is_feasible else "infeasible"
    return _row(trial.number, {NESTED: trial.params, "value": trial.value, "state": state})
