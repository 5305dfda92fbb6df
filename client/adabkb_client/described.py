"""Choices with descriptors from a table, as spreadsheets write it."""

import math
import os
from pathlib import Path

from adabkb_client import sources


def read(path: str | os.PathLike[str]) -> tuple[list[str], dict[str, list[float]]]:
    """Return the choices, which the first column of a table has, and the numbers of each other column by its name.

    The table is a CSV file in UTF-8, or an Excel file, with a line of names first. Cells of a CSV file are separated by
    commas, semicolons or tabs; a number may have a decimal comma where cells are not separated by commas.

    Raises:
        ValueError: the table has no descriptor, a choice twice, an empty cell or one that is no finite number; the
            message has the line and the column.
        OSError: the file cannot be read.
    """
    table = sources.read(Path(path))
    choice, *names = table.columns
    if not names:
        raise ValueError(f"{table.name} has one column only; add a column for each descriptor, after that of choices")
    choices: list[str] = []
    descriptors: dict[str, list[float]] = {name: [] for name in names}
    for row in table.rows:
        where = f"{table.name}, {table.counted} {row.number}"
        if row.problem is not None:
            raise ValueError(f"{where}: {row.problem}")
        found = str(row.cells.get(choice) or "").strip()
        if not found:
            raise ValueError(f"{where}, column {choice!r} has no choice; write one, or delete the line")
        if found in choices:
            raise ValueError(f"{where}: the choice {found!r} comes twice; delete one of the two lines")
        choices.append(found)
        for name in names:
            number = _number(row.cells.get(name))
            if number is None:
                shown = row.cells.get(name)
                raise ValueError(f"{where}, column {name!r} must be a finite number, not {shown!r}")
            descriptors[name].append(number)
    return choices, descriptors


def _number(cell: object) -> float | None:
    """The number in a cell; None if it is none that is finite."""
    try:
        number = float(str(cell).strip().replace(",", "."))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
