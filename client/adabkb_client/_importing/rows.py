"""Convert rows of a source to results of a study."""

import ast
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from adabkb_client._importing.columns import EXCLUDED, REASON, TITLES, Columns
from adabkb_client._records import RowError
from adabkb_client._tables import Row
from adabkb_client._values import plain

COMPLETED = ("", "complete", "completed", "done", "finished", "ok", "succeeded", "success", "successful")
"""States of a row that has a result, in lower case."""
FAILED = ("crashed", "error", "fail", "failed", "failure", "fehlgeschlagen", "misslungen")
"""States of a row whose evaluation failed, in lower case."""
YES = ("true", "yes")
"""The texts that mark an excluded result, in lower case."""
MAX_PLATE = 10**9
"""The largest number of a plate."""
SHOWN = 60
"""The maximum number of characters of a cell that an error shows."""


class InvalidCell(ValueError):
    """A cell does not have a valid value. The message continues a sentence that begins with the name of the field."""


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

    cells, decimal = _parameter_cells(row, columns), columns.decimal
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


def _parameter_cells(row: Row, columns: Columns) -> dict[str, Any]:
    """Return the cell of each parameter by name, or the choice that it means."""
    cells = {name: row.cells.get(column) for name, column in columns.parameters.items()}
    for name in cells.keys() & columns.choices.keys():
        cell = plain(cells[name])
        text = "" if _is_missing(cell) else str(cell).strip()
        cells[name] = columns.choices[name].get(text, cells[name])
    return cells


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
