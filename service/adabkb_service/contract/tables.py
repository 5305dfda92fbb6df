"""Tables of catalogues: parsing, and what a parameter stores instead of the text.

A table is CSV text: a header, then a line per row, with commas, semicolons or tabs between cells. The first column
names the rows, and the others are numbers that describe them. The study's row in the database stores a digest of the
table; the log stores the text.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from threading import Lock
from typing import Any

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray
from pydantic_core import PydanticCustomError

from adabkb_service.engine.catalogue import Table, table
from adabkb_service.engine.wording import brief
from adabkb_service.storage.catalogues import Pieces, keep, pieces_of

Array = NDArray[np.float64]

MAX_ROWS = 200_000
"""The maximum number of rows of a catalogue, including withdrawn ones."""
MAX_COLUMNS = 300
"""The maximum number of columns of numbers."""
MAX_NUMBERS = 5_000_000
"""The maximum number of numbers: rows times columns."""
MAX_TABLE_LENGTH = 10 * 2**20
"""The maximum length of a table, in characters."""
MAX_ROW_NAME_LENGTH, MAX_COLUMN_NAME_LENGTH = 1000, 200
"""The maximum lengths of the name of a row and of a column, in characters."""
MAX_SHOWN = 1000
"""The maximum number of characters of a table in an event that is shown."""
SEPARATORS = ",;\t"
"""Separators of cells; numbers may have decimal commas unless the separator is a comma."""
MAX_CACHED = 20_000_000
"""The maximum total size of the tables that a process caches. The size of a table is the number of its numbers plus
twice the number of its rows."""


@dataclass(frozen=True, slots=True)
class _Parsed:
    """The content of a text."""

    columns: list[str]
    """The names of the columns of numbers."""
    header_line: int
    lines: dict[str, int]
    """Name of a row -> its line in the text, in order."""
    numbers: Array
    """(rows, columns)"""


def table_of(pieces: Pieces) -> Table:
    """Return the table after all changes.

    Raises:
        PydanticCustomError: the text is not a valid table; the message has the line and the column.
    """
    with _guard:
        known = _tables.get(pieces.digest)
    if known is not None:
        return known
    if pieces.changes:
        found = _with_change(table_of(Pieces(pieces.table, pieces.changes[:-1])), pieces.changes[-1], pieces.digest)
    else:
        parsed = _read(pieces.table)
        found = table(list(parsed.lines), parsed.columns, parsed.numbers, digest=pieces.digest)
    with _guard:
        _tables[pieces.digest] = found
    return found


def names_in(text: str) -> list[str]:
    """Return the names of columns and rows in the text of a table.

    Raises:
        PydanticCustomError: the text is not a valid table.
    """
    parsed = _read(text)
    return [*parsed.columns, *parsed.lines]


def with_digests(parameters: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return parameters as a study's row stores them: with a digest instead of each table. This process caches the
    tables."""
    return [_with_digest(each, Pieces(each["table"])) if "table" in each else dict(each) for each in parameters]


def with_changes(
    parameters: Sequence[Mapping[str, Any]], changes: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return stored parameters after changes of their tables. ``changes`` has the changes by parameter.

    Raises:
        PydanticCustomError: a change does not fit its table; ``part`` of its context is the invalid field of the
            change. Without it, the field is ``add``.
    """
    found = []
    for each in parameters:
        change = changes.get(each["name"])
        found.append(dict(each) if change is None else _with_digest(each, pieces_of(each["digest"]).changed(change)))
    return found


def are_alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether the tables of two stored parameters have rows with the same names, and the same withdrawn rows."""
    first, second = (table_of(pieces_of(each["digest"])) for each in (one, other))
    return first.names == second.names and np.array_equal(first.is_offered, second.is_offered)


def in_brief(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload of an event ``created`` or ``edited`` with long tables shortened."""
    found = dict(payload)
    if "definition" in found:
        definition = found["definition"]
        found["definition"] = {**definition, "parameters": [_cut(each, "table") for each in definition["parameters"]]}
    if "parameters" in found:
        found["parameters"] = [_cut(each, "table") for each in found["parameters"]]
    if "catalogues" in found:
        found["catalogues"] = {name: _cut(change, "add") for name, change in found["catalogues"].items()}
    return found


def _cut(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    text = fields.get(name)
    if not isinstance(text, str) or len(text) <= MAX_SHOWN:
        return dict(fields)
    return {
        **fields,
        name: f"{text[:MAX_SHOWN]}... ({len(text):,} characters; the study's export has the whole table)",
    }


_guard = Lock()
_tables: LRUCache[str, Table] = LRUCache(MAX_CACHED, getsizeof=lambda each: each.numbers.size + 2 * len(each.names))


def _with_digest(parameter: Mapping[str, Any], pieces: Pieces) -> dict[str, Any]:
    known = table_of(pieces)
    return {
        **{field: value for field, value in parameter.items() if field != "table"},
        "digest": keep(pieces),
        "columns": list(known.columns),
        "rows": len(known.names),
        "withdrawn": len(known.names) - len(known.offered),
    }


def _with_change(before: Table, change: Mapping[str, Any], digest: str) -> Table:
    """Return a table after a change."""
    names, numbers = list(before.names), before.numbers
    if "add" in change:
        added = _read(change["add"])
        if added.columns != list(before.columns):
            raise _error(
                added.header_line,
                f"has the columns {_list_names(added.columns)}, but the table has {_list_names(before.columns)}; "
                "give the same columns",
            )
        for name, line in added.lines.items():
            if name in before.numbered:
                raise _error(
                    line, f"names {name!r}, which is already in the catalogue; leave the line out, or restore the row"
                )
        names, numbers = [*names, *added.lines], np.concatenate([numbers, added.numbers])
        _check_size(len(names), len(added.columns))
    withdrawn = {name for name, is_offered in zip(before.names, before.is_offered, strict=True) if not is_offered}
    for field, rows in (("withdraw", change.get("withdraw", ())), ("restore", change.get("restore", ()))):
        for name in rows:
            if name not in before.numbered:
                raise PydanticCustomError(
                    "catalogue", "has {name}, which is not a row of the table", {"name": repr(name), "part": field}
                )
    withdrawn |= set(change.get("withdraw", ()))
    withdrawn -= set(change.get("restore", ()))
    return table(names, before.columns, numbers, sorted(withdrawn), digest)


def _read(text: str) -> _Parsed:
    text = text.removeprefix("\ufeff")
    separator = max(SEPARATORS, key=text.lstrip("\r\n").partition("\n")[0].count)
    lines = csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True)
    names: dict[str, int] = {}
    numbers: list[list[float]] = []
    header: list[str] | None = None
    header_line = 0
    try:
        for cells in lines:
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header_line = lines.line_num
                header = _checked_header([cell.strip() for cell in cells], header_line)
                continue
            if len(cells) != len(header) + 1:
                raise _error(
                    lines.line_num, f"has {len(cells)} cells, but the header has {len(header) + 1}; give one per column"
                )
            name = cells[0].strip()
            if not name or len(name) > MAX_ROW_NAME_LENGTH:
                raise _error(
                    lines.line_num, f"has no name of 1 to {MAX_ROW_NAME_LENGTH} characters in the first column"
                )
            if name in names:
                raise _error(lines.line_num, f"names {name!r}, as does line {names[name]}; give each row once")
            names[name] = lines.line_num
            _check_size(len(names), len(header))
            values = cells[1:] if separator == "," else [cell.replace(",", ".") for cell in cells[1:]]
            numbers.append(_numbers(values, header, lines.line_num))
    except csv.Error as error:
        raise _error(lines.line_num, f"is not valid CSV ({error}); quote cells that contain commas or quotes") from None
    if header is None or not names:
        raise PydanticCustomError("table", "has no rows; give a header and a line per row")
    return _Parsed(header, header_line, names, np.array(numbers, dtype=np.float64).reshape(len(names), len(header)))


def _checked_header(cells: list[str], line: int) -> list[str]:
    header = cells[1:]
    if not header:
        raise _error(
            line, "has only one column; add columns of numbers that describe the rows, or use a categorical parameter"
        )
    if len(header) > MAX_COLUMNS:
        raise _error(line, f"has {len(header)} columns of numbers; give {MAX_COLUMNS} at most")
    for number, each in enumerate(header, 2):
        if not each or len(each) > MAX_COLUMN_NAME_LENGTH:
            raise _error(line, f"has no name of 1 to {MAX_COLUMN_NAME_LENGTH} characters for column {number}")
        if (first := header.index(each) + 2) < number:
            raise _error(
                line, f"has the name {brief(each)!r} for columns {first} and {number}; give each a different name"
            )
    return header


def _numbers(cells: Sequence[str], header: Sequence[str], line: int) -> list[float]:
    try:
        found = [float(cell) for cell in cells]
        if all(map(math.isfinite, found)):
            return found
    except ValueError:
        pass
    column, cell = next((c, cell) for c, cell in zip(header, cells, strict=True) if not _is_finite(cell))
    raise _error(
        line,
        f"has {brief(cell)!r} in column {brief(column)!r}; give a finite number, or leave out the row or the column",
    )


def _is_finite(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _check_size(rows: int, columns: int) -> None:
    if rows > MAX_ROWS:
        raise PydanticCustomError("table", f"has more than {MAX_ROWS:,} rows; leave some out")
    if rows * columns > MAX_NUMBERS:
        raise PydanticCustomError("table", f"has more than {MAX_NUMBERS:,} numbers; leave columns or rows out")


def _error(line: int, what: str) -> PydanticCustomError:
    return PydanticCustomError("table", "{what}", {"what": f"line {line} {what}"})


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(map(brief, names[:5])) + (", ..." if len(names) > 5 else "")
