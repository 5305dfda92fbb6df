"""Convert rows of a source to results of a study."""

import ast
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from adabkb_client._records import RowError
from adabkb_client._tables import NESTED, Row
from adabkb_client._values import plain, titled

COMPLETED = ("", "complete", "completed", "done", "finished", "ok", "succeeded", "success", "successful")
"""States of a row that has a result, in lower case."""
FAILED = ("crashed", "error", "fail", "failed", "failure", "fehlgeschlagen", "misslungen")
"""States of a row whose evaluation failed, in lower case."""
TITLES = {"state": "State", "plate": "Plate", "reason": "Reason", "excluded": "Excluded"}
"""The titles of columns in an Excel file of a study, or in a CSV with titles."""
REASON = "reason"
"""The column of an export that has the reasons of failures."""
EXCLUDED = "excluded"
"""The column of an export that marks excluded results; also the state of such rows."""
YES = ("true", "yes")
"""The texts that mark an excluded result, in lower case."""
DECIMALS = (".", ",")
"""The possible decimal marks."""
MAX_PLATE = 10**9
"""The largest number of a plate."""
SHOWN = 60
"""The maximum number of characters of a cell that an error shows."""


class NoColumn(ValueError):
    """A source has no column for a ``parameter`` or, if that is None, for ``field``: "value", "std_error", "state" or
    "plate".

    ``what`` describes this without the remedy, which depends on the interface.
    """

    def __init__(self, meant: str, columns: Sequence[str], *, parameter: str | None = None, field: str = "") -> None:
        self.what = f"there is no column for {meant}; the columns are {', '.join(columns) or 'none'}"
        self.parameter = parameter
        self.field = field
        argument = f"{field}=..." if parameter is None else f"columns={{{parameter!r}: ...}}"
        super().__init__(f"{self.what}. Name it: {argument}")


class InvalidCell(ValueError):
    """A cell does not have a valid value. The message continues a sentence that begins with the name of the field."""


@dataclass(frozen=True)
class Columns:
    """The column of each field: of the parameters, the metrics and their standard errors by name, and of the value, its
    standard error, the state and the plate. Also how cells are read."""

    parameters: Mapping[str, str]
    value: str | None
    std_error: str | None
    state: str | None
    metrics: Mapping[str, str] = field(default_factory=dict)
    std_errors: Mapping[str, str] = field(default_factory=dict)
    plate: str | None = None
    decimal: str = "."
    """The decimal mark."""
    choices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Parameter -> text of a cell -> the choice that it means."""

    def parameter_cells(self, row: Row) -> dict[str, Any]:
        """Return the cell of each parameter by name, or the choice that it means."""
        cells = {name: row.cells.get(column) for name, column in self.parameters.items()}
        for name in cells.keys() & self.choices.keys():
            cell = plain(cells[name])
            text = "" if _is_missing(cell) else str(cell).strip()
            cells[name] = self.choices[name].get(text, cells[name])
        return cells

    def unused(self, columns: Iterable[str]) -> list[str]:
        """Return the columns that are not used."""
        measured = {*self.metrics.values(), *self.std_errors.values()}
        used = {*self.parameters.values(), self.value, self.std_error, self.state, self.plate, *measured}
        used |= {EXCLUDED, TITLES[EXCLUDED]} | ({REASON, TITLES[REASON]} if self.state is not None else set())
        return [column for column in columns if column not in used]


def chosen(
    columns: Sequence[str],
    parameters: Sequence[Mapping[str, Any]],
    mapping: Mapping[str, str],
    value: str,
    std_error: str | None,
    state: str | None,
    metrics: Sequence[str] = (),
    *,
    plate: str | None = None,
    several: bool = False,
    quantities: Mapping[str, Mapping[str, Any]] | None = None,
    decimal: str = ".",
    choices: Mapping[str, Mapping[str, Any]] | None = None,
) -> Columns:
    """Return the columns of the fields: those that the arguments name, or otherwise those with the default names.

    Args:
        columns: the existing columns.
        parameters: the parameters of the study, as JSON.
        mapping: parameter -> its column, for columns with other names.
        value: the column of the results.
        std_error: the column of their standard errors; it may be missing if it has the default name.
        state: the column of the states; it may be missing if it has the default name.
        metrics: the metrics of the study. The column of a metric has its name, or ``metrics.<name>`` as in exports.
        plate: the column of the plates; None if the rows have none, and otherwise as for the standard errors.
        several: whether the study has several objectives, so that results consist of metrics.
        quantities: labels and units of measured quantities, by name.
        decimal: the decimal mark of numbers, "." or ",".
        choices: parameter -> text of a cell -> the choice that it means.

    Raises:
        NoColumn: a parameter or the value has no column, or a named column does not exist.
        ValueError: a metric has no column, the mapping or the choices name an unknown parameter, the value and a
            parameter have the same column, or the decimal mark is invalid.
    """
    if decimal not in DECIMALS:
        raise ValueError(f"decimal must be {' or '.join(map(repr, DECIMALS))}, not {decimal!r}")
    names = [parameter["name"] for parameter in parameters]
    for name in mapping:
        if name not in names:
            raise ValueError(f"a column is given for {name!r}, which is not one of the parameters: {', '.join(names)}")
    for name in choices or ():
        if name not in names:
            raise ValueError(f"choices are given for {name!r}, which is not one of the parameters: {', '.join(names)}")
    found: dict[str, str] = {}
    for parameter in parameters:
        name = parameter["name"]
        # The third name is that of Optuna's frames, the last that of Excel files of a study.
        usual = (f"{NESTED}.{name}", name, f"params_{name}", titled(name, parameter))
        candidates = (mapping[name],) if name in mapping else usual
        column = next((each for each in candidates if each in columns), None)
        if column is not None:
            found[name] = column
        elif name in mapping or not (parameter["kind"] == "fixed" or parameter.get("when")):
            raise NoColumn(f"parameter {name!r}", columns, parameter=name)
    words = quantities or {}
    objective = words.get("value", {})
    if value == "value":
        title = titled("Result", objective)
        titles = (value, titled(value, objective), title)
        value = next((each for each in titles if each in columns), title if objective.get("label") else value)
    if value not in columns and not several:
        raise NoColumn(f"the value ({value!r})", columns, field="value")
    if value in found.values():
        raise ValueError(
            f"column {value!r} is used for the value and for a parameter; name another column for one of them"
        )
    taken = {*found.values(), value}
    measured = {name: _of_metric(name, words.get(name, {}), columns) for name in metrics}
    return Columns(
        found,
        None if several else value,
        _optional("std_error", std_error, columns, taken, titled("±", {"unit": objective.get("unit")})),
        _optional("state", state, columns, taken, TITLES["state"]),
        measured,
        {name: column for name in metrics if (column := _of_error(name, words.get(name, {}), columns)) is not None},
        _optional("plate", plate, columns, taken | set(measured.values()), TITLES["plate"]),
        decimal,
        choices or {},
    )


def _of_metric(name: str, words: Mapping[str, Any], columns: Sequence[str]) -> str:
    column = next((each for each in (f"metrics.{name}", name, titled(name, words)) if each in columns), None)
    if column is None:
        raise ValueError(f"there is no column for metric {name!r}: call it {name}, or metrics.{name} as in exports")
    return column


def _of_error(name: str, words: Mapping[str, Any], columns: Sequence[str]) -> str | None:
    title = titled(f"± {words.get('label') or name}", {"unit": words.get("unit")})
    return next((each for each in (f"std_errors.{name}", title) if each in columns), None)


def _optional(name: str, column: str | None, columns: Sequence[str], taken: set[str], title: str) -> str | None:
    """Return the column of a field; None if it is not given, or if there is none with its default name or title."""
    if column == name:
        return next((each for each in (name, title) if each in columns and each not in taken), None)
    if column is None:
        return None
    if column not in columns:
        raise NoColumn(f"the {name} ({column!r})", columns, field=name)
    return column


def left_out(row: Row, columns: Columns) -> str | None:
    """Return the state for which a row is skipped; None if the row should have a result, or has failed."""
    if str(_cell(row, columns, EXCLUDED)).lower() in YES:
        return EXCLUDED
    state = _state(row, columns)
    return None if state in COMPLETED or state in FAILED else state


def _state(row: Row, columns: Columns) -> str:
    """Return the state of a row in lower case; empty if it has none."""
    cell = None if columns.state is None else row.cells.get(columns.state)
    return "" if cell is None else str(cell).strip().lower()


def result_of_row(
    row: Row, columns: Columns, parameters: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], list[RowError]]:
    """Return the result or the failure of a row as JSON, and the errors in it. The server checks ranges."""
    if row.problem is not None:
        return {}, [RowError(row.number, "row", row.problem)]
    errors: list[RowError] = []

    def part(field: str, read: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return read(*arguments)
        except InvalidCell as error:
            errors.append(RowError(row.number, field, str(error)))
            return None

    cells, decimal = columns.parameter_cells(row), columns.decimal
    point: dict[str, Any] = {}
    # Conditional parameters without a cell come last, when the parameters on which they depend are known.
    for each in sorted(parameters, key=lambda each: bool(each.get("when")) and _is_missing(cells.get(each["name"]))):
        name, given = each["name"], not _is_missing(cells.get(each["name"]))
        if given or _is_active(each, point):
            fills = each["kind"] == "fixed" and name not in cells
            point[name] = each["value"] if fills else part(name, _parameter, each, cells.get(name), decimal)
    item: dict[str, Any] = {"parameters": point}
    if _state(row, columns) in FAILED:
        return {**item, "state": "failed", **_reason(row, columns)}, errors
    measured = {} if columns.value is None else {"value": columns.value}
    measured |= {f"metrics.{name}": column for name, column in columns.metrics.items()}
    filled = [field for field, column in measured.items() if not _is_missing(plain(row.cells.get(column)))]
    is_partial = 0 < len(filled) < len(measured)
    if columns.value is not None and not (is_partial and "value" not in filled):
        item["value"] = part("value", number, row.cells.get(columns.value), decimal)
    error = None if columns.std_error is None or columns.value is None else plain(row.cells.get(columns.std_error))
    if not _is_missing(error):
        item["std_error"] = part("std_error", _std_error, error, decimal)
    if columns.metrics:
        named = [name for name in columns.metrics if not is_partial or f"metrics.{name}" in filled]
        item["metrics"] = {name: part(name, number, row.cells.get(columns.metrics[name]), decimal) for name in named}
        given_errors = {name: plain(row.cells.get(column)) for name, column in columns.std_errors.items()}
        known = {name: error for name, error in given_errors.items() if not _is_missing(error)}
        item["std_errors"] = {name: part(name, _std_error, error, decimal) for name, error in known.items()}
    if columns.plate is not None and not _is_missing(plain(row.cells.get(columns.plate))):
        item["plate"] = part("plate", _plate, row.cells.get(columns.plate))
    return {**item, **({"partial": True} if is_partial else {})}, errors


def _cell(row: Row, columns: Columns, name: str) -> Any:
    """Return the cell of a column with this name or its title, unless that is the column of a parameter."""
    known = (each for each in (name, TITLES[name]) if each in row.cells)
    return next((row.cells[each] for each in known if each not in columns.parameters.values()), None)


def _reason(row: Row, columns: Columns) -> dict[str, str]:
    """Return the reason of a failure, if the row has one."""
    cell = plain(_cell(row, columns, REASON))
    return {} if _is_missing(cell) else {"reason": str(cell)}


def _is_active(parameter: Mapping[str, Any], point: Mapping[str, Any]) -> bool:
    """Return whether the other parameters of a point make a parameter active."""
    conditions = (parameter.get("when") or {}).items()
    return all(
        name in point and any(_identity(point[name]) == _identity(value) for value in values)
        for name, values in conditions
    )


def number(cell: Any, decimal: str = ".") -> float:
    """Return the number in a cell, with this decimal mark if it is text.

    Raises:
        InvalidCell: the cell is not a finite number.
    """
    scalar = plain(cell)
    if _is_missing(scalar):
        raise InvalidCell("is missing; fill it in, or leave the row out")
    has_comma = decimal == "," and isinstance(scalar, str)
    try:
        if isinstance(scalar, bool | bytes) or (has_comma and "." in scalar):  # the point may separate thousands
            found = math.nan
        else:
            found = float(scalar.replace(",", ".") if has_comma else scalar)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if math.isnan(found):
        mark = "comma" if decimal == "," else "point"
        raise InvalidCell(f"must be a number, with a {mark} if it has decimals, not {_shown(scalar)}")
    if math.isinf(found):
        raise InvalidCell("must be finite; leave the row out if the evaluation has failed")
    return found


def _plate(cell: Any) -> int:
    found = number(cell)
    if not found.is_integer() or not 1 <= found <= MAX_PLATE:
        raise InvalidCell(f"must be a whole number from 1 to {MAX_PLATE:,}, not {_shown(plain(cell))}")
    return int(found)


def _std_error(cell: Any, decimal: str) -> float:
    error = number(cell, decimal)
    if error < 0:
        raise InvalidCell(f"must be 0 or more, not {error}")
    return error


def _parameter(parameter: Mapping[str, Any], cell: Any, decimal: str) -> Any:
    match parameter["kind"]:
        case "float" | "int":
            return number(cell, decimal)
        case "bool":
            return _choice([False, True], cell)
        case "fixed":
            return _choice([parameter["value"]], cell)
        case "catalogue":
            return _row(cell)
        case kind:
            return _choice(parameter["values" if kind == "ordinal" else "choices"], cell)


def _row(cell: Any) -> str:
    """Return the name of a row of a catalogue; the server checks whether the row exists."""
    name = "" if _is_missing(cell) else str(plain(cell)).strip()
    if not name:
        raise InvalidCell("is missing; fill in the name of a row, or leave the row out")
    return name


def _choice(choices: Sequence[Any], cell: Any) -> Any:
    """Return the choice that a cell means. It equals the cell, or the cell's text read as JSON or Python. Otherwise it
    is the only choice that equals the text apart from upper and lower case, or false or true for 0 or 1."""
    scalar = cell.tolist() if hasattr(cell, "tolist") else cell  # a numpy array becomes a list
    for reading in _readings(None if _is_missing(scalar) and "" not in choices else scalar):
        for choice in choices:
            if _identity(choice) == _identity(reading):
                return choice
    if isinstance(scalar, str):
        folded = scalar.strip().casefold()
        same = [choice for choice in choices if isinstance(choice, str) and choice.strip().casefold() == folded]
        if len(same) == 1:
            return same[0]
    if _is_missing(scalar):
        raise InvalidCell("is missing; fill it in, or leave the row out")
    if _identity(choices) == _identity([False, True]) and scalar in (0, 1, "0", "1"):
        return bool(int(scalar))
    shown = ", ".join(json.dumps(choice) for choice in choices)
    raise InvalidCell(f"must be one of {shown}, not {_shown(scalar)}")


def _readings(cell: Any) -> Iterator[Any]:
    """The possible values of a cell, the most literal first."""
    yield cell
    if isinstance(cell, str):
        text = cell.strip()
        yield text
        for parse, written in ((json.loads, text), (ast.literal_eval, text), (json.loads, text.lower())):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                yield parse(written)


def _identity(value: Any) -> Any:
    """A key that two values share if they are equal in JSON, where true is not 1."""
    if isinstance(value, list | tuple):
        return "list", tuple(map(_identity, value))
    return isinstance(value, bool), value


def _is_missing(cell: Any) -> bool:
    return (
        cell is None or (isinstance(cell, float) and math.isnan(cell)) or (isinstance(cell, str) and not cell.strip())
    )


def _shown(cell: Any) -> str:
    text = repr(cell)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
